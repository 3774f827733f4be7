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

from doctor.model.facts import ABSENT, Absent
from doctor.model.report import Report

T = TypeVar("T")
_ABSENT_JSON = {"absent": True}
SCHEMA_ID = "urn:torchdoctor:report-1"


def render(report: Report, *, indent: int | None = 2) -> str:
    """The report as one JSON object, ASCII only; indent=None: on one line."""
    return json.dumps(encode(report), indent=indent, allow_nan=False) + "\n"


def parse(text: str) -> Report:
    """The report that `render` made. Fields that this version does not know are ignored, missing ones take their
    defaults. ValueError where it is no report of schema "1"."""
    data = json.loads(text)
    if not isinstance(data, dict) or data.get("schema") != "1":
        raise ValueError('not a torchdoctor report of schema "1"')
    return decode(Report, data)


def encode(value: object) -> Any:
    """A value of the model as what `json.dumps` takes."""
    if value is None or isinstance(value, (bool, int)):
        return value
    if isinstance(value, str):  # an undecodable byte of a file name is a lone surrogate, which many parsers refuse
        return value if value.isascii() else value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is ABSENT:
        return dict(_ABSENT_JSON)
    if dataclasses.is_dataclass(value):
        return {_key(f): encode(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(k): encode(value[k]) for k in sorted(value, key=str)}
    if isinstance(value, (tuple, list)):
        return [encode(v) for v in value]
    raise TypeError(f"{type(value).__name__} has no form in a report")


def _key(field: dataclasses.Field[Any]) -> str:
    """A field's name in JSON, where that is a word of Python's own ("for")."""
    return str(field.metadata.get("json", field.name))


def decode(kind: type[T], data: object) -> T:
    """The value of type `kind` that `encode` made `data` of. ValueError where it does not fit."""
    value: T = _decode(kind, data, "")
    return value


@cache
def _hints(kind: type) -> dict[str, Any]:
    return get_type_hints(kind)


def _decode(kind: Any, data: Any, where: str) -> Any:
    origin, args = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        return _decode_union(args, data, where)
    if origin is Literal:
        return data if data in args else _wrong(where, " or ".join(map(repr, args)))
    if origin is tuple:
        if not isinstance(data, list):
            _wrong(where, "an array")
        if args[-1] is Ellipsis:
            return tuple(_decode(args[0], item, f"{where}[{i}]") for i, item in enumerate(data))
        if len(data) != len(args):
            _wrong(where, f"an array of {len(args)}")
        return tuple(_decode(a, item, f"{where}[{i}]") for i, (a, item) in enumerate(zip(args, data, strict=True)))
    if origin is not None and issubclass(origin, Mapping):
        if not isinstance(data, dict):
            _wrong(where, "an object")
        return {k: _decode(args[1], v, f"{where}.{k}") for k, v in data.items()}
    if dataclasses.is_dataclass(kind):
        if not isinstance(data, dict):
            _wrong(where, "an object")
        hints, names = _hints(kind), {_key(f): f.name for f in dataclasses.fields(kind)}  # type: ignore[arg-type]
        known = {names[k]: _decode(hints[names[k]], v, f"{where}.{k}") for k, v in data.items() if k in names}
        try:
            return kind(**known)  # type: ignore[operator]
        except TypeError as error:
            raise ValueError(f"{where or 'report'}: {error}") from None
    return _decode_plain(kind, data, where)


def _decode_union(args: tuple[Any, ...], data: Any, where: str) -> Any:
    if data is None and type(None) in args:
        return None
    if data == _ABSENT_JSON and Absent in args:
        return ABSENT
    (kind,) = (a for a in args if a not in (type(None), Absent))
    return _decode(kind, data, where)


def _decode_plain(kind: Any, data: Any, where: str) -> Any:
    if kind is object:
        return data
    if kind is float and isinstance(data, int) and not isinstance(data, bool):
        return float(data)
    if type(data) is not kind:  # bool is an int to isinstance
        _wrong(where, kind.__name__)
    return data


def _wrong(where: str, wanted: str) -> Any:
    raise ValueError(f"{where.lstrip('.') or 'report'} is not {wanted}")


def schema() -> dict[str, Any]:
    """JSON schema (draft 2020-12) of what `render` prints."""
    definitions: dict[str, Any] = {}
    root = _schema_of(Report, definitions)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": SCHEMA_ID,
        "title": "torchdoctor report",
        "description": (
            'Schema "1". It only changes compatibly: fields may be added, so ignore those you do not know. null is '
            '"not known" (facts.gaps says why), {"absent": true} is "known to be absent", an empty array is "known to '
            'be none". Times are UTC, ISO 8601; units are in the names; ids are kebab-case and never reused. In a '
            "redacted report commands say {python} for target.python."
        ),
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
    hints = _hints(kind)
    definition["properties"] = {_key(f): _schema_of(hints[f.name], definitions) for f in dataclasses.fields(kind)}
    definition["required"] = list(definition["properties"])
    if kind is Report:
        definition["properties"]["schema"] = {"const": "1"}
    return reference
