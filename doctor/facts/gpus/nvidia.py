"""The NVIDIA driver stack, asked of several sources at once: none alone may say «no driver», and none may hang us."""

from __future__ import annotations

import contextlib
import pkgutil
import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from typing import Any

from doctor.decode import Refused, decode_fields, fits, loads
from doctor.facts.gpus import pci
from doctor.facts.gpus.driver_files import MODULE_FILE, PROC_FILE, VERSION, Promised, promised_by_files
from doctor.facts.notes import Notes, gap_from
from doctor.facts.system import System
from doctor.formats import kernel_log, nvcc, nvidia_smi
from doctor.formats.nvidia_smi import SmiGpu
from doctor.model.facts import ABSENT, Gap, Gpu, Reason, Source
from doctor.model.values import dataclass
from doctor.process import Child, Result, in_background

SMI, LIBCUDA = "nvidia-smi", "libcuda"
LIBCUDA_LIMIT_S = 5.0
SMI_LIMIT_S, SMI_PER_GPU_S, SMI_GPUS_FREE = (
    10.0,
    2.0,
    4,
)  # without persistence mode a healthy server needs seconds a GPU
SMI_LEAST_S = 3.0  # nvidia-smi gets these where a GPU may be there and all else has answered: it wakes sleeping GPUs
TOOL_LIMIT_S = 5.0
SMI_OUTPUT = 1 << 20  # bytes; of sixteen GPUs it is less than a tenth
_SMI_FOLDERS = (
    "/usr/lib/wsl/lib", r"C:\Windows\System32", r"C:\Program Files\NVIDIA Corporation\NVSMI",
)  # fmt: skip
_LIBCUDA_FILES = tuple(
    f"{folder}/libcuda.so.1"
    for folder in ("/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/lib/aarch64-linux-gnu", "/usr/lib",
                   "/usr/lib/wsl/lib",
                   "/usr/lib/aarch64-linux-gnu/nvidia", "/usr/lib/aarch64-linux-gnu/tegra", "/usr/local/nvidia/lib64")
)  # fmt: skip
# Where libcuda lies for programs that are told so: NixOS, Guix, the compat package of CUDA images
_LIBCUDA_APART = (
    "/run/opengl-driver/lib/libcuda.so.1", "/usr/lib64/nvidia/libcuda.so.1", "/usr/lib/nvidia/current/libcuda.so.1",
    "/usr/local/nvidia/lib/libcuda.so.1", "/.singularity.d/libs/libcuda.so.1", "/opt/nvidia/lib64/libcuda.so.1",
)  # fmt: skip
_TEGRA = {"tegra210": "Nano", "tegra186": "TX2", "tegra194": "Xavier", "tegra234": "Orin", "tegra264": "Thor"}
_NO_DEVICES = "No devices were found"


@dataclass(frozen=True)
class Stack:
    """All sources of the driver, at work. Called, it writes nvidia.* and `gpus.nvidia` (what the driver lists) down."""

    finish: Callable[[Notes], None]
    promised: Callable[[], Promised | None]

    def __call__(self, notes: Notes) -> None:
        self.finish(notes)


def start(system: System, notes: Notes) -> Stack:
    """Start all sources."""
    if system.uname().system == "darwin":
        return Stack(_none_on_a_mac, lambda: None)
    on_bus = pci.gpus_on_bus(system)
    count = sum(gpu.vendor == "nvidia" for gpu in on_bus) if not isinstance(on_bus, Gap) else 0
    limit = SMI_LIMIT_S + SMI_PER_GPU_S * max(0, count - SMI_GPUS_FREE)
    smi = system.tool(SMI, _SMI_FOLDERS) or SMI
    children = {
        "table": system.start([smi], limit_s=limit, output_limit=SMI_OUTPUT),
        "query": system.start([smi, *query_arguments(nvidia_smi.QUERY)], limit_s=limit, output_limit=SMI_OUTPUT),
        "nvcc": system.start([_nvcc(system), "--version"], limit_s=TOOL_LIMIT_S),
    }
    libcuda = _start_libcuda(system)
    if count or system.exists(MODULE_FILE):
        children["dmesg"] = system.start(["dmesg"], limit_s=TOOL_LIMIT_S, output_limit=16 << 20)
    if pci.has_nvswitch(system):
        children["fabric"] = system.start(["systemctl", "is-active", "nvidia-fabricmanager"], limit_s=TOOL_LIMIT_S)
        children["fabric-version"] = system.start(["nv-fabricmanager", "--version"], limit_s=TOOL_LIMIT_S)

    def finish(notes: Notes) -> None:
        _hurry(libcuda, children, notes, wakes=_may_have_a_gpu(system, on_bus, libcuda))
        for child in (libcuda, *children.values()):  # side by side: each that can't be killed costs its grace time
            if child:
                in_background(child.result)
        sources: list[Source] = []
        if system.uname().system == "linux":
            sources += _kernel(system, notes)
        sources.append(_library(system, libcuda, notes))
        sources.append(_smi(system, smi, children["query"], children["table"], limit, notes))
        notes.set("nvidia.sources", tuple(sources), "all sources")
        _settle_driver(sources, notes)
        _nodes(system, notes)
        _toolkit(children["nvcc"].result(), notes)
        _xids(children.get("dmesg"), notes)
        _fabric(children.get("fabric"), children.get("fabric-version"), notes)
        _jetson_gpu(system, notes)

    return Stack(finish, lambda: _promised(system, libcuda))


