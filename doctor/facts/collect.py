"""Stage 1, live: all sources start side by side, and are read when the rest of the work is done."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from doctor.facts import declared, environ, host, interpreter, neighbours, tools
from doctor.facts.gpus import amd, apple, intel, merged, nvidia, pci
from doctor.facts.gpus.driver_files import Promised
from doctor.facts.notes import Notes
from doctor.facts.system import System
from doctor.facts.target import Found
from doctor.model.facts import ABSENT, Amd, Facts, Gpu, Host, Intel, Interpreter, Metal, Nvidia, Torch

Finish = Callable[[Notes], None]


class Collection:
    """Sources at work, those that answer soonest first: the first `soon` of them, and `promised`, the GPUs that the
    driver's files promise, are known long before a tool of the driver answers."""

    def __init__(
        self, notes: Notes, finishers: list[Finish], soon: int = 0,
        promised: Callable[[], Promised | None] = lambda: None,
    ) -> None:
        self._notes = notes
        self._finishers = finishers
        self._soon = soon
        self._promised = promised

    def first_look(self) -> Facts:
        """What the target and the system's files say: enough to begin the probes."""
        self._finish(self._soon)
        facts = self._facts()
        promised = self._promised()
        if promised is None:
            return facts
        nvidia = Nvidia(driver=promised.driver, gpus_seen=promised.count)
        return replace(facts, nvidia=nvidia, gpus=(Gpu(vendor="nvidia"),) * promised.count)

    def finish(self, *, patience_s: float | None = None, devices_used_at: float | None = None) -> Facts:
        """Everything but what importing torch says. Each source is waited for within its own limit; with `patience_s`
        a tool that can add little to what is known gets only so many seconds more."""
        self._notes.patience_s = patience_s
        self._notes.devices_used_at = devices_used_at
        self._finish(len(self._finishers))
        return self._facts()

    def _finish(self, count: int) -> None:
        for finish in self._finishers[:count]:
            finish(self._notes)
        del self._finishers[:count]
        self._soon = max(0, self._soon - count)

    def _facts(self) -> Facts:
        notes = self._notes
        torch = notes.get("torch")
        return Facts(
            host=Host(**notes.fields("host")),
            interpreter=Interpreter(**notes.fields("interpreter")),
            torch=torch if torch is ABSENT else Torch(**notes.fields("torch")) if notes.fields("torch") else None,
            packages=notes.get("packages"),
            damaged=notes.get("damaged"),
            gpus=notes.get("gpus"),
            nvidia=Nvidia(**notes.fields("nvidia")),
            amd=Amd(**notes.fields("amd")),
            intel=Intel(**notes.fields("intel")),
            metal=Metal(**notes.fields("metal")),
            environ=notes.get("environ"),
            declared=notes.get(declared.FACT),
            gaps=notes.gaps,
            origins=notes.origins,
        )


def start(system: System, found: Found) -> Collection:
    """Start every source for this machine and this target. Never raises for what the machine does."""
    notes = Notes()
    environ.collect(system, notes)
    finishers: list[Finish] = [interpreter.start(system, found, notes)]
    driver = nvidia.start(system, notes)
    finishers += [part.start(system, notes) for part in (host, pci, amd, apple, tools)]
    soon = 1 if system.is_windows else 2  # of Windows itself, a slow PowerShell must say
    intel.collect(system, notes)
    declared.collect(system, notes)
    finishers += [
        driver,
        merged.write,
        lambda notes: neighbours.collect(system, notes),
        lambda notes: host.write_room(system, notes),
    ]
    return Collection(notes, finishers, soon, driver.promised)
