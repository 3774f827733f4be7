"""The memory of the GPU is used up.

What it means
    This program needs more than the GPU has, or another process holds a part of it.

How to see it yourself
    nvidia-smi lists the processes on the GPU and what they hold; the message tells what this one holds.

What to do
    End the other processes, if they hold the memory; else take a smaller batch or model, 16-bit weights, or gradient
    checkpointing.

References
    https://docs.pytorch.org/docs/stable/notes/cuda.html#memory-management
"""

import re

from doctor.checks import Check, Judgement
from doctor.checks._machine import heard
from doctor.checks._torch import quote, search
from doctor.model.facts import ErrorText, Facts
from doctor.model.finding import Remedy
from doctor.regex import Regex

check = Check(
    severity="fault",
    needs=("messages",),
    systems=("linux", "windows"),
    usual=(Remedy(action="reduce-memory"), Remedy(action="stop-process")),
    instead_of=("program-error", "device-crashes"),
)

UNITS = {"B": 1 / 2**30, "KIB": 1 / 2**20, "KB": 1 / 2**20, "MIB": 1 / 1024, "MB": 1 / 1024, "GIB": 1.0, "GB": 1.0}
TOTAL = Regex(r"(?:total capacity|total capacty) of ([\d.]+) (\w+)|([\d.]+) (\w+) total capacity")
FREE = Regex(r"([\d.]+) (\w+) (?:is )?free")
OWN = Regex(
    r"([\d.]+) (\w+) reserved in total by PyTorch|([\d.]+) (\w+) (?:memory in use|"
    r"is allocated by PyTorch|already allocated)"
)
OTHERS = r"Process \d+ has ([\d.]+) (\w+) memory in use"
SHARE_OF_OTHERS = 0.3  # of the whole memory: then the other processes are the first suspects


@check
def judge(facts: Facts) -> Judgement:
    error = heard(facts, "cuda-out-of-memory")
    if error is None and not facts.live and not heard(facts, "kernel-asserts"):
        return _no_room_for_cublas(facts)
    if error is None or ("CUBLAS_STATUS" in error.text and heard(facts, "kernel-asserts")):
        return None  # after a failed assertion of a kernel every call fails, allocations too
    full = found[0] if (found := search(facts, TOTAL)) else error
    stop, reduce = Remedy(action="stop-process"), Remedy(action="reduce-memory")
    others = _held_by_others(full)
    crowded = (others is not None and others > SHARE_OF_OTHERS) or bool(facts.nvidia.processes)
    return check.found(
        facts,
        "The GPU's memory is full" + (f": other processes hold {others:.0%} of it." if crowded and others else "."),
        evidence=(quote(full), "nvidia.processes", "gpus"),
        remedies=(stop, reduce) if crowded else (reduce, stop),
        confidence="certain" if full.pattern == "exception" or ":" in full.text else "likely",  # or a person's words
    )


def _no_room_for_cublas(facts: Facts) -> Judgement:
    """cuBLAS that can't start: mostly for lack of room for its workspace, which its status does not say."""
    error = heard(facts, "cublas-not-initialized")
    if error is None:
        return None
    return check.found(
        facts,
        "cuBLAS could not start, most often because the GPU's memory is full; an earlier kernel that failed, or "
        "another version of cuBLAS, has the same effect.",
        evidence=(quote(error), "nvidia.processes", "gpus"),
        remedies=(Remedy(action="reduce-memory"), Remedy(action="stop-process")),
        severity="warning",
        confidence="likely",
    )


def _held_by_others(error: ErrorText) -> float | None:
    """The share of the GPU's memory that other processes hold, by the numbers in the message."""
    total, free, own = (_gib(one.search(error.text)) for one in (TOTAL, FREE, OWN))
    if not total or free is None or own is None:
        return None
    others = _gib(re.search(OTHERS, error.text))
    return (others if others is not None else max(0.0, total - free - own)) / total


def _gib(found: re.Match[str] | None) -> float | None:
    """A number with its unit, in GiB."""
    if found is None:
        return None
    number, unit = [g for g in found.groups() if g][:2]
    return float(number) * UNITS.get(unit.upper(), 1.0)
