"""START HERE: several texts of one machine -> Facts.

Besides the patterns of doctor/knowledge ("no-kernel-image" …) these are noted as ErrorText:
  * "exception": the last line of a Python traceback; groups (type, message), path: the file that raised it;
  * "line": a line that speaks of a failure and that no pattern knows;
  * "warning": a warning of a live `import torch` that no pattern knows, see doctor/facts/said.py;
  * "remark": a line that no reader understood and that may say that something is wrong, see remarks.py;
  * "statement": where there is no remark, the first sentence of a person that was not understood, see remarks.py;
  * "mps-differs", "mps-memory-grows": measurements on MPS, see mps.py;
  * "peer-copy-differs", "gpu-lost-by-install": what somebody tried twice, see experiments.py;
  * "container-run": a `docker run` command line; groups: its flags that matter (--gpus all, --shm-size 8g, --device
    /dev/kfd).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from types import ModuleType

from doctor.evidence import (
    amd_intel,
    collect_env,
    experiments,
    inference,
    installs,
    machine,
    machines,
    makers,
    messages,
    mps,
    nvidia,
    operations,
    own_report,
    packages,
    prose,
    pythons,
    releases,
    remarks,
    settling,
    signs,
    systems,
    threads,
    tracebacks,
    transcript,
)  # fmt: skip
from doctor.evidence.notes import Notes
from doctor.evidence.text import Document, document
from doctor.model.facts import Facts, Gap
from doctor.model.report import Other
from doctor.model.values import dataclass

UNREAD_AT_MOST = 200
READERS = (
    collect_env,
    machine,
    systems,
    nvidia,
    amd_intel,
    packages,
    installs,
    transcript,
    mps,
    experiments,
    messages,
    tracebacks,
    pythons,
    operations,
    signs,
    threads,
    makers,
    prose,
    releases,
    inference,
)

OF_A_MACHINE = tuple(one for one in READERS if one not in (operations, signs, threads))  # what tells machines apart


@dataclass(frozen=True, kw_only=True)
class Seen:
    """What was read. `recognised`: how many facts and messages; 0 means that the evidence speaks of no machine.
    `words`: the texts of the machine that the facts are of, as they were read."""

    facts: Facts
    others: tuple[Other, ...] = ()
    unread: tuple[str, ...] = ()
    recognised: int = 0
    words: str = ""
    limits: tuple[str, ...] = ()  # of a report of ours: the options by which its user had limited it


def read(texts: Iterable[tuple[str, bytes]]) -> Seen:
    """Read the texts of one machine: (name, content) each. Pure; raises nothing for any content."""
    texts = tuple(texts)
    for place, (name, data) in enumerate(texts):
        if (own := own_report.read(data)) is not None:
            beside = (*texts[:place], (name, own.outside.encode("utf-8", "replace")), *texts[place + 1 :])
            return _with_words(own, tuple(one for one in beside if one[1].strip()))
    return _read(texts)


def _with_words(own: own_report.Own, texts: tuple[tuple[str, bytes], ...]) -> Seen:
    """A report of ours, and what somebody wrote beside it: its facts stay, and what is said of a failure is added."""
    texts = tuple((name, data) for name, data in ((n, _without_reports(d)) for n, d in texts) if data.strip())
    if not texts:
        return Seen(facts=own.facts, recognised=1, limits=own.limits)
    seen = _read(texts)
    facts, said = own.facts, seen.facts
    known = {(error.pattern, error.text) for error in facts.errors}
    gaps = (gap for gap in said.gaps if gap.fact.partition(".")[0] == "evidence")
    facts = replace(
        facts,
        errors=(*facts.errors, *(e for e in said.errors if (e.pattern, e.text) not in known)),
        attempts=(*facts.attempts, *(a for a in said.attempts if a not in facts.attempts)),
        operations=tuple(dict.fromkeys((*facts.operations, *said.operations))),
        threads=tuple(dict.fromkeys((*facts.threads, *said.threads))),
        signs=tuple(dict.fromkeys((*facts.signs, *said.signs))),
        gaps=(*facts.gaps, *gaps),
    )
    return replace(seen, facts=facts, limits=own.limits, recognised=seen.recognised + 1)


def _without_reports(data: bytes) -> bytes:
    """What stands beside further reports of ours in a text; they are not read, for the first one counts."""
    for _ in range(own_report.BLOCKS_AT_MOST):
        if (own := own_report.read(data)) is None:
            return data
        data = own.outside.encode("utf-8", "replace")
    return b""


def _read(texts: tuple[tuple[str, bytes], ...]) -> Seen:
    documents = [document(name, data) for name, data in texts]
    long = [
        Gap(fact="evidence", reason="not-looked", detail=one.left_out, source=one.name)
        for one in documents
        if one.left_out
    ]
    long += [
        Gap(fact="evidence", reason="unreadable", detail=own_report.CUT, source=name)
        for name, data in texts
        if own_report.is_cut(data)
    ]
    notes = take_notes(documents)
    chosen, others, crashed = documents, tuple[Other, ...](), Notes()

    def tell_apart() -> None:
        nonlocal chosen, others
        if machines.may_be_several(documents, notes, settle):
            chosen, others = machines.choose(documents, partial(take_notes, readers=OF_A_MACHINE))

    _guarded("machines", tell_apart, crashed)
    if chosen is not documents:
        notes = take_notes(chosen)
    notes.gaps.update(crashed.gaps)
    _guarded("remarks", lambda: notes.remarks.extend(remarks.read(chosen, notes)), notes)
    facts = notes.facts()
    gaps = (*facts.gaps, *long)
    return Seen(
        facts=replace(facts, gaps=gaps) if long else facts,
        others=others,
        unread=(*(gap.detail for gap in gaps if gap.fact.startswith("evidence")), *_unread(chosen, notes)),
        recognised=notes.recognised,
        words="\n".join(one.text for one in chosen),
    )


def take_notes(documents: list[Document], readers: Iterable[ModuleType] = READERS) -> Notes:
    """The readers over all documents, then what follows from the whole."""
    notes = Notes(several=len({d.name for d in documents}) > 1)
    for one in documents:
        notes.document = one
        for reader in readers:
            _guarded(reader.__name__, partial(reader.read, one, notes), notes)
    notes.document = Document("", "", ())
    settle(notes)
    return notes


def settle(notes: Notes) -> None:
    """What follows from all that was noted."""
    for step in settling.STEPS:
        _guarded(f"settling.{step.__name__}", partial(step, notes), notes)


def _guarded(name: str, work: Callable[[], None], notes: Notes) -> None:
    """A reader that fails is a Gap: what the others read is worth having."""
    try:
        work()
    except Exception as error:
        name = name.rpartition(".")[2]
        said = f"{notes.document.name or 'the text'} could not be read in full: {name}: {type(error).__name__}: {error}"
        notes.gap(f"evidence.{name}", said[:300], reason="crashed")


def _unread(documents: list[Document], notes: Notes) -> tuple[str, ...]:
    """Lines that no reader understood, quoted."""
    found: list[str] = []
    for one in documents:
        for i, line in enumerate(one.lines):
            if any(c.isalnum() for c in line) and (one.name, i) not in notes.understood:
                found.append(line.strip()[:200])
                if len(found) == UNREAD_AT_MOST:
                    return tuple(found)
    return tuple(found)
