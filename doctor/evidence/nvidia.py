"""What the tools of the NVIDIA stack print: nvidia-smi in all forms, /proc/driver/nvidia/version, kernel log, nvcc,
lspci,
package names of drivers, and the warnings by which torch names a GPU."""

from __future__ import annotations

import re
from itertools import takewhile
from typing import Any

from doctor.evidence import machine
from doctor.evidence.blocks import tables
from doctor.evidence.notes import Notes, Trust
from doctor.evidence.says import By, Says, note
from doctor.evidence.text import Document
from doctor.formats import kernel_log, lshw, lspci, nvcc, nvidia_smi
from doctor.model.facts import ABSENT, Gpu, Source
from doctor.regex import Regex

SMI = "nvidia-smi"
WARNING = "torch's warning"
_LIST = Regex(r"^[ \t]*GPU[ \t]*#?(\d{1,3}):[ \t]*([^\s(][^\n(]{2,79}?) ?(?:\(UUID: ([\w-]+)\)|\(\S[^)\n]*\))?$", re.M)
_Q = Regex(r"^[ \t]*(Product Name|Driver Version|CUDA Version|Compute Mode|GPU UUID)[ \t]*:[ \t]*(\S[^\n]*)$", re.M)
_CSV_HEAD = Regex(
    r"^[ \t]*((?:index|name|uuid|driver_version|compute_cap|memory\.\w+|pci\.\w+|count|compute_mode|utilization\.\w+|"
    r"temperature\.\w+)"
    r"(?: \[\w+\])?(?:,[\w. %\[\],]*)?)$",
    re.M,
)
_CSV_ASKED = Regex(r"--query-gpu=([\w.,]+)")
_PCI_LOOSE = Regex(
    r"^(?:[ \t]*(?:GPU:[ \t]*)?(?:[0-9a-fA-F:]{5,12}\.\d )?)?(?:VGA compatible controller|3D controller|"
    r"Display controller)[^:\n]*: (NVIDIA|Advanced Micro Devices|Intel)([^\n]*)$",
    re.M,
)
_PACKAGE = Regex(
    r"\bnvidia-(?:driver|utils|compute-utils|dkms|kernel-dkms|driver-latest-dkms|driver-cuda|kmod)(?:-\d+)?(?:-server"
    r"|-open)?[-= :\t]+(?:\d:)?(\d{3}\.\d+(?:\.\d+)?)"
)
_DRIVER_PACKAGE = Regex(
    r"(?:\bapt(?:-get)? (?:-\S{1,40} ){0,6}install[^\n]{0,300}?|^ii[ \t]+)"
    r"((?:nvidia-(?:driver|utils|compute-utils|dkms)|libnvidia-compute)-\d{3}(?:-server|-open)?)\b",
    re.M,
)

