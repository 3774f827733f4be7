"""Files that say which packages an environment gets: requirements files, pyproject.toml, Pipfile, pixi.toml,
environment.yml, Dockerfile. Pure.

Only the lines that bring torch, what belongs to it, an index or a base image in are of interest, so files are read
line by line: a parser would lose the numbers of the lines. What is not understood is left out, never guessed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from doctor.fixes.tools import all_tools, spellings
from doctor.fixes.tools import normalised as spelled
from doctor.model.values import dataclass
from doctor.regex import Regex

LINES_AT_MOST = 20_000
LINE_LENGTH = 1000  # characters of a line that are looked at
INDEX = "index"  # the address of a package index
IMAGE = "image"  # the base image of a container
PYTHON = "python"

# Distributions that decide which torch there is, and whether it runs.
_WANTED = Regex(
    r"(?:torch|pytorch)(?:$|[a-z-].*)|cpuonly|cudatoolkit|cuda-version|triton(?:-.*)?|numpy|xformers|flash-attn"
    r"|nvidia-.*|intel-extension-for-pytorch|python"
)
_CONDA_NAMES = {"pytorch": "torch", "pytorch-gpu": "torch", "pytorch-cpu": "torch"}
_NAME = r"([A-Za-z0-9][A-Za-z0-9._-]{0,80})"
_REQUIREMENT = Regex(rf"\s*{_NAME}\s*(?:$|[\[<>=!~;@# ])")
_INDEX_OPTION = Regex(r"\s*(?:-i|-f|--index-url|--extra-index-url|--find-links)(?:[ \t=]|$)")
_QUOTED = Regex(rf"[\"']{_NAME}(?:[\s\[<>=!~;@][^\"']*)?[\"']")
_KEY = Regex(rf"\s*[\"']?{_NAME}[\"']?\s*=")
_TABLE = Regex(r"\s*\[{1,2}([^\[\]]+)\]{1,2}\s*(?:#.*)?$")
_CONDA_ITEM = Regex(rf"\s*-\s+[\"']?(?:[\w./-]{{1,100}}::)?{_NAME}\s*(?:$|[\[<>=!~;@#\"' ])")
_FROM = Regex(r"\s*FROM\s+(?:--platform=\S+\s+)?(\S+)", re.IGNORECASE)
_TOOL = Regex(rf"\b(?:{spellings(words=1)})\b")
_INSTALLS = Regex(r"\b(?:install|add|sync)\b")
_WORD = Regex(r"(?<![\w./:@=-])[\"']?" + _NAME + r"(?:\[[\w,]*\])?(?=$|[<>=!~;\"'\\\s])")

_NAMES = frozenset(name.lower() for tool in all_tools() for name in tool.manifests)
_TABLES = [tool.tables for tool in all_tools()]
_TABLES_OF_PACKAGES, _TABLES_OF_LISTS, _TABLES_OF_INDEXES = (
    Regex("|".join(filter(None, said)))
    for said in zip(*((one.packages, one.lists, one.indexes) for one in _TABLES), strict=True)
)


@dataclass(frozen=True)
class Line:
    """A line, from 1, and what it brings in: the normalised name of a package, INDEX, IMAGE or PYTHON."""

    number: int
    what: str


def is_manifest(name: str) -> bool:
    """Whether a file of that name, without its folder, is read here.

    >>> [is_manifest(n) for n in ("requirements-gpu.txt", "Dockerfile.cuda", "notes.txt")]
    [True, True, False]
    """
    return _reader(name) is not None


def parse(name: str, text: str) -> tuple[Line, ...]:
    """The lines of interest of a file of that name; () where it is none of these files."""
    reader = _reader(name)
    if reader is None:
        return ()
    lines = [line[:LINE_LENGTH] for line in text.splitlines()[:LINES_AT_MOST]]
    found = dict.fromkeys(reader(lines))  # a line that names a package twice counts once
    return tuple(line for line in found if line.what in (INDEX, IMAGE) or _WANTED.fullmatch(line.what))


def _reader(name: str) -> Callable[[list[str]], Iterator[Line]] | None:
    low = name.lower()
    if low.endswith((".txt", ".in")) and ("requirement" in low or low.startswith("constraint")):
        return _requirements
    if low in _NAMES and not low.endswith((".txt", ".yml", ".yaml")):
        return _toml
    if any(tool.manifests_like and re.fullmatch(tool.manifests_like, low) for tool in all_tools()):
        return _conda
    if re.fullmatch(r"(?:dockerfile|containerfile)(?:\.[\w.-]+)?|[\w.-]+\.dockerfile", low):
        return _dockerfile
    return None


def normalised(name: str) -> str:
    """As PEP 503 spells it; conda's names of torch are torch.

    >>> normalised("Torch_Geometric"), normalised("pytorch")
    ('torch-geometric', 'torch')
    """
    name = spelled(name)
    return _CONDA_NAMES.get(name, name)


def _requirements(lines: list[str]) -> Iterator[Line]:
    for number, line in enumerate(lines, 1):
        if _INDEX_OPTION.match(line):
            yield Line(number, INDEX)
        elif match := _REQUIREMENT.match(line):
            yield Line(number, normalised(match[1]))


def _toml(lines: list[str]) -> Iterator[Line]:
    table = ""
    for number, line in enumerate(lines, 1):
        if line.lstrip().startswith("#"):
            continue
        if heading := _TABLE.match(line):
            table = heading[1].strip().replace('"', "").replace(" ", "")
            if _TABLES_OF_INDEXES.fullmatch(table):
                yield Line(number, INDEX)
            continue
        key = _KEY.match(line)
        if _TABLES_OF_PACKAGES.fullmatch(table):
            if key:
                yield Line(number, normalised(key[1]))
        elif _TABLES_OF_LISTS.fullmatch(table):
            if key and key[1] == "requires-python":
                yield Line(number, PYTHON)
            elif not key or key[1].endswith("dependencies") or table != "project":
                found = _QUOTED.finditer(_without_comment(line))
                yield from (Line(number, normalised(match[1])) for match in found)


def _without_comment(line: str) -> str:
    """A line of TOML up to the # that stands in no quotes."""
    quote = ""
    for place, character in enumerate(line):
        if quote:
            quote = "" if character == quote else quote
        elif character in "\"'":
            quote = character
        elif character == "#":
            return line[:place]
    return line