def _hurry(libcuda: Child | None, children: Mapping[str, Child], notes: Notes, *, wakes: bool) -> None:
    """Where the library and, by then, torch have answered, no tool of the driver is waited for as long as alone: it can
    add little. Where one of them hangs, a second one that hangs is the proof, and gets its time. `wakes`: there may be
    a GPU that a tool must wake first."""
    if notes.patience_s is None or (libcuda and libcuda.result().status == "timed-out"):
        return
    for child in children.values():
        child.hurry(notes.patience_s, at_least=SMI_LEAST_S if wakes else 0.0)


def _may_have_a_gpu(system: System, on_bus: tuple[Gpu, ...] | Gap, libcuda: Child | None) -> bool:
    """Whether anything beside nvidia-smi speaks for an NVIDIA GPU that can be reached from here: the bus, a device
    node, the kernel module, or a libcuda that is not known to be absent. A bus that can't be read speaks for none:
    a GPU there would need one of the others."""
    if system.is_windows or system.exists("/dev/dxg"):
        return True
    nodes = system.listdir("/dev")
    modules = [system.read(path, 4096) for path in (PROC_FILE, MODULE_FILE)]
    return (
        (not isinstance(on_bus, Gap) and any(gpu.vendor == "nvidia" for gpu in on_bus))
        or isinstance(nodes, Gap)
        or any(name.startswith(("nvidia", "nvhost")) for name in nodes)
        or not all(isinstance(text, Gap) and text.reason == "not-installed" for text in modules)
        or libcuda is None
        or "absent" not in _lines(libcuda.result().stdout)
    )


def _promised(system: System, libcuda: Child | None) -> Promised | None:
    """By the device nodes and the loaded module; where there are no nodes (Windows, WSL), by the driver's library."""
    if system.is_windows or system.exists("/dev/dxg"):
        said = _lines(libcuda.result().stdout) if libcuda else {}
        driver, count = said.get("driver"), said.get("count")
        return Promised(driver, count) if driver and count else None
    return promised_by_files(system)


def _none_on_a_mac(notes: Notes) -> None:
    for fact in ("driver", "kernel_module", "library", "libcuda", "smi_error", "fabric_manager", "toolkit"):
        notes.set(f"nvidia.{fact}", ABSENT, "macOS has no NVIDIA driver")
    for fact in ("device_nodes", "false_nodes", "closed_nodes"):
        notes.set(f"nvidia.{fact}", (), "macOS has no NVIDIA driver")
    notes.set("nvidia.nouveau", False, "uname")
    notes.gap("nvidia", "not-applicable", "macOS has no NVIDIA driver")


def query_arguments(fields: tuple[str, ...]) -> tuple[str, str]:
    """The arguments of nvidia-smi that ask for these fields."""
    return f"--query-gpu={','.join(fields)}", "--format=csv,noheader,nounits"


def _nvcc(system: System) -> str:
    folders = [f"{home}/bin" for name in ("CUDA_HOME", "CUDA_PATH") if (home := system.environ.get(name))]
    return system.tool("nvcc", (*folders, "/usr/local/cuda/bin")) or "nvcc"


# ---- the kernel's side


