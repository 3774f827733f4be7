"""The board of a rendezvous on a store that answers, and on one of an older torch that does not."""

from __future__ import annotations

from datetime import timedelta

import pytest

from doctor.inside.fleet.board import Board


class OldStore:
    """As of torch 1.12: no `check`, and whoever waits in vain or compares breaks the connection."""

    def __init__(self) -> None:
        self.texts: dict[str, bytes] = {}
        self.numbers: dict[str, int] = {}

    def set(self, key: str, text: str) -> None:
        self.texts[key] = text.encode()

    def get(self, key: str) -> bytes:
        return self.texts[key]

    def add(self, key: str, more: int) -> int:
        self.numbers[key] = self.numbers.get(key, 0) + more
        return self.numbers[key]


class Store(OldStore):
    def check(self, keys: list[str]) -> bool:
        return all(key in self.texts for key in keys)

    def compare_set(self, key: str, expected: str, text: str) -> None:
        if key not in self.texts and not expected:
            self.set(key, text)

    def wait(self, keys: list[str], limit: timedelta) -> None:
        if not self.check(keys):
            raise RuntimeError("Socket Timeout")


@pytest.mark.parametrize("kind", [Store, OldStore])
def test_what_one_writes_the_others_read(kind: type[OldStore]) -> None:
    store = kind()
    one, other = (Board(store, lambda seconds: timedelta(seconds=seconds)) for _ in range(2))
    assert not other.has("who/1")
    with pytest.raises(RuntimeError, match=r"(?i)time"):
        other.wait("who/1", 0.01)
    one.put("who/1", "in nöde1")
    other.wait("who/1", 0.01)
    assert other.has("who/1")
    assert other.text("who/1") == "in nöde1"
    assert [board.count("join") for board in (one, other)] == [1, 2]
    one.put_once("agreed/join", "0 1")
    other.put_once("agreed/join", "1")
    assert other.text("agreed/join") == "0 1"
    assert other.has("agreed/join")
