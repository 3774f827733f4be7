"""Bytes as a user pastes or saves them -> lines that the readers can match: encoding, colours, quoting, fences,
wrapping.

A `Document` keeps the number that every line had in the source, so that a fact can be shown with its place.
"""

from __future__ import annotations

import os.path
import re
from bisect import bisect_right
from functools import cached_property
from itertools import islice, pairwise

from doctor.evidence import prefixes
from doctor.fixes.tools import tags
from doctor.model.values import dataclass
from doctor.regex import Regex, Text, folded

LINE_LIMIT = 4_000  # longer lines are cut into pieces: bounds the work of every regex
BIG = 400_000  # characters; of a longer text only the ends and the telling lines of the middle are read
END = 150_000
PIECES = 2_000
MIDDLE = 1 << 20  # bytes of the telling lines between the ends of a source of many megabytes
_SAMPLE = 50_000  # characters by which a code page is told
WRAPPED_TEXT = 60_000  # characters of a text in which messages that are broken over lines are looked for
COLUMNS = 80
_LONG = 38  # characters of a word that leaves a line short
_PROSE = 120  # characters of two lines that are no rows of a table with two columns
_FEW = 2
_SMALL_WORDS = frozenset(
    ["a", "an", "and", "as", "at", "be", "by", "can", "for", "from", "has", "in", "is", "it", "no", "not", "of", "on",
     "or", "that", "the", "this", "to", "was", "with"]
)  # fmt: skip
_DIGITS = bytes.maketrans(b"123456789", b"000000000")
_ALIKE = 3  # lines that differ in their digits alone and are read
_DOUBLE_SPACED = 4  # this many lines, none beside another, are no paragraphs

_ANSI = Regex(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b\n]{0,500}(?:\x07|\x1b\\)|\x1b[@-_]|\x1b")
_BARE_COLOUR = Regex(r"\[(?:\d{1,3};){0,4}\d{1,3}m")  # a colour whose escape character was lost in pasting
_CONTROL = Regex(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\u200b-\u200f\u202a-\u202e\u2060\ufeff]")
_ENTITY = Regex(r"&(?:gt|lt|amp|quot|apos|nbsp|#\d{1,5}|#x[0-9a-fA-F]{1,5});")
_CUT_MARK = Regex(r"^\[left out here: (\d{1,12}) bytes, (\d{1,12}) lines ?\]$", re.M)
_QUOTE = Regex(r"[ \t]{0,8}>(?!>>(?:[ \t]|$))[ \t]?")  # not the prompt of a Python REPL
_FENCE = Regex(r"(?<![ \t`~])[ \t]*(?:`{3,}|~{3,})[ \t]*(?:[\w+.#-]+[ \t]*)?$")
_TAG_LINE = Regex(
    r"[ \t]*(?:</?(?:details|summary|pre|code|p|br|div|span|b|i|blockquote|table|tr|td)\b[^<>]{0,200}>[ \t]*)+$"
)
_TAGS = Regex(r"</?(?:details|summary|pre|code|blockquote|br|span|div)\b[^<>\n]{0,200}>")
_PYTEST = Regex(r"^[ \t]*E {3,11}(?=\S)")
_BLANKS = str.maketrans("", "", "\t\n\r")
_TYPOGRAPHY = str.maketrans({
    "\u00a0": " ", "\u2007": " ", "\u202f": " ", "\u3000": " ", "\u2018": "'", "\u2019": "'", "\u201c": '"',
    "\u201d": '"', "\uff08": "(", "\uff09": ")", "\uff0c": ",", "\uff1a": ":",
    "\u2022": "*", "\u2028": "\n", "\u2029": "\n", "\x85": "\n",
})  # fmt: skip
_TELLING = (
    "error", "exception", "traceback", "failed", "fatal", "warning", "not found", "no module", "torch", "cuda",
    "nvidia", "nvrm", "rocm", "amdgpu", "driver", "killed", "signal", "python",
)
_LONG_WORD = Regex(
    r"https?://|[/~\"'(]|[A-Z]:\\|[\w.-]=="
)  # what leaves a line short: an address, a path, a requirement
_AFTER_PROMPT = Regex(r"[ \t]*(?:>>> |In ?\[\d*\]: |(?:\([\w.-]+\) )?[^\s$#%>]{0,60}[$#%>] )(\S.*)$")
_COLUMN_GAP = Regex(r"\S {3,}(?=\S)")
# A line that begins like this begins something new: it is never the second half of a wrapped one.
_BEGINS = Regex(
    r"[ \t]*(?:File (?:\"|\S+:\d)|Traceback \(|>>> |\.\.\. |[$%#] |\[(?:" + tags() + r")\]|[+|]|[-*] |={4}|-{4}|"
    r"[\w./-]+==[\w.+]+(?:[ \t]*$|,)|[\w.-]+@[\w.-]+[: ][^#$%\n]*[#$%] |[A-Z_]{6,}:|\[\w+:\w+\]|"
    r"(?:PyTorch version|Is debug build|CUDA used to build|ROCM used to build|OS|GCC version|Clang version|CMake "
    r"version|Libc version|Python version|Python platform|Is CUDA available|CUDA runtime version|CUDA_MODULE_LOADING "
    r"set to|GPU models and configuration|Nvidia driver version|cuDNN version|HIP runtime version|MIOpen runtime "
    r"version|Is XNNPACK available|Is XPU available|CPU|Versions of relevant libraries|GPU \d+(?=:)|Requirement "
    r"already|Collecting|Downloading|Using cached|Found existing|Attempting|Uninstalling|Installing|Successfully|"
    r"Looking in indexes|Referenced from|Expected in|ERROR|WARNING|\w*Error|\w*Warning)\b:?)"
)


