"""What people measure on MPS and paste: results that differ from the CPU's, memory that grows.

Noted as ErrorText of pattern "mps-differs" (groups: what was compared, how much) and "mps-memory-grows" (groups:
operation,
bytes kept).
"""

from __future__ import annotations

import re
from itertools import islice, pairwise

from doctor.evidence.blocks import commands
from doctor.evidence.notes import Notes
from doctor.evidence.text import Document
from doctor.regex import Regex

SOURCE = "transcript"
RELATIVE = 1e-2  # a difference that no precision of fp32 explains
RATIO = 10.0
KEPT_BYTES = 100 << 20
_TENSORS_AT_MOST = 100

_NUMBER = Regex(r"[-+]?(?:\d+\.\d*|\.\d+|\d+)(?:[eE][-+]?\d+)?|\bnan\b|\binf\b")
_LABELLED = Regex(
    r"[ \t\-*>]{0,40}(?P<label>[^:=]{0,60}?\b(?P<device>cpu|mps)\b[^:=]{0,40}?)[ \t]{0,20}[:=][ \t]*(?P<value>\S.*)$",
    re.I,
)
_MEASURED = Regex(
    r"\bmax(?:imum)?[ _.]?(?:abs(?:olute)?[ _.]?)?(?P<kind>ratio|diff(?:erence)?|error|err)\w*[ \t]{0,40}(?:[:=(]"
    r"[ \t]{0,40})?(?:tensor\()?(?P<value>(?:\d+(?:\.\d*)?|\.\d+)(?:e[-+]?\d+)?|nan)",
    re.I,
)
_COMPARED = Regex(r"\.abs\(\)\.(?:max|mean)\(\)|\babs\(|allclose\(|torch\.equal\(|\.eq\(|isclose\(|==")
_NOT_CLOSE = Regex(
    r"\ball[ _]?close\b[ \t]*[:=?][ \t]*False\b|(?:Tensor-likes|Scalars|Tensors) are not (?:close|equal)!?[^\n]{0,200}"
)
_COUNTED = Regex(
    r"\b([1-9]\d*)[ \t]*/[ \t]*\d+[ \t]+(?:elements?|values?|entries)[ \t]+(?:are[ \t]+)?"
    r"(?:wrong|different|differ|mismatched|incorrect)\b|\bMismatched elements: ([1-9]\d*) / \d+",
)
_TENSOR = Regex(
    r"tensor\((\[[^()]{1,2000}?\])(?:,\s*device='(cpu|mps)[:\d]*')?(?:,[^()\[\]]{0,60})?\)"
)
_BEFORE_AFTER = Regex(
    r"^[ \t]{0,20}(?P<what>[\w.]{1,60}(?![\w.]))?[^\n]{0,60}?memory[^\n]{0,20}?\bbefore[ \t:=]+(?P<before>\d{6,})[^"
    r"\n]{0,20}?\bafter[ \t:=]+(?P<after>\d{6,})",
    re.M,
)
_SERIES = Regex(
    r"(?P<what>driver_allocated_memory|current_allocated_memory|driver allocated|mps memory|allocated memory)"
    r"[^\n\d]{0,30}(?P<value>\d+(?:\.\d+)?)[ \t]*(?P<unit>[KMG]i?B)?",
    re.I,
)
_SAID = Regex(
    r"^[^\n]{0,200}\b(?:memory (?:leak|usage (?:keeps )?(?:grow|increas)|(?:keeps |constantly )?(?:grow|increas)))[^"
    r"\n]{0,200}$",
    re.M | re.I,
)
_UNITS = {None: 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


def read(document: Document, notes: Notes) -> None:
    """Note measurements on MPS that show a fault."""
    if "mps" not in document.lower:
        return
    if document.has("cpu", "abs()", "allclose", "all close", "not close", "tensor(", "elements"):
        _differences(document, notes)
    if "memory" in document.lower:
        _memory(document, notes)


def _note(pattern: str, document: Document, notes: Notes, at: int, *groups: str) -> None:
    line = document.line_at(at)
    notes.message(pattern, document.lines[line].strip(), SOURCE, line, groups=groups)


def numbers_of(said: str) -> list[float]:
    """The numbers in a printed result."""
    return [float(n) for n in _NUMBER.findall(said)]


def differ(first: str, second: str) -> bool:
    """Whether two printed results differ by more than rounding: a NaN on one side, or some number by more than
    RELATIVE.

    >>> differ("tensor([1.0000, 2.0000])", "tensor([1.0001, 2.0000], device='mps:0')"), differ("tensor(3.1)",
    "tensor(nan)")
    (False, True)
    """
    one, two = (numbers_of(re.sub(r"device='[^']*'|dtype=[\w.]+|mps:\d", "", said)) for said in (first, second))
    if not one or len(one) != len(two) or len(one) > 10_000:
        return False
    for a, b in zip(one, two, strict=True):
        if (a != a) != (b != b):
            return True
        if abs(a - b) > RELATIVE * max(abs(a), abs(b), 1.0):
            return True
    return False


def _differences(document: Document, notes: Notes) -> None:
    text = document.text
    rows = [
        (
            m["device"].lower(),
            re.sub(r"\b(?:cpu|mps)\b", "", m["label"], flags=re.I).strip(" .-_'\"").lower(),
            m["value"],
            at,
        )
        for at, line in zip(document.starts, document.lines, strict=True)
        if ("mps" in (low := line.lower()) or "cpu" in low) and (m := _LABELLED.match(line))
    ]
    for (device, label, value, _), (other, its, said, at) in pairwise(rows):
        if (
            {device, other} == {"cpu", "mps"}
            and label == its
            and not re.search(r"available|built|version|time|sec|it/s|ms\b|speed", label)
            and differ(value, said)
        ):
            _note("mps-differs", document, notes, at, label, said[:80])
    if "max" in document.lower and re.search(r"\bcpu\b", document.lower):
        for m in _MEASURED.finditer(text):
            value = float(m["value"])
            if value != value or value > (RATIO if m["kind"].lower() == "ratio" else RELATIVE):
                _note("mps-differs", document, notes, m.start(), m["kind"].lower(), m["value"])
                break
    for m in _COUNTED.finditer(text):
        _note("mps-differs", document, notes, m.start(), "elements", m[1] or m[2])
        break
    _tensors(document, notes)
    for m in _NOT_CLOSE.finditer(text):
        _note("mps-differs", document, notes, m.start(), "assert_close", "")
    session = [c for c in commands(document) if c.kind == "python"]
    if not any("mps" in c.text for c in session):
        return
    for command in session:
        if not _COMPARED.search(command.text):
            continue
        said = next((s for s in command.output() if s), "")
        numbers = numbers_of(said)
        if (
            said == "False"
            or said.startswith("tensor(False")
            or (said.startswith("tensor(") and "abs()" in command.text and any(n != n or n > RELATIVE for n in numbers))
        ):
            _note("mps-differs", document, notes, document.starts[command.line], command.text[:80], said[:80])


def _tensors(document: Document, notes: Notes) -> None:
    """Printed tensors: one on MPS of nothing but zeros or with NaN where the CPU's is not, or several on MPS of which
    some agree with the CPU's and some do not."""
    found = [
        (m[2] or "cpu", numbers_of(m[1]), m.start())
        for m in islice(_TENSOR.finditer(document.text), _TENSORS_AT_MOST)
    ]
    reference = [v for device, v, _ in found if device == "cpu" and len(v) > 1 and any(v)]
    measured = [(v, at) for device, v, at in found if device == "mps"]
    agree = [any(_same(v, r) for r in reference) for v, _ in measured]
    for (values, at), right in zip(measured, agree, strict=True):
        if right or not any(len(r) == len(values) for r in reference):
            continue
        empty = not any(values) and "zeros(" not in document.text
        if empty or any(v != v for v in values) or any(agree):
            _note("mps-differs", document, notes, at, "tensor", document.text[at : at + 80])
            return


def _same(one: list[float], two: list[float]) -> bool:
    return len(one) == len(two) and all(
        (a != a and b != b) or abs(a - b) <= RELATIVE * max(abs(a), abs(b), 1.0) for a, b in zip(one, two, strict=True)
    )


def _memory(document: Document, notes: Notes) -> None:
    for m in _BEFORE_AFTER.finditer(document.text):
        kept = int(m["after"]) - int(m["before"])
        if kept > KEPT_BYTES:
            _note("mps-memory-grows", document, notes, m.start(), m["what"] or "", str(kept))
            return
    series: dict[str, list[tuple[float, int]]] = {}
    for m in _SERIES.finditer(document.text):
        size = float(m["value"]) * _UNITS[(m["unit"] or " ")[0].strip().upper() or None]
        series.setdefault(m["what"].lower(), []).append((size, m.start()))
    for what, found in series.items():
        values = [v for v, _ in found]
        if (
            len(values) >= 4
            and all(b >= a for a, b in pairwise(values))
            and values[-1] > 1.5 * values[0]
            and values[-1] - values[0] > KEPT_BYTES
        ):
            _note("mps-memory-grows", document, notes, found[-1][1], what, str(round(values[-1] - values[0])))
            return
    if "out of memory" not in document.lower and (said := _SAID.search(document.text)):
        _note("mps-memory-grows", document, notes, said.start(), "", "")
