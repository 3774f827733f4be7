"""The light dataclass does what dataclasses does."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from dataclasses import field, fields, replace
from typing import Any

import pytest

from doctor.model.values import dataclass


@dataclass(frozen=True, kw_only=True)
class Point:
    """A place."""

    x: int
    y: int = 0
    names: dict[str, int] = field(default_factory=dict)
    seen: int = field(default=0, compare=False, repr=False)


@dataclass(frozen=True)
class Pair:
    left: int
    right: int = 2


@dataclass
class Open:
    left: int
    right: list[int] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class Higher(Point):
    z: int = 1


def test_values_defaults_and_order() -> None:
    assert [f.name for f in fields(Higher)] == ["x", "y", "names", "seen", "z"]
    assert repr(Point(x=1)) == "Point(x=1, y=0, names={})"
    assert dataclasses.asdict(Higher(x=1, z=3)) == {"x": 1, "y": 0, "names": {}, "seen": 0, "z": 3}
    assert replace(Point(x=1, y=5), x=2) == Point(x=2, y=5, seen=7)
    assert Point(x=1).names is not Point(x=1).names
    assert Point(x=1) != Higher(x=1)
    assert (Point.__doc__, Pair.__doc__) == ("A place.", "Pair")


def test_fields_are_worked_out_when_asked_for() -> None:
    @dataclass(frozen=True, kw_only=True)
    class Late(Point):
        more: list[int] = field(default_factory=list)

    untouched = vars(Late)["__dataclass_fields__"]
    assert dataclasses.is_dataclass(Late)
    assert [f.name for f in fields(Late)][-1] == "more"
    assert vars(Late)["__dataclass_fields__"] is not untouched
    assert Late(x=1).more == []
    assert not hasattr(Late, "more")


def test_by_place() -> None:
    assert (Pair(1), Pair(1, 3).right, Pair(right=4, left=3)) == (Pair(left=1, right=2), 3, Pair(3, 4))
    assert len({Pair(1), Pair(1, 2), Pair(2)}) == 2
    one = Open(1)
    one.left = 5
    assert one == Open(5)
    with pytest.raises(TypeError):
        hash(one)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Point(1),  # type: ignore[misc, call-arg]
        lambda: Point(),  # type: ignore[call-arg]
        lambda: Point(x=1, w=2),  # type: ignore[call-arg]
        lambda: Pair(1, 2, 3),  # type: ignore[call-arg]
        lambda: Pair(1, left=2),  # type: ignore[misc]
        lambda: Pair(right=1),  # type: ignore[call-arg]
    ],
)
def test_what_does_not_fit_is_refused(make: Any) -> None:
    with pytest.raises(TypeError):
        make()


def test_frozen() -> None:
    point = Point(x=1)
    with pytest.raises(dataclasses.FrozenInstanceError):
        point.x = 2  # type: ignore[misc]
    with pytest.raises(dataclasses.FrozenInstanceError):
        del point.x
    assert copy.deepcopy(point) == pickle.loads(pickle.dumps(point)) == point

