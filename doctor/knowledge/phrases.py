"""How much the phrases of a text speak for each cause: a network of one layer, learned from the labelled tickets.

A text is cut into sentences and these into pieces of words. At each piece every unit of the layer adds up what the
piece itself says, what the one before and the one after say, and what the seven on either side of those say together;
it passes on the highest sum of the whole text and that of the first sentence. So «the card is not used» counts as what
it says, whatever stands between its words. scripts/learn_phrases.py teaches it to say what a language model says that
was trained with the same tickets (distillation), since nothing of that size may be needed to read a ticket.

There is no NumPy here, so Python's integers do the work: one of them holds the 512 units side by side, 32 bits each,
and is multiplied and added as one. docs/design.md, «Resemblance», says how good it is.
"""

from __future__ import annotations

import base64
import struct
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from operator import mul

from doctor.knowledge import lanes
from doctor.knowledge.load import of_tables, table
from doctor.model.values import dataclass
from doctor.regex import Regex

READ = 8000  # characters of a text
SENTENCE = 600  # characters of a sentence …
SENTENCE_PIECES = 64  # … and its pieces
PLACES = 448  # pieces of a text, each sentence with GAP more
GAP = 8  # how far a unit sees
LONGEST = 100  # characters of a word that is taken apart
UNKNOWN, INNER = "[UNK]", "##"  # a word of no known pieces; before a piece that begins no word
TABLES = SELF, BEFORE, AFTER, AROUND = range(4)  # what a piece says at its own place, and at its neighbours'
LANE = 32  # bits of a unit
OFFSET = 1 << (LANE - 1)  # is added to every number of the table's layer, so that none is negative
MIDDLE = 1 << (LANE - 2)  # is added to every sum: none is negative, and the highest bit stays free for comparing
KEPT = 4096  # pieces of which the sums are kept, 9 kB each
_ADDRESS = Regex(r"https?://\S+")
_SENTENCE_END = Regex(r"(?<=[.!?])\s+|(?<=[。！？])")
_IDEOGRAPHS = r"\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_ASCII_PUNCTUATION = r"!-/:-@\[-`{-~"
_PUNCTUATION = (
    _ASCII_PUNCTUATION
    + r"\u00a1\u00a7\u00ab\u00b6\u00b7\u00bb\u00bf\u2010-\u2027\u2030-\u205e\u3001-\u3003\u3008-\u3011"
    r"\u3014-\u301f\uff01-\uff0f\uff1a-\uff20\uff3b-\uff3d\uff5b-\uff65"
)
_TOKEN = Regex(rf"[{_IDEOGRAPHS}]|[{_PUNCTUATION}]|[^\s{_IDEOGRAPHS}{_PUNCTUATION}]+")
_ASCII_TOKEN = Regex(rf"[{_ASCII_PUNCTUATION}]|[^\s{_ASCII_PUNCTUATION}]+")  # sets of few letters compile faster


@dataclass(frozen=True)
class _Network:
    """The numbers of the table. `vectors`: of each piece, a byte a dimension, in base 64: most are never needed.
    `layer`: for each of TABLES, what a dimension gives to all units, as one integer. `start`: what every unit begins
    with. `last`: what each unit of the text, then of the first sentence, gives to all causes, as one integer
    (lanes.py). `begins`: what each cause begins with."""

    places: Mapping[str, int]  # of each piece
    causes: Sequence[str]
    units: int
    free: int  # the highest bit of every lane
    vectors: str
    layer: Sequence[Sequence[int]]
    start: int
    last: Sequence[int]
    begins: Sequence[float]
    scale: float  # of what the last layer adds up


def _says(text: str) -> dict[str, float]:
    """Cause -> how much the text speaks for it, as logarithm of the odds; {} for a text without words."""
    network = _network()
    sentences = tuple(sentences_of(text, network.places))
    if not sentences:
        return {}
    heard = [_heard(sentence) for sentence in sentences]
    first, whole = heard[0], heard[0]
    for one in heard[1:]:
        whole = _higher(one | network.free, whole, network.free)
    units = (*_units(whole, network.units), *_units(first, network.units))
    own = sum((unit - MIDDLE) * row for unit, row in zip(units, network.last, strict=True) if unit > MIDDLE)
    sums = lanes.unpacked(own, len(network.causes))
    return {
        cause: begins + one * network.scale
        for cause, begins, one in zip(network.causes, network.begins, sums, strict=True)
    }


def sentences_of(text: str, places: Mapping[str, int]) -> Iterator[tuple[int, ...]]:
    """The pieces of each sentence, by their `places` among those that are known, as far as a text is read."""
    used = GAP
    for line in _ADDRESS.sub(" ", text[:READ]).split("\n"):
        for sentence in _SENTENCE_END.split(line):
            pieces = tuple(pieces_of(sentence[:SENTENCE], places))[:SENTENCE_PIECES]
            if not pieces:
                continue
            if used + len(pieces) + GAP > PLACES:
                return
            used += len(pieces) + GAP
            yield pieces


def pieces_of(sentence: str, places: Mapping[str, int]) -> Iterator[int]:
    """The pieces of the words of a sentence: of each the longest that is known, then the longest of the rest."""
    low, token = sentence.lower(), _ASCII_TOKEN
    if not low.isascii():
        low, token = "".join(c for c in unicodedata.normalize("NFD", low) if unicodedata.category(c) != "Mn"), _TOKEN
    for word in token.findall(low):
        if word in places:
            yield places[word]
        else:
            yield from _parts(word, places)


def _parts(word: str, places: Mapping[str, int]) -> list[int]:
    found: list[int] = []
    start = 0
    while start < len(word) <= LONGEST:
        mark = INNER if start else ""
        end = next((end for end in range(len(word), start, -1) if mark + word[start:end] in places), start)
        if end == start:
            break
        found.append(places[mark + word[start:end]])
        start = end
    return found if found and start == len(word) else [places[UNKNOWN]]


def _heard(sentence: Sequence[int]) -> int:
    """The highest sum of every unit in a sentence."""
    free = _network().free
    own, before, after, around = zip(*map(_sums, sentence), strict=True)
    before, after = (0, *before), (*after[1:], 0)  # what the neighbour says at each place
    until = (0, *accumulate(around))
    last = len(sentence)
    best = 0
    for place in range(last):
        whole = own[place] + before[place] + after[place]
        whole += until[min(last, place + GAP + 1)] - until[max(0, place - GAP)]
        best = _higher(whole, best, free)
    return best


def _higher(one: int, other: int, free: int) -> int:
    """The higher number of every lane. The free bits of `one` are set: where it is not below the other, their
    difference leaves that bit, which becomes a mask of the lane's other bits."""
    not_below = (one - other) & free
    return other ^ ((one ^ other) & (not_below - (not_below >> (LANE - 1))))


def _units(whole: int, units: int) -> tuple[int, ...]:
    return struct.unpack(f"<{units}I", whole.to_bytes(units * LANE // 8, "little"))


def _sums_of(piece: int) -> tuple[int, int, int, int]:
    """What a piece says, all units at once (its vector times the layer): at its own place, with what every unit begins
    with and its free bit; at the next place and at the one before, where it is then not of those around; and around."""
    network = _network()
    vector = _vector(network.vectors, piece, len(network.layer[SELF]))
    own, before, after, around = (sum(map(mul, vector, rows)) for rows in network.layer)
    return network.start + network.free + own - around, before - around, after - around, around


def _vector(numbers: str, piece: int, size: int) -> tuple[int, ...]:
    """The numbers of a piece: four characters are three bytes."""
    start = piece * size
    first, last = start // 3, -(-(start + size) // 3)
    held = base64.b64decode(numbers[first * 4 : last * 4])
    return struct.unpack_from(f"{size}b", held, start - first * 3)


_sums = of_tables(_sums_of, KEPT)
says = of_tables(_says, 1)  # a text is compared once more where its likely fault is doubted


@of_tables
def _network() -> _Network:
    data = table("phrases")
    numbers = {row["part"]: row["numbers"] for row in data["network"]}
    parts = {part: base64.b64decode(numbers[part]) for part in ("start", "layer", "last")}
    causes = tuple(row["cause"] for row in data["causes"])
    start = struct.unpack(f"<{len(parts['start']) // 4}i", parts["start"])
    units, width = len(start), len(start) * LANE // 8
    ones = sum(1 << (LANE * unit) for unit in range(units))
    rows = _rows(parts["layer"], width, ones * OFFSET)
    return _Network(
        places={piece: place for place, piece in enumerate(data["pieces"][0]["lines"].split(" "))},
        causes=causes,
        units=units,
        free=ones * OFFSET,
        vectors=numbers["vectors"],
        layer=tuple(rows[place :: len(TABLES)] for place in TABLES),
        start=ones * MIDDLE + sum(one << (LANE * unit) for unit, one in enumerate(start)),
        last=_rows(parts["last"], len(causes) * lanes.LANE // 8, lanes.halves(len(causes))),
        begins=tuple(row["begins"] for row in data["causes"]),
        scale=data["network"][0]["scale"],
    )


def _rows(numbers: bytes, width: int, offset: int) -> tuple[int, ...]:
    """The rows of `width` bytes as integers, without the offset that the table gives to each of their lanes."""
    places = range(0, len(numbers), width)
    return tuple(int.from_bytes(numbers[place : place + width], "little") - offset for place in places)
