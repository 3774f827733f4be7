"""Regular expressions that are not tried where they cannot match, and compiled when first tried: most are never needed
for one ticket. What each needs in a text stands in needs.py, which scripts/generate.py works out of the expressions."""

from __future__ import annotations

import re
import struct
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable
from functools import cache, cached_property, lru_cache
from itertools import accumulate, chain
from zlib import crc32

from doctor.needs import ALTERNATIVES, NEEDS

_SHORT = 300  # characters of a text that is searched as a whole
_LONG = 2_000  # characters of a text of which an index is made …
_FEW = 50  # … once more words than these were looked for
_LINES = 40  # that are searched one by one; where more hold a word, the whole text is
_HEAD = 4  # characters by which a word is found: as many bytes as an "I" of struct has
WORD, SET, ALTERNATIVE = "\x1f", "\x1e", "\x1d"  # between these in a row of needs.py
PART = "\x1c"  # between the parts of what a Vocabulary is told
# What IGNORECASE takes for the same letter, and lower() does not.
_FOLD = str.maketrans(
    "\u0130\u0131\u017f\u03a3\u03c2\u1c80\u1c81\u1c82\u1c83\u1c84\u1c85\u1c86", "iis\u03c3\u03c3вдосттъ"
)


def folded(text: str) -> str:
    """The text in lower case, each character in its place."""
    return text.lower() if text.isascii() else text.translate(_FOLD).lower()


