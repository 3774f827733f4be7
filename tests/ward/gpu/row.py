"""What a row of the ward for GPUs is: what is broken, and what must be said of it, written down before any run."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Verdict = Literal["healthy", "faulty", "unknown"]
EXIT_CODES: Mapping[str, int] = {"healthy": 0, "faulty": 1, "unknown": 3}
LIMIT_S = 120.0


@dataclass(frozen=True, kw_only=True)
class Row:
    """One thing to break.

    `ids`: one of them must be the first fault; (): no fault may be found. `verdict`: what must be said; with ids
    always "faulty". `code`: the exit code. `noted`: ids that must be among the findings, whatever their severity.
    `environ`: variables beside the user's own. `mounts`: shell commands in a new mount namespace, as root. `wrap`: the
    program that starts the doctor. `beside`: Python programs, with torch, that run meanwhile (programs.py). `copies`:
    how many doctors at once. `full`: the full probe in place of a check; it takes a minute and all of a GPU's memory,
    so it is run only where --only names it. `missing`: why the row can't be run on this machine; "" where it can.
    """

    name: str
    group: str
    ids: tuple[str, ...] = ()
    verdict: Verdict = "healthy"
    code: int = 0
    noted: tuple[str, ...] = ()
    environ: Mapping[str, str] = field(default_factory=dict)
    mounts: tuple[str, ...] = ()
    wrap: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()
    copies: int = 1
    full: bool = False
    limit_s: float = LIMIT_S
    missing: str = ""

    @property
    def alone(self) -> bool:
        """Whether it would disturb other rows, or they it."""
        return bool(self.beside) or self.copies > 1 or self.full

    @property
    def expected(self) -> str:
        return " or ".join(self.ids) if self.ids else self.verdict


def over(file: object, content: object) -> str:
    """The shell command that puts a file in the place of another one."""
    return f"mount --bind {shlex.quote(str(content))} {shlex.quote(str(file))}"
