"""Python tracebacks and warnings: the exception, the files of its frames, and what their paths tell of the interpreter.

The last exception of each traceback is noted as ErrorText of pattern "exception" with groups (type, message); `path`
is the
file that raised it, or for an undefined symbol or a missing module the file named in the message.
"""

from __future__ import annotations

import re
import sys
from functools import lru_cache
from itertools import islice, pairwise

from doctor.evidence.notes import Notes
from doctor.evidence.text import Document
from doctor.knowledge.interfaces import TORCH_IMPORTS
from doctor.model.values import dataclass
from doctor.regex import Regex

SOURCE = "traceback"
_FRAME = Regex(
    r"^[ \t]*(?:Traceback \(most recent call last\):[ \t]*)?File \"([^\"\n]{1,400})\", line (\d+)(?:, in ([^\n]{1,100"
    r"}))?",
    re.M,
)
_FRAME_OTHER = Regex(
    r"^[ \t]*((?:/|[A-Za-z]:[/\\]|\.{0,2}/)?[^\s:\"'()]{1,300}\.py):(\d+): (?:in (<?\w+>?)|[\w.]*(?:Warning|Error)\b)",
    re.M,
)
_FRAME_NOTEBOOK = Regex(  # IPython 8: «File ~/…/x.py:27, in f()»; before: «~/…/x.py in f()»
    r"^[ \t]*(?:File[ \t]+)?((?:~|\.{0,2}|[A-Za-z]:)[/\\][^\n:\"']{1,300}\.py)(?::(\d+)(?:, in |$)| in )(<?\w+)?",
    re.M,
)
# Python's own loaders, and torch's, which load what others ask them to: not the code that failed
_LOADERS = Regex(
    r"^<|[/\\]importlib[/\\]|[/\\]ctypes[/\\]__init__\.py$|[/\\]runpy\.py$|[/\\]torch[/\\]_(?:ops|classes)\.py$"
)
_IMPORTS = Regex(r"[ \t]*(?:import|from)[ \t]+(\w+)(?![\w.])")
_INSTALLED = Regex(r"[/\\](?:lib(?:64)?[/\\]python\d|Lib[/\\]|python\d+\.zip|(?:site|dist)-packages[/\\])|^<")
_EXCEPTION = Regex(
    r"^[ \t]*((?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception|Warning|Interrupt|Exit|Failed|"
    r"Failure|Fault|Timeout|Unavailable|Mismatch|Missing)"
    r"|(?:torch|subprocess|concurrent|multiprocessing)(?:\.\w+)+)(?::[ \t]*([^\n]*))?$",
    re.M,
)
# «- **Exception Type:** X» and below it «- **Exception Message:** …»: ComfyUI's report
_REPORTED = Regex(
    r"^[-* \t]{0,8}Exception Type:?\*{0,2}:?[ \t]{0,4}([\w.]{1,120})[ \t]{0,8}\n"
    r"[-* \t]{0,8}Exception Message:?\*{0,2}:?[ \t]{0,4}([^\n]{0,2000})$",
    re.M,
)
# «Failed to import torch: No module named 'x'»: a program that prints the message alone
_UNNAMED = Regex(r"^[^\n]{0,200}?(?<![Ee]rror): (No module named ['\"][\w.]{1,100}['\"])[^\n]{0,200}$", re.M)
_LINES_AT_MOST = 40
_TELLING_WORDS = (
    "error", "fatal", "warning", "undefined symbol", "symbol not found", "cannot open shared", "not found", "failed",
    "terminate called", "what():", "core dumped", "blocked for more", "capability", "permission denied", "signal",
    "invalid",
)
_TELLING = Regex(
    r"(?:(?:\b(?:ERROR|FATAL|Fatal|fatal error|error|Error|WARNING)|Warning)\b ?[:!]|undefined "
    r"symbol|[Ss]ymbol not found|"
    r"cannot open shared object|symbol lookup error|failed assertion|terminate called|what\(\):|core dumped|blocked "
    r"for more than|"
    r"which is of (?:cuda|compute) capability|\bFAILED\b|received signal|command not found|Permission denied|(?:is|"
    r"was) not found|Invalid CUDA)"
)
_REACH = 230  # how far into a line its telling word may end
_SITE = Regex(r"^(.*?[/\\](?:site-packages|dist-packages))[/\\]", re.I)


@dataclass(frozen=True)
class Frame:
    """One frame: the file, and the index of the line that names it."""

    path: str
    line: int
    function: str = ""


@lru_cache(maxsize=4)
def frames(document: Document) -> list[Frame]:
    """All frames, in order."""
    found = []
    if 'File "' in document.text:
        found += [
            Frame(m[1], document.line_at(m.start(1)), (m[3] or "").strip()) for m in _FRAME.finditer(document.text)
        ]
    if ".py:" in document.text:
        found += [Frame(m[1], document.line_at(m.start(1)), m[3] or "") for m in _FRAME_OTHER.finditer(document.text)]
    if ".py" in document.text and document.has("ipython", "cell", "in [", "most recent call last"):
        notebook = _FRAME_NOTEBOOK.finditer(document.text)
        found += [Frame(m[1], document.line_at(m.start(1)), m[3] or "") for m in notebook]
    return sorted(found, key=lambda f: f.line)


