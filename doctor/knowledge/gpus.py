"""GPU models by name or PCI id, and their published rates. The public names are those of lookup.py."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from doctor.knowledge.load import cited, of_tables, table
from doctor.model.values import dataclass
from doctor.regex import Regex

_VENDORS = {"10de": "nvidia", "1002": "amd", "1022": "amd", "8086": "intel"}
_NOISE = Regex(
    r"\((?:tm|r|c)\)|[™®©]|\b(?:nvidia|amd/ati|amd|ati|intel|corporation|corp|inc|advanced micro devices|geforce|radeon"
    r"|graphics|controller|vga compatible|3d|display|tesla|instinct|processors)\b"
)
_WORDS = Regex(r"[^a-z0-9+-]+")


@dataclass(frozen=True, kw_only=True)
class GpuModel:
    """A GPU model of the tables."""

    vendor: str
    name: str
    architecture: str | None = None  # "Kepler", "Ampere", "RDNA3"; of Intel the family: "Arc A (Alchemist)"
    capability: str | None = None
    gfx: str | None = None
    source: str = ""
    xpu: bool | None = None  # Intel: whether the xpu builds support the family
    status: str = "verified"


@dataclass(frozen=True, kw_only=True)
class Peaks:
    """Published dense peak rates: TFLOP/s (tensor cores with FP32 accumulation), GB/s. None: not published or not
    known."""

    name: str
    memory_gb: float | None
    bandwidth_gbs: float | None
    fp32: float | None
    tf32: float | None
    fp16: float | None
    bf16: float | None
    fp8: float | None
    gpu_cores: tuple[int, ...]  # Apple: the variants; the rates are those of the last
    status: str
    source: str


def gpu_model(name: str | None = None, pci_id: str | None = None) -> GpuModel | None:
    """The model by the name that a tool prints ("NVIDIA GeForce RTX 4090 Laptop GPU", "AMD Radeon RX 7900 XTX") or
    PCI id ("10de:2684"). None where the tables don't know it, and where a name says too little ("AMD Radeon
    Graphics")."""
    found = _by_name(name) if name else None
    if found is None and pci_id:
        found = _by_pci_id(pci_id.lower(), name or pci_id)
    return found


@of_tables
def _by_name(name: str) -> GpuModel | None:
    if gfx := re.search(r"\bgfx[0-9a-f]{3,5}\b", name.lower()):
        return GpuModel(vendor="amd", name=name, gfx=gfx[0], source="its own name")
    if re.match(r"apple m\d", name.lower()):
        return GpuModel(vendor="apple", name=name, source="its own name")
    vendor = _vendor_of(name.lower())
    plain = plain_name(name)
    for row in table("gpus")["patterns"]:
        if (
            vendor in (None, row["vendor"])
            and any(part in plain for part in row["literals"])
            and re.search(row["pattern"], plain)
        ):
            return _model(row, name)
    return None


def _vendor_of(name: str) -> str | None:
    """The vendor that a name names; Radeon, Instinct, GeForce and Quadro name theirs."""
    for vendor, words in (
        ("nvidia", ("nvidia", "geforce", "quadro", "tesla")),
        ("amd", ("amd", "radeon", "instinct", "advanced micro")),
        ("intel", ("intel",)),
    ):
        if any(word in name for word in words):
            return vendor
    return None


def plain_name(name: str) -> str:
    """A GPU's name in lower case, without vendor, trade marks and punctuation:
    "NVIDIA GeForce RTX 4070 Ti SUPER" -> "rtx 4070 ti super"."""
    return " ".join(_WORDS.sub(" ", _NOISE.sub(" ", name.lower())).split())


def _by_pci_id(pci_id: str, name: str) -> GpuModel | None:
    maker, _, device = pci_id.partition(":")
    vendor = _VENDORS.get(maker.removeprefix("0x"))
    device = device.removeprefix("0x")
    for row in table("gpus")["pci"]:
        if row["vendor"] == vendor and row["first"] <= device <= row["last"]:
            return _model(row, name)
    return None


def _model(row: Mapping[str, Any], name: str) -> GpuModel:
    capability = row.get("capability")
    return GpuModel(
        vendor=row["vendor"],
        name=name,
        architecture=row["architecture"],
        capability=capability,
        gfx=row.get("gfx"),
        source=cited("gpus", row),
        xpu=row.get("xpu"),
        status=row["status"],
    )


@of_tables
def _peaks() -> dict[str, Mapping[str, Any]]:
    return {plain_name(row["name"]): row for row in table("peaks")["rows"]}


def peaks_of(name: str) -> Peaks | None:
    """The published rates of a model by the name that a tool prints. Laptop, Max-Q, MIG and vGPU parts are slower
    than the model that lends them its name: None, unless the tables have them."""
    row = _peaks().get(plain_name(name))
    if row is None:
        return None
    return Peaks(
        name=row["name"],
        memory_gb=row["memory_gb"],
        bandwidth_gbs=row["bandwidth_gbs"],
        fp32=row["fp32"],
        tf32=row["tf32"],
        fp16=row["fp16"],
        bf16=row["bf16"],
        fp8=row["fp8"],
        gpu_cores=tuple(row.get("gpu_cores", ())),
        status=row["status"],
        source=cited("peaks", row),
    )