_BUILT_FOR = Regex(
    r"^[ \t]*-[ \t]+(\d{1,2})\.(\d)[ \t]+which supports hardware CC", re.M
)
# What the tools beside nvidia-smi say
_TOOLS = (
    Says(  # which of NVIDIA's two kernel modules, by its greeting or by modinfo's line
        Regex(
            r"NVRM(?: version)?: (?:loading )?NVIDIA UNIX (Open )?[\w ]{0,20}Kernel Module|"
            r"^license:[ \t]+(Dual MIT/GPL|NVIDIA)[ \t]*$",
            re.M,
        ),
        "kernel module", Trust.COLLECTED,
        {"nvidia.module_flavour": lambda m: "open" if m[1] or (m[2] or "").startswith("Dual") else "proprietary"},
        words=("nvrm", "license:"),
    ),
    Says(
        Regex(r"NVRM version: NVIDIA UNIX (?:Open )?\S* ?Kernel Module(?: for \S+)?\s+(\d{2,4}\.\d+(?:\.\d+)?)"),
        "/proc/driver/nvidia/version", Trust.COLLECTED,
        {"nvidia.kernel_module": By(Trust.ANSWERED, "{1}"), "nvidia.driver": "{1}"}, words=("nvrm version",),
    ),
    Says(
        Regex(
            r"^[ \t*-]*(?:CUDA Driver Version|NVIDIA[ _-]?[Dd]river(?: [Vv]ersion)?|Driver Version|Nvidia driver|"
            r"GPU driver)[ \t]*[:=][ \t]*v?(\d{3}\.\d{2,3}(?:\.\d{2})?)\b",
            re.M,
        ),
        "transcript", Trust.LISTED, {"nvidia.driver": "{1}"},
        words=("driver version", "nvidia driver", "nvidia-driver", "nvidia_driver", "gpu driver"),
    ),
    Says(
        Regex(
            r"fabric manager NVIDIA GPU driver interface version (\d+(?:\.\d+)+) don't match with driver version "
            r"(\d+(?:\.\d+)+)"
        ),
        "nv-fabricmanager", Trust.COLLECTED,
        {"nvidia.fabric_manager": "stopped", "nvidia.fabric_manager_version": "{1}",
         "nvidia.driver": By(Trust.TOOL, "{2}")},
        words=("fabric",),
    ),
    Says(
        Regex(r"nvidia-fabricmanager\.service.{0,400}?Active: (\w+)", re.S),
        "systemctl", Trust.COLLECTED,
        {"nvidia.fabric_manager": lambda m: "running" if m[1] == "active" else "stopped"}, words=("fabric",),
    ),
    Says(
        Regex(r"Unit nvidia-fabricmanager(?:\.service)? (?:could not be found|not found)"),
        "systemctl", Trust.COLLECTED, {"nvidia.fabric_manager": ABSENT}, words=("fabric",),
    ),
    Says(
        Regex(r"^[ \t]*Fabric[ \t]*\n[ \t]*State[ \t]*:[ \t]*(In Progress|Not Started)[ \t]*$", re.M),
        SMI, Trust.TOOL, {"nvidia.fabric_manager": "unfinished"}, words=("fabric",),
    ),
    Says(
        Regex(
            r"API mismatch: (?:the )?(?:NVIDIA )?client\b.{0,120}?\bversion (\d[\d.]+\d).{0,80}?kernel module\b"
            r".{0,40}?\bversion (\d[\d.]+\d)",
            re.S | re.I,
        ),
        "kernel log", Trust.COLLECTED, {"nvidia.library": "{1}", "nvidia.kernel_module": "{2}"},
        words=("api mismatch",),
    ),
    Says(
        Regex(r"CUDA Driver Version / Runtime Version\s+(\d+\.\d+) /"),
        "deviceQuery", Trust.TOOL, {"nvidia.driver_cuda": "{1}"}, words=("cuda driver version /",),
    ),
    Says(
        Regex(r"^Device \d+: \"([^\"\n]{3,60})\"", re.M),
        "deviceQuery", Trust.TOOL, gpu=lambda m: machine.named_gpu(m[1]), words=("cuda driver version /",),
    ),
)  # fmt: skip
_CAPABILITY = ("cuda capability", "compute capability")
# torch's own words about the GPU that it found, and about the architectures that it was built for
_WARNINGS = (
    Says(
        Regex(
            r"(?:^|[ \t])((?:NVIDIA|GeForce|Tesla|Quadro|TITAN|GRID|A\d{1,4}|RTX)[^\n]{0,60}?) with CUDA capability sm_"
            r"(\d{1,3})[a-f]? is not compatible",
            re.M,
        ),
        WARNING, Trust.TOOL, group="warning", words=_CAPABILITY,
        gpu=lambda m: Gpu(vendor="nvidia", name=m[1].strip(), capability=f"{m[2][:-1]}.{m[2][-1]}"),
    ),
    Says(
        Regex(r"Found GPU(\d+) ([^\n]{3,60}?) which is of (?:cuda capability|compute capability \(CC\)) (\d{1,2}\.\d)"),
        WARNING, Trust.TOOL, {"torch.cuda_available": By(Trust.NAMED, True)}, group="warning", words=_CAPABILITY,
        gpu=lambda m: Gpu(vendor=machine.vendor_of(m[2]) or "nvidia", name=m[2].strip(), capability=m[3]),  # type: ignore[arg-type]
    ),
    Says(
        Regex(r"Your installed torch==(\d+\.\d+\.\d[\w.+]*) does not include kernels for this GPU"),
        WARNING, Trust.TOOL, {"torch.version": "{1}", "torch.imports": By(Trust.NAMED, True)}, words=_CAPABILITY,
    ),
    Says(  # the environment table of detectron2 and of what is built on it
        Regex(r"^[ \t]*GPU \d+(?:,\d+)*[ \t]{2,40}(\S[^\n(]{2,60}?) \(arch=(\d{1,2}\.\d)\)[ \t]*$", re.M),
        "collect_env", Trust.TOOL, group="detectron2",
        gpu=lambda m: Gpu(vendor="nvidia", name=m[1].strip(), capability=m[2]),
    ),
    Says(
        Regex(r"current PyTorch install supports CUDA capabilities ((?:(?:sm|compute)_\d+[a-f]? ?)+)"),
        WARNING, Trust.COLLECTED, {"torch.arch_list": lambda m: tuple(m[1].split())}, words=_CAPABILITY,
    ),
    Says(
        Regex(r"^[ \t]*GPU (\d+) Compute Capability:[ \t]*(\d{1,2}\.\d)", re.M),
        "transcript", Trust.NAMED, gpu=lambda m: Gpu(vendor="nvidia", capability=m[2]), group="capability",
        words=_CAPABILITY,
    ),
    Says(
        Regex(r"_CudaDeviceProperties\(name='([^'\n]{1,80})', major=(\d+), minor=(\d+), total_memory=(\d{1,9})MB"),
        "Python", Trust.ANSWERED, group="properties", words=("_cudadeviceproperties",),
        gpu=lambda m: machine.named_gpu(m[1], capability=f"{m[2]}.{m[3]}", memory_bytes=int(m[4]) << 20),
    ),
    Says(
        Regex(r"\(GPU \d+; (\d+\.\d+) GiB total capacity|GPU \d+ has a total capac?ity of (\d+\.\d+) Gi?B"),
        "message", Trust.NAMED, group="oom", words=("total capac",),
        gpu=lambda m: Gpu(vendor="nvidia", memory_bytes=int(float(m[1] or m[2]) * (1 << 30))),
    ),
)  # fmt: skip


