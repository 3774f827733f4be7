"""A sequence whose items are worked out when they are asked for: hundreds of builds could be ranked for a machine, and
mostly the first is all that is wanted."""

from __future__ import annotations

from _thread import RLock
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import TypeVar, overload

Item = TypeVar("Item", covariant=True)


class Lazy(Sequence[Item]):
    """The items of an iterable, each taken from it once, and no sooner than it is asked for.

    >>> numbers = iter((5, 6, 7))
    >>> some = Lazy(numbers)
    >>> some[0], next(numbers), list(some), bool(some), len(some)
    (5, 6, [5, 7], True, 2)
    """

    def __init__(self, items: Iterable[Item]) -> None:
        self._known: list[Item] = []
        self._rest = iter(items)
        self._one_at_a_time = RLock()  # threads may ask for the same choice

    def _first(self, count: int | None) -> list[Item]:
        """At least so many items (None: all), if there are as many."""
        if count is None or count > len(self._known):
            with self._one_at_a_time:
                missing = None if count is None else max(0, count - len(self._known))
                self._known.extend(islice(self._rest, missing))
        return self._known

    def __iter__(self) -> Iterator[Item]:
        place = 0
        while len(self._first(place + 1)) > place:
            yield self._known[place]
            place += 1

    @overload
    def __getitem__(self, place: int) -> Item: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Item]: ...
    def __getitem__(self, place: int | slice) -> Item | Sequence[Item]:
        if isinstance(place, slice):
            return tuple(self._first(place.stop if (place.stop or -1) >= 0 else None)[place])
        return self._first(place + 1 if place >= 0 else None)[place]

    def __len__(self) -> int:
        return len(self._first(None))

    def __bool__(self) -> bool:
        return bool(self._first(1))
