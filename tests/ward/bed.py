"""What a bed is: how an environment is broken, and what the doctor must say and do about it."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from tests.ward.place import Place

Cure = Literal["run", "hand", "none"]


@dataclass(frozen=True, kw_only=True)
class Bed:
    """One broken environment, written down before the doctor saw it.

    `id`: the only root that may be found; None: nothing is wrong. `also`: warnings
    that are true beside it. `code`: the exit code of `check`. `action` and
    `details`: the first fix of that finding, as far as they are given. `cure`: who applies that fix: "run"
    (`fix --run`), "hand" (a manual step that the test carries out), or "none", with `why_not`. `command`: what examines
    it. `limit_s`: for one examination. `fast`: made of the CPU build alone, in the suite. `needs`: programs without
    which the bed cannot be made.
    """

    name: str
    base: str  # of store.BASES
    breaks: Callable[[Place], None]
    says: str  # how it is broken
    id: str | None
    code: int
    also: tuple[str, ...] = ()
    action: str | None = None
    details: Mapping[str, str] = field(default_factory=dict)
    cure: Cure = "none"
    why_not: str = ""
    command: tuple[str, ...] = ("check",)
    limit_s: float = 60.0
    fast: bool = False
    needs: tuple[str, ...] = ()
    wheels: tuple[str, ...] = ()  # of store.WHEELS, which the bed is made of


_beds: dict[str, Bed] = {}


def bed(
    id: str | None, *, base: str = "cpu", code: int | None = None, action: str | None = None,
    details: Mapping[str, str] | None = None, also: tuple[str, ...] = (), cure: Cure = "none",
    why_not: str = "", command: tuple[str, ...] = ("check",), limit_s: float = 60.0,
    fast: bool = False, needs: tuple[str, ...] = (), wheels: tuple[str, ...] = (),
) -> Callable[[Callable[[Place], None]], Callable[[Place], None]]:  # fmt: skip
    """Declare a bed: the decorated function breaks the place, its docstring says how in one line. The exit code is 1
    where a fault is expected, else 0."""

    def declare(breaks: Callable[[Place], None]) -> Callable[[Place], None]:
        name = breaks.__name__.replace("_", "-")
        assert name not in _beds, f"two beds are called {name}"
        assert cure != "none" or why_not or id is None, f"{name} does not say why its fix is not tried"
        _beds[name] = Bed(
            name=name, base=base, breaks=breaks, says=" ".join((breaks.__doc__ or "").split()), id=id,
            code=(0 if id is None else 1) if code is None else code, also=also, action=action,
            details=details or {}, cure=cure, why_not=why_not, command=command, limit_s=limit_s, fast=fast,
            needs=needs, wheels=wheels,
        )  # fmt: skip
        return breaks

    return declare


def all_beds() -> tuple[Bed, ...]:
    """All beds, in the order of their files."""
    from tests.ward import beds

    for module in sorted(info.name for info in pkgutil.iter_modules(beds.__path__)):
        importlib.import_module(f"{beds.__name__}.{module}")
    return tuple(_beds.values())