def read(document: Document, notes: Notes) -> None:
    """Note what is said of NVIDIA's driver and GPUs."""
    if not document.has(
        "nvidia", "nvrm", "cuda", "gpu", "geforce", "tesla", "controller", "product:", "driver", "display"
    ):
        return
    _smi(document, notes)
    _other_tools(document, notes)
    note(_WARNINGS, document, notes)
    _built_for(document, notes)
    _bus(document, notes)


def _smi(document: Document, notes: Notes) -> None:
    lines = document.lines
    for table in tables(document):
        notes.understand(table.line, table.last - 1)
        _table(nvidia_smi.parse("\n".join(line.lstrip() for line in table.lines())), notes, table.line)
    if document.has(
        "nvidia-smi has failed", "nvml", "no devices were found", "unable to determine the device", "gpu is lost",
        "gpu access blocked",
    ):
        for i, line in enumerate(lines):
            if (error := nvidia_smi.error_of(line)) is not None:
                notes.put("nvidia.smi_error", error, source=SMI, rank=Trust.COLLECTED, line=i)
    if "gpu " in document.lower and ":" in document.text:
        for m in _LIST.finditer(document.text):
            more = {"uuid": m[3]} if m[3] and m[3].startswith("GPU") else {}
            machine.note_gpu(
                m[2], notes, group="nvidia-smi -L", source=SMI, rank=Trust.TOOL, line=document.line_at(m.start()),
                **more,
            )
    _query(document, notes)


def _table(smi: nvidia_smi.Smi, notes: Notes, line: int) -> None:
    def put(fact: str, value: Any, rank: Trust = Trust.COLLECTED) -> None:
        notes.put(fact, value, source=SMI, rank=rank, line=line)

    put("nvidia.driver", smi.driver)
    put("nvidia.driver_cuda", smi.cuda)
    put("nvidia.smi_version", smi.smi_version)
    if smi.smi_version and smi.driver and smi.smi_version != smi.driver:
        # nvidia-smi and the driver are of one release, except in WSL, where Windows has the driver.
        put("host.wsl", 2, rank=Trust.NAMED)
        put("host.system", "linux", rank=Trust.NAMED)
    put("nvidia.processes", smi.processes)
    if smi.driver or smi.gpus:
        put("nvidia.sources", (Source(name=SMI, status="ok"),))
    if smi.gpus:
        put("nvidia.gpus_seen", len(smi.gpus))
        put("nvidia.mig", smi.mig)
        put("nvidia.mig_instances", smi.mig_instances)
    for gpu in smi.gpus:
        put("nvidia.compute_mode", gpu.compute_mode)
        name = gpu.name
        if gpu.truncated and name and len(name.split()) <= 2:
            name = None
        notes.gpu(
            Gpu(
                vendor="nvidia", name=name, memory_bytes=gpu.memory_bytes, memory_used_bytes=gpu.memory_used_bytes,
                pci_address=gpu.pci_address, driver="nvidia",
            ),
            group=f"table{line}",
            rank=Trust.TOOL,
            source=SMI,
            line=line,
        )


