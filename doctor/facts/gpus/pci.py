"""GPUs on the PCI bus of a Linux machine: /sys/bus/pci/devices, and lspci for their names."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from doctor.facts.notes import Notes
from doctor.facts.system import System
from doctor.formats import lspci
from doctor.model.facts import Gap, Gpu

FOLDER = "/sys/bus/pci/devices"
LIMIT_S = 5.0
_DISPLAY, _ACCELERATOR = "0x03", "0x12"
NVSWITCH = "0x0680"  # bridge, other: what NVSwitch chips say


def start(system: System, notes: Notes) -> Callable[[Notes], None]:
    """Read the bus; lspci gives the names where there is a GPU, and the devices where the bus can't be read."""
    if system.uname().system != "linux":
        return lambda notes: None
    found = gpus_on_bus(system)
    child = system.start(["lspci", "-Dnnk"], limit_s=LIMIT_S) if isinstance(found, Gap) or found else None

    def finish(notes: Notes) -> None:
        named = {gpu.pci_address: gpu for gpu in lspci.parse(child.result().stdout)} if child else {}
        if isinstance(found, Gap):
            if child and child.result().ok:
                notes.set("gpus.pci", tuple(_from_lspci(gpu) for gpu in named.values()), "lspci")
            notes.set("gpus.pci", found)
            return
        gpus = tuple(
            replace(gpu, name=named[gpu.pci_address].name) if gpu.pci_address in named else gpu for gpu in found
        )
        notes.set("gpus.pci", gpus, FOLDER)

    return finish


def _from_lspci(gpu: lspci.PciGpu) -> Gpu:
    return Gpu(
        vendor=gpu.vendor,  # type: ignore[arg-type]
        name=gpu.name,
        pci_id=gpu.pci_id,
        pci_address=gpu.pci_address,
        driver=gpu.driver,
        integrated=_is_integrated(gpu.vendor, gpu.pci_address),
    )


def gpus_on_bus(system: System) -> tuple[Gpu, ...] | Gap:
    """The GPUs of NVIDIA, AMD and Intel; a Gap where the bus can't be read (a sandbox, a board without PCI)."""
    devices = system.listdir(FOLDER)
    if isinstance(devices, Gap):
        return devices
    found = []
    for address in devices:
        kind, vendor, device = (_word(system, address, name) for name in ("class", "vendor", "device"))
        maker = lspci.VENDORS.get(vendor.removeprefix("0x"))
        if maker is None or not (kind.startswith(_DISPLAY) or (kind.startswith(_ACCELERATOR) and maker == "amd")):
            continue
        link = system.link(f"{FOLDER}/{address}/driver")
        found.append(
            Gpu(
                vendor=maker,  # type: ignore[arg-type]
                pci_id=f"{vendor}:{device}".replace("0x", ""),
                pci_address=address,
                driver=link.rpartition("/")[2] if link else None,
                integrated=_is_integrated(maker, address),
            )
        )
    return tuple(found)


def has_nvswitch(system: System) -> bool:
    """Whether the machine has NVSwitch chips, which need the fabric manager."""
    devices = system.listdir(FOLDER)
    if isinstance(devices, Gap):
        return False
    return any(
        _word(system, address, "class").startswith(NVSWITCH) and _word(system, address, "vendor") == "0x10de"
        for address in devices
    )


def _word(system: System, address: str, name: str) -> str:
    text = system.read(f"{FOLDER}/{address}/{name}", 64)
    return "" if isinstance(text, Gap) else text.strip().lower()


def _is_integrated(vendor: str, address: str) -> bool | None:
    """Intel's own graphics sit at 00:02.0; NVIDIA has none on PCI; AMD's can't be told from the address."""
    if vendor == "intel":
        return address.endswith(":00:02.0")
    return False if vendor == "nvidia" else None


def render_accessible(system: System, vendor: str) -> bool | None:
    """Whether this user may open a render node of that PCI vendor ("0x1002"); None where there is none."""
    nodes = system.listdir("/dev/dri")
    if isinstance(nodes, Gap):
        return None
    own = []
    for node in nodes:
        said = system.read(f"/sys/class/drm/{node}/device/vendor", 64)
        if node.startswith("renderD") and not isinstance(said, Gap) and said.strip() == vendor:
            own.append(system.can_open(f"/dev/dri/{node}"))
    return any(own) if own else None
