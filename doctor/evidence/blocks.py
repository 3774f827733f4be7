"""A text is cut here, once, into blocks by who speaks: a shell's prompt or Python's with the output below it, a report
of collect_env, a table of nvidia-smi, a person. Readers are given blocks and cut nothing themselves.

Blocks may lie in each other: a table is the output of a command. A block is a run of lines of its Document; numbers of
lines are indexes into the Document, which knows the place of each in the source. What stood before the lines (quote
marks, numbers, timestamps, names of containers) was taken off before, by text.py and prefixes.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise
from typing import Literal, NamedTuple

from doctor.evidence.text import Document
from doctor.fixes.tools import spellings, tags
from doctor.regex import Regex

Kind = Literal["shell", "python", "report", "table", "prose"]
TABLE_LINES = 400  # of one table of nvidia-smi
_COMMANDS = (
    r"(?:sudo |time |!)?(?:[\w./\\~-]*[/\\])?(?:python[\d.]*(?:\.exe)?|py|" + spellings(words=1) + r"|docker|"
    r"podman|nvidia-smi|rocminfo|rocm-smi|amd-smi|xpu-smi|sycl-ls|clinfo|lspci|lsmod|dmesg|uname|arch|sw_vers|sysctl|"
    r"cat|ls|"
    r"groups|id|ldd|nvcc|export|set|echo|which|where|whereis|file|apt|apt-get|dnf|yum|modprobe|systemctl|ipython|"
    r"jupyter|"
    r"torchrun|env|getconf|dpkg|rpm|mokutil|free|df|activate|source|accelerate|wsl|brew)(?:\.exe)?(?=[ \n]|$)"
)
_PROMPT = Regex(
    r"^[ \t]*(?:\([\w. /\\:-]{1,60}\)[ \t]*)*(?:"
    r"[\w.-]+@[\w.-]+[ :][^$#%>\n]{0,120}[$#%>]|\[[\w.-]+@[^\]\n]{1,100}\][$#%]|PS(?: [A-Z]:[^>\n]{0,120}| /[^>\n]{0,"
    r"120})?>|"
    r"[A-Z]:\\?[^>\n\"']{0,120}>|[/~][\w./~-]{0,120}[$#%]|(?:ba|z)?sh-[\d.]+[$#]|[$%](?=[ ])|\+(?= [a-z])|[❯➜λ][^\n$]"
    r"{0,0}"
    r")[ \t]*(?P<command>\S[^\n]*)?$"
    r"|^[ \t]*(?:\([\w.-]{1,40}\)[ \t]*)?[#>!%][ \t]?(?P<known>" + _COMMANDS + r"[^\n]*)$",
    re.M,
)
_REPL = Regex(r"^[ \t]*(?:>>>|In ?\[\d*\]:)[ \t]?(?P<code>[^\n]*)$", re.M)
_REPL_MORE = Regex(r"^[ \t]*(?:\.\.\.|   \.\.\.:)")
_OUT = Regex(r"^[ \t]*Out ?\[\d+\]:[ \t]*")


_BLOCK_START = Regex(r"^[ \t]*(?:[-*][ \t]+)?\**PyTorch version\**[ \t]*:", re.M)
# The keys that say something; the others are understood and left.
KEYS = {
    "PyTorch version", "Is debug build", "CUDA used to build PyTorch", "ROCM used to build PyTorch", "OS",
    "GCC version",
    "Clang version", "CMake version", "Libc version", "Python version", "Python platform", "Is CUDA available",
    "CUDA runtime version", "CUDA_MODULE_LOADING set to", "GPU models and configuration", "Nvidia driver version",
    "cuDNN version", "HIP runtime version", "MIOpen runtime version", "Is XNNPACK available",
    "Caching allocator config",
    "Is XPU available", "XPU used to build PyTorch", "Intel GPU driver version", "Intel GPU models onboard",
    "Intel GPU models detected", "Versions of relevant libraries", "CPU", "CUDA SDK version",
}  # fmt: skip
_KEYS = tuple(sorted(KEYS))
_TAGGED = Regex(rf"\[(?:{tags()})\]")
# Other lines of a block: what lscpu and wmic say in it, lists of libraries.
_BLOCK_LINE = Regex(
    r"(?:GPU \d+: |\* |/\S*libcudnn|"
    r"Apple M\d|Intel\(R\) |AMD (?:Ryzen|EPYC)|(?:Architecture|Address sizes|Byte Order|On-line CPU|Vendor ID|Model(?"
    r": name)?|Thread|Core|Socket|"
    r"Stepping|BogoMIPS|Flags|Virtualization|Hypervisor vendor|L\d\w? cache|NUMA node|Vulnerability|Frequency boost|"
    r"Caches|CPU|"
    r"vLLM|Neuron SDK|GPU Topology|ROCM Version|Legend)[\w ()-]*:|(?:Name|Manufacturer|Family|Architecture|"
    r"ProcessorType|DeviceID|"
    r"CurrentClockSpeed|MaxClockSpeed|L2Cache\w+|Revision)[=:]|Collecting environment|[-=]{5,}[ \t]*$|[A-Z_]{3,40}=\S)"
)
_RAISED = Regex(r"[ \t]*(?:\w+\.)*\w*(?:Error|Warning|Exception)\b|Traceback")
_TABLE = Regex(r"NVIDIA-SMI\s+\d")
_LONGEST = 600  # characters of a line that a person writes; a log's may be longer
_OUTPUT = Regex(
    r"^[ \t]*(?:File |Traceback|\w*(?:Error|Warning|Exception):|(?:ERROR|WARNING|INFO|DEBUG|[Nn]ote|hint)\b|\[|"
    r"[|+]|>>>|\$ |at |#\d|\{|\"|<)"
)
# What a sentence seldom holds: an output, unless it has the small words of one.
_TECHNICAL = Regex(r"https?://|(?<=[\w-])\.py\b|[/\\][\w.-]+[/\\]|==[^=\n]*==|\)$")
_SMALL_WORDS = frozenset(
    ["a", "an", "and", "are", "as", "at", "but", "do", "does", "for", "has", "have", "i", "in", "is", "it", "my", "no",
     "not", "of", "on", "or", "so", "that", "the", "there", "this", "to", "we", "when", "with"]
)  # fmt: skip
_SENTENCE = 3  # small words


class Block(NamedTuple):
    """Lines `line` to `last` (last not included) of a document. Of a session `text` is the command, which stands on
    the first line, and the others are its output."""

    kind: Kind
    document: Document
    line: int
    last: int
    text: str = ""

    @property
    def first(self) -> int:
        """The first line below the command."""
        return self.line + 1

    def lines(self) -> tuple[str, ...]:
        return self.document.lines[self.line : self.last]

    def output(self) -> list[str]:
        """What a command printed, without blanks at the ends of lines."""
        said = self.document.lines[self.first : self.last]
        return [_OUT.sub("", line).strip() for line in said if not _REPL_MORE.match(line)]


@lru_cache(maxsize=4)
def commands(document: Document) -> tuple[Block, ...]:
    """What was typed at a prompt of a shell or of Python, each with its output, in order."""
    found: list[tuple[int, Kind, str]] = []
    text = document.text
    if document.has("$", "%", "#", ">", "!", "+ "):
        for m in _PROMPT.finditer(text):
            found.append((document.line_at(m.start()), "shell", (m["command"] or m["known"] or "").strip()))
    if ">>>" in text or "In [" in text or "In[" in text:
        found += [(document.line_at(m.start()), "python", m["code"].strip()) for m in _REPL.finditer(text)]
    found.sort()
    ends = [*(line for line, _, _ in found), len(document.lines)][1:]
    return tuple(
        Block(kind, document, line, end, said) for (line, kind, said), end in zip(found, ends, strict=True) if said
    )


@lru_cache(maxsize=4)
def reports(document: Document) -> tuple[Block, ...]:
    """The reports of collect_env."""
    if "pytorch version" not in document.lower:
        return ()
    starts = [document.line_at(m.start()) for m in _BLOCK_START.finditer(document.text)]
    found, end = [], 0
    for start, limit in pairwise([*starts, len(document.lines)]):
        begin = start - 1 if start and "Collecting environment" in document.lines[start - 1] else start
        begin, end = max(begin, end), _end_of_report(document, start, limit)
        found.append(Block("report", document, begin, end))
    return tuple(found)


def _end_of_report(document: Document, start: int, limit: int) -> int:
    """The line after the last one of the report that begins at `start`."""
    last = start
    for i in range(start, limit):
        line = document.lines[i]
        if not line.strip():
            continue
        if not _is_of_block(line) or _RAISED.match(line):
            break
        last = i
    return last + 1


def _is_of_block(line: str) -> bool:
    """Whether a report has such lines."""
    said = line.lstrip(" \t")
    if said.startswith("["):
        return _TAGGED.match(said) is not None
    return said.startswith(_KEYS) or _BLOCK_LINE.match(said) is not None


def tables(document: Document) -> Iterator[Block]:
    """The tables of nvidia-smi."""
    lines = document.lines
    for i, line in enumerate(lines):
        if "NVIDIA-SMI" not in line or not _TABLE.search(line):
            continue
        end = i + 1
        while end < min(len(lines), i + TABLE_LINES) and "NVIDIA-SMI" not in lines[end]:
            if lines[end].strip() and not lines[end].startswith(" ") and lines[end].lstrip()[:1] not in "|+":
                break
            end += 1
        yield Block("table", document, i, end)


@lru_cache(maxsize=4)
def prose(document: Document) -> tuple[Block, ...]:
    """The lines that a person wrote, each for itself."""
    printed = {i for report in reports(document) for i in range(report.line, report.last)}
    lines = ((i, document.lines[i]) for i in document.new_lines if i not in printed)
    return tuple(Block("prose", document, i, i + 1, line) for i, line in lines if line.strip() and is_prose(line))


@lru_cache(maxsize=2048)  # a text is read in parts, and as a whole
def is_prose(line: str) -> bool:
    """Whether a person may have written it.

    >>> [is_prose(s) for s in ("My laptop has no GPU, and train.py stops", "in train.py", "ERROR: it is not there")]
    [True, False, False]
    """
    if len(line) > _LONGEST or _OUTPUT.search(line):
        return False
    words = line.lower().replace("'", " ").split()
    return not _TECHNICAL.search(line) or sum(word in _SMALL_WORDS for word in words) >= _SENTENCE


_TAG = Regex(r"^[ \t]*(?:\[[\w /-]{1,24}\][ :]{0,3})+")  # of a title: «[Bug]: »


def is_sentence(line: str) -> bool:
    """Whether a line says something in a sentence: what a person wrote, and no name with its value. A title's tag is
    not looked at.

    >>> [is_sentence(s) for s in ("[Bug]: it does not start on the 4090", "Is CUDA available: False", "Device: cuda:0")]
    [True, False, False]
    """
    line = _TAG.sub("", line)
    words = line.lower().replace("'", " ").split()
    if len(words) <= _SENTENCE or sum(word in _SMALL_WORDS for word in words) < 2:
        return False
    return not _is_of_block(line) and is_prose(line)  # «Is debug build: No»