def _query(document: Document, notes: Notes) -> None:
    """`nvidia-smi -q`, and --query-gpu with or without its heading."""
    text = document.text
    facts = {
        "Driver Version": "nvidia.driver",
        "CUDA Version": "nvidia.driver_cuda",
        "Compute Mode": "nvidia.compute_mode",
    }
    if document.has("product name", "gpu uuid", "nvsmi log"):
        for m in _Q.finditer(text):
            line = document.line_at(m.start())
            if m[1] == "Product Name":
                machine.note_gpu(m[2], notes, group="nvidia-smi -q", source=SMI, rank=Trust.TOOL, line=line)
            elif m[1] in facts and m[2] not in ("N/A", "ERR!", "Not Found"):
                notes.put(facts[m[1]], m[2].strip(), source=SMI, rank=Trust.COLLECTED, line=line)
    if document.has("driver_version", "query-gpu", "compute_cap", "memory.total"):
        for m in _CSV_HEAD.finditer(text):
            at = document.line_at(m.start())
            names = [re.sub(r" ?\[[^\[\]]*\]", "", n).strip() for n in m[1].split(",")]
            if len(names) > 1 or names[0] in ("driver_version", "compute_cap", "name"):
                _rows(names, document.lines[at + 1 : at + 17], notes, at + 1)
        for i, said in enumerate(document.lines):
            if "noheader" in said and (asked := _CSV_ASKED.search(said)):
                first = next((n for n in range(i + 1, len(document.lines)) if document.lines[n]), len(document.lines))
                rows = takewhile(lambda row: row and not set("$%>") & set(row), document.lines[first : first + 16])
                _rows(asked[1].split(","), list(rows), notes, first)


def _rows(names: list[str], rows: list[str] | tuple[str, ...], notes: Notes, at: int) -> None:
    for i, row in enumerate(rows, at):
        values = [v.strip() for v in row.split(",")]
        if not row.strip() or len(values) != len(names):
            return
        said = {n: v for n, v in zip(names, values, strict=True) if v and not v.startswith(("[", "N/A"))}
        if re.fullmatch(r"\d{2,4}\.\d+(?:\.\d+)?", said.get("driver_version", "")):
            notes.put("nvidia.driver", said["driver_version"], source=SMI, rank=Trust.COLLECTED, line=i)
        notes.put("nvidia.compute_mode", said.get("compute_mode"), source=SMI, rank=Trust.COLLECTED, line=i)
        memory = re.match(r"(\d+)(?: MiB)?$", said.get("memory.total", ""))
        if "name" in said:
            machine.note_gpu(
                said["name"], notes, group="--query-gpu", source=SMI, rank=Trust.TOOL, line=i,
                capability=said.get("compute_cap"), memory_bytes=int(memory[1]) << 20 if memory else None,
                uuid=said.get("uuid"),
            )
        elif re.fullmatch(r"\d{1,2}\.\d", said.get("compute_cap", "")):
            notes.gpu(
                Gpu(vendor="nvidia", capability=said["compute_cap"]), group="compute_cap", rank=Trust.NAMED, source=SMI,
                line=i,
            )


def _other_tools(document: Document, notes: Notes) -> None:
    text = document.text
    if document.has("nvidia-") and (packages := list(_DRIVER_PACKAGE.finditer(text))):
        names, line = tuple(dict.fromkeys(m[1] for m in packages)), document.line_at(packages[0].start())
        notes.put("nvidia.packages", names, source="package list", rank=Trust.TOOL, line=line)
    if "xid" in document.lower and (found := kernel_log.xids(text)):
        at = document.line_at(kernel_log.first_xid(text))
        notes.put("nvidia.xids", found, source="kernel log", rank=Trust.COLLECTED, line=at)
    if document.has("cuda compilation tools", "cuda_"):
        for place, release in nvcc.releases(text):
            line = document.line_at(place)
            notes.put("nvidia.toolkit", release, source="nvcc", rank=Trust.ANSWERED, line=line)
    note(_TOOLS, document, notes)
    if "nvidia-" in document.lower:
        for m in _PACKAGE.finditer(text):
            line = document.line_at(m.start())
            said = document.lines[line].lower()
            if " install " not in f" {said} " and "no match" not in said:
                notes.put("nvidia.driver", m[1], source="package list", rank=Trust.NAMED, line=line)


