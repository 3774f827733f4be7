"""What was found has to account for every symptom. Pure.

findings of the checks ─→ what a passed probe refutes is only a warning
                       ─→ each symptom: which finding explains it
                       ─→ left over: hypotheses, weighed; one that leads clearly becomes a finding, likely
                       ─→ an accelerator still left over on a live machine: accelerator-unusable
                       ─→ the questions that would settle the rest
                       ─→ harmless warnings that nothing of this speaks of (harmless.py)
                       ─→ still no verdict on a text: what tickets like it had (resemblance.py)
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache

from doctor.accounting import questions
from doctor.accounting.harmless import harmless
from doctor.accounting.symptoms import is_warning, symptoms_of
from doctor.checks import PROGRAM, PROGRAM_ERROR, Check, Fit, check_of, is_known
from doctor.checks._accelerators import Accelerator, accelerators
from doctor.checks._machine import wants_no_gpu
from doctor.checks.runner import settle
from doctor.knowledge import lookup
from doctor.model.facts import REMARK, Facts, Torch
from doctor.model.finding import ONLY_TOLD, Evidence, Finding, Outcome
from doctor.model.symptom import Hypothesis, Question, Symptom
from doctor.model.values import dataclass
from doctor.regex import Regex

LEADS = 0.6  # the share of the weight with which one hypothesis becomes a finding …
LEADS_BY = 1.8  # … if it also outweighs the next by this factor
OF_ANOTHER_VENDOR = 0.1  # the factor of a diagnosis that keeps torch from other makers' GPUs than those that are here
SHOWN = 6  # hypotheses of one symptom
ASKED = 3  # questions
UNPROVEN_BESIDE = 0.3  # what health is not proven without counts so much where there are hypotheses to settle
WORKS = "works"  # what explains a message that a passed probe refutes
REFUTED = "refuted"  # what explains a warning all of whose causes are ruled out
TOOLS = ("nvidia-smi", "rocminfo", "cuInit", "libcuda")  # sources that only speak of the driver
OF_ANOTHER_FRAMEWORK = "names-another-framework"  # that does without torch


@dataclass(frozen=True, kw_only=True)
class Account:
    """The findings, with the likely ones; the symptoms, each with what explains it; and what remains to be asked."""

    findings: tuple[Finding, ...]
    symptoms: tuple[Symptom, ...] = ()
    hypotheses: tuple[Hypothesis, ...] = ()
    questions: tuple[Question, ...] = ()

    @property
    def left_over(self) -> tuple[Symptom, ...]:
        return tuple(s for s in self.symptoms if s.explained_by is None)


def account(
    facts: Facts, outcomes: Iterable[Outcome], findings: Iterable[Finding], doubted: Collection[str] = ()
) -> Account:
    """Account for all symptoms of these facts. `doubted`: diagnoses that are hypotheses at most."""
    outcomes = tuple(outcomes)
    status = {o.id: o.status for o in outcomes}
    found = outranked(tuple(f for f in findings if f.id not in doubted), facts)
    symptoms = explained(symptoms_of(facts), found, facts, status)

    @cache
    def about(symptom: Symptom) -> list[Hypothesis]:
        return weighed(symptom, status, facts)

    likely = _likely({s: about(s) for s in symptoms if s.explained_by is None}, found, facts)
    likely = tuple(f for f in likely if f.id not in doubted)
    if likely:
        found = settle((*found, *likely))
        symptoms = explained(symptoms, found, facts, status)
    if own := _programs_own(symptoms, found, facts):
        found = settle((*found, own))
        symptoms = explained(symptoms, found, facts, status)
    unusable = _unusable(symptoms, found, facts)
    if unusable and unusable.id not in doubted:
        found = settle((*found, unusable))
        symptoms = explained(symptoms, found, facts, status)
    left = [h for s in symptoms if s.explained_by is None for h in about(s)[:SHOWN]]
    asks = questions_about(symptoms, left, found, facts)
    return Account(
        findings=settle((*found, *harmless(facts, found, symptoms))),
        symptoms=symptoms,
        hypotheses=tuple(dict.fromkeys(left)),
        questions=asks,
    )


# ---- what works outranks what a tool says


def outranked(findings: Sequence[Finding], facts: Facts) -> tuple[Finding, ...]:
    """A fault that keeps torch from GPUs all of which passed their probe is a warning: a stray tool said so.
    `findings` are settled."""
    listed = accelerators(facts)
    kept = []
    for finding in findings:
        check = check_of(finding.id)
        gpus = [a for a in listed if check and a.vendor in check.keeps_from]
        if finding.severity == "fault" and gpus and all(a.state == "proven" for a in gpus):
            names = ", ".join(dict.fromkeys(a.label for a in gpus))
            finding = replace(
                finding, severity="warning", detail=f"{finding.detail} But the probe of {names} passed: torch uses it."
            )
        kept.append(finding)
    return tuple(kept) if kept == list(findings) else settle(kept)


# ---- which finding explains which symptom


def explained(
    symptoms: Iterable[Symptom], findings: Sequence[Finding], facts: Facts, status: Mapping[str, str]
) -> tuple[Symptom, ...]:
    """Each symptom with what accounts for it. A message that is said twice is one thing."""
    made = [replace(s, explained_by=_explanation(s, findings, facts, status)) for s in symptoms]
    by_message = {s.id: s.explained_by for s in reversed(made) if s.explained_by and s.causes}
    return tuple(replace(s, explained_by=s.explained_by or by_message.get(s.id)) for s in made)


def _explanation(symptom: Symptom, findings: Sequence[Finding], facts: Facts, status: Mapping[str, str]) -> str | None:
    for finding in findings:
        guess = finding.severity == "note" and finding.confidence == "likely"  # explains nothing graver than itself
        if (finding.id in symptom.causes or _rests_on(finding, symptom)) and not (guess and symptom.kind != "program"):
            return finding.id
    for finding in findings:
        if finding.severity == "fault" and set(_consequences(finding.id)) & {*symptom.causes}:
            return finding.id
    if symptom.kind == "program":
        return PROGRAM
    of_vendor = [a for a in accelerators(facts) if a.vendor == symptom.subject]
    enough = ("proven", "used") if is_warning(symptom) else ("proven",)
    if symptom.kind == "no-device" and of_vendor and all(a.state in enough for a in of_vendor):
        return WORKS
    listed = accelerators(facts)
    if _complains(symptom) and listed and all(a.state in ("proven", "used", "aside") for a in listed):
        return WORKS
    if symptom.source in TOOLS and listed and all(a.state in ("proven", "aside") for a in listed):
        return WORKS
    if symptom.causes and is_warning(symptom) and all(status.get(id) == "passed" for id in symptom.causes):
        return REFUTED
    return None


def _complains(symptom: Symptom) -> bool:
    """Whether a person, not a program, says that the GPU is not used: what torch answers outranks that."""
    return symptom.id in ("complaint-gpu-unused", "complaint-runs-on-cpu")


def _rests_on(finding: Finding, symptom: Symptom) -> bool:
    """Whether the finding quotes what the symptom says. An erratum quotes the line in which the version stands."""
    if finding.id in ONLY_TOLD:
        return False
    said = symptom.text[:200]
    return any(said and (said in e.quote or said in e.value) for e in finding.evidence)


def _consequences(id: str) -> Iterable[str]:
    """The ids that a diagnosis brings along or stands in for, and those that these bring along."""
    seen: list[str] = []
    todo = [id]
    while todo:
        check = check_of(todo.pop())
        for other in (*check.explains, *check.instead_of) if check else ():
            if other not in seen and other != PROGRAM_ERROR:
                seen.append(other)
                if check and other in check.explains:
                    todo.append(other)
    return seen


# ---- hypotheses


def weighed(symptom: Symptom, status: Mapping[str, str], facts: Facts) -> list[Hypothesis]:
    """The causes of a symptom that are not ruled out, by weight: how often each was behind it (table causes), its place
    in the row, and how well it fits these facts."""
    causes = enumerate(symptom.causes)
    usual = {id: lookup.times_behind(symptom.id, symptom.subject, id) + 0.5 ** min(place, 4) for place, id in causes}
    return weigh(usual, symptom, status, facts)


def weigh(usual: Mapping[str, float], symptom: Symptom, status: Mapping[str, str], facts: Facts) -> list[Hypothesis]:
    """Hypotheses about a symptom from how often each diagnosis is usually behind it, any unit: less what is ruled out,
    and times how well each fits these facts."""
    weights: dict[str, tuple[float, Fit | None]] = {}
    known = {gpu.vendor for gpu in facts.gpus or ()}
    for id, weight in usual.items():
        check = check_of(id) if status.get(id) != "passed" else None
        if check is None:
            continue
        fit = check.fits(facts) if check.fits else None
        weight *= fit.factor if fit else 1.0
        if known and check.keeps_from and known.isdisjoint(check.keeps_from):
            weight *= OF_ANOTHER_VENDOR
        if weight > 0:
            weights[id] = (weight, fit)
    whole = sum(w for w, _ in weights.values())
    made = []
    for id, (weight, fit) in weights.items():
        check = check_of(id)
        assert check is not None
        asks = questions.ranked({id: (1.0, missing(check, facts))}, facts)
        made.append(
            Hypothesis(
                symptom=symptom.id,
                id=id,
                weight=round(weight / whole, 3),
                speaks_for=(fit.why,) if fit and fit.factor > 1 else (),
                speaks_against=(fit.why,) if fit and fit.factor < 1 else (),
                would_settle=(asks[0].command or asks[0].text) if asks else "",
            )
        )
    return sorted(made, key=lambda h: -h.weight)


def missing(check: Check, facts: Facts) -> tuple[str, ...]:
    """The needs of a check that are not known."""
    return tuple(need for need in check.needs if not is_known(facts, need))


def _leader(hypotheses: Sequence[Hypothesis]) -> Hypothesis | None:
    if not hypotheses or hypotheses[0].weight < LEADS:
        return None
    if len(hypotheses) > 1 and hypotheses[0].weight < LEADS_BY * hypotheses[1].weight:
        return None
    if len(hypotheses) == 1 and hypotheses[0].speaks_against:
        return None  # to be the only candidate is no evidence
    return hypotheses[0]


def _likely(
    hypotheses: Mapping[Symptom, Sequence[Hypothesis]], findings: Sequence[Finding], facts: Facts
) -> tuple[Finding, ...]:
    """For each symptom left over that has a leading hypothesis, its finding; each diagnosis once. What a message says
    comes first, and what can explain another symptom, too, is not joined by a second guess."""
    made: dict[str, Finding] = {}
    known = isinstance(facts.torch, Torch) and facts.torch.version
    elsewhere = not known and any(error.pattern == OF_ANOTHER_FRAMEWORK for error in facts.errors)
    for symptom, about in sorted(hypotheses.items(), key=lambda of: of[0].line is None):
        leader = _leader(about)
        if elsewhere and symptom.kind == "no-device":
            continue  # TensorFlow's complaint says nothing of torch
        if any(h.id in made for h in about):
            continue
        if leader and (symptom.line is not None or leader.speaks_for or len(about) == 1):  # no mere elimination
            made.setdefault(leader.id, likely(leader, symptom, facts))
    return tuple(f for id, f in made.items() if id not in {f.id for f in findings})


def likely(hypothesis: Hypothesis, symptom: Symptom, facts: Facts) -> Finding:
    """The finding of a hypothesis that leads: what it is concluded from, and what would settle it."""
    check = check_of(hypothesis.id)
    assert check is not None
    because = f" {hypothesis.speaks_for[0][0].upper()}{hypothesis.speaks_for[0][1:]}." if hypothesis.speaks_for else ""
    said = symptom.text if symptom.id == "accelerator-unused" else f"«{symptom.text[:160]}»"
    return check.found(
        facts,
        f"Concluded from {said.rstrip('.')}.{because}",
        evidence=(
            Evidence(fact="message", value=symptom.text, source=symptom.place, quote=symptom.text),
            *check.needs_shown(facts),
        ),
        remedies=check.usual,
        confidence="likely",
        would_settle=hypothesis.would_settle or None,
    )


# ---- what is left to the program


def _programs_own(symptoms: Sequence[Symptom], findings: Sequence[Finding], facts: Facts) -> Finding | None:
    """The finding that the error is the program's own, of a text in which nothing else is found: an exception of the
    program, or, where torch is shown to use every accelerator, a complaint that speaks of no device. What no reader
    understood still keeps it from being called healthy."""
    check = check_of(PROGRAM_ERROR)
    assert check is not None
    if facts.live or any(f.severity != "note" and f.id not in ONLY_TOLD for f in findings):
        return None
    if any(s.explained_by is None and (s.causes or not _is_elsewhere(s.text)) for s in symptoms):
        return None
    rows = [
        s.text
        for s in symptoms
        if (s.explained_by == PROGRAM and s.id != "exception") or (s.explained_by == WORKS and _complains(s))
    ]
    if not rows and not symptoms and wants_no_gpu(facts):
        rows = [e.text for e in facts.errors if e.pattern == "wants-to-do-without-gpu"]
    said = rows or [s.text for s in symptoms if s.explained_by in (None, PROGRAM) and _is_elsewhere(s.text)]
    because = ""
    if not said and (listed := accelerators(facts)) and all(a.state in ("used", "aside") for a in listed):
        remarks = [e.text for e in facts.errors if e.pattern == REMARK]
        said = remarks if all(_is_elsewhere(text) for text in remarks) else []
        because = " torch uses the GPU here."
    if not said:
        return None
    return check.found(
        facts,
        f"«{said[0][:160].rstrip('.')}» is said where nothing is wrong with torch."
        if rows
        else f"«{said[0][:160].rstrip('.')}» speaks of no device and of no library of torch's.{because}",
        evidence=("torch.version", "torch.cuda_available"),  # what is not understood is not explained by being quoted
        remedies=check.usual,
        confidence="likely",
    )


_OF_A_DEVICE = Regex(
    r"torch|cuda|\bgpus?\b|nvidia|driver|rocm|\bhip|\bmps\b|\bxpu\b|device|kernel|cudnn|cublas|nccl|memory|\boom\b|"
    r"segmentation|segfault|kill|\bdie[sd]?\b|crash|dump|signal|hang|hung|freez|stuck|disconnect|"
    r"reboot|shuts? ?down|slow|\bnan\b|wrong|black|noise|"
    r"garbage|librar|\bdlls?\b|\.so\b|symbol|\bmodules?\b|import|install|wheel|numpy|python|illegal|"
    r"instruction|exit(?:ed)? ",
    re.IGNORECASE,
)


def _is_elsewhere(text: str) -> bool:
    """Whether a message names nothing that the environment could be at fault for."""
    return _OF_A_DEVICE.search(text) is None


# ---- an accelerator that nothing explains


def _unusable(symptoms: Iterable[Symptom], findings: Sequence[Finding], facts: Facts) -> Finding | None:
    """The GPU that is there, that the build has code for, whose driver answers, and that torch still does not use: on
    a live machine, where everything else was looked at, that is a fault of its own."""
    from doctor.checks.torch.accelerator_unusable import check, what_to_try

    torch = facts.torch
    left = [s for s in symptoms if s.id == "accelerator-unused" and s.explained_by is None]
    if not left or not facts.live or not isinstance(torch, Torch) or not torch.imports:
        return None
    gpus = [a for a in accelerators(facts) if a.state == "unused" and a.vendor in {s.subject for s in left}]
    return check.found(
        facts,
        f"{_names(gpus)} {'is' if len(gpus) == 1 else 'are'} there, torch {torch.version or ''} imports and does not "
        "use it, and none of the known causes was found.".replace("  ", " "),
        evidence=(*(Evidence(fact="gpu", value=a.label) for a in gpus[:4]), *_seen_of_driver(facts, gpus)),
        remedies=what_to_try(gpus[0].vendor, facts) if gpus else check.usual,
        gpu=gpus[0].label if gpus else None,
    )


def _names(gpus: Sequence[Accelerator]) -> str:
    if not gpus:
        return "A GPU"
    first = gpus[0].label[0].upper() + gpus[0].label[1:]
    return first if len(gpus) == 1 else f"{first} and {len(gpus) - 1} more"


def _seen_of_driver(facts: Facts, gpus: Sequence[Accelerator]) -> Iterable[Evidence | str]:
    vendors = {a.vendor for a in gpus}
    if "nvidia" in vendors:
        yield from ("nvidia.driver", "nvidia.kernel_module", "nvidia.cuinit", "nvidia.smi_error", "nvidia.device_nodes")
        for source in facts.nvidia.sources:
            yield Evidence(fact=source.name, value=source.status, source=source.name, quote=source.message)
    if "amd" in vendors:
        yield from ("amd.kernel_driver", "amd.kfd", "amd.kfd_accessible", "amd.render_accessible", "amd.rocm")
    if "intel" in vendors:
        yield from ("intel.kernel_driver", "intel.level_zero", "intel.render_accessible")
    yield from ("torch.version", "torch.cuda_error", "torch.arch_list", "host.container")
    yield "environ.CUDA_VISIBLE_DEVICES"


# ---- what to ask


def questions_about(
    symptoms: Sequence[Symptom], hypotheses: Sequence[Hypothesis], findings: Sequence[Finding], facts: Facts
) -> tuple[Question, ...]:
    """What to ask, the most telling first. Nothing where a fault that is certain explains everything."""
    kinds = {s.id: s.kind for s in symptoms}
    wanted: dict[str, tuple[float, Iterable[str]]] = {}
    for number, hypothesis in enumerate(hypotheses):
        check = check_of(hypothesis.id)
        if check and (lacking := missing(check, facts)):
            heard = f"messages/{kinds.get(hypothesis.symptom, 'unknown')}"
            needs = tuple(heard if need == "messages" else need for need in lacking)
            wanted[f"{number} {hypothesis.id}"] = (hypothesis.weight, needs)
    for finding in findings:
        check = check_of(finding.id)
        if finding.confidence == "likely" and finding.severity == "fault" and check:
            wanted[finding.id] = (0.5, missing(check, facts))
    without_fault = not any(f.severity == "fault" for f in findings)
    if without_fault:
        share = UNPROVEN_BESIDE if wanted else 1.0
        wanted |= {name: (weight * share, needs) for name, (weight, needs) in _unproven(facts, symptoms).items()}
    asks = questions.ranked(wanted, facts)[:ASKED]
    if not asks and without_fault:
        asks = (questions.ERROR, questions.COLLECT_ENV)
    return tuple(questions.question(ask) for ask in asks)


def _unproven(facts: Facts, symptoms: Sequence[Symptom]) -> dict[str, tuple[float, Iterable[str]]]:
    """What health could not be proven without: whether torch imports and uses each accelerator; and, where a text
    holds no failure at all, what went wrong."""
    torch = facts.torch if isinstance(facts.torch, Torch) else None
    lacking: dict[str, tuple[float, Iterable[str]]] = {}
    unknown = {a.vendor for a in accelerators(facts) if a.state == "unknown"}
    if unknown & {"nvidia", "amd"}:
        lacking["cuda"] = (2.0, ("torch.cuda_available",))
    if "apple" in unknown:
        lacking["mps"] = (2.0, ("torch.mps_available",))
    if torch is None or torch.version is None:
        lacking["torch"] = (0.6, ("torch.version", "torch.imports"))
    if facts.gpus is None:
        lacking["gpus"] = (0.4, ("gpus",))
    if not facts.live and not any(s.kind != "program" for s in symptoms):
        lacking["errors"] = (1.0, ("messages",))
    if not facts.live and any(s.id in ("unknown-message", "exception") and not s.explained_by for s in symptoms):
        lacking["message"] = (1.5, ("messages",))
    return lacking