def nearest_path(found: list[Frame], line: int) -> str | None:
    """The file of the frame that stands last before a line (within 12 lines), loaders left out where others are
    there."""
    before = [f.path for f in found if line - 12 <= f.line <= line]
    own = [path for path in before if not _LOADERS.search(path)]
    return own[-1] if own else before[-1] if before else None


def read(document: Document, notes: Notes) -> None:
    """Note the exceptions."""
    if not document.has("error", "exception", "warning", "traceback", "torch.", "no module named"):
        return
    found = frames(document)
    for frame in found:
        notes.understand(frame.line)
    _exceptions(document, notes, found)
    _shadowed(document, notes, found)
    _lines(document, notes, found)


def _exceptions(document: Document, notes: Notes, found: list[Frame]) -> None:
    last: dict[int, re.Match[str]] = {}
    for m in _EXCEPTION.finditer(document.text):
        line = document.line_at(m.start(1))
        if m[1].endswith("Warning") or (m[2] is None and "." in m[1] and not m[1].endswith(("Error", "Exception"))):
            continue
        last[line] = m
    said = {line: (m[1], (m[2] or "").strip()) for line, m in last.items()}
    for m in _REPORTED.finditer(document.text):
        said.setdefault(document.line_at(m.start(2)), (m[1], m[2].strip()))
    if "No module named" in document.text:
        for m in _UNNAMED.finditer(document.text):
            said.setdefault(document.line_at(m.start(1)), ("ModuleNotFoundError", m[1]))
    for line, (kind, message) in said.items():
        if not message or message.endswith(":"):
            message = " ".join([message, *(s.strip() for s in following(document, line))]).strip()
        said_as = f"{kind}: {message}"
        groups = (kind, message[:500])
        notes.message("exception", said_as, SOURCE, line, groups=groups, path=nearest_path(found, line))


def _shadowed(document: Document, notes: Notes, found: list[Frame]) -> None:
    """An installed file imports a module of the standard library, or a package that torch needs, and the next frame is
    a user's file of that name."""
    for frame, read_next in pairwise(found):
        if read_next.line - frame.line > 3 or frame.line + 1 >= len(document.lines):
            continue
        imported = _IMPORTS.match(document.lines[frame.line + 1])
        if not (imported and _INSTALLED.search(frame.path)):
            continue
        package = imported[1] in TORCH_IMPORTS
        if not package and imported[1] not in sys.stdlib_module_names:
            continue
        *_, above, name = ("", *re.split(r"[/\\]", read_next.path))
        same = name == f"{imported[1]}.py" or (package and (above, name) == (imported[1], "__init__.py"))
        if not same or _INSTALLED.search(read_next.path):
            continue
        notes.message(
            "package-imported-elsewhere" if package else "stdlib-imported-elsewhere",
            f"import {imported[1]} reads {read_next.path}", SOURCE, read_next.line,
            groups=("", imported[1], read_next.path), path=read_next.path,
        )


def _lines(document: Document, notes: Notes, found: list[Frame]) -> None:
    """Lines that tell of a failure and that nothing else recognised."""
    words = [word for word in _TELLING_WORDS if word in document.lower]
    if not words:
        return
    telling = (
        i
        for i, low in enumerate(document.lower.split("\n"))
        if any(word in low for word in words) and _TELLING.search(document.lines[i][:_REACH])
    )
    for line in islice(telling, _LINES_AT_MOST):
        said = document.lines[line].strip()
        if any(said[:200] in e.text or e.text in said for e in notes.errors):
            continue
        if said.endswith(":"):
            said = " ".join([said, *(s.strip() for s in following(document, line))])
        notes.message("line", said, "message", line, path=nearest_path(found, line))


def following(document: Document, line: int, at_most: int = 4) -> list[str]:
    """The lines that continue a message which ends with a colon: until an empty line."""
    found: list[str] = []
    for said in document.lines[line + 1 : line + 1 + at_most]:
        if not said.strip() or said.lstrip().startswith(("Traceback", 'File "')):
            break
        found.append(said)
    return found


def package_of(path: str) -> str | None:
    """The package that a file of an environment belongs to.

    >>> package_of("/home/u/env/lib/python3.11/site-packages/torch/cuda/__init__.py")
    'torch'
    """
    match = re.search(r"[/\\](?:site-packages|dist-packages)[/\\]([^/\\]+)", path)
    return match[1].removesuffix(".py") if match else None


def site_of(path: str) -> str | None:
    """The site-packages folder that a file lies in."""
    match = _SITE.match(path)
    return match[1] if match else None
