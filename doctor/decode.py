"""What others wrote, made into typed values or refused: the answers of children, kernel.json, our own reports.

`loads` reads JSON within bounds of size, depth and number; `decode` makes the value of a type of it, driven by the
type's own annotations. Whatever does not fit ends in `Refused`, whose text is the reason for a Gap; no input ends in
another exception.
"""

from __future__ import annotations

import dataclasses
import json
import math
import re
import types
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, Literal, NoReturn, TypeVar, Union, get_args, get_origin, get_type_hints

from doctor.model import probe_data
from doctor.model.facts import ABSENT, Absent
from doctor.model.shapes import SHAPES

T = TypeVar("T")
ABSENT_JSON = {"absent": True}
SIZE = 4 << 20  # bytes of a text: ten times the longest report
DEPTH = 32
ITEMS = 200_000  # values in all: each takes up to a hundred bytes of memory
_PLAIN = (str, int, float, bool)
DIGITS = 19  # of an integer: below 2**63; longer ones take time that grows with the square of their length


class Refused(ValueError):
    """It is not what it should be; the text says why, in one line."""


def encoded(text: str) -> bytes:
    """A text as UTF-8. Half a surrogate pair, which stands for a byte that nobody could decode, becomes «?»."""
    return text.encode("utf-8", "replace")


def loads(text: str | bytes, *, size: int = SIZE, depth: int = DEPTH, items: int = ITEMS) -> Any:
    """The JSON value of a text. Lone surrogates (undecodable bytes of a path) become «?»; nan and infinities are
    refused, as JSON has none."""
    if len(text) > size:
        raise Refused(f"it is longer than {size} bytes")
    if isinstance(text, bytes):
        try:
            text = text.decode("utf-8-sig")
        except UnicodeDecodeError:
            raise Refused("it is not UTF-8") from None
    if text.count(",") + text.count("[") + text.count("{") > items:
        raise Refused(f"it has more than {items} values")
    try:
        value = json.loads(text, parse_int=_integer, parse_float=_number, parse_constant=_no_number)
    except Refused:
        raise
    except RecursionError:
        raise Refused("it is nested too deeply") from None
    except ValueError:
        raise Refused("it is not JSON") from None
    return _checked(value, depth)


def _integer(digits: str) -> int:
    if len(digits) > DIGITS:
        raise Refused(f"it has a number of {len(digits)} digits")
    return int(digits)


