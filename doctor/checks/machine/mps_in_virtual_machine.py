"""This macOS is a virtual machine's guest, whose virtual GPU torch can't use.

What it means
    A guest of Apple's virtualisation (also GitHub's macOS runners) has an «Apple Paravirtual device» instead of a GPU.
    Old torch releases took it for one and failed with «MPS backend out of memory» at the first byte; newer ones leave
    it out, so that torch.backends.mps.is_available() is False.

How to see it yourself
    sysctl -n machdep.cpu.brand_string ends with (Virtual); system_profiler SPDisplaysDataType shows Apple Paravirtual
    device.

What to do
    Use the CPU device in the guest, or run on the Mac itself.

References
    https://github.com/pytorch/pytorch/issues/111576
    https://developer.apple.com/documentation/paravirtualizedgraphics
"""

from __future__ import annotations

import re

from doctor.checks import Check, Fit, Judgement
from doctor.checks._machine import absent, heard, mac_guest
from doctor.checks._torch import installed, quote
from doctor.model.facts import Facts
from doctor.model.finding import Remedy

REMEDIES = (
    Remedy(action="none", details={"reason": "use the CPU device in this virtual machine, or run on the Mac itself"}),
    Remedy(
        action="upgrade-torch",
        details={"torch": ">=2.1.1"},
        text="torch 2.1.1 and newer leave the virtual GPU out and use the CPU.",
    ),
)

check = Check(
    severity="fault",
    needs=("host.virtual_machine|metal.device", "torch.mps_available"),
    systems=("darwin",),
    keeps_from=("apple",),
    even_if_listed=True,
    usual=REMEDIES,
    instead_of=(
        "mps-unavailable",
        "mps-out-of-memory",
        "mps-memory-leak",
        "macos-too-old",
        "gpu-blocked-by-sandbox",
        "program-error",
    ),
)

PAGE_BYTES = 16 << 10
_UNITS = {"bytes": 0, "KB": 1, "KiB": 1, "MB": 2, "MiB": 2, "GB": 3, "GiB": 3}
_SIZE = r"([\d.]+) (bytes|[KMG]i?B)"


@check
def judge(facts: Facts) -> Judgement:
    if facts.host.system not in (None, "darwin"):
        return None
    guest, torch = mac_guest(facts), installed(facts)
    if (error := heard(facts, "mps-oom-nothing-allocated")) and not _asks_for_more_than_there_is(error.text):
        where = f" (this is {guest})" if guest else ""
        return check.found(
            facts,
            "MPS could not give the first bytes although none of its memory was in "
            f"use, as in a virtual machine{where}.",
            evidence=(quote(error), "metal.device", "host.cpu_model", "host.virtual_machine"),
            remedies=REMEDIES,
            confidence="certain" if guest else "likely",
        )
    if guest is None:
        return None
    if (error := heard(facts, "mps-out-of-memory", "mps-oom-other-allocations")) and _asks_for_little(error.text):
        return check.found(
            facts,
            f"MPS could not give a few bytes on a virtual machine's guest ({guest}): what it may use is capped.",
            evidence=(quote(error), "metal.device", "host.cpu_model", "host.virtual_machine"),
            remedies=REMEDIES,
            confidence="likely",
        )
    if torch and torch.mps_available:
        return None
    error = heard(facts, "mps-needs-newer-macos", "mps-built-not-available", "mps-out-of-memory")
    unavailable = torch is not None and torch.mps_available is False
    if error is None and not unavailable:
        return None
    asked = error is not None or not facts.live  # tickets only tell of MPS where somebody asked for it
    return check.found(
        facts,
        f"The Mac is a virtual machine's guest ({guest}), and torch can't use its virtual GPU.",
        evidence=(
            quote(error) if error else None,
            "metal.device",
            "host.cpu_model",
            "host.virtual_machine",
            "torch.mps_available",
        ),
        severity="fault" if asked else "note",
        remedies=REMEDIES,
    )


@check.fit
def fits(facts: Facts) -> Fit | None:
    if guest := mac_guest(facts):
        return Fit(5, f"this macOS is a guest ({guest})")
    named = facts.host.cpu_model or facts.metal.device
    if named:
        return Fit(0.02 if absent(facts.host.virtual_machine) else 0.2, f"the chip is named {named}, as on a real Mac")
    return None


def _asks_for_more_than_there_is(text: str) -> bool:
    """A first allocation that is larger than all memory fails on any Mac."""
    tried, limit = re.search(rf"Tried to allocate {_SIZE}", text), re.search(rf"max allowed: {_SIZE}", text)
    return bool(tried and limit and _bytes(tried) > _bytes(limit))


def _asks_for_little(text: str) -> bool:
    """A request of less than a page of the GPU's memory, refused."""
    tried = re.search(rf"Tried to allocate {_SIZE}", text)
    return tried is not None and _bytes(tried) <= PAGE_BYTES


def _bytes(size: re.Match[str]) -> float:
    return float(size[1]) * float(1024 ** _UNITS[size[2]])
