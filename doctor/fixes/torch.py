"""Torch actions: which build is the fix."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from doctor.fixes import tools
from doctor.fixes.build import (
    UNDAMAGED,
    Damage,
    cautions,
    conda_cuda,
    damage_of,
    environment_steps,
    installed_companions,
    is_installed,
    is_unknown,
    moved,
    name_of,
    steps_for_build,
    valid_specifier,
)
from doctor.fixes.effective import RESTS_ON_BUILD, RESTS_ON_FILES, cannot_cure, installed_backend
from doctor.fixes.situation import Situation
from doctor.fixes.tools import Order
from doctor.knowledge import choose as choosing
from doctor.knowledge import lookup
from doctor.knowledge.choose import Candidate, Choice, Nearest
from doctor.knowledge.versions import numbers
from doctor.model.facts import ABSENT, Facts
from doctor.model.finding import Finding, Remedy
from doctor.model.fix import Fix, Step
from doctor.model.values import dataclass

DEFAULT_INDEX = "default"  # in `details`: the build needs no index to be named
TITLES = {
    "install-torch": "Install",
    "reinstall-torch": "Reinstall",
    "upgrade-torch": "Upgrade to",
    "downgrade-torch": "Go back to",
}


@dataclass(frozen=True)
class NoBuild:
    """No build serves: `choice.nearest` says what would help. `against`: why those that serve would not cure."""

    choice: Choice
    against: str = ""

    @property
    def reason(self) -> str:
        if self.against:
            return self.against
        held = next((said for said in self.choice.assumes if said.startswith("only wheels that are there")), "")
        if held:
            return held
        return self.choice.nearest[0].text if self.choice.nearest else "no torch build serves this machine"


def torch_fix(situation: Situation, finding: Finding, remedy: Remedy) -> Fix | NoBuild:
    """The fix that a torch action becomes: the build that the remedy names, else the one that serves the machine
    best. Where a project asks for torch, and its environment lacks it, the project's own command comes first."""
    fix = _fix_by_build(situation, finding, remedy)
    synced = _synced(situation, finding) if remedy.action == "install-torch" and not remedy.details else None
    if synced is None:
        return fix
    return replace(synced, alternatives=(fix,)) if isinstance(fix, Fix) else synced


def _synced(situation: Situation, finding: Finding) -> Fix | None:
    """The fix that installs what the environment's project asks for; None where its file does not ask for torch."""
    if finding.id != "torch-missing" or not situation.facts.interpreter.project_has_torch:
        return None
    if situation.tool != situation.facts.interpreter.manager:  # the user wants another tool's commands
        return None
    step = situation.by.sync(situation)
    if step is None:
        return None
    return Fix(
        finding=finding.id,
        action="install-torch",
        title="Install what the project asks for: torch is in its file, and not in its environment.",
        details={"torch": "", "backend": "", "index": DEFAULT_INDEX},
        steps=(replace(step, verify=(situation.python, "-c", "import torch; print(torch.__version__)")),),
    )


def _fix_by_build(situation: Situation, finding: Finding, remedy: Remedy) -> Fix | NoBuild:
    choice = choice_for(situation.facts, remedy)
    exact, against, other = bool(remedy.details.get("torch")), "", remedy.details.get("instead_of")
    assumes = (*((f"another torch than {other}, which was asked for, will do",) if other else ()), *choice.assumes)
    for build in _candidates(situation.facts, finding, remedy, choice):
        fix = fix_of_build(situation, finding.id, remedy.action, build, assumes, exact=exact, damage=damage_of(remedy))
        reason = cannot_cure(fix, finding, situation.facts)
        if reason is None:
            return _with_unseen(situation, finding, remedy, fix, build, choice)
        against = against or reason
    if remedy.text:  # a release from before the tables
        return Fix.of(finding.id, remedy, remedy.text, Step(text=remedy.text.rstrip(".")))
    return NoBuild(choice, against)