def _kernel(system: System, notes: Notes) -> list[Source]:
    """The loaded module, by two files."""
    sources = []
    for path in (PROC_FILE, MODULE_FILE):
        text = system.read(path, 4096)
        if isinstance(text, Gap):
            status = {"not-installed": "absent", "permission": "permission"}.get(text.reason, "failed")
            sources.append(Source(name=path, status=status, message=text.detail))  # type: ignore[arg-type]
            continue
        line = text.strip().splitlines()[0] if text.strip() else ""
        version = VERSION.search(line)
        sources.append(Source(name=path, status="ok" if version else "failed", message=line[:200]))
        notes.set("nvidia.kernel_module", version[1] if version else None, path, line)
        if path == PROC_FILE and version:
            flavour = "open" if "Open Kernel Module" in line else "proprietary"
            notes.set("nvidia.module_flavour", flavour, path, line)
    if all(source.status == "absent" for source in sources):
        notes.set("nvidia.kernel_module", ABSENT, MODULE_FILE)
    elif notes.get("nvidia.kernel_module") is None:
        notes.gap("nvidia.kernel_module", "unreadable", sources[0].message, sources[0].name)
    notes.set("nvidia.nouveau", system.exists("/sys/module/nouveau"), "/sys/module/nouveau")
    return sources


def _nodes(system: System, notes: Notes) -> None:
    """Device nodes; read last, since asking the driver may make /dev/nvidia-uvm."""
    names = system.listdir("/dev")
    if system.is_windows:
        for fact in ("device_nodes", "uvm_node", "nodes_accessible", "nouveau", "kernel_module"):
            notes.gap(f"nvidia.{fact}", "not-applicable", "this is Windows")
        for fact in ("false_nodes", "closed_nodes"):
            notes.set(f"nvidia.{fact}", (), "uname")
        return
    if isinstance(names, Gap):
        for fact in ("device_nodes", "uvm_node", "nodes_accessible"):
            notes.set(f"nvidia.{fact}", names)
        return
    nodes = tuple(
        f"/dev/{name}" for name in names if re.fullmatch(r"nvidia(\d+|ctl|-uvm|-uvm-tools|-modeset|-nvswitch\w*)", name)
    )
    notes.set("nvidia.device_nodes", nodes, "/dev")
    notes.set("nvidia.uvm_node", "/dev/nvidia-uvm" in nodes, "/dev/nvidia-uvm")
    needed = [node for node in nodes if re.fullmatch(r"/dev/nvidia(\d+|ctl|-uvm)", node)]
    if not needed:
        for fact in ("false_nodes", "closed_nodes"):
            notes.set(f"nvidia.{fact}", (), "/dev")
        notes.gap("nvidia.nodes_accessible", "not-applicable", "there are no device nodes")
        return
    closed = tuple(node for node in needed if not system.can_open(node)) or notes.get("nvidia.closed_nodes") or ()
    notes.values.pop("nvidia.closed_nodes", None)
    notes.set("nvidia.closed_nodes", closed, "open(2)")
    notes.set("nvidia.nodes_accessible", not closed, "open(2)")


def _xids(dmesg: Child | None, notes: Notes) -> None:
    if dmesg is None:
        notes.gap("nvidia.xids", "not-applicable", "no NVIDIA GPU or kernel module to write them")
        return
    result = dmesg.result()
    if not result.ok:
        reason = (
            "permission"
            if "not permitted" in result.stderr or "denied" in result.stderr
            else gap_from("", result, "").reason
        )
        notes.gap("nvidia.xids", reason, f"dmesg: {result.said}", "dmesg")
        return
    notes.set("nvidia.xids", kernel_log.xids(result.stdout), "dmesg")


def _fabric(child: Child | None, version: Child | None, notes: Notes) -> None:
    if child is None:
        notes.set("nvidia.fabric_manager", ABSENT, pci.FOLDER)
        return
    result = child.result()
    word = result.stdout.strip()
    states = {
        "active": "running",
        "activating": "stopped",
        "inactive": "stopped",
        "failed": "stopped",
        "unknown": "stopped",
    }
    if word in states:
        notes.set("nvidia.fabric_manager", states[word], "systemctl is-active nvidia-fabricmanager", word)
    else:
        notes.unanswered("nvidia.fabric_manager", result, "systemctl")
    match = VERSION.search(version.result().stdout) if version else None
    notes.set("nvidia.fabric_manager_version", match[1] if match else None, "nv-fabricmanager --version")


