"""Lists of installed packages: pip list, freeze, show; conda list; collect_env's [pip3] and [conda]; «already
satisfied»."""

from __future__ import annotations

import re
from collections.abc import Iterator

from doctor.evidence.notes import Notes, Trust, normalise
from doctor.evidence.text import Document
from doctor.model.facts import ABSENT, TorchCopy
from doctor.regex import Regex

_VERSION = r"\d[\w.+-]*"
_TAGGED = Regex(
    rf"^[ \t]*\[(pip\d?|conda)\][ \t]+([\w.-]+)(?:==|[ \t]+)({_VERSION})(?:[ \t]+(\S+))?(?:[ \t]+(\S+))?[ \t]*$", re.M
)
_FREEZE = Regex(rf"^[ \t]*([A-Za-z][\w.-]*)==({_VERSION})[ \t]*$", re.M)
_FREEZE_AT = Regex(
    r"^[ \t]*([A-Za-z][\w.-]*)[ \t]*@[ \t]*(?:https?|file)://\S{0,400}?-(\d[\w.%+]{0,60})-(?:cp|py)\d"
    r"\S{0,120}\.whl",
    re.M,
)
_TABLE_HEAD = Regex(r"^[ \t]*Package[ \t]+Version\b.*$|^[ \t]*-{4,}[ \t]+-{4,}", re.M)
_ROW = Regex(rf"^[ \t]*([A-Za-z][\w.-]*)[ \t]+({_VERSION})(?:[ \t]+(/\S+|[A-Z]:\\\S+|pip|uv|conda))?[ \t]*$")
_CONDA_ROW = Regex(
    rf"^[ \t]*([a-z_][\w.-]*)[ \t]+({_VERSION})[ \t]+((?:py|cuda|cpu|h|\d|pypi|mkl|nomkl|gpu|rocm|generic|release|"
    rf"intel|openmp|blas)[\w.]*)(?:[ \t]+([\w./:-]+))?[ \t]*$"
)
_COLUMNS = 4  # of its row
_SHOW = Regex(r"^[ \t]*Name:[ \t]*([\w.-]+)[ \t]*$", re.M)
_SHOWN = Regex(r"^[ \t]*(Version|Location|Installer|Requires|Editable project location):[ \t]*(.*)$")
_SATISFIED = Regex(r"^[ \t]*Requirement already satisfied: ([\w.-]+)(?=[\[<>=!~ ,])([^\n]*)$", re.M)
_IN_BRACKETS = Regex(r" \(([\w.+]+)\)")
_UV_AUDIT = Regex(rf"^[ \t]*[+~][ \t]+([a-z][\w.-]*)==({_VERSION})(?:[ \t].*)?$", re.M)
_SUCCESS = Regex(r"^[ \t]*Successfully installed (\S[^\n]*)$", re.M)
_GREP_ROW = Regex(
    rf"^[ \t]*((?:torch|torchvision|torchaudio|torchtext|numpy|triton|pytorch|xformers|flash|nvidia|transformers|"
    rf"tensorflow|accelerate|bitsandbytes|intel|mkl|pytorch-\w)[\w.-]*)(?:[ \t]{{2,}}|\t)({_VERSION})[ \t]*$"
)
_CONFLICT = Regex(  # pip's resolver, of packages that stay
    r"^(?:ERROR: )?([A-Za-z][\w.-]{0,60}) (\d[\w.+!-]{0,40}) requires (torch *[=<>!~][=<>!~\d.,* ]{0,60}?)"
    r"(?:\+\w{1,12})?(?: *;[^\n]{0,80})?, but you have torch ", re.M
)
CONDA_NAMES = {"pytorch": "torch", "pytorch-cpu": "torch", "pytorch-gpu": "torch", "py-opencv": "opencv"}


def read(document: Document, notes: Notes) -> None:
    """Note the installed packages and, of torch, every copy."""
    text = document.text
    seen: dict[str, list[tuple[str, str, str]]] = {}  # installer -> (version, build, path) of torch

    def put(
        name: str, version: str, installer: str | None, at: int, rank: Trust, build: str = "", path: str | None = None
    ) -> None:
        line = document.line_at(at)
        key = normalise(name)
        source = {"pip": "pip", "conda": "conda list"}.get(installer or "", "package list")
        if installer == "conda" and "pypi" in build:
            installer = "pip"
        own = CONDA_NAMES.get(key, key) if installer == "conda" else key
        if own == "torch":
            seen.setdefault(installer or "pip", []).append((version, build, path or ""))
            _note_torch(version, build, installer, path, notes, source=source, rank=rank, line=line)
        notes.package(
            own if own == "torch" else key, version, installer=installer, rank=rank, source=source, line=line, path=path
        )

    if document.has("[pip", "[conda]"):
        for m in _TAGGED.finditer(text):
            installer = "conda" if m[1] == "conda" else "pip"
            put(m[2], m[3], installer, m.start(), Trust.LISTED, " ".join(x for x in m.groups()[3:] if x))
        if re.search(r"^[ \t]*\[pip\d?\][ \t]+[\w.-]+==", text, re.M):
            notes.listed_packages = True
    if document.has("but you have torch"):
        for m in _CONFLICT.finditer(text):
            notes.package(m[1], m[2], installer=None, rank=Trust.LOOK, source="pip", line=document.line_at(m.start()))
            notes.wish(m[1], m[2], m[3].replace(" ", ""))
    if "==" in text:
        for m in _FREEZE.finditer(text):
            put(m[1], m[2], "pip", m.start(), Trust.LISTED)
    if "@" in text and ".whl" in text:
        for m in _FREEZE_AT.finditer(text):
            put(m[1], m[2].replace("%2B", "+").replace("%2b", "+"), "pip", m.start(), Trust.LISTED)
    _tables(document, put)
    rows = list(_rows(document))
    for at, line in rows:
        if (row := _CONDA_ROW.match(line)) and _is_conda_row(row):
            put(row[1], row[2], "conda", at, Trust.LISTED, f"{row[3]} {row[4] or ''}".strip())
    if "Name:" in text:
        _shown(document, put, notes)
    if "already satisfied" in text:
        for m in _SATISFIED.finditer(text):
            _, _, where = m[2].partition(" in ")
            if said := _IN_BRACKETS.search(where):
                path = where[: said.start()].partition(" (from ")[0]
                put(m[1], said[1], "pip", m.start(), Trust.LISTED, path=path)
    if "Successfully installed" in text:
        for m in _SUCCESS.finditer(text):
            for item in m[1].split():
                name, _, version = item.rpartition("-")
                if name and version[:1].isdigit():
                    put(name, version, "pip", m.start(), Trust.LISTED)
    if document.has(" + ", "+ torch"):
        for m in _UV_AUDIT.finditer(text):
            put(m[1], m[2], "uv", m.start(), Trust.LISTED)
    if document.has("torch", "numpy"):
        for at, line in rows:
            if row := _GREP_ROW.match(line):
                put(row[1], row[2], "pip", at, Trust.LISTED)
    _note_copies(seen, notes)