def _candidates(facts: Facts, finding: Finding, remedy: Remedy, choice: Choice) -> Iterator[Candidate]:
    """The builds that may be the cure, best first: of a finding that rests on the build itself also those behind the
    best, and those of other releases."""
    if finding.id not in RESTS_ON_BUILD:
        yield from choice.builds[:1]
        return
    yield from choice.builds
    if choice.builds and not remedy.details.get("torch"):
        backend = remedy.details.get("backend") or None
        others = choosing.choose(facts, backend=backend, companions=installed_companions(facts)).builds
        yield from (b for b in others if b not in choice.builds)


def _with_unseen(
    situation: Situation, finding: Finding, remedy: Remedy, fix: Fix, build: Candidate, choice: Choice
) -> Fix:
    """The fix with an alternative, where its build was derived and not seen: the best one that was seen."""
    exact = bool(remedy.details.get("torch"))
    by_wheel = conda_cuda(situation, build, exact) is None
    if by_wheel and build.status != "verified" and (known := _first_verified(situation.facts, choice)):
        other = fix_of_build(
            situation, finding.id, remedy.action, known, choice.assumes, exact=True, damage=damage_of(remedy)
        )
        fix = replace(fix, alternatives=(other,))
    return fix


def _first_verified(facts: Facts, choice: Choice) -> Candidate | None:
    """The best build whose publication is verified: of the choice, else of all that serve the machine."""
    others = (
        ()
        if any(b.status == "verified" for b in choice.builds)
        else choosing.choose(facts, companions=installed_companions(facts)).builds
    )
    return next((b for b in (*choice.builds, *others) if b.status == "verified"), None)


def fix_index(situation: Situation, finding: str, remedy: Remedy) -> Fix | None:
    """Install from the right index: that of the remedy if it is in the tables, else that of the build for the
    machine."""
    backend = remedy.details.get("index", "").rstrip("/").rpartition("/")[2]
    known = lookup.index_url(backend) is not None
    details = {
        "torch": remedy.details.get("torch", ""),
        "backend": backend if known else remedy.details.get("backend", ""),
    }
    choice = choice_for(situation.facts, Remedy(action="install-torch", details=details))
    if choice.best is None:
        choice = choice_for(situation.facts, Remedy(action="install-torch"))
    if choice.best is None:
        return None
    fix = fix_of_build(situation, finding, "install-torch", choice.best, choice.assumes)
    return replace(fix, action="fix-index", title=remedy.text or f"{fix.title[:-1]} from the index that has it.")


def choice_for(facts: Facts, remedy: Remedy) -> Choice:
    """The builds for a remedy. Reinstalling keeps the version (and the build, if it is right for the machine)
    where it can."""
    spec, backend = valid_specifier(remedy.details.get("torch")), remedy.details.get("backend") or None
    companions = installed_companions(facts)
    installed = facts.torch.version if facts.torch else None
    if remedy.action == "upgrade-torch" and installed and not spec:
        spec = f">{lookup.release_of(installed)}"
    if remedy.action == "downgrade-torch" and not spec:
        return _older(facts, installed, backend, companions)
    stays = installed and not lookup.build_of(installed).nightly and choosing.suits_the_others(facts, installed)
    if remedy.action == "reinstall-torch" and installed and not spec and stays:
        spec_of_it = f"=={lookup.release_of(installed)}"
        if backend is None and (own := _gpu_build_for_another(facts)):
            same = choosing.choose(facts, torch=spec_of_it, backend=own, companions=companions)
            if same.best and not same.wanting:
                return same
        same = choosing.choose(facts, torch=spec_of_it, backend=backend, companions=companions)
        if same.best and not same.wanting:
            return _with_first(same, installed_backend(facts))
    choice = choosing.choose(facts, torch=spec, backend=backend, companions=companions)
    if choice.best is None and facts.as_of and (remedy.details.get("torch") or _before_the_tables(facts.as_of)):
        later = replace(facts, as_of=None)  # the cure came after the ticket, or all that the tables know did
        return choosing.choose(later, torch=spec, backend=backend, companions=companions)
    return choice


def _gpu_build_for_another(facts: Facts) -> str | None:
    """The backend of an installed CUDA build on a machine without a GPU: its user wants that build (a login node, an
    image that is built here and runs elsewhere), and it computes on the CPU, too."""
    backend = installed_backend(facts) or ""
    return backend if facts.live and facts.gpus == () and backend.startswith("cu") else None


