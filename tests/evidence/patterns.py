"""Every regular expression that runs over foreign text, with how it is used."""

import ast
import importlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import doctor
from doctor.evidence.says import Says
from doctor.knowledge.literals import flags_of
from doctor.regex import Regex, spanning_pieces

ROOT = Path(doctor.__path__[0])
METHODS = {"compile", "search", "match", "fullmatch", "finditer", "findall", "sub", "split"}
ANCHORED = {"match", "fullmatch"}
FLAGS = {"I", "M", "S", "IGNORECASE", "MULTILINE", "DOTALL"}


@dataclass(frozen=True)
class Used:
    """One expression. `searched`: it is tried at every position of the text, not at its beginning alone."""

    where: str
    pattern: str
    flags: int
    searched: bool


def of_readers() -> list[Used]:
    """Those of doctor/evidence, doctor/formats and of the messages: they see whole texts."""
    found = _of_room("evidence")
    for used in _of_room("formats").values():
        _keep(found, used)
    rows = json.loads((ROOT / "knowledge" / "tables" / "messages.json").read_text(encoding="utf-8"))["rows"]
    for row in rows:
        where, flags = f"messages.json {row['id']}", flags_of(row["flags"])
        if "s" in row["flags"]:  # searched piece by piece, see search_spanning
            for pieces in spanning_pieces(row["regex"]):
                for piece in pieces:
                    _keep(found, Used(where, piece, flags, True))
        else:
            _keep(found, Used(where, row["regex"], flags, True))
    return list(found.values())


def of_redaction() -> list[Used]:
    """Those of doctor/redaction: they see every text of a report, and pasted lines."""
    return list(_of_room("redaction").values())


def _of_room(room: str) -> dict[tuple[str, int], Used]:
    """The expressions that the modules of a room hold, and those in their calls."""
    found: dict[tuple[str, int], Used] = {}
    for path in sorted((ROOT / room).glob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        module = importlib.import_module(f"doctor.{room}.{path.stem}")
        for name, value in vars(module).items():
            methods = {
                node.attr
                for node in ast.walk(tree)
                if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == name
            }
            searched = not methods or not methods <= ANCHORED
            for one in _expressions(value):
                _keep(found, Used(f"{room}/{path.stem}.py {name}", one.pattern, one.flags & ~re.UNICODE, searched))
        for used in _calls(tree, f"{room}/{path.name}", METHODS - {"compile"}):
            _keep(found, used)
    return found


def elsewhere() -> list[Used]:
    """Those of the other rooms: they see one value, one quoted line or one message."""
    found: dict[tuple[str, int], Used] = {}
    for room in ("checks", "facts", "fixes", "knowledge", "reports"):
        for path in sorted((ROOT / room).rglob("*.py")):
            tree = ast.parse(path.read_text(encoding="utf-8"))
            where = path.relative_to(ROOT).as_posix()
            for used in _calls(tree, where):
                _keep(found, used)
            if room == "checks":  # rules and helpers take expressions as text
                for node in ast.walk(tree):
                    said = _literal(node)
                    known = any(pattern == said for pattern, _ in found)
                    if said and not known and "\n" not in said and re.search(r"[\\|*+]", said):
                        _keep(found, Used(f"{where}:{node.lineno}", said, 0, True))  # type: ignore[attr-defined]
    return [used for used in found.values() if _compiles(used)]


def _keep(found: dict[tuple[str, int], Used], used: Used) -> None:
    before = found.get((used.pattern, used.flags))
    if before is None or (used.searched and not before.searched):
        found[used.pattern, used.flags] = used


def _expressions(value: Any) -> Iterator[Any]:
    if isinstance(value, Regex | re.Pattern):
        yield value
    elif isinstance(value, Says):
        yield value.regex
    elif isinstance(value, tuple | list):
        for one in value:
            yield from _expressions(one)
    elif isinstance(value, dict):
        for one in value.values():
            yield from _expressions(one)


def _calls(tree: ast.AST, where: str, methods: set[str] = METHODS) -> Iterator[Used]:
    """re.search("…", …) and its kin; a value in an f-string stands as «x»."""
    names = {f"re.{method}" for method in methods} | ({"Regex"} if "compile" in methods else set())
    for node in ast.walk(tree):
        if not (
            isinstance(node, ast.Call)
            and ast.unparse(node.func) in names
            and node.args
        ):
            continue
        said = _literal(node.args[0])
        if said is None:
            continue
        flags = 0
        for argument in [*node.args[1:], *(k.value for k in node.keywords)]:
            for word in ast.walk(argument):
                if isinstance(word, ast.Attribute) and word.attr in FLAGS:
                    flags |= getattr(re, word.attr)
        anchored = ast.unparse(node.func).removeprefix("re.") in ANCHORED or (said.endswith((r"\Z", r"\z")) and not said.startswith("(?<"))
        yield Used(f"{where}:{node.lineno}", said, int(flags), not anchored)


def _literal(node: ast.AST) -> str | None:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(str(v.value) if isinstance(v, ast.Constant) else "x" for v in node.values)
    return None


def _compiles(used: Used) -> bool:
    try:
        re.compile(used.pattern, used.flags)
    except re.error:
        return False
    return True
