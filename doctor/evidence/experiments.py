"""What somebody tried twice, and what came of it: the outcomes are compared.

Noted as ErrorText: "peer-copy-differs" (groups: source, target): a tensor that arrives as zeros or NaN on another GPU,
and "gpu-lost-by-install" (groups: the command): torch saw the GPU before something was installed, and not afterwards.
Measurements on MPS: mps.py.
"""

from __future__ import annotations

from itertools import combinations, islice, pairwise

from doctor.evidence import installs
from doctor.evidence.mps import numbers_of
from doctor.evidence.notes import Notes
from doctor.evidence.text import Document
from doctor.regex import Regex

SOURCE = "transcript"
TENSORS_AT_MOST = 20
_TENSOR = Regex(r"tensor\((\[[^()]{1,2000}?\]),\s*device='cuda:(\d{1,3})'")
_COPY = Regex(r"\.(?:to|cuda|copy_)\(|device_put")
_ANSWER = Regex(r"\b(True|False)\b")
_ASKED = "cuda.is_available"
_BELOW = 3  # lines below the question in which its answer stands


def read(document: Document, notes: Notes) -> None:
    """Note the experiments of a text."""
    if document.has("device='cuda:"):
        _copies(document, notes)
    if document.has(_ASKED) and document.has("install", " add "):
        _installs(document, notes)


def _note(pattern: str, groups: tuple[str, ...], line: int, document: Document, notes: Notes) -> None:
    notes.message(pattern, document.lines[line].strip(), SOURCE, line, groups=groups)


def _copies(document: Document, notes: Notes) -> None:
    """A tensor of one GPU, and below it the same on another one, of nothing but zeros or with NaN."""
    if not _COPY.search(document.text):
        return
    found = [
        (m[2], numbers_of(m[1]), document.line_at(m.start()))
        for m in islice(_TENSOR.finditer(document.text), TENSORS_AT_MOST)
    ]
    for (source, sent, _), (target, arrived, line) in combinations(found, 2):
        if source == target or len(sent) != len(arrived) or not any(sent) or any(n != n for n in sent):
            continue
        if not any(arrived) or any(n != n for n in arrived):
            _note("peer-copy-differs", (source, target), line, document, notes)
            return


def _installs(document: Document, notes: Notes) -> None:
    """torch.cuda.is_available() is True, something is installed, and then it is False."""
    answers: list[tuple[int, bool]] = []
    for i, said in enumerate(document.lines):
        if _ASKED in said:
            for at in range(i, min(i + _BELOW, len(document.lines))):
                if m := _ANSWER.search(document.lines[at].rpartition(_ASKED)[2]):
                    answers.append((at, m[1] == "True"))
                    break
    for (first, before), (second, after) in pairwise(answers):
        if not before or after:
            continue
        for line in range(first + 1, second):
            if (parsed := installs.parse_command(document.lines[line])) and parsed[1]:
                _note("gpu-lost-by-install", (document.lines[line].strip()[:200],), line, document, notes)
                return
