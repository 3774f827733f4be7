"""What nvidia-smi prints: the table in all spellings, the --query-gpu lines that we ask for, and its errors. Pure.

Spellings of the header: before CUDA 10.0 only «Driver Version»; then «CUDA Version» beside it; from branch 610 mostly
«KMD Version» and «CUDA UMD Version». «CUDA Version: ERR!» and «N/A» mean: not known.
"""

from __future__ import annotations

import re

from doctor.model.values import dataclass
from doctor.regex import Regex

# Asked in this order; the last one is unknown to drivers before 510 or so, which then refuse the whole query.
QUERY = (
    "index", "name", "uuid", "pci.bus_id", "pci.device_id", "memory.total", "memory.used", "compute_mode",
    "driver_version", "compute_cap",
)  # fmt: skip
MIB = 1 << 20
_SMI = Regex(r"NVIDIA-SMI\s+(\d+\.\d[\d.]*)")
_DRIVER = Regex(r"(?:Driver|KMD) Version:\s*(\d+\.\d[\d.]*)")
_CUDA = Regex(r"CUDA (?:UMD )?Version:\s*(\d+\.\d+)")
_ERRORS = (
    "NVIDIA-SMI has failed", "Failed to initialize NVML", "No devices were found",
    "Unable to determine the device handle",
    "NVIDIA-SMI couldn't find", "couldn't communicate with the NVIDIA driver", "GPU is lost", "Unable to detect GPU",
    "GPU access blocked by the operating system", "Failed to query",
)  # fmt: skip
_NVML_VERSION = Regex(r"NVML library version:\s*(\d+\.\d[\d.]*)")
_NAME_ROW = Regex(
    r"^\|\s*(?P<index>\d+)\s+(?P<name>\S(?:.{0,80}?\S)??)(?:\s+(?:On|Off|N/A|TCC|WDDM|MCDM))?\s*\|\s*(?P<bus>[0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.\d|N/A)"
)
_MEMORY = Regex(r"(?<!\d)(\d{1,9})\s{0,9}MiB\s{0,9}/\s{0,9}(\d{1,9})\s{0,9}MiB")
_MODE = Regex(r"(Default|E\. Process|E\. Thread|Prohibited)\s*\|\s*$")
_PROCESS = Regex(r"^\|\s*\d+\s+(?:\S+\s+\S+\s+)?\d+\s+(?P<type>C|G|C\+G|M\+C)\s")
_MIG = Regex(r"\b(Enabled|Disabled)\*?\s*\|\s*$")
_INSTANCE = Regex(r"^\|\s*\d+\s+\d+\s+\d+\s+\d+\s*\|")  # GPU, GI, CI, MIG device
_MODES = {"E. Process": "Exclusive_Process", "E. Thread": "Exclusive_Thread"}


@dataclass(frozen=True, kw_only=True)
class SmiGpu:
    """One GPU as nvidia-smi lists it. `truncated`: the table cut its name («NVIDIA GeForce ...»)."""

    index: int
    name: str | None = None
    truncated: bool = False
    uuid: str | None = None
    pci_address: str | None = None  # 0000:01:00.0
    pci_id: str | None = None  # 10de:2684
    memory_bytes: int | None = None
    memory_used_bytes: int | None = None
    compute_mode: str | None = None  # Default, Exclusive_Process, Prohibited
    mig: bool | None = None  # MIG mode
    capability: str | None = None
    driver: str | None = None


@dataclass(frozen=True, kw_only=True)
class Smi:
    """One run of nvidia-smi. What it did not say is None or empty; `processes`: compute processes listed."""

    smi_version: str | None = None
    driver: str | None = None
    cuda: str | None = None
    library: str | None = None  # «NVML library version» of the mismatch error
    gpus: tuple[SmiGpu, ...] = ()
    processes: int | None = None
    mig_instances: int | None = None  # of all GPUs
    error: str | None = None
    header: str = ""  # the line with the versions, as it stood

    @property
    def mig(self) -> bool | None:
        """Whether MIG mode is on for all GPUs; None where that is not said of any."""
        said = [gpu.mig for gpu in self.gpus]
        return None if all(mig is None for mig in said) else all(said)