# ---- the libraries


def _start_libcuda(system: System) -> Child | None:
    """A child that loads libcuda; without CUDA_VISIBLE_DEVICES, which is the user's wish, not the driver's state."""
    python = system.own_python if not system.root else system.which("doctor-python")
    if not python:
        return None
    script = pkgutil.get_data("doctor.inside", "libcuda.py")
    environ = system.child_environ(CUDA_VISIBLE_DEVICES=None, NVIDIA_TF32_OVERRIDE=None)
    return system.start([python, "-I", "-S", "-B", "-"], limit_s=LIBCUDA_LIMIT_S, stdin=script, env=environ)


def _library(system: System, child: Child | None, notes: Notes) -> Source:
    result = child.result() if child else None
    said = _lines(result.stdout) if result else {}
    broken = re.match(r"(/[^:]+): ", str(said.get("broken", "")))
    file = said.get("libcuda") or (broken[1] if broken else None if "absent" in said else _library_file(system))
    _where_it_lies(system, said, notes)
    if file:
        notes.set("nvidia.libcuda", file, LIBCUDA)
        match = VERSION.search(_target_of(system, file)) or VERSION.search(str(said.get("library_file") or ""))
        notes.set("nvidia.library", match[1] if match else None, "file name of libcuda", _target_of(system, file))
    elif result is None or "absent" in said:
        notes.set("nvidia.libcuda", ABSENT, LIBCUDA, str(said.get("absent", "")))
        notes.set("nvidia.library", ABSENT, LIBCUDA)
    notes.set("nvidia.cuinit", said.get("cuinit"), "cuInit")
    notes.set("gpus.libcuda", said.get("devices"), LIBCUDA)
    notes.set("nvidia.nvml", said.get("driver"), "libnvidia-ml")
    notes.set("nvidia.count", said.get("count"), "libnvidia-ml")
    notes.set("nvidia.libcuda_cuda", said.get("driver_cuda"), "cuDriverGetVersion")
    source = _library_source(result, said, file)
    reasons: dict[str, Reason] = {"absent": "not-installed", "timed-out": "timed-out"}
    for fact in ("cuinit", "libcuda", "library"):
        notes.gap(f"nvidia.{fact}", reasons.get(source.status, "crashed"), f"libcuda: {source.message}", LIBCUDA)
    return source


def _where_it_lies(system: System, said: Mapping[str, Any], notes: Notes) -> None:
    """Whether the loader takes a file that is no library of the driver, finds none though there is one, or is kept
    from the device nodes."""
    if "broken" in said:
        notes.set("nvidia.libcuda_broken", str(said["broken"]), LIBCUDA, str(said["broken"]))
    elif "cuinit" in said or "absent" in said:
        notes.set("nvidia.libcuda_broken", ABSENT, LIBCUDA)
    if "absent" in said and not system.is_windows:
        found = tuple(path for path in (*_LIBCUDA_FILES, *_LIBCUDA_APART) if system.exists(path))
        notes.set("nvidia.libcuda_elsewhere", found, "library folders")
    elif "libcuda" in said:
        notes.set("nvidia.libcuda_elsewhere", (), LIBCUDA)
    for fact in ("false_nodes", "closed_nodes"):
        notes.set(f"nvidia.{fact}", said.get(fact), "/dev")


def _library_source(result: Result | None, said: Mapping[str, Any], file: str | None) -> Source:
    if result is None:
        return Source(
            name=LIBCUDA, status="failed" if file else "absent", message="could not be asked" if file else "not found"
        )
    if "broken" in said:
        return Source(name=LIBCUDA, status="failed", message=str(said["broken"])[:200])
    if "absent" in said:
        return Source(name=LIBCUDA, status="absent", message=str(said["absent"])[:200])
    if "cuinit" in said:
        return Source(name=LIBCUDA, status="ok", message=f"cuInit: {said['cuinit']}", stuck=result.stuck)
    status = "timed-out" if result.status == "timed-out" else "failed"
    return Source(name=LIBCUDA, status=status, message=result.said, stuck=result.stuck)  # type: ignore[arg-type]


@dataclass(frozen=True, kw_only=True)
class Device:
    """A GPU, as inside/libcuda.py says it."""

    name: str | None = None
    address: str = ""
    capability: str | None = None
    integrated: bool | None = None
    memory_bytes: int | None = None


