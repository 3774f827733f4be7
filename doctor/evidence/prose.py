"""What a person says of his machine in a sentence: «I have an RTX 3090, win10».

A sentence may speak of another machine, or of what is wished for. So a GPU counts only where no tool or program names
one, where all the models that are named are of one maker, and where nothing beside it denies or compares.
"""

from __future__ import annotations

import re

from doctor.evidence import machine
from doctor.evidence.notes import Notes
from doctor.evidence.regex import Regex
from doctor.evidence.text import Document

SOURCE = "text"
RANK = 12
_MODEL = Regex(
    r"(?<![\w./-])(?:"
    r"(?:NVIDIA )?(?:GeForce )?(?P<geforce>[RG]TX) ?(?P<series>\d{3,4})(?P<kind>(?: ?(?:Ti|SUPER|Laptop))*)(?!\w|\.\d)|"
    r"(?:NVIDIA )?(?P<tesla>Tesla [KMPTV]\d{1,3}[a-z]?)\b|"
    r"(?:AMD )?(?:Radeon )?(?P<radeon>RX) ?(?P<number>\d{3,4})(?P<suffix>(?: ?(?:XTX|XT|GRE|M|S))?)(?!\w|\.\d)|"
    r"(?:Intel )?(?P<arc>Arc [AB]\d{3}M?)\b"
    r")",
    re.I,
)
# Another machine, a wish, a table of what others have.
_NOT_THIS = Regex(
    r"\b(?:no|not|n't|without|instead|other|another|also (?:on|with)|works? (?:on|with|fine)|tested|support(?:s|ed)?|"
    r"compatible|previous(?:ly)?|old|friend|colleague|would|should|if|e\.g\.|like|vs|than|requires?|minimum|install)\b",
    re.I,
)
_OUTPUT = Regex(r"^[ \t]*(?:File |Traceback|\w*(?:Error|Warning|Exception):|[|+]|>>>|\$ |at )|https?://|[\w-]\.py\b")
_CLAUSE = re.compile(r"[,.;:!?()](?:\s|$)")
_LONGEST = 300  # characters of a line that a person writes; a log's may be longer


def read(document: Document, notes: Notes) -> None:
    """Note the models of GPUs that sentences name."""
    if not document.has("rtx", "gtx", "tesla", "rx", "arc "):
        return
    seen: set[str] = set()
    for m in _MODEL.finditer(document.text):
        line = document.line_at(m.start())
        said = document.lines[line]
        if len(said) > _LONGEST or _OUTPUT.search(said) or _NOT_THIS.search(_clause(said, m[0])):
            continue
        name = _name(m)
        if name not in seen:
            seen.add(name)
            notes.in_prose.append((name, line, document.name))


def _clause(line: str, words: str) -> str:
    """The part of a line, between punctuation marks, in which the words stand.

    >>> _clause("RTX 3090, no display. Works on CPU", "RTX 3090")
    'RTX 3090'
    """
    return next((part for part in _CLAUSE.split(line) if words in part), line)


def _name(m: re.Match[str]) -> str:
    """A model as the tools write it.

    >>> [_name(_MODEL.search(s)) for s in ("rtx3090ti", "a RX7900XTX", "the arc A770")]
    ['GeForce RTX 3090 Ti', 'Radeon RX 7900 XTX', 'Arc A770']
    """
    if m["geforce"]:
        words = re.findall(r"ti|super|laptop", m["kind"].lower())
        written = {"ti": "Ti", "super": "SUPER", "laptop": "Laptop GPU"}
        return " ".join(["GeForce", m["geforce"].upper(), m["series"], *(written[w] for w in words)])
    if m["tesla"]:
        return f"Tesla {m['tesla'].split()[1]}"
    if m["radeon"]:
        return " ".join(["Radeon RX", m["number"], *m["suffix"].upper().split()])
    return f"Arc {m['arc'].split()[1].upper()}"


def settle(notes: Notes) -> None:
    """The named GPUs are the machine's, where nothing better is known and they are of one maker."""
    if notes.gpus or notes.no_gpu or notes.get("host.jetson"):
        return
    if len({machine.vendor_of(name) for name, _, _ in notes.in_prose}) != 1:
        return
    for name, _, _ in notes.in_prose:
        machine.note_gpu(name, notes, group="prose", source=SOURCE, rank=RANK, line=None)
