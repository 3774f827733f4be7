"""NVIDIA drivers: which CUDA they run and which GPUs they know. The public names are those of lookup.py."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from doctor.knowledge.load import cited, table
from doctor.knowledge.versions import at_least, compared, numbers
from doctor.model.values import dataclass


@dataclass(frozen=True, kw_only=True)
class DriverNeed:
    """The oldest driver that can run a CUDA version on a system."""

    cuda: str
    minimum: str
    why: str  # "CUDA 12.x minor-version compatibility"
    source: str


def driver_need(cuda: str, system: str = "linux") -> DriverNeed | None:
    """Oldest driver for that CUDA version ("12.4") on "linux" or "windows" (WSL: the Windows driver counts, but the
    Linux number that nvidia-smi prints inside WSL is the Windows one, too)."""
    tables = table("drivers")
    version = numbers(cuda)[:2]
    for row in tables["needs"]:
        if numbers(row["cuda"]) == version:
            why = f"the first driver for CUDA {row['cuda']}"
            return DriverNeed(cuda=cuda, minimum=row[system], why=why, source=cited("drivers", row))
    for row in tables["majors"]:
        if version[:1] == (row["major"],):
            why = f"CUDA {row['major']}.x minor-version compatibility"
            return DriverNeed(cuda=cuda, minimum=row[system], why=why, source=cited("drivers", row))
    return None


def driver_runs(driver: str, cuda: str, system: str = "linux") -> bool | None:
    """Whether that driver can run programs built with that CUDA version, by the minor-version rule."""
    need = driver_need(cuda, system)
    if need is None or not numbers(driver):
        return None
    return at_least(driver, need.minimum)


def cuda_of_driver(driver: str, system: str = "linux") -> str | None:
    """Highest CUDA version that a driver's nvidia-smi prints: "550.54.15" -> "12.4". Windows numbers run in the same
    branches (546.33 belongs to 545). For a driver newer than the tables: the newest known, which it has at least."""
    version = compared(driver)
    rows = [row for row in table("drivers")["branches"] if not (system == "windows" and row["windows"] is None)]
    older = [row for row in rows if (row["branch"],) <= version]
    return str(max(older, key=lambda row: row["branch"])["cuda"]) if older else None


def branches_of(capability: str) -> tuple[int | None, int | None]:
    """First and last NVIDIA driver branch that know GPUs of that capability (None: unlimited, or not known)."""
    row = _generation(capability)
    return (row["first"], row["last"]) if row else (None, None)


def architecture_of(capability: str) -> str | None:
    """ "8.9" -> "Ada"."""
    row = _generation(capability)
    return row["architecture"] if row else None


def _generation(capability: str) -> Mapping[str, Any] | None:
    """The row of a capability, or that of its major number."""
    rows = {row["capability"]: row for row in table("drivers")["generations"]}
    return rows.get(capability) or rows.get(capability.partition(".")[0])