def _built_for(document: Document, notes: Notes) -> None:
    """Of a torch that lists in rows what it was built for."""
    if built := list(_BUILT_FOR.finditer(document.text)):
        archs, line = tuple(f"sm_{m[1]}{m[2]}" for m in built), document.line_at(built[0].start())
        notes.put("torch.arch_list", archs, source=WARNING, rank=Trust.COLLECTED, line=line)


def _bus(document: Document, notes: Notes) -> None:
    """lspci and lshw."""
    text = document.text
    if document.has("controller", "processing accelerators"):
        found = lspci.parse(
            "\n".join(line.strip() if "Kernel driver" not in line else f"\t{line.strip()}" for line in document.lines)
        )
        for gpu in found:
            _on_bus(
                gpu.vendor, gpu.name, notes, pci_id=gpu.pci_id, driver=gpu.driver, address=gpu.pci_address,
                line=_line_with(document, gpu.pci_address.removeprefix("0000:")),
            )
        if not found:
            for m in _PCI_LOOSE.finditer(text):
                vendor = {"NVIDIA": "nvidia", "Advanced Micro Devices": "amd", "Intel": "intel"}[m[1]]
                _on_bus(vendor, m[2].replace("Corporation", "").strip(" ,"), notes, line=document.line_at(m.start()))
            for m in lspci.DRIVER.finditer(text):
                if m[1] == "nouveau":
                    notes.put("nvidia.nouveau", True, source="lspci", rank=Trust.TOOL, line=document.line_at(m.start()))
            if lspci.other_displays(text) and lspci.shows_all(text):
                notes.no_gpu = True
    if document.has("product:", "display"):
        for shown in lshw.parse(document.lines):
            if maker := shown.vendor or machine.vendor_of(shown.product):
                _on_bus(maker, shown.product, notes, driver=shown.driver, line=shown.line)


def _on_bus(
    vendor: str,
    name: str | None,
    notes: Notes,
    *,
    line: int | None,
    pci_id: str | None = None,
    driver: str | None = None,
    address: str | None = None,
) -> None:
    """A GPU that the PCI bus names; «GP107 [GeForce GTX 1050 Ti]» is a GeForce GTX 1050 Ti, «Device 2237» has no
    name."""
    if vendor == "intel" and not re.search(
        r"arc|\bxe\b|iris|uhd|hd graphics|data center gpu|graphics|dg2|battlemage|alchemist", name or "", re.I
    ):
        return
    said = re.sub(r"\s{0,3}\((?:prog-if|rev) [^()]{0,60}\)", "", name or "")
    inner = re.findall(r"\[([^\]]{3,60})\]", said)
    clean = next(
        (i for i in reversed(inner) if not re.fullmatch(r"(?:AMD/ATI|[0-9a-f]{4}(?::[0-9a-f]{4})?)", i)),
        re.sub(r"\(.*", "", said).strip(),
    )
    number = re.fullmatch(r"Device ([0-9a-f]{4})", clean)
    if number:
        pci_id = pci_id or {"nvidia": "10de", "amd": "1002", "intel": "8086"}[vendor] + ":" + number[1]
    # Without a driver module in the line nothing is said about one.
    notes.gpu(
        Gpu(
            vendor=vendor,  # type: ignore[arg-type]
            name=None if number or not clean else clean,
            pci_id=pci_id,
            pci_address=address,
            driver=driver,
        ),
        group="bus",
        rank=Trust.LISTED,
        source="PCI bus",
        line=line,
    )
    if driver == "nouveau":
        notes.put("nvidia.nouveau", True, source="PCI bus", rank=Trust.TOOL, line=line)
    elif driver == "nvidia":
        notes.put("nvidia.nouveau", False, source="PCI bus", rank=Trust.LISTED, line=line)


def _line_with(document: Document, piece: str) -> int | None:
    at = document.text.find(piece)
    return None if at < 0 else document.line_at(at)