@dataclass(frozen=True, kw_only=True)
class Libraries:
    """What inside/libcuda.py says: the driver's libraries speak through it."""

    absent: str | None = None
    broken: str | None = None
    libcuda: str | None = None
    library_file: str | None = None
    driver_cuda: str | None = None
    cuinit: int | None = None
    devices: tuple[Device, ...] | None = None
    driver: str | None = None
    count: int | None = None
    false_nodes: tuple[str, ...] | None = None
    closed_nodes: tuple[str, ...] | None = None


# What the libraries say, by the field of the model that it becomes.
_FIELDS = {"driver_cuda": "driver_cuda", "cuinit": "cuinit", "driver": "driver", "count": "gpus_seen"}


def _fits(name: str, value: object) -> bool:
    if name == "devices":
        return all(fits("Gpu", field, one) for gpu in value for field, one in asdict(gpu).items())  # type: ignore[attr-defined]
    return name not in _FIELDS or fits("Nvidia", _FIELDS[name], value)


def _lines(text: str) -> dict[str, Any]:
    said: dict[str, Any] = {}
    for line in text.splitlines():
        with contextlib.suppress(Refused):
            values, _ = decode_fields(Libraries, loads(line))
            said |= {name: value for name, value in values.items() if value is not None and _fits(name, value)}
    if "devices" in said:
        said["devices"] = tuple(asdict(device) for device in said["devices"])
    return said


def _library_file(system: System) -> str | None:
    return (
        None
        if system.is_windows
        else next((path for path in _LIBCUDA_FILES if system.exists(path) or system.link(path)), None)
    )


def _target_of(system: System, path: str) -> str:
    """libcuda.so.1 is a link to libcuda.so.550.54.15."""
    return (system.link(path) or system.real(path)).rpartition("/")[2]


# ---- nvidia-smi


def _smi(system: System, smi: str, query: Child, table: Child, limit: float, notes: Notes) -> Source:
    answers, result = query.result(), table.result()
    gpus = nvidia_smi.parse_query(answers.stdout)
    if not gpus and "not a valid field" in answers.stdout + answers.stderr:  # an old driver, which answered at once
        fields = nvidia_smi.QUERY[:-1]
        answers = system.start([smi, *query_arguments(fields)], limit_s=limit).result()
        gpus = nvidia_smi.parse_query(answers.stdout, fields)
    seen = nvidia_smi.parse(result.stdout + "\n" + result.stderr)
    error = seen.error or nvidia_smi.error_of(answers.stdout + "\n" + answers.stderr)
    if not gpus:
        gpus = seen.gpus
    if notes.devices_used_at is not None:  # what came later counts our own probes, too
        if _ended(table) > notes.devices_used_at:
            seen = replace(seen, processes=None)
        if max(_ended(query), _ended(table)) > notes.devices_used_at:
            gpus = tuple(replace(gpu, memory_used_bytes=None) for gpu in gpus)
    _write_smi(seen, gpus, error, notes)
    failed = next((one for one in (result, answers) if one.status == "timed-out"), result)
    stuck = result.stuck or answers.stuck
    if gpus or seen.driver:
        notes.set("nvidia.smi_error", ABSENT, SMI)
        return Source(name=SMI, status="ok", message=seen.header, stuck=stuck)
    if error == _NO_DEVICES:
        notes.set("nvidia.gpus_seen", 0, SMI, error)
    if error:
        return Source(name=SMI, status="failed", message=error, stuck=stuck)
    if result.status == "not-found":
        notes.set("nvidia.smi_error", ABSENT, SMI)
        return Source(name=SMI, status="absent", message="not found")
    notes.unanswered("nvidia.smi_error", failed, SMI)
    status = {"timed-out": "timed-out", "permission": "permission"}.get(failed.status, "failed")
    return Source(name=SMI, status=status, message=failed.said, stuck=stuck)  # type: ignore[arg-type]


def _ended(child: Child) -> float:
    return child.started + child.result().ms / 1000


