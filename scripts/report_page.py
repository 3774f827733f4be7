"""docs/report.md: every field of `check --json` with its type and meaning, from the types of doctor/model."""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Iterator, Mapping
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from doctor.decode import name_of
from doctor.model.facts import Absent
from doctor.model.report import Report
from doctor.reports.meanings import meanings, summary

HEAD = """# The report as JSON

Made by scripts/generate.py from the types in doctor/model; change the comments there. `torchdoctor check --json` prints
it, `torchdoctor schema` its JSON schema (draft 2020-12).

- The schema is "1". It only changes compatibly: fields may be added, so ignore those that you do not know. No field is
  renamed, removed or given another meaning. `check --from report.json` reads the reports of all versions of it.
  A report of a newer schema, or one that was cut short, is refused in one line (exit code 2).
- `null` is "not known", and `facts.gaps` says why. `{"absent": true}` is "looked for, and not there" (below:
  ABSENT). An empty array is "known to be none".
- Units stand in the names (`_bytes`, `_ms`, `_mb`). Times are UTC, ISO 8601. Ids are kebab-case and never reused.
- A report is redacted unless `--no-redact` was given: names, secrets and serial numbers are replaced by stand-ins
  (`user1`, `secret1`), the same everywhere, and commands say `{python}` for `target.python`.

## The block of a ticket

`torchdoctor ticket` and `check --format markdown` end with a fenced JSON object between two `<!-- torchdoctor:v1 -->`
lines, of at most 20,000 characters. It is a report of schema "1" that holds less: `schema`, `tool`, `taken_at`,
`verdict`, `limits`, `findings` (id, layer, severity, root, confidence), `redacted`, `facts`, and `left_out`: the dotted
facts that were left out for its size. In `facts`, a field that is not there has its default. Read a ticket with
`torchdoctor check --from issue.md`: the findings are made of the facts again.
"""


def text() -> str:
    """The whole page."""
    return HEAD + "".join(_section(kind) for kind in _kinds())


def _kinds() -> tuple[type, ...]:
    """Report and every type in it, in the order in which they are met."""
    found: list[type] = []

    def visit(hint: Any) -> None:
        if dataclasses.is_dataclass(hint) and isinstance(hint, type) and hint not in found:
            found.append(hint)
            for part in get_type_hints(hint).values():
                visit(part)
        for part in get_args(hint) if get_origin(hint) is not Literal else ():
            visit(part)

    visit(Report)
    return tuple(found)


def _section(kind: type) -> str:
    rows = "".join(f"| `{name}` | {hint} | {said} |\n" for name, hint, said in _rows(kind))
    return f"\n## {kind.__name__}\n\n{_cell(summary(kind))}\n\n| field | type | meaning |\n|---|---|---|\n{rows}"


def _rows(kind: type) -> Iterator[tuple[str, str, str]]:
    hints, said = get_type_hints(kind), meanings(kind)
    for field in dataclasses.fields(kind):
        yield name_of(field), _cell(_type(hints[field.name])), _cell(said[field.name])


def _type(hint: Any) -> str:
    """In JSON's words; a type of the report links to its section."""
    origin, args = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return ", ".join(_type(a) for a in args)
    if origin is Literal:
        return ", ".join(f'"{a}"' for a in args)
    if origin is tuple:
        return f"array of {_type(args[0])}" if args[-1] is Ellipsis else f"[{'; '.join(_type(a) for a in args)}]"
    if origin is not None and issubclass(origin, Mapping):
        return f"object of {_type(args[1])}"
    if hint is Absent:
        return "ABSENT"
    if dataclasses.is_dataclass(hint):
        return f"[{hint.__name__}](#{hint.__name__.lower()})"  # type: ignore[union-attr]
    names = {type(None): "null", bool: "boolean", int: "integer", float: "number", str: "text", object: "anything"}
    return names[hint]


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;").replace("None:", "null:").replace("False:", "false:")