def parse(text: str) -> Smi:
    """The table, or the error that stands in its place."""
    header = next((line for line in text.splitlines() if _SMI.search(line) or _DRIVER.search(line)), "")
    return Smi(
        smi_version=_first(_SMI, header), driver=_first(_DRIVER, header), cuda=_first(_CUDA, header),
        library=_first(_NVML_VERSION, text), gpus=_table(text), processes=_processes(text), error=error_of(text),
        mig_instances=_instances(text), header=header.strip(" |\t"),
    )


def error_of(text: str) -> str | None:
    """The line that says what failed; None where there is none."""
    for line in text.splitlines():
        if any(word in line for word in _ERRORS):
            return line.strip()[:500]
    return None


def _first(pattern: Regex, text: str) -> str | None:
    match = pattern.search(text)
    return match.group(1) if match else None


def _table(text: str) -> tuple[SmiGpu, ...]:
    gpus = []
    lines = text.splitlines()
    for number, line in enumerate(lines):
        row = _NAME_ROW.match(line)
        if not row:
            continue
        second = lines[number + 1] if number + 1 < len(lines) else ""
        memory = _MEMORY.search(second)
        mode = _MODE.search(second)
        third = lines[number + 2] if number + 2 < len(lines) else ""
        mig = _MIG.search(third)
        name = row["name"].strip()
        gpus.append(
            SmiGpu(
                index=int(row["index"]), name=name.removesuffix("...").strip() or None, truncated=name.endswith("..."),
                pci_address=pci_address(row["bus"]), memory_used_bytes=int(memory[1]) * MIB if memory else None,
                memory_bytes=int(memory[2]) * MIB if memory else None,
                compute_mode=_MODES.get(mode[1], mode[1]) if mode else None,
                mig=mig[1] == "Enabled" if mig else None,
            )
        )
    return tuple(gpus)


def _processes(text: str) -> int | None:
    """Compute processes; None where the table has no list of processes."""
    _, found, rest = text.partition("Processes:")
    if not found:
        return None
    rows = [_PROCESS.match(line) for line in rest.splitlines()]
    return sum(1 for row in rows if row and "C" in row["type"])


def _instances(text: str) -> int | None:
    """MIG instances; None where the table has no list of them."""
    _, found, rest = text.partition("MIG devices:")
    return sum(_INSTANCE.match(line) is not None for line in rest.splitlines()) if found else None


def pci_address(text: str) -> str | None:
    """00000000:01:00.0 and 0000:01:00.0 as the kernel spells it; None for N/A."""
    parts = text.strip().lower().split(":")
    if len(parts) == 2:
        parts.insert(0, "0")
    if len(parts) != 3:
        return None
    try:
        return f"{int(parts[0], 16):04x}:{parts[1]}:{parts[2]}"
    except ValueError:
        return None


def parse_query(text: str, fields: tuple[str, ...] = QUERY) -> tuple[SmiGpu, ...]:
    """The lines of --query-gpu=FIELDS --format=csv,noheader,nounits."""
    gpus = []
    for line in text.splitlines():
        values = [value.strip() for value in line.split(",")]
        if len(values) != len(fields) or not values[0].isdecimal():
            continue
        said = {k: v for k, v in zip(fields, values, strict=True) if v and not v.startswith(("[", "N/A"))}
        gpus.append(
            SmiGpu(
                index=int(values[0]), name=said.get("name"), uuid=said.get("uuid"),
                pci_address=pci_address(said.get("pci.bus_id", "")), pci_id=_pci_id(said.get("pci.device_id", "")),
                memory_bytes=_mib(said.get("memory.total")), memory_used_bytes=_mib(said.get("memory.used")),
                compute_mode=said.get("compute_mode"), capability=said.get("compute_cap"),
                driver=said.get("driver_version"),
            )
        )
    return tuple(gpus)


def _pci_id(text: str) -> str | None:
    """0x268410DE -> 10de:2684."""
    digits = text.lower().removeprefix("0x")
    return f"{digits[4:]}:{digits[:4]}" if re.fullmatch(r"[0-9a-f]{8}", digits) else None


def _mib(text: str | None) -> int | None:
    return int(text) * MIB if text and text.isdecimal() else None
