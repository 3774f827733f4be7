"""Our own JSON report as evidence: its facts, decoded into the model.

Strict about the schema ("1"), tolerant of keys that this version doesn't know. ABSENT is written as {"absent": true} or
"absent" is not: see reports/json; both spellings that a report may hold are read.
"""

from __future__ import annotations

import json
import types
import typing
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from typing import Any

from doctor.model import facts as model
from doctor.model.facts import ABSENT, Absent, Facts

SCHEMA = "1"


def facts_of(data: bytes) -> Facts | None:
    """The facts of a report; None where the text is none of ours or cannot be decoded."""
    if not data.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] == b"{" or b'"facts"' not in data:
        return None
    try:
        said = json.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        return None
    if not isinstance(said, dict) or said.get("schema") != SCHEMA or "torchdoctor" not in str(said.get("tool")):
        return None
    try:
        decoded = decode(Facts, said["facts"])
    except (KeyError, TypeError, ValueError):
        return None
    assert isinstance(decoded, Facts)
    return decoded


@cache
def _types_of(kind: type) -> Mapping[str, Any]:
    return typing.get_type_hints(kind, vars(model))


def decode(kind: Any, value: Any) -> Any:
    """A JSON value as `kind`: dataclasses, tuples, mappings, unions with None and ABSENT, literals and scalars.

    Raises TypeError or ValueError where it does not fit.
    """
    origin = typing.get_origin(kind)
    if origin in (typing.Union, types.UnionType):
        return _decode_union(typing.get_args(kind), value)
    if kind is Absent:
        if _is_absent(value):
            return ABSENT
        raise ValueError("not absent")
    if is_dataclass(kind) and isinstance(kind, type):
        if not isinstance(value, dict):
            raise TypeError(f"{kind.__name__} needs an object")
        hints = _types_of(kind)
        known = {f.name: f for f in fields(kind)}
        missing = [n for n, f in known.items() if n not in value and f.default is MISSING and f.default_factory is MISSING]
        if missing:
            raise ValueError(f"{kind.__name__} lacks {missing[0]}")
        return kind(**{k: decode(hints[k], v) for k, v in value.items() if k in known})
    if origin is tuple:
        return _decode_tuple(typing.get_args(kind), value)
    if origin is not None and isinstance(origin, type) and issubclass(origin, Mapping):
        if not isinstance(value, dict):
            raise TypeError("an object is needed")
        inner = typing.get_args(kind)[1]
        return {str(k): decode(inner, v) for k, v in value.items()}
    if origin is typing.Literal:
        if value not in typing.get_args(kind):
            raise ValueError(f"{value!r} is not one of {typing.get_args(kind)}")
        return value
    return _decode_scalar(kind, value)


def _is_absent(value: Any) -> bool:
    return value == ABSENT.value or value == {"absent": True}


def _decode_union(kinds: tuple[Any, ...], value: Any) -> Any:
    if value is None:
        return None
    if Absent in kinds and _is_absent(value):
        return ABSENT
    errors: list[Exception] = []
    for kind in kinds:
        if kind in (type(None), Absent):
            continue
        try:
            return decode(kind, value)
        except (TypeError, ValueError) as error:
            errors.append(error)
    raise errors[-1] if errors else TypeError("no kind fits")


def _decode_tuple(kinds: tuple[Any, ...], value: Any) -> tuple[Any, ...]:
    if not isinstance(value, list):
        raise TypeError("a list is needed")
    if len(kinds) == 2 and kinds[1] is Ellipsis:
        return tuple(decode(kinds[0], v) for v in value)
    if len(kinds) != len(value):
        raise ValueError("a list of another length is needed")
    return tuple(decode(k, v) for k, v in zip(kinds, value, strict=True))


def _decode_scalar(kind: Any, value: Any) -> Any:
    if kind in (Any, object):
        return value
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if kind is int and isinstance(value, bool):
        raise TypeError("a number is needed")
    if isinstance(value, kind):
        return value
    raise TypeError(f"{kind.__name__} is needed")