@dataclass(frozen=True, eq=False)
class Document:
    """One text made readable. `numbers[i]` is the number in the source (from 1) of line i of `text`; `left_out` says
    what of a long source is not in it, "" where all is."""

    name: str
    text: str
    numbers: tuple[int, ...]
    left_out: str = ""

    @cached_property
    def lower(self) -> str:
        return self.text.lower()

    @cached_property
    def flat(self) -> Text:
        """In lower case, and with one blank for each run of blanks, so that a message which is broken over lines is
        whole; but for a long text, in which none is looked for."""
        low = folded(self.text)
        return Text(f" {' '.join(low.split())} " if self.may_wrap else low)

    @property
    def may_wrap(self) -> bool:
        """Whether messages that are broken over lines are looked for."""
        return len(self.text) <= WRAPPED_TEXT

    @cached_property
    def lines(self) -> tuple[str, ...]:
        return tuple(self.text.split("\n"))

    @cached_property
    def starts(self) -> tuple[int, ...]:
        """Where each line begins."""
        found, at = [], 0
        for line in self.lines:
            found.append(at)
            at += len(line) + 1
        return tuple(found)

    @cached_property
    def new_lines(self) -> tuple[int, ...]:
        """The lines, by index, but for those of a log that only count on: of lines that differ in their digits alone,
        the first few."""
        met: dict[bytes, int] = {}
        found = []
        for i, line in enumerate(self.lines):
            shape = line.encode("utf-8", "surrogatepass").translate(_DIGITS)  # of a str it takes ten times as long
            met[shape] = times = met.get(shape, 0) + 1
            if times <= _ALIKE:
                found.append(i)
        return tuple(found)

    @property
    def brief(self) -> Document:
        """The same with the `new_lines` only."""
        kept = self.new_lines
        if len(kept) == len(self.lines):
            return self
        return Document(self.name, "\n".join(self.lines[i] for i in kept), tuple(self.numbers[i] for i in kept))

    def line_at(self, position: int) -> int:
        """Index of the line that holds that character."""
        return bisect_right(self.starts, position) - 1

    def has(self, *words: str) -> bool:
        """Whether one of these words (lower case) occurs: the cheap test before a regex."""
        lower = self.lower
        for word in words:  # noqa: SIM110  # asked too often for a generator
            if word in lower:
                return True
        return False

    def part(self, first: int, last: int) -> Document:
        """Lines first to last (last not included) as a document of its own."""
        return Document(self.name, "\n".join(self.lines[first:last]), self.numbers[first:last])


