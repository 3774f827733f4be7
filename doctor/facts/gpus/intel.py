"""The Intel GPU stack: the kernel driver, and Level Zero, through which torch's XPU backend speaks to it."""

from __future__ import annotations

from doctor.facts.gpus import pci
from doctor.facts.notes import Notes
from doctor.facts.system import System
from doctor.model.facts import ABSENT, Gap

_FOLDERS = ("/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/local/lib", "/usr/lib", "/usr/local/lib64")
_LOADER, _DRIVERS = "libze_loader.so.1", ("libze_intel_gpu.so.1", "libze_intel_gpu_legacy1.so.1")
_WINDOWS_LOADER = r"C:\Windows\System32\ze_loader.dll"


def collect(system: System, notes: Notes) -> None:
    """Write intel.* down; all of it is files."""
    kind = system.uname().system
    if kind == "windows":
        notes.set("intel.level_zero", None if system.root else system.exists(_WINDOWS_LOADER), _WINDOWS_LOADER)
    if kind != "linux":
        notes.gap("intel", "not-applicable", "only Linux shows the Intel compute stack")
        return
    notes.set("intel.kernel_driver", _kernel_driver(system) or ABSENT, "/sys/module")
    notes.set("intel.level_zero", _has(system, (_LOADER,)) and _has(system, _DRIVERS), "library folders")
    notes.set("intel.render_accessible", pci.render_accessible(system, "0x8086"), "/dev/dri")
    notes.gap("intel.render_accessible", "not-applicable", "there is no render node of an Intel GPU")


def _kernel_driver(system: System) -> str | None:
    """What is bound to the GPU, else what is loaded."""
    gpus = pci.gpus_on_bus(system)
    bound = (
        None
        if isinstance(gpus, Gap)
        else next((gpu.driver for gpu in gpus if gpu.vendor == "intel" and gpu.driver), None)
    )
    return bound or next((name for name in ("xe", "i915") if system.exists(f"/sys/module/{name}")), None)


def _has(system: System, names: tuple[str, ...]) -> bool:
    return any(system.exists(f"{folder}/{name}") for folder in _FOLDERS for name in names)
