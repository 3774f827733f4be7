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
    if function.__code__.co_argcount == 1:

        @wraps(function)
        def ask_of_all(facts: Facts) -> Worked:
            kept: dict[str, Any] = facts.__dict__
            try:
                worked: Worked = kept[name]
            except KeyError:
                worked = kept[name] = function(facts)  # type: ignore[call-arg]
            return worked

        return ask_of_all  # type: ignore[return-value]

    @wraps(function)
    def ask(facts: Facts, /, *about: Hashable) -> Worked:
        kept: dict[str, Any] = facts.__dict__
        known: dict[Any, Worked] = kept.get(name) or kept.setdefault(name, {})
        try:
            worked = known[about]
        except KeyError:
            worked = known[about] = function(facts, *about)  # type: ignore[call-arg, arg-type]
        return worked

    return ask  # type: ignore[return-value]
