"""Reports as JSON and back, driven by the dataclasses of doctor/model, and the schema made of the same.

None is null. ABSENT is {"absent": true}: a string could be a value. Tuples are arrays. Fields come in the order of the
dataclass, the keys of mappings sorted. Not-a-number and infinities become null: JSON has none.
"""

from __future__ import annotations

import dataclasses
import json
import math
import types
from collections.abc import Mapping
from functools import cache
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from doctor.decode import ABSENT_JSON, Refused, decode, loads, name_of
from doctor.model.facts import ABSENT, Absent
from doctor.model.report import Report
from doctor.reports.meanings import meanings
from doctor.reports.sinks import json_text

SCHEMA_ID = "urn:torchdoctor:report-1"
Made = TypeVar("Made")
_AS_IT_IS = frozenset((type(None), bool, int))


def render(report: Report, *, indent: int | None = 2) -> str:
    """The report as one JSON object, ASCII only; indent=None: on one line."""
    return written(report, indent=indent)


def written(value: object, *, indent: int | None = 2) -> str:
    """Anything of the model as one JSON object, ASCII only, harmless in a log; indent=None: on one line."""
    return json_text(json.dumps(encode(value), indent=indent, allow_nan=False)) + "\n"


def parse(text: str) -> Report:
    """The report that `render` made, whoever changed it since (doctor/decode.py). Fields that this version does not
    know are ignored, missing ones take their defaults. ValueError where it is no report of schema "1"."""
    data = loads(text)
    if not isinstance(data, dict) or data.get("schema") != "1":
        raise ValueError('not a torchdoctor report of schema "1"')
    return decode(Report, data)


def read_back(kind: type[Made], text: str | bytes, schema: str, what: str, **limits: int) -> Made:
    """A value of that kind, which says its schema. Raises Refused where it is not `what`. `limits`: those of loads."""
    data = loads(text, **limits)
    if not isinstance(data, dict) or data.get("schema") != schema:
        raise Refused(f"it is not {what} (schema {schema})")
    return decode(kind, data)


def encode(value: object) -> Any:
    """A value of the model as what `json.dumps` takes."""
    kind = type(value)
    if kind in _AS_IT_IS:
        return value
    if isinstance(value, str):  # an undecodable byte of a file name is a lone surrogate, which many
        return value if value.isascii() else value.encode("utf-8", "backslashreplace").decode()  # parsers refuse
    if kind is tuple or kind is list:
        return [encode(v) for v in value]  # type: ignore[attr-defined]
    if hasattr(kind, "__dataclass_fields__"):
        own, made = value.__dict__, {}
        for field, name in _names(kind):  # type: ignore[arg-type]
            part = own[field]
            kind = type(part)
            plain = kind in _AS_IT_IS or (kind is str and part.isascii())
            made[name] = part if plain else encode(part)
        return made
    if value is ABSENT:
        return dict(ABSENT_JSON)
    if isinstance(value, (tuple, list)):
        return [encode(v) for v in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(k): encode(value[k]) for k in sorted(value, key=str)}
    if isinstance(value, int):
        return value
    raise TypeError(f"{kind.__name__} has no form in a report")


@cache
def _names(kind: type) -> tuple[tuple[str, str], ...]:
    """(field, its name in JSON) of a dataclass, in order."""
    return tuple((f.name, name_of(f)) for f in dataclasses.fields(kind))


def schema() -> dict[str, Any]:
    """JSON schema (draft 2020-12) of what `render` prints."""
    return schema_of(
        Report,
        SCHEMA_ID,
        title="torchdoctor report",
        description=(
            'Schema "1". It only changes compatibly: fields may be added, so ignore those you do not know. null is '
            '"not known" (facts.gaps says why), {"absent": true} is "known to be absent", an empty array is "known to '
            'be none". Times are UTC, ISO 8601; units are in the names; ids are kebab-case and never reused. In a '
            "redacted report commands say {python} for target.python."
        ),
    )


def schema_of(kind: type, id: str, *, title: str, description: str) -> dict[str, Any]:
    """The schema of any dataclass of the model; its field `schema` is a constant, the field's default."""
    definitions: dict[str, Any] = {}
    root = _schema_of(kind, definitions)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": id,
        "title": title,
        "description": description,
        **root,
        "$defs": dict(sorted(definitions.items())),
    }


def _schema_of(kind: Any, definitions: dict[str, Any]) -> dict[str, Any]:
    origin, args = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        return {"anyOf": [_schema_of(a, definitions) for a in args]}
    if origin is Literal:
        return {"enum": list(args)}
    if origin is tuple:
        if args[-1] is Ellipsis:
            return {"type": "array", "items": _schema_of(args[0], definitions)}
        items = [_schema_of(a, definitions) for a in args]
        return {"type": "array", "prefixItems": items, "minItems": len(items), "maxItems": len(items)}
    if origin is not None and issubclass(origin, Mapping):
        return {"type": "object", "additionalProperties": _schema_of(args[1], definitions)}
    if kind is Absent:
        definitions["Absent"] = {
            "type": "object", "properties": {"absent": {"const": True}}, "required": ["absent"],
            "additionalProperties": False, "description": "Looked for in the right place, and known not to be there.",
        }  # fmt: skip
        return {"$ref": "#/$defs/Absent"}
    if dataclasses.is_dataclass(kind):
        return _schema_of_class(kind, definitions)  # type: ignore[arg-type]
    if kind is object:
        return {}
    names = {type(None): "null", bool: "boolean", int: "integer", float: "number", str: "string"}
    return {"type": names[kind]}


def _schema_of_class(kind: type, definitions: dict[str, Any]) -> dict[str, Any]:
    reference = {"$ref": f"#/$defs/{kind.__name__}"}
    if kind.__name__ in definitions:
        return reference
    definition: dict[str, Any] = {"type": "object", "description": " ".join((kind.__doc__ or "").split())}
    definitions[kind.__name__] = definition  # before its fields: Fix refers to itself
    hints = get_type_hints(kind)
    said = meanings(kind)
    definition["properties"] = {
        name_of(f): _described(_schema_of(hints[f.name], definitions), said.get(f.name))
        for f in dataclasses.fields(kind)
    }
    definition["required"] = list(definition["properties"])
    for field in dataclasses.fields(kind):
        if field.name == "schema":
            definition["properties"]["schema"] = _described({"const": field.default}, said.get("schema"))
    return reference


def _described(schema: dict[str, Any], meaning: str | None) -> dict[str, Any]:
    """A field's schema with what it means. (Beside a reference, draft 2020-12 allows it.)"""
    return {**schema, "description": meaning} if meaning else schema
