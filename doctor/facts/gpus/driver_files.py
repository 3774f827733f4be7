"""What files say of the NVIDIA driver before anything is asked: how many GPUs torch will probably find. Loads next to
nothing, for no child runs yet."""

from __future__ import annotations

import re

from doctor.facts.system import System
from doctor.model.facts import Gap
from doctor.model.values import dataclass

MODULE_FILE = "/sys/module/nvidia/version"
PROC_FILE = "/proc/driver/nvidia/version"
VERSION = re.compile(r"\b(\d{3}\.\d{1,3}(?:\.\d{1,3})?)\b")  # of a driver


@dataclass(frozen=True)
class Promised:
    """The GPUs that torch will probably find, as files or the driver's library say before any tool does."""

    driver: str
    count: int


def promised_by_files(system: System) -> Promised | None:
    """By the loaded module and the device nodes; None where they promise nothing (no driver, Windows, WSL)."""
    for path in (PROC_FILE, MODULE_FILE):
        text = system.read(path, 4096)
        version = None if isinstance(text, Gap) else VERSION.search(text)
        if version:
            return Promised(version[1], gpu_nodes(system))
    return None


def gpu_nodes(system: System) -> int:
    """How many /dev/nvidiaN there are."""
    names = system.listdir("/dev")
    return 0 if isinstance(names, Gap) else sum(n.startswith("nvidia") and n[6:].isdecimal() for n in names)