def _older(facts: Facts, installed: str | None, backend: str | None, companions: tuple[str, ...]) -> Choice:
    """The builds before the installed one; where that is not known, before the newest: what else would be a way
    back?"""
    before = lookup.release_of(installed) if installed else lookup.newest_torch(facts.as_of)
    choice = choosing.choose(facts, backend=backend, companions=companions)
    if choice.best and numbers(choice.best.release) < numbers(before):
        return choice
    return choosing.choose(facts, torch=f"<{before}", backend=backend, companions=companions) if installed else Choice()


def _before_the_tables(date: str) -> bool:
    return (lookup.release_date(lookup.newest_torch(date)) or "") > f"{date}~"  # «~»: the last day of a year or month


def _with_first(choice: Choice, backend: str | None) -> Choice:
    """The same choice with the build of that backend first, if it is among the builds that serve."""
    first = [b for b in choice.builds if b.backend == backend]
    return replace(choice, builds=(*first, *(b for b in choice.builds if b not in first)))


def fix_of_build(
    situation: Situation,
    finding: str,
    action: str,
    build: Candidate,
    assumes: Iterable[str] = (),
    *,
    exact: bool = False,
    sound: bool = False,
    damage: Damage = UNDAMAGED,
) -> Fix:
    """The fix that installs that build. `exact`: that very version is wanted; `sound`: the same torch may stay."""
    unknown = action == "reinstall-torch" and is_unknown(situation.facts)
    action = action if situation.facts.torch or unknown else "install-torch"
    build = _named_in_project(situation, build)
    details = {"torch": build.release, "backend": build.backend, "index": build.index or DEFAULT_INDEX}
    title = f"{_verb(situation.facts, action, build)} {name_of(build)}."
    cares = cautions(build)
    if (cuda := conda_cuda(situation, build, exact)) is not None:
        cares = ()  # it is another build, of a version that is not in the tables
        details = {
            "torch": "",
            "backend": "cu" + cuda.replace(".", "") if cuda else build.backend,
            "index": situation.by.channel,
        }
        title = f"{_verb(situation.facts, action, build)} conda-forge's torch ({details['backend']})."
    return Fix(
        finding=finding,
        action=action,
        title=title,
        details=details,
        steps=(
            *steps_for_build(
                situation, build, broken=unknown or finding in RESTS_ON_FILES, exact=exact, sound=sound, damage=damage
            ),
            *environment_steps(situation, build),
        ),
        assumes=(*assumes, *cares),
        changes=moved(situation, build),
    )


def _named_in_project(situation: Situation, build: Candidate) -> Candidate:
    """A project whose torch comes from an index of its own (a CPU build's, say) goes on looking there: for it the
    default build is named with its index, too."""
    torch, host = situation.facts.torch, situation.facts.host
    in_project = situation.by.keeps_index or situation.facts.interpreter.project
    platform = lookup.platform_of(host.system, situation.facts.interpreter.architecture or host.architecture)
    if build.index or not in_project or not torch or "+" not in (torch.version or "") or not platform:
        return build
    if installed_backend(situation.facts) == lookup.default_backend(torch.version or "", platform):
        return build
    return replace(build, index=lookup.index_url(build.backend, build.release))


def _verb(facts: Facts, action: str, build: Candidate) -> str:
    """ "Reinstall" only where it is the same build; else what is replaced is named."""
    installed = facts.torch.version if facts.torch else None
    if action == "reinstall-torch" and installed is None:
        return "Replace the installed torch with"
    same = installed is not None and lookup.release_of(installed) == build.release
    if action != "reinstall-torch" or (same and installed_backend(facts) in (None, build.backend)) or installed is None:
        return TITLES[action]
    return f"Replace torch {installed} with"


