"""The last words of a report: the sentence of the verdict, and what is left unexplained."""

from __future__ import annotations

from doctor.checks import is_programs_own
from doctor.checks._accelerators import accelerators
from doctor.model.facts import Gpu, StartFailure, Torch
from doctor.model.finding import ONLY_TOLD
from doctor.model.report import Report
from doctor.model.symptom import RESEMBLES, Hypothesis, Symptom
from doctor.model.values import dataclass
from doctor.reports.layers import available
from doctor.reports.words import gpu_names, nothing_recognised


def sentence(report: Report) -> str:
    """The one sentence at the end. It names what was found, so that it can stand alone."""
    found = {s: [f.id for f in report.findings if f.root and f.severity == s] for s in ("fault", "warning")}
    warnings = _counted([id for id in found["warning"] if id not in ONLY_TOLD], "warning")
    if report.verdict == "faulty":
        faults = _counted(found["fault"], "fault") or "a fault"
        return f"{faults}; {warnings}." if warnings else f"{faults}."
    also = f" ({warnings})" if warnings else ""
    if report.verdict == "unknown" and not report.is_open:
        return f"No fault in what was asked for ({', '.join(report.limits)}){also}; the rest was not judged."
    if report.verdict == "unknown":
        return f"No verdict{also}: {_why_no_verdict(report)}."
    start = f"No fault, but {warnings}" if warnings else "Nothing is wrong"
    if found["warning"] and not warnings:
        start = "No fault, but known errata"
    return f"{start}: {_what_works(report)}.{_programs_own(report)}"


def _counted(ids: list[str], noun: str) -> str:
    """ "2 faults: torch-missing, gpu-hidden"; "" for none."""
    names = list(dict.fromkeys(ids))
    return f"{len(ids)} {noun}{'s' if len(ids) > 1 else ''}: {', '.join(names)}" if ids else ""


def _programs_own(report: Report) -> str:
    own = next((s for s in report.symptoms if is_programs_own(s.explained_by)), None)
    if own is None:
        return ""
    where = f" (line {own.line})" if own.line else ""
    said = own.text if len(own.text) <= 100 else own.text[:99] + "…"
    return f" The error «{said}»{where} is the program's own, not the environment's."


@dataclass(frozen=True)
class Open:
    """A symptom that nothing explains, with the hypotheses about it."""

    symptom: Symptom
    hypotheses: tuple[Hypothesis, ...]


def left_over(report: Report) -> tuple[Open, ...]:
    """The symptoms that nothing explains, each message once. None beside a fault: its fix comes first."""
    if report.verdict == "faulty":
        return ()
    left = {(s.id, s.subject): s for s in reversed(report.symptoms) if s.explained_by is None}
    return tuple(
        Open(s, tuple(h for h in report.hypotheses if h.symptom == s.id)[:4]) for s in reversed(list(left.values()))
    )[:4]


def not_explained(symptom: Symptom) -> str:
    """The heading of a symptom that is left over, without its place and without a full stop."""
    said = symptom.text if len(symptom.text) <= 160 else symptom.text[:159] + "…"
    return said if symptom.id == RESEMBLES else f"«{said.rstrip('.')}» is not explained"


def how_likely(hypothesis: Hypothesis) -> str:
    """A hypothesis's weight in one word."""
    return "likely" if hypothesis.weight >= 0.5 else "possible"


def why(hypothesis: Hypothesis, title: str) -> str:
    """What to say beside a hypothesis: what speaks for or against it, else what it is."""
    said = "; ".join((*hypothesis.speaks_for, *(f"but {a}" for a in hypothesis.speaks_against)))
    return said or title.rstrip(".")


def _why_no_verdict(report: Report) -> str:
    facts = report.facts
    if nothing_recognised(facts):
        return "nothing in this text was recognised"
    failure = facts.interpreter.start_failure
    if isinstance(failure, StartFailure):
        return f"the Python cannot be asked ({failure.message})"
    gap = next((g for g in facts.gaps if g.fact == "torch.imports" and g.detail), None)
    because = f" ({gap.detail})" if gap else ""
    reasons = list(report.unproven[:2]) or ["it is not known whether torch works"]
    more = len(report.unproven) - 2
    return "; ".join(reasons) + because + (f"; and {more} more" if more > 0 else "")


def _what_works(report: Report) -> str:
    facts = report.facts
    torch = facts.torch
    seen = "" if facts.live else "in what this text shows, "
    if not isinstance(torch, Torch):
        return f"{seen}no fault was found"
    works = [name for name, available in available(torch) if available]
    if works:
        in_use = [a for a in accelerators(facts) if a.state in ("proven", "used") and a.name]
        names = gpu_names(Gpu(vendor=a.vendor, name=a.name) for a in in_use)  # type: ignore[arg-type]
        if not names:
            names = gpu_names(Gpu(vendor="nvidia", name=d.name) for d in torch.devices or () if d.name)
        return f"{seen}torch can use the {names}" if names else f"{seen}torch can use {works[0]}"
    if facts.gpus == ():
        return f"{seen}torch works on the CPU; this machine has no GPU that it could use"
    if facts.gpus is None:
        return f"{seen}torch works on the CPU; whether there is a GPU is not known"
    return f"{seen}torch works on the CPU; it does not use the {gpu_names(facts.gpus)}"
