"""Stage 4: the findings' remedies become one plan: roots first, one action once, consequences without a fix of
their own."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import field, replace

from doctor.fixes import quoting
from doctor.fixes.actions import BUILDERS, TORCH
from doctor.fixes.effective import DRIVERS, cannot_cure, facts_after
from doctor.fixes.host import as_far_as_allowed
from doctor.fixes.notebook import for_kernel
from doctor.fixes.prices import priced
from doctor.fixes.situation import Situation, as_found, situation_of
from doctor.hidden import has_command
from doctor.knowledge.versions import numbers
from doctor.model.facts import Facts
from doctor.model.finding import ONLY_TOLD, Finding, Remedy
from doctor.model.fix import Fix, Plan, Step
from doctor.model.values import dataclass

MAX_ALTERNATIVES = 3


def plan(
    findings: Iterable[Finding],
    facts: Facts,
    tool: str | None = None,
    shell: quoting.Shell | None = None,
    wheels: tuple[str, ...] | None = None,
) -> Plan:
    """The fixes for all root findings, in the order in which to do them. Of notes only «nothing to do» is said:
    they are no reason to change a machine. `wheels`: names of the wheel files that alone can be installed (None: any).
    """
    facts = facts if wheels == facts.wheels else replace(facts, wheels=wheels)
    wanted = (finding for finding in findings if finding.id not in ONLY_TOLD)
    roots = [finding for finding in wanted if finding.root and finding.explained_by is None]
    draft = _Draft(situation=situation_of(as_found(facts, roots), tool, shell))
    for root in roots:
        draft.add(root)
    made = Plan(fixes=tuple(map(priced, draft.fixes)), unfixed=tuple(draft.unfixed))
    kernel = facts.interpreter.kernel
    return for_kernel(made, kernel) if kernel else made


def script(plan: Plan, *, windows: bool = False, shell: quoting.Shell | None = None) -> str:
    """The plan as a script for a shell (None: the system's usual one): commands; as comments manual steps and what is
    assumed, such as a build that was derived and not seen. Nothing else."""
    shell = shell or quoting.shell_of(windows=windows)
    lines: list[str] = []
    something = any(fix.steps for fix in plan.fixes)
    for fix in plan.fixes:
        if not fix.steps and something:
            continue  # what needs no cure is told by the report
        if not fix.steps:
            lines += quoting.comment(f"{fix.finding}: {fix.title}", shell)
        for assumed in fix.assumes:
            lines += quoting.comment(f"Assumed: {assumed}", shell)
        for step in fix.steps:
            lines += _lines(step, shell)
    for id, reason in plan.unfixed:
        lines += quoting.comment(f"{id}: no fix is known: {reason}", shell)
    return "".join(f"{line}\n" for line in lines)


def _lines(step: Step, shell: quoting.Shell) -> list[str]:
    """A command line if the step is one and can be written safely, else comments."""
    if step.argv and (command := quoting.command(step.argv, shell)):
        return [command]
    if step.shell and quoting.is_printable(step.shell) and not has_command(step.shell):
        return [step.shell]
    if step.edit:
        return quoting.comment(f"{step.text}. Write into {step.edit.file}:\n{step.edit.toml}", shell)
    return quoting.comment(step.text, shell)


@dataclass
class _Draft:
    """A plan in the making. `carrier` is the place of the fix that installs torch."""

    situation: Situation
    fixes: list[Fix] = field(default_factory=list)
    unfixed: list[tuple[str, str]] = field(default_factory=list)
    carrier: int | None = None
    torch_remedy: Remedy | None = None

    def add(self, finding: Finding) -> None:
        remedies = finding.remedies
        if finding.severity == "note":
            remedies = tuple(r for r in remedies if r.action == "none")[:1]
            if not remedies:
                return
        if not remedies:
            self.unfixed.append((finding.id, "nobody has told the doctor of one yet"))
            return
        if remedies[0].action in TORCH and self.carrier is not None:
            if self._joins_torch_fix(finding, remedies[0]):
                return
            remedies = tuple(r for r in remedies if r.action not in TORCH)  # two torches cannot be installed
        if self.carrier is not None and _brings(self.fixes[self.carrier], remedies[:1]):
            self.fixes[self.carrier] = _curing(self.fixes[self.carrier], finding.id)
            return
        made, reason = self._made(finding, remedies)
        if not made:
            self.unfixed.append((finding.id, reason or self._why_not(finding)))
            return
        main = replace(made[0], alternatives=_alternatives(made))
        if self._joins_same_fix(main):
            return
        self.fixes.append(main)
        if "backend" in main.details:
            self.carrier = len(self.fixes) - 1
            wanted = (r for r in remedies if r.action in TORCH)  # not always the first: it may have given no fix
            self.torch_remedy = next(wanted, None) if main.action in TORCH else None
        self._look_ahead(main)

    def _made(self, finding: Finding, remedies: Sequence[Remedy]) -> tuple[list[Fix], str]:
        """The fixes of all remedies, the first being the one to take, and why there is none. Where no build of
        torch serves, what would help takes the place of the first remedy."""
        made: list[Fix] = []
        reason = ""
        if any(_has_torch(self.situation, remedy) for remedy in remedies[:1]):
            remedies = remedies[:1]
        for remedy in remedies:
            if remedy.action not in TORCH:
                fixes, against = [BUILDERS[remedy.action](self.situation, finding.id, remedy)], ""
            else:
                fixes, against = self._torch(finding, remedy, nearest=not made)
            for fix in fixes:
                why = cannot_cure(fix, finding, self.situation.facts) if fix else None
                made += [as_far_as_allowed(self.situation, fix)] if fix and why is None else []
                against = against or why or ""
            reason = reason or against
        return made, reason

    def _torch(self, finding: Finding, remedy: Remedy, *, nearest: bool) -> tuple[list[Fix | None], str]:
        """The fix of a torch action; where no build serves, what would help instead (if `nearest`), and why."""
        from doctor.fixes.torch import NoBuild, nearest_fix, torch_fix

        answer = torch_fix(self.situation, finding, remedy)
        if isinstance(answer, Fix):
            return [answer], ""
        assert isinstance(answer, NoBuild)
        helpful = (n for n in answer.choice.nearest if n.kind != "older-torch")  # would not cure the finding
        return [nearest_fix(self.situation, finding.id, n) for n in helpful] if nearest else [], answer.reason

    def _why_not(self, finding: Finding) -> str:
        wish = finding.remedies[0].details.get("torch", "")
        if finding.remedies[0].action in TORCH and self.carrier is not None:
            chosen = self.fixes[self.carrier]
            return f"it wants torch {wish}, which excludes the fix of {chosen.finding} ({chosen.title[:-1]})"
        return "no command can be given for it"

    def _joins_torch_fix(self, finding: Finding, remedy: Remedy) -> bool:
        """Whether the torch that an earlier fix installs cures this finding, too, perhaps in another version."""
        assert self.carrier is not None
        from doctor.fixes.torch import torch_fix

        earlier = self.fixes[self.carrier]
        if self.torch_remedy is None:  # a new interpreter or another vendor's build: torch is new anyway
            self.fixes[self.carrier] = _curing(earlier, finding.id)
            return True
        both = _both(self.torch_remedy, remedy)
        answer = torch_fix(self.situation, replace(finding, id=earlier.finding), both) if both else None
        if not isinstance(answer, Fix):
            return False
        self.torch_remedy = both
        merged = replace(answer, alternatives=earlier.alternatives, also_cures=earlier.also_cures)
        self.fixes[self.carrier] = _curing(merged, finding.id)
        return True

    def _joins_same_fix(self, fix: Fix) -> bool:
        """Whether an earlier fix performs the same action on the same target."""
        for place, earlier in enumerate(self.fixes):
            if earlier.action in DRIVERS and fix.action in DRIVERS:
                stronger = numbers(fix.details.get("minimum", "")) > numbers(earlier.details.get("minimum", ""))
                kept = replace(fix, finding=earlier.finding, also_cures=earlier.also_cures) if stronger else earlier
                self.fixes[place] = _curing(kept, fix.finding)
                return True
            if earlier.action == fix.action != "none" and dict(earlier.details) == dict(fix.details):
                self.fixes[place] = _curing(earlier, fix.finding)
                return True
        return False

    def _look_ahead(self, fix: Fix) -> None:
        """Plan the following fixes for the machine as it will be, with the new driver."""
        self.situation = replace(self.situation, facts=facts_after(fix, self.situation.facts))


def _has_torch(situation: Situation, remedy: Remedy) -> bool:
    """Whether the Python that has torch goes by the name of ours: which one lacks it is not known then, and no command
    can be given for it."""
    return remedy.action == "activate-environment" and remedy.details.get("path") == situation.python


def _both(one: Remedy, other: Remedy) -> Remedy | None:
    """One torch remedy that satisfies both; None where they ask for different builds."""
    backends = {b for r in (one, other) if (b := r.details.get("backend"))}
    if len(backends) > 1:
        return None
    specs = [s if s[0] in "<>=!~" else f"=={s}" for r in (one, other) if (s := r.details.get("torch"))]
    damage = {key: r.details[key] for r in (one, other) for key in ("flag", "also") if key in r.details}
    details = {"torch": ",".join(dict.fromkeys(specs)), "backend": next(iter(backends), ""), **damage}
    action = other.action if one.action == "reinstall-torch" else one.action
    return Remedy(action=action, details={k: v for k, v in details.items() if v})


def _brings(fix: Fix, remedies: Sequence[Remedy]) -> bool:
    """Whether a fix that installs torch installs anew, to fit it, the package that a remedy is about. The remedy was
    meant for the torch of before: done afterwards, it would bring back the build that does not fit."""
    packages = [r.details.get("package", "") for r in remedies if r.action in ("reinstall-package", "upgrade-package")]
    words = {word.partition("==")[0] for step in fix.steps for word in step.argv or () if "==" in word}
    return bool(words.intersection(packages))


def _curing(fix: Fix, id: str) -> Fix:
    return fix if id in (fix.finding, *fix.also_cures) else replace(fix, also_cures=(*fix.also_cures, id))


def _alternatives(made: Sequence[Fix]) -> tuple[Fix, ...]:
    """The other remedies, then the alternatives of the first, without duplicates."""
    seen = [_essence(made[0])]
    kept: list[Fix] = []
    for fix in (*made[1:], *made[0].alternatives):
        if _essence(fix) not in seen and fix.action != "none" and not _is_done_by(made[0], fix):
            seen.append(_essence(fix))
            kept.append(replace(fix, alternatives=()))
    return tuple(kept[:MAX_ALTERNATIVES])


def _is_done_by(main: Fix, other: Fix) -> bool:
    """Whether an alternative would bring no other torch than the fix itself."""
    return main.action in TORCH and other.action == "pin-package" and other.details.get("package") == "torch"


def _essence(fix: Fix) -> tuple[object, ...]:
    if fix.action in (*TORCH, "fix-index"):
        return ("torch", fix.details.get("torch"), fix.details.get("backend"))
    return (fix.action, tuple(sorted(fix.details.items())))
