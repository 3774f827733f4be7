"""Remember what is worked out of the facts: many checks ask for the same. Pure."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from doctor.model.facts import Facts

About = ParamSpec("About")
Worked = TypeVar("Worked")
_KEPT = "_worked_out"  # beside the fields of the facts: it goes with them
_NOTHING = object()  # None is an answer, too


def once_for_facts(
    function: Callable[Concatenate[Facts, About], Worked],
) -> Callable[Concatenate[Facts, About], Worked]:
    """A decorator: the function runs once for the same facts and, where it takes more, the same arguments by place."""

    @wraps(function)
    def ask(facts: Facts, /, *about: Hashable) -> Worked:
        key = (function, *about) if about else function
        kept: dict[Any, object] = facts.__dict__.get(_KEPT) or facts.__dict__.setdefault(_KEPT, {})
        worked = kept.get(key, _NOTHING)
        if worked is _NOTHING:
            worked = kept[key] = function(facts, *about)  # type: ignore[call-arg, arg-type]
        return worked  # type: ignore[return-value]

    return ask  # type: ignore[return-value]
