"""Take rows for the table of errata from files: check each one, merge those that hold, name those that don't.

merge_errata.py FILE…           say which rows would be taken, and why the others not; exit 1 if any is not
merge_errata.py --write FILE…   take them
merge_errata.py --replace …     rows whose id the table has take the place of those, but for their triggers
                                (without it they are rejected)
merge_errata.py --link …        rows without a trigger get the computation of the silent-fault pack that was written
                                for their first source
merge_errata.py                 check the table itself

A FILE holds a JSON list of rows, an object with "rows", or one row a line. docs/errata.md explains the fields.
"""

from __future__ import annotations

import argparse
import ast
import json
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from doctor.formats import cpuinfo  # noqa: E402
from doctor.knowledge.errata import Erratum, newest_in  # noqa: E402
from doctor.knowledge.form import SCHEMA, KnowledgeError  # noqa: E402
from doctor.knowledge.load import BUILT_IN, table  # noqa: E402
from doctor.knowledge.releases import torch_versions  # noqa: E402
from doctor.knowledge.schema import check_table  # noqa: E402
from doctor.knowledge.specifiers import specifier  # noqa: E402
from doctor.knowledge.versions import numbers  # noqa: E402
from doctor.probes.triggers import triggers  # noqa: E402
from scripts import tables  # noqa: E402

TABLE = BUILT_IN / "errata.json"
STAGES = ROOT / "doctor" / "inside" / "stages"
ORDER = (
    "id", "title", "kind", "versions", "nightlies", "backends", "devices", "cpu", "systems", "needs", "ops", "symptom",
    "message", "shared", "severity", "fixed_in", "workaround", "trigger", "sources", "status", "looked",
)  # fmt: skip
AREAS = (
    "mps", "cuda", "rocm", "xpu", "cpu", "install", "import", "compile", "dist", "win", "tv", "ta", "linux", "mac",
)  # fmt: skip
ARCHITECTURES = ("x86_64", "arm64")
INTEL = {row["architecture"].lower() for row in table("gpus")["patterns"] if row["vendor"] == "intel"}
DEVICE = re.compile("|".join([r"sm_\d{2,3}", r"gfx[0-9a-f]{3,4}", r"[MA]\d{1,2}", *map(re.escape, sorted(INTEL))]))
# Registries' hosts, put together here so that this file does not hold them.
NOT_NAMED = ("py" + "pi.org", "python" + "hosted.org", "registry.npm" + "js")
ASIDE = ("basis", "trigger_idea")  # notes of those who collect: dropped when a row is taken
LONGEST = 260  # characters of a symptom or a workaround

Row = dict[str, Any]


def computations() -> dict[str, str]:
    """thread -> the computation of the silent-fault pack that was written for it."""
    found = {}
    for node in ast.parse((STAGES / "silent.py").read_text(encoding="utf-8")).body:
        for decorator in node.decorator_list if isinstance(node, ast.FunctionDef) else ():
            if isinstance(decorator, ast.Call) and _named(decorator) == "silent":
                (issue, *_) = (argument.value for argument in decorator.args if isinstance(argument, ast.Constant))
                thread = f"{issue}" if "/" in str(issue) else f"pytorch/pytorch/issues/{issue}"
                found.setdefault(f"https://github.com/{thread}", node.name)  # type: ignore[union-attr]
    return found


def linked(rows: Iterable[Row]) -> Iterator[Row]:
    """The rows; those without a trigger with the computation that was written for their first source."""
    written = computations()
    for row in rows:
        name = written.get(row["sources"][0])
        yield {**row, "trigger": name} if name and "trigger" not in row else row


def _named(decorator: ast.expr) -> str:
    target = decorator.func if isinstance(decorator, ast.Call) else decorator
    return target.id if isinstance(target, ast.Name) else ""


def problems(row: Row, known_triggers: Iterable[str]) -> Iterator[str]:
    """Why a row can't be taken. Its fields are checked first; what they say, only where these are sound."""
    try:
        check_table({"schema": SCHEMA, "table": "errata", "date": "2026-01-01", "sources": {}, "rows": [row]}, "errata")
    except KnowledgeError as error:
        yield error.message
        return
    erratum = Erratum(**{k: tuple(v) if isinstance(v, list) else v for k, v in row.items()})
    if row["id"].split("-")[0] not in AREAS:
        yield f"the id does not begin with an area ({', '.join(AREAS)})"
    yield from _versions(erratum)
    yield from _words(row)
    if "trigger" in row and row["trigger"] not in known_triggers:
        yield f"there is no trigger {row['trigger']}"
    known_of_cpus = {*cpuinfo.MATTER, *ARCHITECTURES}
    for token in erratum.cpu:
        if token.removeprefix("-") not in known_of_cpus:
            yield f"{token!r} is no architecture and no instruction set that is collected (doctor/formats/cpuinfo.py)"
    for device in erratum.devices:
        if not DEVICE.fullmatch(device):
            yield f"device {device!r} is not sm_XX, gfxXXX, M1 … or a family of Intel"


def _versions(erratum: Erratum) -> Iterator[str]:
    if not erratum.versions and not erratum.nightlies:
        yield "versions is empty, and no nightlies are given"
    if erratum.nightlies and (len(erratum.nightlies) != 2 or erratum.nightlies[0] is None):
        yield "nightlies is not [first, last]; the last may be null"
    if erratum.nightlies and erratum.nightlies[-1] and str(erratum.nightlies[0]) > erratum.nightlies[-1]:
        yield "nightlies end before they begin"
    if not erratum.versions:
        return
    spec = specifier(erratum.versions)
    if newest_in(erratum.versions) is None:
        yield f"no release of the tables is in {erratum.versions}"
    for bound in re.findall(r"\d+(?:\.\d+)*", erratum.versions):
        if len(numbers(bound)) > 3:
            yield f"{bound} in versions is not a release"
    if erratum.fixed_in:
        if spec.contains(erratum.fixed_in):
            yield f"fixed_in {erratum.fixed_in} is inside of versions {erratum.versions}"
        if erratum.fixed_in not in torch_versions():
            yield f"fixed_in {erratum.fixed_in} is not a release of the tables (write 2.9.0, not 2.9)"
        newest = newest_in(erratum.versions)
        if newest and numbers(erratum.fixed_in) < numbers(newest):
            yield f"fixed_in {erratum.fixed_in} is older than {newest}, which is in versions"


