"""How a fault of a computation shows and when, in a closed vocabulary: "zeros", "strides", "half", "freed-memory".

The same words are looked for in a ticket and in the rows of errata, so that the two can be compared as facts, where
the ticket names no operation.
"""

from __future__ import annotations

import re

from doctor.evidence.notes import Notes
from doctor.evidence.text import Document
from doctor.regex import Regex

_FLAGS = re.I | re.M
SIGNS = {
    "zeros": Regex(r"\bzeros?\b(?!-)|\btensor\([\[\]\s0.,]*[\[\]],\s*device='mps", _FLAGS),
    "nan": Regex(r"\bnans?\b|\bblack (?:image|picture|output|frame)", _FLAGS),
    "infinite": Regex(r"\binf(?:inite|inity)?\b", _FLAGS),
    "strides": Regex(
        r"non-?contiguous|not contiguous|contiguous\(|\bcontiguous *: *False|transpos|permut|move(?:dim|axis)"
        r"|\bstrides?\b|channels_last|swapaxes|\bslices?\b|\bslicing\b|\.T\b|\bviews?\b",
        _FLAGS,
    ),
    "half": Regex(r"b?float16|\b[bf]f?p?16\b|half precision|\.half\(", _FLAGS),
    "integers": Regex(r"\bu?int(?:8|16|32|64)\b|\bintegers?\b|\.long\(", _FLAGS),
    "masks": Regex(r"\bbool\w*|\bmask(?:s|ed)?\b", _FLAGS),
    "large": Regex(r"2 ?\*\* ?3\d|65,?53[5-7]|32,?76[78]|\b4 ?Gi?B\b|\bhuge\b|very large|\bmillions?\b", _FLAGS),
    "varies": Regex(
        r"call to call|run to run|(?:not|non)[- ]?(?:repeatable|determin\w+)|each call|\brepeat\)|now and then", _FLAGS
    ),
    "freed-memory": Regex(
        r"empty_cache|\ballocator\b|(?:foreign|other|more|freed|uninitiali[sz]ed|unrelated) memory|memory beyond"
        r"|out of bounds|old contents",
        _FLAGS,
    ),
    "compiled": Regex(r"torch\.compile\b|\binductor\b|\bcompiled\b(?! cuda)", _FLAGS),
    "gradients": Regex(r"\bgradients?\b|\bbackward\b|\.grad\b", _FLAGS),
    "training": Regex(r"\btrain(?:s|ing|ed|er)?\b|\bloss(?:es)?\b|\bepochs?\b", _FLAGS),
    "images": Regex(r"\bimages?\b|\bdiffusion\b|\bVAEs?\b|\bflux\b|\bsdxl\b|\bnois[ey]\b", _FLAGS),
    "text": Regex(
        r"\btokens?\b|language models?|\bLLMs?\b|gibberish|generated text|\bgenerations?\b|\bgpt\W?\d?\b|\bllama\b",
        _FLAGS,
    ),
    "non-blocking": Regex(r"non.?blocking", _FLAGS),
    "varying-shapes": Regex(
        r"(?:varying|different|changing|new|variable|varied)\W+(?:\w+\W+){0,2}?(?:sizes?|shapes?|lengths?)\b"
        r"|(?:sizes?|shapes?|lengths?) (?:vary|change|differ)",
        _FLAGS,
    ),
    "system-updated": Regex(
        r"\b(?:upgrad|updat)\w+ (?:\w+ ){0,3}?(?:mac|macos|sonoma|sequoia|tahoe|ventura|os)\b"
        r"|\bmacos (?:\w+ )?up(?:date|grade)\b",
        _FLAGS,
    ),
}  # fmt: skip
_LISTED = Regex(r"^.*(?:==|\bpypi_0\b).*$", re.M)  # a line of a list of packages: their names show nothing


def of(text: str) -> tuple[str, ...]:
    """The signs in a text.

    >>> of("the transposed input gives NaN"), of("[pip3] torch==2.8.0")
    (('nan', 'strides'), ())
    """
    said = _LISTED.sub("", text)
    return tuple(name for name, pattern in SIGNS.items() if pattern.search(said))


def read(document: Document, notes: Notes) -> None:
    """Note the signs."""
    if "torch" in document.lower or "mps" in document.lower:
        notes.signs += of(document.text)