def document(name: str, data: bytes) -> Document:
    """Make bytes readable. A binary gives an empty document."""
    text = decode(data)
    if _looks_binary(text):
        return Document(name, "", ())
    if not text.isascii():
        text = text.translate(_TYPOGRAPHY)
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    lines, numbers = _split(text)
    left_out = _left_out(name, text, sum(map(len, lines)) + len(lines))
    numbers = _numbered(text, numbers)
    lines = [_PYTEST.sub("", line, count=1) if "E   " in line else line for line in _bare([_tidy(s) for s in lines])]
    lines, numbers = _rejoin(*_without_gaps(*_single_spaced(_dedented(lines), numbers)))
    return Document(name, "\n".join(lines), tuple(numbers), left_out)


class Shortened:
    """Takes the middle of a long source piece by piece and keeps its telling lines, each once, up to MIDDLE bytes.

    A line with the size stands for what is left out, so that the lines that follow keep their numbers. A line that
    lies in two pieces is seen as two.
    """

    def __init__(self) -> None:
        self._kept = bytearray()
        self._seen: set[bytes] = set()
        self._bytes = self._lines = 0
        self.left_out = 0

    def feed(self, piece: bytes) -> None:
        """Takes the next bytes of the middle."""
        at = 0
        for begin, end in _telling_lines(piece) if len(self._kept) < MIDDLE else ():
            line = piece[begin:end]
            if line in self._seen or len(self._kept) >= MIDDLE:
                continue
            self._seen.add(line)
            self._leave_out(piece[at:begin])
            self._kept += self._mark() + line
            at = end
        self._leave_out(piece[at:])

    def text(self) -> bytes:
        """What is to stand between the beginning and the end."""
        return bytes(self._kept) + self._mark()

    def _leave_out(self, said: bytes) -> None:
        self._bytes += len(said)
        self._lines += said.count(b"\n")
        self.left_out += len(said)

    def _mark(self) -> bytes:
        said = b"\n[left out here: %d bytes, %d lines]\n" % (self._bytes, self._lines)
        self._bytes = self._lines = 0
        return said if len(said) % 2 == 0 else said[:-2] + b" ]\n"  # an even number keeps UTF-16 in step


def _telling_lines(piece: bytes) -> list[tuple[int, int]]:
    """(begin, end) of the lines with telling words, in order; of a very long line what is around the word."""
    low = piece.lower()
    found: set[tuple[int, int]] = set()
    for word in _TELLING:
        at, told = low.find(word.encode()), 0
        while at >= 0 and told < PIECES:
            begin = max(low.rfind(b"\n", max(0, at - 500), at) + 1, at - 500, 0)
            end = low.find(b"\n", at, at + 1_500)
            end = min(at + 1_500, len(low)) if end < 0 else end
            found.add((begin, end))
            at, told = low.find(word.encode(), end), told + 1
    lines: list[tuple[int, int]] = []
    for begin, end in sorted(found):
        if not lines or begin >= lines[-1][1]:
            lines.append((begin, end))
    return lines


def _numbered(text: str, numbers: list[int]) -> list[int]:
    """The numbers of the lines in the source, where marks in the text stand for lines left out."""
    if "[left out here: " not in text:
        return numbers
    after: list[int] = [0]  # the line of each mark in this text
    more: list[int] = [0]  # what the lines below it are further on in the source
    at = line = 0
    for mark in _CUT_MARK.finditer(text):
        line += text.count("\n", at, mark.start())
        at = mark.start()
        after.append(line + 1)
        more.append(more[-1] + int(mark[2]) - 2)
    return [number + more[bisect_right(after, number - 1) - 1] for number in numbers]