class Text:
    """A text in which many words are looked for."""

    def __init__(self, low: str) -> None:
        self.low = low
        self._asked = 0

    @cached_property
    def heads(self) -> frozenset[int]:
        """All that stands in _HEAD characters, as numbers: who knows them need not look for most words."""
        said = self.low.encode("ascii", "replace")
        counts = ((len(said) - at) // _HEAD for at in range(min(_HEAD, len(said))))
        return frozenset(chain.from_iterable(struct.unpack_from(f"{n}I", said, at) for at, n in enumerate(counts)))

    def holds(self, word: str) -> bool:
        """Whether the word (lower case) occurs."""
        self._asked += 1
        return (self._asked <= _FEW or self.may_hold(word)) and word in self.low

    def may_hold(self, word: str) -> bool:
        """Whether the word's first and last characters occur."""
        return len(word) < _HEAD or self.heads.issuperset(_ends(word))

    def lines_with(self, words: Iterable[str]) -> list[tuple[int, int]] | None:
        """Begin and end of each line that holds one of the words; None where these are many."""
        low, found = self.low, set[tuple[int, int]]()
        for word in words if len(low) <= _LONG else filter(self.holds, words):
            at = low.find(word)
            while at >= 0:
                end = low.find("\n", at) + 1 or len(low)
                found.add((low.rfind("\n", 0, at) + 1, end))
                if len(found) > _LINES:
                    return None
                at = low.find(word, end)
        return sorted(found)


def _numbers(text: str) -> tuple[int, ...]:
    """Each _HEAD characters of a text as a number."""
    return struct.unpack(f"{len(text) // _HEAD}I", text.encode("ascii", "replace"))


@cache
def _ends(word: str) -> tuple[int, int]:
    """The first and the last _HEAD characters of a word, as numbers."""
    first, last = _numbers(word[:_HEAD] + word[-_HEAD:])
    return first, last


@lru_cache(maxsize=512)  # a text of some hundred lines is gone through more than once
def _line(text: str) -> str:
    """A short text, to which many expressions are put, in lower case."""
    return folded(text)


@lru_cache(maxsize=4)
def searched(text: str) -> Text:
    """A long one, with what was noted of it."""
    return Text(folded(text))


def _holds_one_of_each(low: str, sets: Iterable[Iterable[str]]) -> bool:
    for words in sets:
        for word in words:
            if word in low:
                break
        else:
            return False
    return True


class Lines:
    """Many short texts, of which each is searched for itself."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._texts = tuple(dict.fromkeys(texts))
        self._low = folded("\n".join(self._texts))
        self._starts = list(accumulate((len(text) + 1 for text in self._texts), initial=0))

    def that_may_match(self, regex: Regex) -> Iterable[str]:
        """Those that hold one of the words that a match holds."""
        if not regex.sets:
            return self._texts
        low, places = self._low, set()
        for word in regex.sets[0]:
            at = low.find(word)
            while at >= 0:
                place = bisect_right(self._starts, at) - 1
                places.add(place)
                at = low.find(word, self._starts[place + 1])
        return [self._texts[place] for place in sorted(places)]


class Vocabulary:
    """Words (lower case) that are looked for all at once, each with the places of the things in a list that it
    stands for. Told as by_part() makes it."""

    def __init__(self, told: str) -> None:
        short, *parts = told.split(PART)
        self._short = _with_places(short)
        self._by_part = dict(zip(_numbers("".join([part[:_HEAD] for part in parts])), parts, strict=True))
        self._met: dict[int, list[tuple[str, list[int]]]] = {}  # the same, taken apart

    def within(self, text: Text) -> dict[str, list[int]]:
        """Those that occur in a text, with the places of each."""
        low, met = text.low, self._met
        found = {word: places for word, places in self._short if word in low}
        found |= {
            word: places
            for part in self._by_part.keys() & text.heads
            for word, places in met.get(part) or self._taken_apart(part)
            if word in low
        }
        return found

    def _taken_apart(self, part: int) -> list[tuple[str, list[int]]]:
        return self._met.setdefault(part, _with_places(self._by_part[part][_HEAD:]))


def _with_places(row: str) -> list[tuple[str, list[int]]]:
    words = (word.split(WORD) for word in row.split(SET)) if row else ()
    return [(word, [int(place) for place in places]) for word, *places in words]


def by_part(words: Iterable[tuple[str, int]], *, rarest: bool = False) -> str:
    """(word, place) of a list, for a Vocabulary: the words that are too short, then by each _HEAD characters the words
    that are known by them. `rarest`: they are those that the fewest words hold, which takes longer to work out; else
    those in the middle of a word."""
    places: dict[str, list[int]] = {}
    for word, place in words:
        places.setdefault(word, []).append(place)
    # as Text knows them: of other letters than ASCII's it tells none from another
    plain = {word: word.encode("ascii", "replace").decode() for word in places}
    counts = Counter(part for word in plain.values() for part in _parts(word)) if rarest else Counter[str]()
    found: dict[str, list[str]] = {"": []}
    for word, its in places.items():
        parts = sorted(_parts(plain[word]), key=counts.__getitem__) if rarest else [_middle(plain[word])]
        found.setdefault(parts[0] if parts else "", []).append(WORD.join([word, *map(str, its)]))
    return PART.join(part + SET.join(rows) for part, rows in found.items())


def _parts(word: str) -> list[str]:
    return [word[at : at + _HEAD] for at in range(len(word) - _HEAD + 1)]


def _middle(word: str) -> str:
    begin = (len(word) - _HEAD) // 2
    return word[begin : begin + _HEAD] if begin >= 0 else ""


class Regex:
    """Like re.compile(pattern, flags), made at the first use. A long text without the words that every match holds is
    not searched, and of one that has them only their lines, where no match goes on beyond its line."""

    __slots__ = ("_alternatives", "_compiled", "_sets", "_within", "flags", "pattern")

    def __init__(self, pattern: str, flags: int = 0) -> None:
        self.pattern = pattern
        self.flags = flags
        self._compiled: re.Pattern[str] | None = None
        self._sets: tuple[tuple[str, ...], ...] | None = None
        self._alternatives: tuple[tuple[tuple[str, ...], ...], ...] = ()  # the same of each alternative
        self._within = False  # whether a match lies in one line

    @property
    def compiled(self) -> re.Pattern[str]:
        """The pattern, compiled at the first use."""
        if self._compiled is None:
            self._compiled = re.compile(self.pattern, self.flags)
        return self._compiled

    @property
    def sets(self) -> tuple[tuple[str, ...], ...]:
        """Of each set one word at least (lower case) is in every match."""
        if self._sets is None:
            number = key(self.pattern, self.flags)
            if each := ALTERNATIVES.get(number):
                self._alternatives = tuple(map(_sets, each.split(ALTERNATIVE)))
            self._within, self._sets = needed(number) or (False, ())
        return self._sets

    def may_match(self, text: str) -> bool:
        """Whether the words that a match holds are in the text."""
        sets = self.sets if self._sets is None else self._sets
        if not (sets or self._alternatives):
            return True
        if len(text) > _LONG:
            holds = searched(text).holds
            return all(any(map(holds, words)) for words in sets)
        low = _line(text)
        return _holds_one_of_each(low, sets) and (not self._alternatives or self._one_may_match(low))

    def _one_may_match(self, low: str) -> bool:
        """Whether the words of an alternative are in a text (lower case)."""
        for sets in self._alternatives:  # noqa: SIM110  # asked too often for a generator
            if _holds_one_of_each(low, sets):
                return True
        return False

    def _places(self, text: str) -> list[tuple[int, int]] | None:
        """The parts of a text that may match where a match can lie; None for the whole."""
        if not (self._within and self._sets and len(text) > _SHORT):
            return None
        said = searched(text)
        places = said.lines_with(self._sets[0])
        if places and self._alternatives:
            return [(begin, end) for begin, end in places if self._one_may_match(said.low[begin:end])]
        return places

    def search(self, text: str, *span: int) -> re.Match[str] | None:
        """The first match, like re.Pattern.search."""
        if not self.may_match(text):
            return None
        if span or (places := self._places(text)) is None:
            return self.compiled.search(text, *span)
        return next((m for place in places if (m := self.compiled.search(text, *place))), None)

    def match(self, text: str, *span: int) -> re.Match[str] | None:
        return self.compiled.match(text, *span) if self._compiled or self.may_match(text) else None

    def fullmatch(self, text: str) -> re.Match[str] | None:
        return self.compiled.fullmatch(text) if self._compiled or self.may_match(text) else None

    def finditer(self, text: str, *span: int) -> Iterable[re.Match[str]]:
        """All matches in their order, like re.Pattern.finditer."""
        if not self.may_match(text):
            return ()
        if span or (places := self._places(text)) is None:
            return self.compiled.finditer(text, *span)
        return (m for place in places for m in self.compiled.finditer(text, *place))

    def findall(self, text: str) -> list[str]:
        return self.compiled.findall(text) if self.may_match(text) else []

    def split(self, text: str) -> list[str]:
        return self.compiled.split(text) if self.may_match(text) else [text]

    def sub(self, new: str | Callable[[re.Match[str]], str], text: str, count: int = 0) -> str:
        return self.compiled.sub(new, text, count=count) if self.may_match(text) else text

    def subn(self, new: str, text: str) -> tuple[str, int]:
        return self.compiled.subn(new, text) if self.may_match(text) else (text, 0)


class Regexes(tuple[Regex, ...]):
    """Many expressions that are put to many texts."""

    def in_text(self, text: str) -> list[Regex]:
        """Those that may match."""
        vocabulary, always = self._by_word
        found = {place for places in vocabulary.within(searched(text)).values() for place in places}
        return [one for place in sorted(found | always) if (one := self[place]).may_match(text)]

    @cached_property
    def _by_word(self) -> tuple[Vocabulary, set[int]]:
        """The words of the first set of each expression, and the places of those that need none."""
        words = ((word, place) for place, one in enumerate(self) for word in (one.sets[0] if one.sets else ()))
        return Vocabulary(by_part(words)), {place for place, one in enumerate(self) if not one.sets}


def key(pattern: str, flags: int) -> int:
    """Under which an expression stands in needs.py."""
    return crc32(f"{int(flags)}:{pattern}".encode())


def needed(key: int) -> tuple[bool, tuple[tuple[str, ...], ...]] | None:
    """Whether a match of that expression lies in one line, and sets of words of which each has one in every match;
    None where needs.py does not know it."""
    row = NEEDS.get(key)
    return (row[0] == "1", _sets(row[1:])) if row else None


def _sets(joined: str) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(words.split(WORD)) for words in joined.split(SET))


def search_spanning(pattern: str, flags: int, text: str) -> tuple[int, int, tuple[str, ...]] | None:
    """(start, end, groups) of "A.*B.*C" over several lines, where `.*` stands for any text at all; None where it does
    not occur. The first A, the first B after it, the last C: in linear time, however long the text is.

    >>> search_spanning("a(.).*b|c.*d", re.S, "c a1 b b d")
    (2, 8, ('1',))
    """
    for pieces in _pieces(pattern, flags):
        start, end, groups = -1, 0, []
        for number, piece in enumerate(pieces, 1):
            found = piece.search(text, end)
            if found is None:
                break
            if 1 < number == len(pieces):
                *_, found = piece.compiled.finditer(text, found.start())
            start, end = (found.start() if start < 0 else start), found.end()
            groups += [group or "" for group in found.groups()]
        else:
            return start, end, tuple(groups)
    return None


def spanning_pieces(pattern: str) -> list[list[str]]:
    """Of each alternative what stands between its `.*`.

    >>> spanning_pieces(r"a(b|.*)\\.*c.*d|[.*|]e")
    [['a(b|.*)\\\\', 'c', 'd'], ['[.*|]e']]
    """
    found, depth, in_class, at = [[""]], 0, False, 0
    while at < len(pattern):
        token = pattern[at : at + 2] if pattern[at] == "\\" else pattern[at]
        if in_class:
            in_class = token != "]"
        elif token == "[":
            in_class = True
        elif token in "()":
            depth += 1 if token == "(" else -1
        elif not depth and token == "|":
            found.append([""])
            at += 1
            continue
        elif not depth and pattern.startswith(".*", at):
            found[-1].append("")
            at += 2
            continue
        found[-1][-1] += token
        at += len(token)
    return found


@cache
def _pieces(pattern: str, flags: int) -> list[list[Regex]]:
    return [[Regex(piece, flags) for piece in pieces] for pieces in spanning_pieces(pattern)]
