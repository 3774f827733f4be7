"""Remember what is worked out of the facts: many checks ask for the same. Pure."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from doctor.model.facts import Facts

About = ParamSpec("About")
Worked = TypeVar("Worked")
def once_for_facts(
    function: Callable[Concatenate[Facts, About], Worked],
) -> Callable[Concatenate[Facts, About], Worked]:
    """A decorator: the function runs once for the same facts and, where it takes more, the same arguments by place.
    What it says is kept beside the fields of the facts, and goes with them."""
    name = f"{function.__module__}.{function.__qualname__}"

    @wraps(function)
    def ask(facts: Facts, /, *about: Hashable) -> Worked:
        kept: dict[Any, Any] = facts.__dict__
        key: Hashable = name
        if about:
            kept, key = kept.get(name) or kept.setdefault(name, {}), about
        try:
            worked: Worked = kept[key]
        except KeyError:
            worked = kept[key] = function(facts, *about)  # type: ignore[call-arg, arg-type]
        return worked

    return ask  # type: ignore[return-value]
