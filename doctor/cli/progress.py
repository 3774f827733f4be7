"""What a terminal shows while the machine is looked at, and what is gone at the end: the line on stderr that says what
takes so long, after a second, and, for `check`, the report's first line at once and the layers as they are known.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from doctor.cli.output import somebody_types, width

if TYPE_CHECKING:
    from doctor.model.facts import Facts
    from doctor.model.report import Target

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


class Screen(_Line):
    """The same, and the beginning of the report: its first line stays, on stdout; the layers, not yet judged, stand on
    stderr until the report has them. rich would come too late for the first line."""

    def __init__(self, delay_s: float) -> None:
        self.headed = False
        self._rows = 0
        super().__init__(delay_s)

    def __call__(self, stage: str) -> None:
        self.tell(stage)

    def target(self, target: Target) -> None:
        """Which version of torchdoctor examines which Python."""
        import textwrap

        from doctor import __version__
        from doctor.reports.text import headline, safe

        text = safe(headline(f"torchdoctor {__version__}", target))
        lines = textwrap.wrap(text, width(), break_long_words=False, break_on_hyphens=False)
        with self._lock:
            sys.stdout.write("".join(f"{line}\n" for line in lines))
            sys.stdout.flush()
            self.headed = True

    def known(self, facts: Facts) -> None:
        """The layers as far as files tell, one line each."""
        from doctor.reports.layers import first_rows
        from doctor.reports.text import safe

        if os.environ.get("TERM", "dumb") in ("dumb", "unknown"):  # terminals that cannot erase a line
            return
        import shutil  # which loads what it packs with

        columns = shutil.get_terminal_size((80, 24)).columns - 1
        lines = [safe(f"     {layer:<13}{text}")[:columns] for layer, text in first_rows(facts)]
        if not all(line.isascii() for line in lines):  # it may be wider than its characters, and wrap
            return
        with self._lock:
            if self._status is not None:
                for line in ("", *lines):
                    self._status.console.print(line, markup=False, highlight=False)
            else:
                sys.stderr.write("".join(f"{line}\n" for line in ("", *lines)))
                sys.stderr.flush()
            self._rows = len(lines) + 1
        importlib.import_module("doctor.reports.terminal")  # rich is loaded while the children work

    def end(self) -> None:
        """Remove the provisional lines before the report is printed."""
        super().end()
        if self._rows:
            sys.stderr.write(f"\x1b[{self._rows}A\x1b[J")
            sys.stderr.flush()


def _plain(stage: str) -> Any:
    from rich.text import Text

    return Text(f"{stage} ...")


@contextlib.contextmanager
def showing(delay_s: float = DELAY_S) -> Iterator[Screen | None]:
    """The screen for a report printed to a terminal; None where nobody watches."""
    if os.name == "nt" or not sys.stdout.isatty() or not somebody_types():
        yield None
        return
    screen = Screen(delay_s)
    try:
        yield screen
    finally:
        screen.end()


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