def nearest_fix(situation: Situation, finding: str, near: Nearest) -> Fix | None:
    """What would help instead, as a fix; None where it cannot be said as one."""
    from doctor.fixes import drivers, interpreter, system

    details: Mapping[str, str] = dict(near.details)
    text = near.text[0].upper() + near.text[1:] + "."
    if near.kind == "driver":
        absent = situation.facts.nvidia.driver is ABSENT
        remedy = Remedy(action="install-driver" if absent else "upgrade-driver", details=details, text=text)
        fix = drivers.driver(situation, finding, remedy)
        return _then_install(situation, fix, near.candidate) if near.candidate else fix
    if near.kind == "python":
        release = near.candidate.release if near.candidate else ""
        wish = {"torch": f"=={release}"} if release else {}  # else it would be the newest for that Python
        remedy = Remedy(action="replace-interpreter", details={**details, **wish}, text=text)
        companions = tuple(name for name, _ in near.candidate.companions) if near.candidate else ()
        return interpreter.replace_interpreter(situation, finding, remedy, companions)
    if near.kind == "os" and "minimum" in details:
        return system.upgrade_os(situation, finding, Remedy(action="upgrade-os", details=details, text=text))
    if near.kind == "os":
        return system.use_other_build(situation, finding, Remedy(action="use-other-build", details=details, text=text))
    if near.kind in ("cpu", "older-torch") and near.candidate and not is_installed(situation.facts, near.candidate):
        action = "reinstall-torch" if situation.facts.torch else "install-torch"
        fix = fix_of_build(situation, finding, action, near.candidate)
        return replace(fix, assumes=(*fix.assumes, near.text))
    if near.kind == "conda-forge":
        return _conda_forge_fix(situation, finding, text, details)
    if near.kind == "vendor":
        return _vendor_fix(situation, finding, text, details)
    return None


def _then_install(situation: Situation, fix: Fix, build: Candidate) -> Fix:
    """A driver first, then the torch that needs it."""
    if is_installed(situation.facts, build):
        return fix
    details = {**fix.details, "torch": build.release, "backend": build.backend, "index": build.index or DEFAULT_INDEX}
    return replace(fix, details=details, steps=(*fix.steps, *steps_for_build(situation, build)))


def _conda_forge_fix(situation: Situation, finding: str, text: str, details: Mapping[str, str]) -> Fix:
    packages = [details["package"], *([f"cuda-version={details['cuda']}"] if details.get("cuda") else [])]
    backend = "cu" + details["cuda"].replace(".", "") if details.get("cuda") else "cpu"
    channel = tools.with_channel().channel
    steps = situation.by.from_channel(situation, packages) or tools.with_channel().from_scratch(packages)
    return Fix(
        finding=finding,
        action="use-other-build",
        title=text,
        details={"build": f"{channel} {details['package']}", "channel": channel, "backend": backend},
        steps=steps,
    )


def _vendor_fix(situation: Situation, finding: str, text: str, details: Mapping[str, str]) -> Fix:
    """A build from the vendor's own index: AMD's, NVIDIA's for Jetson, or the nightlies of a new platform."""
    found = {"build": text, "backend": details.get("backend", "")}
    if details.get("index") is None:
        step = Step(text=f"{text} See {details['page']}")
        if found["backend"] == "jetson":  # the one torch there is for it
            action = "reinstall-torch" if situation.facts.torch else "install-torch"
            found = {"torch": "", "backend": "jetson", "index": details["page"]}
            return Fix(finding=finding, action=action, title=text, details=found, steps=(step,))
        return Fix(finding=finding, action="use-other-build", title=text, details=found, steps=(step,))
    names = [details["requirement"]]
    if details["requirement"].startswith("torch["):
        extra = details["requirement"][len("torch") :]
        names += [f"torchvision{extra}"] if "torchvision" in installed_companions(situation.facts) else []
    by = situation if situation.by.takes_wheels else replace(situation, tool=tools.base().name)
    torch = situation.facts.torch
    order = Order(
        requirements=tuple(names),
        index=details["index"],
        replaces=("torch",) if torch else (),
        note=text,
    )
    return Fix(
        finding=finding,
        action="use-other-build",
        title=text,
        details={**found, "index": details["index"]},
        steps=by.by.install(by, order),
    )
