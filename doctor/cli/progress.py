"""The line on stderr that says what takes so long: only on a terminal, only after a second, gone at the end."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from typing import Any

from doctor.cli.output import somebody_types

DELAY_S = 1.0


class _Line:
    """A spinner with the latest stage. rich is imported only when the second has passed."""

    def __init__(self, delay_s: float) -> None:
        self._stage = "starting"
        self._status: Any = None
        self._lock = threading.Lock()
        self._over = False
        self._timer = threading.Timer(delay_s, self._show)
        self._timer.daemon = True
        self._timer.start()

    def tell(self, stage: str) -> None:
        from doctor.reports.text import safe

        with self._lock:
            self._stage = safe(stage)
            if self._status is not None:
                self._status.update(_plain(self._stage))

    def _show(self) -> None:
        with self._lock:
            if self._over:
                return
            from rich.console import Console

            console = Console(stderr=True)
            self._status = console.status(_plain(self._stage), spinner="line")
            self._status.start()

    def end(self) -> None:
        self._timer.cancel()
        with self._lock:
            self._over = True
            if self._status is not None:
                self._status.stop()


def _plain(stage: str) -> Any:
    from rich.text import Text

    return Text(f"{stage} ...")


@contextlib.contextmanager
def watching(*, quiet: bool = False, delay_s: float = DELAY_S) -> Iterator[Callable[[str], None]]:
    """Gives the `progress` callable for `examine`. Silent with `quiet` and where nobody sees it."""
    if quiet or not somebody_types():
        yield lambda stage: None
        return
    line = _Line(delay_s)
    try:
        yield line.tell
    finally:
        line.end()
