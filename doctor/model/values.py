"""`dataclass`, made cheaper: a program that answers in a tenth of a second can't build six functions for each of its
hundred types, most of which it does not use. All types share one function each for making, comparison, hash, text and
refusing changes, and the fields are worked out when first asked for. fields(), replace() and asdict() work as ever.
"""

from __future__ import annotations

import dataclasses
from _thread import RLock
from operator import attrgetter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:

    def dataclass(cls=None, /, *, frozen=False, kw_only=False, eq=True):
        """Like dataclasses.dataclass. What a class defines itself stays."""

        def made(cls):
            own = vars(cls)
            shared = {"__init__": _init, "__repr__": _repr}
            shared |= {"__eq__": _eq, "__hash__": _hash if frozen else None} if eq else {}
            shared |= {"__setattr__": _refuse, "__delattr__": _refuse} if frozen else {}
            for name, function in shared.items():
                if own.get(name) is None:
                    setattr(cls, name, function)
            cls.__made_of__ = None
            cls.__doc__ = cls.__doc__ or cls.__name__  # dataclasses would write the signature, which takes long
            cls.__dataclass_fields__ = _Fields(cls, kw_only)
            return cls

        return made if cls is None else made(cls)


_MISSING = dataclasses.MISSING
_ONE_AT_A_TIME = RLock()


class _Fields:
    """Stands for the fields of a type until somebody asks for them."""

    def __init__(self, kind: Any, kw_only: bool) -> None:
        self.kind, self.kw_only = kind, kw_only

    def __get__(self, instance: object, owner: Any) -> Any:
        with _ONE_AT_A_TIME:
            if vars(self.kind)["__dataclass_fields__"] is self:
                options = {"init": False, "repr": False, "eq": False, "match_args": False, "kw_only": self.kw_only}
                dataclasses.dataclass(**options)(self.kind)
        return owner.__dataclass_fields__


def _init(self: Any, /, *args: Any, **given: Any) -> None:
    names, positional, defaults, factories = self.__made_of__ or _made_of(self.__class__)
    if args:
        if len(args) > len(positional) or given.keys() & set(positional[: len(args)]):
            name = self.__class__.__name__
            raise TypeError(f"{name}() takes at most {len(positional)} positional arguments, each once")
        given.update(zip(positional, args))  # noqa: B905
    values = self.__dict__
    values |= defaults
    values |= given
    for name, factory in factories:
        if name not in given:
            values[name] = factory()
    if len(values) != len(names) or not names.issuperset(given):
        missing, unknown = sorted(names - values.keys()), sorted(values.keys() - names)
        raise TypeError(f"{self.__class__.__name__}() lacks {missing} or does not know {unknown}")


def _made_of(kind: Any) -> Any:
    """All fields, those that may be given by place, the defaults, and what makes a default anew each time."""
    declared = _declared(kind)
    kind.__made_of__ = (
        frozenset(declared),
        tuple(name for name, (by_place, _, _) in declared.items() if by_place),
        {name: default for name, (_, default, _) in declared.items() if default is not _MISSING},
        tuple((name, factory) for name, (_, _, factory) in declared.items() if factory is not _MISSING),
    )
    return kind.__made_of__


def _declared(kind: Any) -> dict[str, tuple[bool, Any, Any]]:
    """By each field whether it may be given by place, its default, and what makes its default. dataclasses would work
    out the same, and more, ten times as long."""
    own = vars(kind).get("__dataclass_fields__")
    if own is None:
        return {}
    if not isinstance(own, _Fields):
        return {f.name: (not f.kw_only, f.default, f.default_factory) for f in dataclasses.fields(kind)}
    found: dict[str, tuple[bool, Any, Any]] = {}
    for base in reversed(kind.__mro__[1:]):
        found |= _declared(base)
    for name, said in kind.__annotations__.items():
        if "ClassVar" in str(said):
            continue
        value = vars(kind).get(name, _MISSING)
        if isinstance(value, dataclasses.Field):
            by_name = own.kw_only if value.kw_only is _MISSING else value.kw_only
            found[name] = (not by_name, value.default, value.default_factory)
        else:
            found[name] = (not own.kw_only, value, _MISSING)
    return found


def _refuse(self: Any, name: str, *value: object) -> None:
    raise dataclasses.FrozenInstanceError(f"{self.__class__.__name__} cannot be changed: {name}")


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
