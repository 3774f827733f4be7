"""What must hold of a report, whatever the commands did."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass

from doctor.model.facts import ABSENT, Facts
from doctor.model.report import Report
from doctor.probes.said import REQUIRED
from doctor.reports import json as json_format
from doctor.reports import terminal
from tests.chaos.played import Command, Machine, is_collector, is_probe

# What may be concluded where that very command goes wrong: the target's Python and torch are what is examined.
OF_COLLECTOR = {"interpreter-broken"}
NOT_KNOWN_WHY = {"accelerator-unusable"}
OF_FIRST_PROBE = {"torch-import-crashes", "device-crashes", "accelerator-unusable"}
OF_OTHER_PROBES = {"device-crashes"}
OF_DRIVER = {"driver-hangs", "nvidia-uvm-broken"}
PARTS = ("host", "interpreter", "torch", "nvidia", "amd", "intel", "metal")


def broken(machine: Machine, spoiled: dict[Command, str], report: Report) -> Iterator[str]:
    """The laws that a report breaks, a sentence each."""
    yield from _renders(report)
    yield from _healthy_without_proof(report)
    yield from _wrong_roots(machine, spoiled, report)
    yield from _absent_for_unknown(machine.healthy.facts, report.facts, spoiled)


def _renders(report: Report) -> Iterator[str]:
    text = json_format.render(report)
    if json_format.parse(text).verdict != report.verdict:
        yield "the report does not survive JSON"
    if any(ord(c) < 32 and c not in "\n" for c in terminal.render(report)):
        yield "a control character reaches the terminal"


def _healthy_without_proof(report: Report) -> Iterator[str]:
    if report.verdict != "healthy":
        return
    facts = report.facts
    probes = {p.id: p for p in facts.probes or ()}
    listed = (facts.torch.devices if facts.torch else None) or ()
    devices = {d.backend if d.backend == "mps" else f"{d.backend}:{d.index}" for d in listed}
    for device in ("cpu", *devices):
        probe = probes.get(device)
        stages = {s.name for s in probe.stages if s.ok} if probe else set()
        if probe is None or probe.status != "ok" or not stages >= set(REQUIRED["quick"]):
            yield f"healthy, and {device} is not proven"


def _wrong_roots(machine: Machine, spoiled: dict[Command, str], report: Report) -> Iterator[str]:
    allowed = _faults(machine.healthy)
    for command, how in spoiled.items():
        if is_collector(command):
            allowed |= NOT_KNOWN_WHY | (OF_COLLECTOR if how not in ("lies", "floods") else set())
        elif is_probe(command):
            allowed |= OF_FIRST_PROBE if command[5] == "cpu" else OF_OTHER_PROBES
            allowed |= OF_DRIVER if how == "hangs" else set()  # it asks the driver, too
        elif command[0].startswith(("nvidia-smi", "doctor-python")):
            allowed |= OF_DRIVER if how in ("hangs", "is late", "crashes") else set()
    for id in sorted(_faults(report) - allowed):
        detail = next(f.detail for f in report.findings if f.id == id)
        yield f"{id} is said to be the cause: {detail[:160]}"


def _faults(report: Report) -> set[str]:
    return {f.id for f in report.findings if f.root and f.severity == "fault"}


def _absent_for_unknown(before: Facts, after: Facts, spoiled: dict[Command, str]) -> Iterator[str]:
    """A fact that is there must not be said to be absent because somebody did not answer."""
    for part in PARTS:
        old, new = getattr(before, part), getattr(after, part)
        if new is ABSENT and old is not ABSENT and old is not None:
            yield f"{part} is said to be absent"
        if not (is_dataclass(old) and is_dataclass(new)):
            continue
        for field in fields(old):
            had, has = getattr(old, field.name), getattr(new, field.name)
            if had not in (None, ABSENT, (), False, 0) and has is ABSENT:
                yield f"{part}.{field.name} is said to be absent; it is {had!r}"[:200]
    for name in ("gpus", "packages"):
        if getattr(before, name) and getattr(after, name) == ():
            yield f"{name} are said to be none"