def _write_smi(seen: nvidia_smi.Smi, gpus: tuple[SmiGpu, ...], error: str | None, notes: Notes) -> None:
    notes.set("nvidia.smi_error", error, SMI, error or "")
    notes.set("nvidia.smi_version", seen.smi_version, SMI, seen.header)
    notes.set("nvidia.driver_cuda", seen.cuda, SMI, seen.header)
    notes.set(
        "nvidia.smi_driver", seen.driver or next((gpu.driver for gpu in gpus if gpu.driver), None), SMI, seen.header
    )
    notes.set("nvidia.smi_library", seen.library, SMI)
    notes.set("nvidia.processes", seen.processes, SMI)
    notes.set("nvidia.mig", seen.mig, SMI)
    notes.set("nvidia.mig_instances", seen.mig_instances, SMI)
    if gpus:
        notes.set("gpus.nvidia", gpus, SMI)
        notes.set("nvidia.gpus_seen", len(gpus), SMI)
        modes = [gpu.compute_mode for gpu in gpus if gpu.compute_mode]
        notes.set("nvidia.compute_mode", next((m for m in modes if m != "Default"), modes[0] if modes else None), SMI)


def _settle_driver(sources: list[Source], notes: Notes) -> None:
    """The best source's version; ABSENT only where every source is known to be absent."""
    notes.set("nvidia.driver_cuda", notes.values.pop("nvidia.libcuda_cuda", None), "cuDriverGetVersion")
    notes.set("nvidia.gpus_seen", notes.values.pop("nvidia.count", None), "libnvidia-ml")
    notes.set("nvidia.library", notes.values.pop("nvidia.smi_library", None), SMI)
    answers = {
        "kernel": (notes.get("nvidia.kernel_module"), notes.origins.get("nvidia.kernel_module")),
        "smi": (notes.values.pop("nvidia.smi_driver", None), notes.origins.get("nvidia.smi_driver")),
        "nvml": (notes.values.pop("nvidia.nvml", None), notes.origins.get("nvidia.nvml")),
        "library": (notes.get("nvidia.library"), notes.origins.get("nvidia.library")),
    }
    for name in ("nvidia.smi_driver", "nvidia.nvml", "nvidia.libcuda_cuda", "nvidia.count", "nvidia.smi_library"):
        notes.origins.pop(name, None)
    for version, origin in answers.values():
        if version:
            notes.set("nvidia.driver", version, origin.source if origin else "", origin.quote if origin else "")
            break
    if notes.get("nvidia.driver") is None and all(source.status == "absent" for source in sources):
        notes.set("nvidia.driver", ABSENT, ", ".join(source.name for source in sources))
    gap = _why_unknown(sources)
    for fact in ("driver", "driver_cuda", "gpus_seen", "compute_mode", "processes", "smi_version", "library"):
        notes.set(f"nvidia.{fact}", gap)


def _why_unknown(sources: list[Source]) -> Gap:
    """The reason for all that the sources left open: a hang before a failure before a missing program."""
    for status, reason in (("timed-out", "timed-out"), ("permission", "permission"), ("failed", "unreadable")):
        for source in sources:
            if source.status == status:
                detail = f"{source.name}: {source.message}"
                return Gap(fact="nvidia", reason=reason, detail=detail, source=source.name)  # type: ignore[arg-type]
    if any(source.name == SMI and source.status == "ok" for source in sources):
        return Gap(fact="nvidia", reason="not-applicable", detail=f"{SMI} does not say it here", source=SMI)
    return Gap(fact="nvidia", reason="not-installed", detail=f"{SMI}: not found", source=SMI)


def _toolkit(result: Result, notes: Notes) -> None:
    if said := nvcc.releases(result.stdout):
        release = ".".join(said[0][1].split(".")[:2])
        notes.set("nvidia.toolkit", release, "nvcc --version", f"release {release}")
    elif result.status == "not-found":
        notes.set("nvidia.toolkit", ABSENT, "nvcc")
    else:
        notes.unanswered("nvidia.toolkit", result, "nvcc")


def _jetson_gpu(system: System, notes: Notes) -> None:
    """A Tegra's GPU is not on the PCI bus: the device tree names it."""
    text = system.read("/proc/device-tree/compatible", 4096)
    chip = next((name for name in _TEGRA if not isinstance(text, Gap) and name in text), None)
    if chip:
        gpu = Gpu(vendor="nvidia", name=_TEGRA[chip], integrated=True, driver="nvgpu")
        notes.set("gpus.tegra", (gpu,), "/proc/device-tree/compatible", text if isinstance(text, str) else "")
