"""Stage 1, live: all sources start side by side, and are read when the rest of the work is done."""

from __future__ import annotations

from collections.abc import Callable

from doctor.facts import environ, host, interpreter, neighbours, tools
from doctor.facts.gpus import amd, apple, intel, merged, nvidia, pci
from doctor.facts.notes import Notes
from doctor.facts.system import System
from doctor.facts.target import Found
from doctor.model.facts import ABSENT, Amd, Facts, Host, Intel, Interpreter, Metal, Nvidia, Torch

Finish = Callable[[Notes], None]


class Collection:
    """Sources at work. `finish()` waits for each within its own limit."""

    def __init__(self, notes: Notes, finishers: list[Finish]) -> None:
        self._notes = notes
        self._finishers = finishers

    def finish(self) -> Facts:
        """The facts: everything but what importing torch says."""
        notes = self._notes
        for finish in self._finishers:
            finish(notes)
        torch = notes.get("torch")
        return Facts(
            host=Host(**notes.fields("host")),
            interpreter=Interpreter(**notes.fields("interpreter")),
            torch=torch if torch is ABSENT else Torch(**notes.fields("torch")) if notes.fields("torch") else None,
            packages=notes.get("packages"),
            gpus=notes.get("gpus"),
            nvidia=Nvidia(**notes.fields("nvidia")),
            amd=Amd(**notes.fields("amd")),
            intel=Intel(**notes.fields("intel")),
            metal=Metal(**notes.fields("metal")),
            environ=notes.get("environ"),
            gaps=notes.gaps,
            origins=notes.origins,
        )


def start(system: System, found: Found) -> Collection:
    """Start every source for this machine and this target. Never raises for what the machine does."""
    notes = Notes()
    environ.collect(system, notes)
    finishers: list[Finish] = [interpreter.start(system, found, notes)]
    finishers += [part.start(system, notes) for part in (nvidia, host, pci, amd, apple, tools)]
    intel.collect(system, notes)
    finishers += [
        merged.write,
        lambda notes: neighbours.collect(system, notes),
        lambda notes: host.write_room(system, notes),
    ]
    return Collection(notes, finishers)
