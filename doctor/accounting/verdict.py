"""The verdict is earned. Pure.

`faulty`: a fault was found. `healthy`: none, torch imports, every accelerator is used by torch (live: its probe
passed; in a text: it is shown in use) or a finding says why it cannot be, and nothing that speaks of a failure of the
environment is left over. `unknown`: everything else, with the reasons.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Literal

from doctor.accounting.account import Account
from doctor.checks import is_programs_own
from doctor.checks._accelerators import Accelerator, accelerators, torch_runs
from doctor.knowledge.messages import harmless_row
from doctor.model.facts import ABSENT, REMARK, STATEMENT, Absent, Facts, ProbeResult, Torch
from doctor.model.finding import OPEN_IF_NOTED, Outcome
from doctor.model.values import dataclass

Value = Literal["healthy", "faulty", "unknown"]


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """`unproven`: why it is not healthy though no fault was found, a clause each."""

    value: Value
    unproven: tuple[str, ...] = ()


def verdict(facts: Facts, account: Account, outcomes: Iterable[Outcome], limits: tuple[str, ...] = ()) -> Verdict:
    """What the account comes to. A judgement that the user limited (`limits`) is never one of the whole: without a
    fault it is `unknown`, and nothing is unproven where all that was asked has an answer."""
    if any(f.severity == "fault" for f in account.findings):
        return Verdict(value="faulty")
    if any(limit.startswith("--only") for limit in limits):
        skipped = (o for o in outcomes if o.status in ("skipped", "crashed"))
        asked = (f"{o.id} cannot be judged: {o.reason}" for o in skipped)
        return Verdict(value="unknown", unproven=(*asked, *_not_known_to_be_met(account)))
    unproven = tuple(
        dict.fromkeys((*_unproven(facts, account, limited=bool(limits)), *_not_known_to_be_met(account)))
    )
    return Verdict(value="unknown" if unproven or limits else "healthy", unproven=unproven)


def _not_known_to_be_met(account: Account) -> Iterator[str]:
    """What --require demands, and nobody can tell."""
    for finding in account.findings:
        if finding.id in OPEN_IF_NOTED and finding.severity == "note":
            yield finding.detail.rstrip(".")


def _unproven(facts: Facts, account: Account, *, limited: bool) -> Iterator[str]:
    torch = facts.torch
    if isinstance(torch, Absent):
        yield "torch is not installed"
        return
    if torch is None or torch.version is None:
        yield "which torch is installed is not known"
        return
    if torch.imports is False:
        yield "torch does not import"
        return
    if not torch_runs(facts):
        yield "whether torch imports is not known"
    explained = {s.subject for s in account.symptoms if s.id == "accelerator-unused" and s.explained_by}
    listed = accelerators(facts)
    for one in listed:
        if one.state == "unused" and one.vendor not in explained:
            yield f"why torch does not use {one.label} is not known"
        elif one.state == "unknown":
            yield f"whether torch uses {one.label} is not known"
    if not listed and not facts.live and not _no_gpu_expected(facts, torch):
        yield "whether there is a GPU that torch should use is not known"
    if facts.live and not limited:
        yield from _not_probed(facts, listed)
    for symptom in account.left_over:
        if symptom.id not in ("accelerator-unused", "cuda-not-available"):
            yield f"«{symptom.text[:120]}» is not explained"
    guessed = {f.id for f in account.findings if f.confidence == "likely" and not is_programs_own(f.id)}
    for symptom in account.symptoms:
        grave = symptom.kind in ("compute", "memory") and symptom.explained_by in guessed and not facts.live
        if (symptom.id.startswith("complaint-") and symptom.explained_by) or grave:  # a likely cause is no proof
            yield f"«{symptom.text[:120]}» may have another cause"
    yield from _not_understood(facts)


def _not_understood(facts: Facts) -> Iterator[str]:
    """Of a text, also one that somebody wrote beside a report: the lines that may say that something is wrong, and what
    was not read at all."""
    for error in facts.errors:
        if error.pattern in (REMARK, STATEMENT):
            yield f"«{error.text[:120]}» was not understood"
        elif not facts.live and (row := harmless_row(error.pattern)) and row.doubtful:
            yield f"«{error.text[:120]}» is harmless only if the program went on"
    for gap in facts.gaps:
        if gap.fact.partition(".")[0] == "evidence":
            yield gap.detail or "a part of the text was not read"


def _no_gpu_expected(facts: Facts, torch: Torch) -> bool:
    """Whether a text that names no GPU leaves no doubt: the bus was listed, no driver was found, or it is a CPU build
    that somebody chose."""
    return facts.gpus == () or facts.nvidia.driver is ABSENT or "+cpu" in (torch.version or "")


def _not_probed(facts: Facts, listed: tuple[Accelerator, ...]) -> Iterator[str]:
    """Live: every device that torch lists must have passed its probe."""
    if facts.probes is None:
        gap = next((g for g in facts.gaps if g.fact == "probes"), None)
        yield f"nothing was probed: {gap.detail or gap.reason}" if gap else "nothing was probed"
        return
    for probe in facts.probes:
        if probe.status == "skipped" and probe.stage:
            yield f"{probe.device} was not probed: {probe.reason}"
        elif probe.status == "ok" and not _computed(probe):
            yield f"{probe.device} was not probed: its child said nothing of it"
    probed = {p.device for p in facts.probes}
    for one in listed:
        if one.state == "used" and one.device and one.device not in probed:
            yield f"{one.device} was not probed"
    if not probed:
        yield "nothing was probed"


def _computed(probe: ProbeResult) -> bool:
    """Whether a result was compared with its reference: the words «ok» and «done» alone prove nothing. Copies between
    GPUs are compared with what was copied."""
    return any(stage.name in ("correct", "peers") and stage.ok for stage in probe.stages)