def _left_out(name: str, text: str, kept: int) -> str:
    """What is said of a source that is not read as a whole."""
    unread = sum(int(mark[1]) for mark in _CUT_MARK.finditer(text)) if "[left out here: " in text else 0
    if len(text) <= BIG and not unread:
        return ""
    size = f"{len(text):,} characters" + (f" and {unread:,} bytes more" if unread else "")
    return (
        f"{name} has {size}; read were {kept:,} characters: its beginning, its end, and of what lies between "
        "the lines with words such as error, torch, CUDA or driver"
    )


def decode(data: bytes) -> str:
    """UTF-8 or UTF-16 with or without a mark, else the Chinese or the Western code page of Windows. Never raises."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16", "replace")
    if data.startswith(b"\xef\xbb\xbf"):
        data = data[3:]
    head = data[:4096]
    if len(head) >= 4 and head.count(0) > len(head) // 4:
        even, odd = head[0::2].count(0), head[1::2].count(0)
        if max(even, odd) > 4 * min(even, odd):
            return data.decode("utf-16-le" if odd > even else "utf-16-be", "replace")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        if error.start >= len(data) - 4:  # a cut last character
            return data.decode("utf-8", "replace")
    chinese = data.decode("gb18030", "replace")
    if chinese.count("\ufffd") <= len(chinese) // 1_000:  # in a long text where it was cut
        foreign = list(islice((c for c in chinese if c > "\x7f"), _SAMPLE))
        if sum(
            "\u2e80" <= c <= "\u9fff"
            or "\uff00" <= c <= "\uffef"
            or "\u2010" <= c <= "\u2030"
            or "\u2190" <= c <= "\u25ff"
            for c in foreign
        ) > 0.9 * len(foreign):
            return chinese
    del chinese
    if data.decode("utf-8", "ignore").isascii():  # no valid UTF-8 beyond ASCII in it: a code page
        return data.decode("cp1252", "replace")
    return data.decode("utf-8", "replace")


def _looks_binary(text: str) -> bool:
    head = text[:20_000]
    odd = head.count("\ufffd")
    if not head.translate(_BLANKS).isprintable():  # no control character is
        odd += len(_CONTROL.findall(head)) - head.count("\x1b")
    return odd > max(8, len(head) // 10)


def _split(text: str) -> tuple[list[str], list[int]]:
    """Lines and their numbers; of a big text the ends, and of its middle the telling lines."""
    if len(text) <= BIG:
        return _pieces(text, 1)
    lines, numbers = _pieces(text[:END], 1)
    at, counted, number, last = END, END, 1 + text.count("\n", 0, END), len(text) - END
    seen: set[str] = set()
    for place in _telling_places(text, END, last):
        if place < at:
            continue
        begin = max(text.rfind("\n", max(at, place - 500), place) + 1, at, place - 500)
        end = text.find("\n", place, place + 1_500)
        end = place + 1_500 if end < 0 else end
        number += text.count("\n", counted, begin)
        counted, at = begin, end
        line = text[begin:end]
        if line not in seen:
            seen.add(line)
            more, at_lines = _pieces(line, number)
            lines += more
            numbers += at_lines
    more, at_lines = _pieces(text[last:], 1 + text.count("\n", 0, last))
    return lines + more, numbers + at_lines


def _telling_places(text: str, first: int, last: int) -> list[int]:
    """Where the telling words stand, in order; of each word at most PIECES places, in different lines."""
    low = text.lower()
    if len(low) != len(text):  # a letter whose lower case is longer: places would shift
        low = text
    found: set[int] = set()
    for word in _TELLING:
        at = low.find(word, first, last)
        for _ in range(PIECES):
            if at < 0:
                break
            found.add(at)
            end = low.find("\n", at, at + 1_500)
            at = low.find(word, end if end >= 0 else at + 1_500, last)
    return sorted(found)[: 4 * PIECES]


def _pieces(text: str, number: int) -> tuple[list[str], list[int]]:
    lines, numbers = [], []
    for i, line in enumerate(text.split("\n"), number):
        for begin in range(0, max(len(line), 1), LINE_LIMIT):
            lines.append(line[begin : begin + LINE_LIMIT])
            numbers.append(i)
    return lines, numbers


def _tidy(line: str) -> str:
    """One line without colours, control characters, entities, fences and tags."""
    if "\x1b" in line:
        line = _ANSI.sub("", line)
    if "m" in line and "[" in line:
        line = _BARE_COLOUR.sub("", line)
    if not line.isprintable():  # no control character is
        line = _CONTROL.sub("", line)
    if "&" in line and _ENTITY.search(line):
        import html  # its table of entities is seldom needed

        line = html.unescape(line)
    if _FENCE.match(line) or ("<" in line and _TAG_LINE.match(line)):
        return ""
    if "</" in line or "<br" in line or "<pre" in line or "<code" in line or "<summary" in line:
        line = _TAGS.sub("", line)
    return line.rstrip()


def _bare(lines: list[str]) -> list[str]:
    """The lines without quote marks and prefixes, in whatever order they stand before each other."""
    lines = _unquote(lines)
    for _ in range(prefixes.ROUNDS):
        bare = prefixes.without_prefixes(lines)
        changed = [i for i, (line, was) in enumerate(zip(bare, lines, strict=True)) if line is not was]
        if not changed:
            break
        for i in changed:  # a fence or a tag that stood behind the prefix
            bare[i] = _tidy(bare[i])
        lines = _unquote(bare)
    return lines


def _dedented(lines: list[str]) -> list[str]:
    """The lines without the indentation that all of them have."""
    filled = [line for line in lines if line]
    indent = os.path.commonprefix([line[: len(line) - len(line.lstrip(" \t"))] for line in filled])  # noqa: RUF071
    return [line[len(indent) :] for line in lines] if indent else lines


def _single_spaced(lines: list[str], numbers: list[int]) -> tuple[list[str], list[int]]:
    """Undo an empty line after every line, as pasting from some pages makes it."""
    if sum(map(bool, lines)) < _DOUBLE_SPACED or any(a and b for a, b in pairwise(lines)):
        return lines, numbers
    kept = [i for i, line in enumerate(lines) if line or (i and not lines[i - 1])]
    return [lines[i] for i in kept], [numbers[i] for i in kept]


def _without_gaps(lines: list[str], numbers: list[int]) -> tuple[list[str], list[int]]:
    """At most two empty lines on end."""
    kept = [i for i, line in enumerate(lines) if line or i < 2 or lines[i - 1] or lines[i - 2]]
    return [lines[i] for i in kept], [numbers[i] for i in kept]


def _unquote(lines: list[str]) -> list[str]:
    """Strip `> ` from runs of quoted lines. A single line that begins with > is a prompt as likely as a quote: it
    stays."""
    for _ in range(4):
        quoted = [bool(_QUOTE.match(line)) for line in lines]
        if not any(quoted):
            break
        changed = False
        alone = sum(1 for line in lines if line.strip()) == 1
        begin = 0
        while begin < len(lines):
            if not quoted[begin]:
                begin += 1
                continue
            end = begin
            while end < len(lines) and quoted[end]:
                end += 1
            if end - begin > 1 or alone:
                lines[begin:end] = [_FENCE.sub("", _QUOTE.sub("", line, count=1)) for line in lines[begin:end]]
                changed = True
            begin = end
        if not changed:
            break
    return lines


def _rejoin(lines: list[str], numbers: list[int]) -> tuple[list[str], list[int]]:
    """Undo a hard wrap at 70 to 80 columns. A line was wrapped if the first word of the next one had no room on it."""
    # A word longer than a line stands on a line of its own, however long.
    width = max((len(line) for line in lines if " " in line.strip()), default=0)
    if not 40 <= width <= COLUMNS + 1:
        return lines, numbers
    if width < 70 or sum(len(line) >= width - 8 for line in lines) < 4:
        width = COLUMNS
    folds = _folds(lines, width) if width == COLUMNS else 0
    joined: list[str] = []
    kept: list[int] = []
    open_since = -1  # length of the last source line of the line that is being put together
    for line, number in zip(lines, numbers, strict=True):
        fits = joined and open_since >= 0 and len(joined[-1]) + len(line) < LINE_LIMIT
        if fits and _continues(joined[-1], open_since, line, width):
            # Cut in the middle of a word: only a word longer than a line, or a fold at exactly the width, does that.
            alone = len(joined[-1].rsplit(None, 1)[-1]) >= width - 8
            cut = open_since == width and (alone or folds) and _parts_a_word(joined[-1], line, folds)
            joined[-1] += line if cut or (folds and line.startswith(" ")) else f" {line.lstrip()}"
        else:
            joined.append(line)
            kept.append(number)
        open_since = len(line)
    return joined, kept


def _folds(lines: list[str], width: int) -> int:
    """How many lines were cut at exactly COLUMNS, not at a space; 0 where lines were broken at spaces: then some that
    go on end short of it, or are longer, for a long word."""
    broken = [len(one) for one, two in pairwise(lines) if _continues(one, len(one), two, width)]
    full, short = sum(n == COLUMNS for n in broken), sum(n < COLUMNS - 1 for n in broken)
    return full if full > short and max(map(len, lines)) <= COLUMNS else 0


def _parts_a_word(before: str, line: str, folds: int) -> bool:
    """Whether a line of exactly the width was cut in a word. With few such lines the words must tell."""
    last, first = before.rsplit(None, 1)[-1], line.split(None, 1)[0]
    if last[-1] in ",;" or (last[-1].islower() and first[0].isupper()):
        return False
    whole = (last in _SMALL_WORDS and len(first) > 1) or (first in _SMALL_WORDS and len(last) > 2)
    return folds > _FEW or not whole


def _continues(before: str, length: int, line: str, width: int) -> bool:
    if not line.strip() or not before.strip():
        return False
    if before.lstrip()[:1] in "|+":  # a row of a table goes on until its border
        if line.rstrip()[-1:] in "|+" and line.lstrip()[:1] not in "|+":
            return True
        if before.rstrip()[-1:] in "|+":
            return False
    gaps = len(_COLUMN_GAP.findall(line))
    if gaps > 1 or (gaps and length + len(line) < _PROSE):
        return False
    if len(_COLUMN_GAP.findall(before)) > 1 and " " in line.strip():
        return False  # rows of a table, which only lose their last word
    paths = " " not in before.strip() + line.strip() and _LONG_WORD.search(before)
    if length != width and paths and before[-1] not in ":,(":
        return False  # a list of paths or addresses
    first = line.split(None, 1)[0]
    if length < COLUMNS - 20 and len(first) < _LONG and not _LONG_WORD.search(first):
        return False
    if length + 1 + len(first) < width:
        return False
    return not _BEGINS.match(line) and not _finished(before)


def _finished(line: str) -> bool:
    """Whether a command or a statement ends here: what follows is its output, however long the line is.

    >>> _finished('$ python -c "print(1)"'), _finished(">>> torch.zeros(1).cuda()"), _finished("$ pip install 'torch")
    (True, True, False)
    """
    if line.endswith("(most recent call last)"):
        return True
    code = _AFTER_PROMPT.match(line)
    if code is None or code[1][-1:] not in ")]\"'":
        return False
    said = code[1]
    return all(said.count(q) % 2 == 0 for q in "\"'") and all(said.count(a) == said.count(b) for a, b in ("()", "[]"))