def _conda(lines: list[str]) -> Iterator[Line]:
    section = ""
    for number, line in enumerate(lines, 1):
        if re.match(r"[A-Za-z]", line):
            section = line.partition(":")[0]
        elif section != "dependencies":
            continue
        elif re.match(r"\s*-\s+(?:-i|-f|--index-url|--extra-index-url|--find-links)[ =]", line):
            yield Line(number, INDEX)
        elif match := _CONDA_ITEM.match(line):
            yield Line(number, normalised(match[1]))


def _dockerfile(lines: list[str]) -> Iterator[Line]:
    """The image that the last stage is made of, and the words of the commands that install something."""
    stages: dict[str, Line] = {}
    last: Line | None = None
    command = ""
    for number, line in enumerate(lines, 1):
        if line.lstrip().startswith("#"):
            continue
        if match := _FROM.match(line):
            words = line.lower().split()
            last = stages.get(match[1].lower()) or Line(number, IMAGE)
            if "as" in words[2:-1]:
                stages[words[words.index("as", 2) + 1]] = last
            command = ""
            continue
        command = (command + " " + line.rstrip("\\ \t"))[-4 * LINE_LENGTH :]
        tool = _TOOL.search(command)
        if tool and _INSTALLS.search(command, tool.end()):
            if re.search(r"--(?:extra-)?index-url|--index[ =]|\s-i\s", line):
                yield Line(number, INDEX)
            yield from (Line(number, normalised(match[1])) for match in _WORD.finditer(line))
        if not line.rstrip().endswith("\\"):
            command = ""
    if last:
        yield last