def _number(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        raise Refused("it has a number that is too large")
    return value


def _no_number(word: str) -> NoReturn:
    raise Refused(f"{word} is no number")


def _checked(value: Any, depth: int) -> Any:
    if isinstance(value, str):
        return value if value.isascii() else encoded(value).decode("utf-8")
    if isinstance(value, (list, dict)) and depth <= 0:
        raise Refused("it is nested too deeply")
    if isinstance(value, list):
        return [_checked(one, depth - 1) for one in value]
    if isinstance(value, dict):
        return {_checked(key, depth): _checked(one, depth - 1) for key, one in value.items()}
    return value


def decode(kind: type[T], data: object) -> T:
    """The value of type `kind` that `data` stands for. Fields that `kind` does not have are ignored, missing ones take
    their defaults. Raises Refused where it does not fit."""
    value: T = _decode(kind, data, "")
    return value


def decode_fields(kind: type, data: object) -> tuple[dict[str, Any], dict[str, str]]:
    """({field: value}, {field: why it was refused}) of a dataclass, each field for itself. Raises Refused where it is
    no object."""
    if not isinstance(data, dict):
        raise Refused("it is not an object")
    values, refused = {}, {}
    for name, hint in _hints(kind).items():
        if name in data:
            try:
                values[name] = _decode(hint, data[name], name)
            except Refused as error:
                refused[name] = str(error)
    return values, refused


def name_of(field: dataclasses.Field[Any]) -> str:
    """A field's name in JSON, where that is a word of Python's own ("for")."""
    return str(field.metadata.get("json", field.name))


@cache
def _hints(kind: type) -> dict[str, Any]:
    return get_type_hints(kind)


@cache
def _form(kind: Any) -> tuple[Any, tuple[Any, ...]]:
    """A type's origin and arguments: asked for each value, and slow to work out."""
    return get_origin(kind), get_args(kind)


@cache
def _fields(kind: type) -> dict[str, tuple[str, Any]]:
    """The fields of a dataclass by their names in JSON: (name, type)."""
    hints = _hints(kind)
    return {name_of(f): (f.name, hints[f.name]) for f in dataclasses.fields(kind)}


def _decode(kind: Any, data: Any, where: str) -> Any:
    if type(data) is kind and kind in _PLAIN:
        return data
    origin, args = _form(kind)
    if origin in (Union, types.UnionType):
        return _decode_union(args, data, where)
    if origin is Literal:
        if isinstance(data, str) and data in args:
            return data
        _wrong(where, " or ".join(map(repr, args)))
    if origin is tuple:
        return tuple(_decode_items(args, data, where))
    if origin is not None and issubclass(origin, Mapping):
        if not isinstance(data, dict):
            _wrong(where, "an object")
        return {k: _decode(args[1], v, f"{where}.{k[:50]}") for k, v in data.items()}
    if dataclasses.is_dataclass(kind):
        if not isinstance(data, dict):
            _wrong(where, "an object")
        fields = _fields(kind)  # type: ignore[arg-type]
        known = {fields[k][0]: _decode(fields[k][1], v, f"{where}.{k}") for k, v in data.items() if k in fields}
        try:
            return kind(**known)  # type: ignore[operator]
        except TypeError as error:
            raise Refused(f"{where.lstrip('.') or 'it'}: {error}") from None
    return _decode_plain(kind, data, where)


def _decode_items(args: tuple[Any, ...], data: Any, where: str) -> Iterator[Any]:
    if not isinstance(data, (list, tuple)):
        _wrong(where, "an array")
    if args[-1] is Ellipsis:
        args = (args[0],) * len(data)
    if len(data) != len(args):
        _wrong(where, f"an array of {len(args)}")
    return (_decode(a, item, f"{where}[{i}]") for i, (a, item) in enumerate(zip(args, data, strict=True)))


def _decode_union(args: tuple[Any, ...], data: Any, where: str) -> Any:
    if data is None and type(None) in args:
        return None
    if Absent in args and isinstance(data, dict) and set(data) == set(ABSENT_JSON) and data["absent"] is True:
        return ABSENT
    kinds = [a for a in args if a not in (type(None), Absent)]
    for kind in kinds[:-1]:  # of several plain types the first that fits
        if type(data) is kind:
            return data
    return _decode(kinds[-1], data, where)


def _decode_plain(kind: Any, data: Any, where: str) -> Any:
    if kind is object:
        return data
    if kind is float and type(data) is int:
        return float(data)
    if type(data) is not kind:  # bool is an int to isinstance
        _wrong(where, {"str": "a text", "int": "a whole number", "float": "a number", "bool": "true or false"}.get(
            kind.__name__, kind.__name__))  # fmt: skip
    return data


def _wrong(where: str, wanted: str) -> NoReturn:
    raise Refused(f"{where.lstrip('.') or 'it'} is not {wanted}")


# ---- what is read further


def fits(kind: str, name: str, value: object) -> bool:
    """Whether a value of that field of the model can be what it says (model/shapes.py). What is no text and no number
    of a declared field fits."""
    shape = SHAPES.get((kind, name))
    if isinstance(shape, range):
        return not isinstance(value, int) or value in shape
    return shape is None or not isinstance(value, str) or re.fullmatch(shape, value) is not None


def check_shapes(value: object, where: str = "") -> None:
    """Raises Refused where a field of a value of the model, or of one inside it, cannot be what it says."""
    if isinstance(value, (tuple, list)):
        for number, one in enumerate(value):
            check_shapes(one, f"{where}[{number}]")
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        for field in dataclasses.fields(value):
            one, place = getattr(value, field.name), f"{where}.{field.name}".lstrip(".")
            if not fits(type(value).__name__, field.name, one):
                raise Refused(f"{place} cannot be {str(one)[:40]!r}")
            check_shapes(one, place)


# ---- what a probe measured


def check_probe_data(data: Mapping[str, object]) -> None:
    """The measurements of a probe, from a child or from a report: raises Refused where a value is not of its key's
    type. None is allowed everywhere: not known. Keys without a type may hold anything, for nobody reads them."""
    for key, value in data.items():
        if value is not None and not _fits(key, value):
            raise Refused(f"{key[:60]} is not {_wanted(key)}")


def _fits(key: str, value: object) -> bool:
    if key in probe_data.TEXTS:
        return isinstance(value, (list, tuple)) and all(isinstance(one, str) for one in value)
    if key in probe_data.WORDS:
        return isinstance(value, str)
    if key in probe_data.YES_OR_NO or key.endswith("_native"):
        return isinstance(value, bool)
    if key in probe_data.NUMBERS:
        return isinstance(value, (list, tuple)) and all(_is_number(one) for one in value)
    if key == "threads" or key.endswith(probe_data.NUMBER_ENDS):
        return _is_number(value)
    if key == "pairs":
        return isinstance(value, (list, tuple)) and all(isinstance(one, Mapping) and _is_pair(one) for one in value)
    return True


def _is_number(value: object) -> bool:
    return (isinstance(value, (int, float)) and not isinstance(value, bool)) or value in probe_data.NO_NUMBERS


def _is_pair(pair: Mapping[str, object]) -> bool:
    """A copy from one GPU to another."""
    words = all(pair.get(key) is None or isinstance(pair[key], str) for key in ("from", "to"))
    rate, access = pair.get("gbs"), pair.get("peer_access")
    return words and (rate is None or _is_number(rate)) and (access is None or isinstance(access, bool))


def _wanted(key: str) -> str:
    if key in probe_data.TEXTS:
        return "an array of texts"
    if key in probe_data.WORDS:
        return "a text"
    if key in probe_data.YES_OR_NO or key.endswith("_native"):
        return "true or false"
    return "an array" if key in probe_data.NUMBERS or key == "pairs" else "a number"
