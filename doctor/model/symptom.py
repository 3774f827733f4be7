"""What speaks of a failure and must be accounted for: symptoms, the hypotheses about what is left unexplained, and the
questions that would settle them."""

from __future__ import annotations

from dataclasses import field
from typing import Literal

from doctor.model.values import dataclass

Kind = Literal[
    "no-device",  # torch does not use an accelerator
    "import",  # torch, or a package beside it, cannot be imported
    "install",  # an installation failed
    "start",  # the Python does not start
    "compute",  # a computation on a device raised an error or crashed
    "memory",  # some memory ran out
    "slow",
    "wrong-result",
    "hang",
    "program",  # the caller's own code, or its arguments
    "unknown",
]
KINDS: tuple[str, ...] = Kind.__args__  # type: ignore[attr-defined]

RESEMBLES = "reads-like"  # id of the symptom of a text in which nothing that is understood decides

# What a symptom is about.
Subject = Literal["nvidia", "amd", "intel", "apple", "cpu", "torch", "python", "package", "system", "program", ""]
SUBJECTS: tuple[str, ...] = Subject.__args__  # type: ignore[attr-defined]


@dataclass(frozen=True, kw_only=True)
class Symptom:
    """One thing that must be explained. `id` is that of a recognised message ("no-kernel-image"), or one of those that
    doctor/accounting/symptoms.py makes ("accelerator-unused", "unknown-message", "probe-crashed" …).

    `causes`: the diagnoses that can be behind it, the likeliest first; () where nobody knows any. `explained_by`: the
    finding that accounts for it, "program" where it is the program's own, None where it is left over.
    """

    id: str  # of the recognised message, or of the kind of failure
    kind: Kind  # what fails
    text: str  # the message, or what was seen
    subject: str = ""  # a Subject; of an accelerator also its name: "nvidia: NVIDIA GeForce RTX 4090"
    source: str = ""  # the file or the stage that it is from
    line: int | None = None  # in that file, from 1
    causes: tuple[str, ...] = ()  # ids that can be behind it, the likeliest first
    explained_by: str | None = None  # the finding that accounts for it, or "program"; null: left over

    @property
    def place(self) -> str:
        """Where it stands: "ticket.txt, line 7"."""
        return self.source + (f", line {self.line}" if self.line else "")


@dataclass(frozen=True, kw_only=True)
class Hypothesis:
    """A diagnosis that could explain a symptom that is left over. `weight` is its share among the hypotheses about
    this symptom, 0 to 1. `speaks_for` and `speaks_against` (in JSON `for` and `against`): one clause each.
    `would_settle`: a command, or what to paste."""

    symptom: str  # id of the symptom that it would explain
    id: str  # of the diagnosis
    weight: float  # its share among the hypotheses about this symptom, 0 to 1
    speaks_for: tuple[str, ...] = field(default=(), metadata={"json": "for"})  # one clause each
    speaks_against: tuple[str, ...] = field(default=(), metadata={"json": "against"})  # one clause each
    would_settle: str = ""  # a command, or what to paste


@dataclass(frozen=True, kw_only=True)
class Question:
    """What to ask next: a sentence, and the command whose output answers it ("" where no command does)."""

    text: str  # one sentence
    command: str = ""  # whose output answers it; "" where no command does