def _words(row: Row) -> Iterator[str]:
    if row["title"].endswith("."):
        yield "the title ends with a full stop"
    for field in ("symptom", "workaround"):
        if len(row[field]) > LONGEST:
            yield f"the {field} is longer than {LONGEST} characters"
        if row[field] and not row[field].rstrip().endswith((".", ")")):
            yield f"the {field} is no sentence with a full stop"
    if not row["symptom"]:
        yield "the symptom is empty"
    if "message" in row and len(row["message"]) < 12:
        yield "the message is too short to be telling"
    if row.get("shared") and not ("message" in row and row["ops"]):
        yield "a shared message needs an operation that tells it from the others"
    text = json.dumps(row)
    yield from (f"{host} is named" for host in NOT_NAMED if host in text)
    if any(ord(c) < 32 for value in row.values() if isinstance(value, str) for c in value):
        yield "a text holds a control character"


def rows_in(path: Path) -> list[Any]:
    """The rows of a file, in any of its forms. Raises ValueError where it is none of them."""
    text = path.read_text(encoding="utf-8")
    try:
        data = json.loads(text)
    except ValueError:
        lines = [line.strip().rstrip(",") for line in text.splitlines()]
        return [json.loads(line) for line in lines if line and line not in "[]"]
    if isinstance(data, dict) and "rows" in data:
        data = data["rows"]
    return data if isinstance(data, list) else [data]


def same_thing(row: Row, others: Iterable[Row]) -> str | None:
    """The id of a row of the same kind that cites the same thread first, for the same versions and backends: one fault
    told twice. (Release notes and lists of known issues are the source of many rows.)"""
    if not re.search(r"/(issues|pull)/\d+", row["sources"][0]):
        return None
    essence = ("versions", "kind", "backends")
    for other in others:
        if other["sources"][0] == row["sources"][0] and all(other[name] == row[name] for name in essence):
            return str(other["id"])
    return None


def ordered(row: Row) -> Row:
    return {name: row[name] for name in ORDER if name in row}


def table_text(date: str, rows: Iterable[Row]) -> str:
    """The table as its file holds it, by id."""
    listed = [ordered(row) for row in sorted(rows, key=lambda row: row["id"])]
    return tables.table_text({"schema": SCHEMA, "table": "errata", "date": date, "sources": {}, "rows": listed})


def merged(own: list[Row], given: Iterable[tuple[str, Any]], *, replace: bool) -> tuple[list[Row], list[str], int]:
    """The rows with those taken, the sentence for each that is not, and how many were taken."""
    known = triggers()
    table = {row["id"]: row for row in own}
    rejected, taken = [], 0
    for place, row in given:
        if not isinstance(row, dict):
            rejected.append(f"{place}: is not an object")
            continue
        name = f"{place}, {row.get('id', 'without an id')}"
        row = {key: value for key, value in row.items() if key not in ASIDE}
        found = list(problems(row, known))
        others = [r for id, r in table.items() if id != row.get("id")]
        if not found and row["id"] in table and not replace:
            found.append("the id is taken" + (" (by the same row)" if table[row["id"]] == row else ""))
        if not found and (twin := same_thing(row, others)):
            found.append(f"{twin} has the same source for the same versions: one fault is one row")
        if found:
            rejected.append(f"{name}: {'; '.join(found)}")
            continue
        kept = {"trigger": table[row["id"]]["trigger"]} if "trigger" in table.get(row["id"], ()) else {}
        table[row["id"]] = {**kept, **row}
        taken += 1
    return list(table.values()), rejected, taken


def main(arguments: list[str]) -> int:
    """Exit code 0; 1 where a row is rejected."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--replace", action="store_true")
    parser.add_argument("--link", action="store_true")
    options = parser.parse_args(arguments)
    data = json.loads(TABLE.read_text(encoding="utf-8"))
    if not options.files and not options.link:
        known = triggers()
        bad = [f"{row['id']}: {'; '.join(found)}" for row in data["rows"] if (found := list(problems(row, known)))]
        print("\n".join(bad) or f"{len(data['rows'])} rows, all sound")
        return 1 if bad else 0
    given: list[tuple[str, Any]] = []
    rejected: list[str] = []
    for path in options.files:
        try:
            given += [(f"{path.name} {number}", row) for number, row in enumerate(rows_in(path), 1)]
        except (OSError, ValueError) as error:
            rejected.append(f"{path.name}: cannot be read: {error}")
    rows, refused, taken = merged(data["rows"], given, replace=options.replace)
    rejected += refused
    if options.link:
        before, rows = rows, list(linked(rows))
        for old, new in zip(before, rows, strict=True):
            if old != new:
                print(f"linked    {new['id']}: {new['trigger']}")
    for line in rejected:
        print(f"rejected  {line}")
    done = "taken" if options.write else "would be taken"
    print(f"{taken} rows {done}, {len(rejected)} rejected, {len(rows)} in all")
    if options.write and rows != data["rows"]:
        date = max(data["date"], *(row["looked"] for row in rows))
        TABLE.write_text(table_text(date, rows), encoding="utf-8", newline="\n")
    return 1 if rejected else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
