"""Reading the tables: one JSON file for each group of questions, read when the first question of its group comes."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import field
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, TypeVar, cast

from doctor.knowledge.form import SCHEMA, KnowledgeError, Table
from doctor.model.values import dataclass

TABLES = (
    "releases",
    "companions",
    "builds",
    "archs",
    "drivers",
    "gpus",
    "peaks",
    "speeds",
    "fabrics",
    "published",
    "macos",
    "messages",
    "codes",
    "causes",
    "words",
    "phrases",
    "interfaces",
    "libraries",
    "pins",
    "errata",
    "vendors",
    "system_packages",
    "downloads",
    "variables",
)
BUILT_IN = Path(__file__).parent / "tables"

Worked = TypeVar("Worked", bound=Callable[..., Any])


@dataclass
class _Updates:
    """Where newer tables lie than those that came with torchdoctor, and which of them could not be used."""

    folder: Path | None = None
    refused: list[KnowledgeError] = field(default_factory=list)


_updates = _Updates()
_forgetters: list[Callable[[], None]] = []  # empty what was worked out of the tables


def use(folder: str | Path | None) -> None:
    """From now on prefer the tables of this folder where they are newer than the built-in ones (None: built-in
    only)."""
    _updates.folder = Path(folder) if folder else None
    _updates.refused.clear()
    forget()


def forget() -> None:
    """Forget what was read and worked out of the tables."""
    table.cache_clear()
    _built_in.cache_clear()
    for empty in _forgetters:
        empty()


def of_tables(function: Worked, at_most: int | None = None) -> Worked:
    """functools.lru_cache for what is worked out of the tables: use() empties it. `at_most`: how many answers are
    kept; None: all."""
    cached = lru_cache(at_most)(function)
    _forgetters.append(cached.cache_clear)
    return cast(Worked, cached)


def refused() -> tuple[KnowledgeError, ...]:
    """Updated tables met so far that cannot be used: the built-in ones stay in force."""
    return tuple(_updates.refused)


@cache
def table(name: str) -> Table:
    """The table of that name. Raises KnowledgeError if the built-in one is broken."""
    own = _built_in(name)
    if not _has_update(name):
        return own
    from doctor.knowledge.schema import check_table

    try:
        newer = check_table(_read(_update_of(name)), name)
    except KnowledgeError as error:
        _updates.refused.append(error)
        return own
    return newer if newer["date"] > own["date"] else own


def _update_of(name: str) -> Path:
    return Path(_updates.folder or "", f"{name}.json")


def _has_update(name: str) -> bool:
    return _updates.folder is not None and _update_of(name).is_file()


def row_lines(name: str, group: str = "rows") -> list[bytes]:
    """The rows of one list of a table, each as JSON in UTF-8: whoever needs a few of many need not take all apart."""
    return _lines(name)[group]


def parsed(line: bytes) -> dict[str, Any]:
    """One of them."""
    row: dict[str, Any] = json.loads(line.rstrip(b","))
    return row


@of_tables
def _lines(name: str) -> dict[str, list[bytes]]:
    """The lines of each list of a table. The built-in files hold a row a line (scripts/tables.py)."""
    if is_updated(name):
        lists = {group: rows for group, rows in table(name).items() if isinstance(rows, list)}
        return {group: [f"  {json.dumps(row)}".encode() for row in rows] for group, rows in lists.items()}
    found: dict[str, list[bytes]] = {}
    rows: list[bytes] = []
    for line in _bytes(BUILT_IN / f"{name}.json").split(b"\n"):
        if line.startswith(b"  {"):
            rows.append(line)
        elif line.endswith(b"["):
            rows = found.setdefault(line.split(b'"')[1].decode(), [])
    return found


def cited(name: str, row: Mapping[str, Any]) -> str:
    """The sources of a row of that table, which it names by their keys."""
    sources = table(name)["sources"]
    return "; ".join(sources[key] for key in row["sources"])


def is_updated(name: str) -> bool:
    """Whether the table in force is an updated one."""
    return _has_update(name) and table(name) is not _built_in(name)


def is_as_made(name: str, size: int) -> bool:
    """Whether the built-in table is in force and its file has that many bytes, so that what was worked out of it
    beforehand holds: somebody who is just writing a row has not done that yet."""
    try:
        return not is_updated(name) and (BUILT_IN / f"{name}.json").stat().st_size == size
    except OSError:  # whoever reads the table says why
        return False


@cache
def _built_in(name: str) -> Table:
    content: Table = _read(BUILT_IN / f"{name}.json")  # its rows are checked by the tests, not at each start
    return content


def rows_of(content: Table) -> Iterator[tuple[str, Table]]:
    """(group, row) for every row of a table that has a status: of its lists, and where one row is a whole group."""
    for group, rows in content.items():
        for row in rows if isinstance(rows, list) else [rows]:
            if isinstance(row, dict) and "status" in row:
                yield group, row


def parse_update(text: bytes) -> dict[str, Table]:
    """The tables of an update, checked: a file that bundles several ({"schema", "date", "tables"}), or a single
    table."""
    from doctor.knowledge.schema import check_patterns, check_table

    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:  # UnicodeDecodeError is a ValueError
        raise KnowledgeError("the file", f"is not JSON, or is cut off: {error}") from None
    if isinstance(data, dict) and isinstance(data.get("table"), str):
        data = {"schema": data.get("schema"), "tables": {data["table"]: data}}
    if not isinstance(data, dict) or not isinstance(data.get("tables"), dict):
        raise KnowledgeError("the file", "holds no tables")
    if data.get("schema") != SCHEMA:
        raise KnowledgeError("the file", f"has schema {data.get('schema')!r}; this torchdoctor reads schema {SCHEMA}")
    for name, content in data["tables"].items():
        if name not in TABLES:
            raise KnowledgeError("the file", f"holds a table {name!r} that this torchdoctor does not know")
        check_patterns(check_table(content, name), name)
    return dict(data["tables"])


def store(tables: dict[str, Table], folder: str | Path) -> None:
    """Write tables into the folder of updates, each file whole or not at all."""
    Path(folder).mkdir(parents=True, exist_ok=True)
    for name, data in tables.items():
        part = Path(folder, f"{name}.json.part")
        part.write_text(json.dumps(data, ensure_ascii=False), encoding="utf-8")
        part.replace(Path(folder, f"{name}.json"))


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise KnowledgeError(path.name, f"cannot be read: {error}") from None


def _read(path: Path) -> Any:
    try:
        return json.loads(_bytes(path).decode("utf-8"))
    except UnicodeDecodeError as error:
        raise KnowledgeError(path.name, f"cannot be read: {error}") from None
    except (ValueError, RecursionError) as error:
        raise KnowledgeError(path.name, f"is not JSON, or is cut off: {error}") from None
