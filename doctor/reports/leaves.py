"""Everything that facts hold, as rows: dotted name and value. Pure."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

from doctor.model.facts import ABSENT, Facts

LISTED = ("packages", "gpus", "attempts", "errors", "damaged")  # a row for each of them
_APART = ("probes", "gaps", "origins")  # of other shape: measurements, and what is said of the facts


def leaves(facts: Facts) -> Iterator[tuple[str, object]]:
    """(dotted name, value) of all that is known; what is not known is left out. Packages go by their names, other lists
    of records by number."""
    yield from _below("", facts)


def _below(prefix: str, value: Any) -> Iterator[tuple[str, object]]:
    if value is None:
        return
    if dataclasses.is_dataclass(value):
        for field in dataclasses.fields(value):
            if prefix or field.name not in _APART:
                yield from _below(f"{prefix}.{field.name}".lstrip("."), getattr(value, field.name))
    elif isinstance(value, Mapping):
        yield from ((f"{prefix}.{key}", value[key]) for key in sorted(value, key=str)) if value else ((prefix, ()),)
    elif isinstance(value, tuple) and value and all(dataclasses.is_dataclass(one) for one in value):
        names = [getattr(one, "name", None) if prefix == "packages" else None for one in value]
        for number, (one, name) in enumerate(zip(value, names, strict=True)):
            yield from _below(f"{prefix}.{name or number}", one)
    else:
        yield prefix, value


def text_of(value: object) -> str:
    """A fact's value as people read it."""
    if value is ABSENT:
        return "absent"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, tuple):
        return ", ".join(text_of(one) for one in value) or "none"
    return f"{value:g}" if isinstance(value, float) else str(value)
