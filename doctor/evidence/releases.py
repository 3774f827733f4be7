"""Of several releases of torch that a person compares, the one that fails is this machine's.

«With torch 2.4.1 it is usable, not with 2.5.1», «torch 2.1 does not do this», «it started when I upgraded to 2.9.0»:
each mention is judged by what its sentence says of it. Lists of packages and tools stand above all that.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from doctor.evidence.blocks import prose
from doctor.evidence.notes import Notes, ReleaseMention
from doctor.evidence.text import Document
from doctor.knowledge import lookup
from doctor.regex import Regex

SOURCE = "text"
_AT_MOST = 50  # different mentions: each is held against the others
_SENTENCE = Regex(r"(?<=[.!?;])\s|\n")
_MENTION = Regex(
    r"\b(?:py)?torch(?:[ ]version)?[ ]?(?:[:=]{1,2}|is\b|v(?=\d))?[ ]?v?(\d\.\d{1,2}(?:\.(?:\d{1,2}|x))?"
    r"(?:\+[a-z]\w{1,11}(?:\.\d)*)?)(?!\w|\.\w)",
    re.I,
)
_DENIED = r"(?:does(?:n't| not)|did(?:n't| not)|do(?:n't| not)|is(?:n't| not)|no longer|never|not|cannot|can't)"
# What stands before a release of which something is said …
_FAILED_BEFORE = Regex(
    r"(?:\b(?:not|never|fails?|failed|failing|crash(?:es|ed|ing)?|breaks?|broken|broke|wrong|errors?|regress\w*|"
    r"(?<!not )(?<!n't )(?:happens?|occurs?|appears?)|get|got|seen?|reproduc\w+|since|starting|began|begins|started|"
    r"introduced)|n't)"
    r"(?: work(?:s|ing)?)?(?:[ ]here)?,?[ ](?:(?:with|in|on|from|since|under|using|for)[ ])?(?:the[ ])?\Z|"
    r"\b(?:up(?:grad|dat)\w+|switch\w*|mov\w+)[ ](?:\w+[ ]){0,2}?(?:from[ ]\S+[ ])?to[ ]\Z|"
    r"\b(?:after|since)[ ](?:the[ ])?(?:up(?:grade|date)|switch)[ ](?:to|from)[ ](?:\S+[ ]to[ ])?\Z",
    re.I,
)
_WORKED_BEFORE = Regex(
    r"\b(?:works?|worked|working|fine|ok|okay|good|right|correct(?:ly)?|usable|no (?:problems?|issues?|errors?))"
    r"[ ](?:again[ ])?(?:with|in|on|under|using|up to|until)[ ](?:the[ ])?(?:old(?:er)?[ ]|previous[ ])?\Z|"
    r"\b(?:downgrad\w+|revert\w*|roll\w*[ ]back|going back|went back|back)[ ](?:\w+[ ]){0,3}?to[ ]\Z|"
    r"\b(?:upgrad|updat)\w+[ ](?:\w+[ ]){0,2}?from[ ]\Z|"
    r"\b" + _DENIED + r"[ ](?:happen|occur|appear)[ ](?:here[ ])?(?:with|in|on|under|using)[ ](?:the[ ])?\Z",
    re.I,
)
# … and what stands behind it.
_FAILED_AFTER = Regex(
    r"\A(?:[^.;\n]{0,40}?[ ])?(?:" + _DENIED + r"[ ](?:work|run|help|give|finish|compute)\w*|fails?\b|failed\b|"
    r"crash\w*|breaks?\b|broken\b|"
    r"(?:gives?|produces?|returns?|is|are)[ ](?:wrong|black|broken|garbage|nan|noise|slow))",
    re.I,
)
_WORKED_AFTER = Regex(
    r"\A(?:\.x)?[ ](?:[^.;\n]{0,40}?[ ])?(?:"
    r"(?:works?|worked|fine|usable|(?:is|are|was|were)[ ](?:right|correct|ok|good)|"
    r"correct(?:ly)?|no (?:problems?|issues?|errors?))\b|"
    + _DENIED
    + r"[ ](?:do (?:this|that|so)|have (?:this|that|the)|happen|occur|show (?:this|that|it)))",
    re.I,
)


def told(sentence: str) -> Iterator[ReleaseMention]:
    """The releases in a sentence.

    >>> [(t.release, t.fails) for t in told("With torch 2.4.1 it is usable, but not with torch 2.5.1 or higher")]
    [('2.4.1', False), ('2.5.1', True)]
    >>> [(t.release, t.fails) for t in told("Torch 2.1.x does not do this")]
    [('2.1', False)]
    """
    found = list(_MENTION.finditer(sentence))
    for place, m in enumerate(found):
        before = sentence[found[place - 1].end() if place else 0 : m.start()]
        after = sentence[m.end() : found[place + 1].start() if found[place + 1 :] else len(sentence)]
        if _FAILED_BEFORE.search(before) or _FAILED_AFTER.search(after):
            fails: bool | None = True
        elif _WORKED_BEFORE.search(before) or _WORKED_AFTER.search(after):
            fails = False
        else:
            fails = None
        yield ReleaseMention(release=m[1].removesuffix(".x"), fails=fails)


def read(document: Document, notes: Notes) -> None:
    """Note the releases that sentences name; settling.py decides between them."""
    if document.has("torch"):
        blocks = (block for block in prose(document) if _MENTION.may_match(block.text))
        sentences = ((block.line, said) for block in blocks for said in _SENTENCE.split(block.text))
        for line, one in ((line, one) for line, said in sentences for one in told(said)):
            if len(notes.releases) < _AT_MOST and any(map(lookup.is_release, (one.release, f"{one.release}.0"))):
                notes.releases.setdefault(one, notes.origin(SOURCE, line, in_passing=True))