def _rows(document: Document) -> Iterator[tuple[int, str]]:
    """Where each line begins that has two to four columns, of which the second begins with a digit; and the line."""
    for at, line in zip(document.starts, document.lines, strict=True):
        columns = line.split(None, _COLUMNS)
        if 1 < len(columns) <= _COLUMNS and columns[1][0].isdigit():
            yield at, line


def _is_conda_row(m: re.Match[str]) -> bool:
    """Whether the third column is a conda build: a number alone is one only with a channel."""
    build, channel = m[3], m[4] or ""
    return (
        bool(re.search(r"[a-z]", channel))
        or (re.fullmatch(r"\w+", build) is not None
        and re.search(r"_\d|^h[0-9a-f]{6}|^py\d", build) is not None)
    )


def _tables(document: Document, put: object) -> None:
    """`pip list` with its heading: every row below it until a blank or another line."""
    assert callable(put)
    if "package" not in document.lower and "----" not in document.text:
        return
    for m in _TABLE_HEAD.finditer(document.text):
        at = document.line_at(m.start()) + 1
        while at < len(document.lines) and (
            (row := _ROW.match(document.lines[at])) or document.lines[at].lstrip().startswith("---")
        ):
            if row:
                put(row[1], row[2], "pip", document.starts[at], Trust.LISTED)
            at += 1


def _shown(document: Document, put: object, notes: Notes) -> None:
    """`pip show`: Name, Version, …, Location."""
    assert callable(put)
    for m in _SHOW.finditer(document.text):
        at = document.line_at(m.start())
        values: dict[str, str] = {}
        for i in range(at + 1, min(at + 14, len(document.lines))):
            if line := _SHOWN.match(document.lines[i]):
                values.setdefault(line[1], line[2].strip())
                notes.understand(i)
            elif document.lines[i].startswith("Name:") or document.lines[i].startswith("---"):
                break
        if values.get("Version", "")[:1].isdigit():
            put(m[1], values["Version"], "pip", m.start(), Trust.LISTED, path=values.get("Location") or None)


def _note_torch(
    version: str,
    build: str,
    installer: str | None,
    path: str | None,
    notes: Notes,
    *,
    source: str,
    rank: Trust,
    line: int,
) -> None:
    """What a line about torch itself says: its version, of conda builds also the backend."""
    notes.put("torch.version", version, source=source, rank=rank, line=line)
    notes.put("torch.installer", installer, source=source, rank=rank, line=line)
    if path:
        notes.put(
            "torch.path", f"{path}/torch" if "\\" not in path else path + "\\torch", source=source, rank=rank, line=line
        )
    if build and installer == "conda":
        notes.put("torch.build", build.split()[0], source=source, rank=rank, line=line)
        if cuda := re.search(r"cuda[_-]?(\d+\.?\d+)", build):
            digits = cuda[1]
            notes.put(
                "torch.cuda", digits if "." in digits else f"{digits[:-1]}.{digits[-1]}", source=source, rank=rank,
                line=line,
            )
            if "." in digits and digits.count(".") == 1:
                notes.put("torch.cuda", digits, source=source, rank=rank, line=line)
        elif re.search(r"(?:^|_)cpu(?:_|$)", build):
            notes.put("torch.cuda", ABSENT, source=source, rank=rank, line=line)


def _note_copies(seen: dict[str, list[tuple[str, str, str]]], notes: Notes) -> None:
    """pip and conda name the same conda package twice: two copies only if their releases differ."""
    found: list[TorchCopy] = list(notes.copies)
    for installer, rows in seen.items():
        for version, _, path in rows:
            release = version.partition("+")[0]
            same = next(
                (
                    c
                    for c in found
                    if (c.version or "").partition("+")[0] == release and (not path or not c.path or c.path == path)
                ),
                None,
            )
            if same is None:
                found.append(TorchCopy(path=path, version=version, installer=installer))
    notes.copies = found
