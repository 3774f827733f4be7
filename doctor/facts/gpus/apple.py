"""A Mac's GPUs and its Metal device, by system_profiler."""

from __future__ import annotations

from collections.abc import Callable

from doctor.facts.notes import Notes
from doctor.facts.system import System
from doctor.formats import macos
from doctor.model.facts import ABSENT, Gpu

LIMIT_S = 10.0
SOURCE = "system_profiler SPDisplaysDataType"


def start(system: System, notes: Notes) -> Callable[[Notes], None]:
    """Start system_profiler; the returned function writes metal.* and the GPUs down, after the host's facts."""
    if system.uname().system != "darwin":
        notes.set("metal.device", ABSENT, "uname")
        notes.gap("metal.gpu_cores", "not-applicable", "this is no Mac")
        return lambda notes: None
    child = system.start(["system_profiler", "-json", "SPDisplaysDataType"], limit_s=LIMIT_S)

    def finish(notes: Notes) -> None:
        result = child.result()
        listed = macos.displays(result.stdout)
        if listed is None:
            for fact in ("metal.device", "metal.gpu_cores"):
                notes.unanswered(fact, result, SOURCE)
            _by_chip(notes)
            return
        first = next((gpu for gpu in listed if gpu.metal), next((gpu for gpu in listed if gpu.vendor == "apple"), None))
        notes.set("metal.device", first.name if first else ABSENT, SOURCE)
        notes.set("metal.gpu_cores", first.cores if first else None, SOURCE)
        notes.gap("metal.gpu_cores", "not-applicable", "no GPU says how many cores it has", SOURCE)
        gpus = tuple(
            Gpu(vendor=gpu.vendor, name=gpu.name, memory_bytes=gpu.memory_bytes, integrated=gpu.integrated)  # type: ignore[arg-type]
            for gpu in listed
            if gpu.vendor
        )
        notes.set("gpus.apple", gpus, SOURCE)
        if not gpus:
            _by_chip(notes)

    return finish


def _by_chip(notes: Notes) -> None:
    """Every Apple chip has a GPU, of the chip's name."""
    chip = notes.get("host.cpu_model")
    if isinstance(chip, str) and chip.startswith("Apple"):
        notes.set("gpus.apple", (Gpu(vendor="apple", name=chip, integrated=True),), "sysctl machdep.cpu.brand_string")
