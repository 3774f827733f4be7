"""`dataclass`, made cheaper: a program that answers in a tenth of a second can't build six functions for each of its
hundred types. Comparison, hash and text are one function for all of them; what is left to dataclasses is __init__ and,
where frozen, what refuses changes. fields(), replace() and asdict() work as ever.
"""

from __future__ import annotations

import dataclasses
from operator import attrgetter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:

    def dataclass(cls=None, /, *, frozen=False, kw_only=False, **others):
        """Like dataclasses.dataclass. What a class defines itself stays."""

        def made(cls):
            if others or not frozen:
                return dataclasses.dataclass(cls, frozen=frozen, kw_only=kw_only, **others)
            own = vars(cls)
            result = dataclasses.dataclass(cls, frozen=True, kw_only=kw_only, repr=False, eq=False, match_args=False)
            for name, function in (("__repr__", _repr), ("__eq__", _eq), ("__hash__", _hash)):
                if own.get(name) is None:
                    setattr(result, name, function)
            return result

        return made if cls is None else made(cls)


def _key(value: Any) -> Any:
    """What is compared: the values of the fields, or the only one."""
    kind = value.__class__
    getter = kind.__dict__.get("__compared__")
    if getter is None:
        names = [f.name for f in dataclasses.fields(kind) if f.compare]
        getter = staticmethod(attrgetter(*names) if names else lambda value: ())
        kind.__compared__ = getter
    return getter.__func__(value)


def _eq(self: Any, other: Any) -> Any:
    if other.__class__ is not self.__class__:
        return NotImplemented
    return _key(self) == _key(other)


def _hash(self: Any) -> int:
    return hash(_key(self))


def _repr(self: Any) -> str:
    said = ", ".join(f"{f.name}={getattr(self, f.name)!r}" for f in dataclasses.fields(self) if f.repr)
    return f"{self.__class__.__qualname__}({said})"
