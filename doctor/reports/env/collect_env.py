"""`python -m torch.utils.collect_env`: its fields, in its order and shape.

Source of the keys and of what stands for an unknown value: torch/utils/collect_env.py of torch 2.13.0 (the format
string and `pretty_str`), read in November 2026.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from doctor.fixes import tools
from doctor.model.facts import ABSENT, Facts, Package, Torch
from doctor.model.report import Report

UNKNOWN, NOT_HERE, NO_CUDA = "Could not collect", "N/A", "No CUDA"
BLANK_BEFORE = ("OS", "Python version")  # groups of the original are set apart by an empty line
PACKAGES = ("torch", "numpy", "triton", "optree", "nvidia", "cuda-", "cudnn", "nccl", "cusparselt", "mkl", "magma",
            "mypy", "flake8", "onnx", "intel-", "dpcpp", "tcm", "umf")  # fmt: skip


def render(report: Report) -> str:
    """The text, without the line that says that it is being collected."""
    facts = report.facts
    lines = []
    for key, value in fields(report).items():
        lines += [""] if key in BLANK_BEFORE else []
        lines.append(f"{key}: {value}")
    lines += ["", "CPU:", *cpu(facts), "", "Versions of relevant libraries:", *libraries(facts)]
    return "\n".join(lines) + "\n"


def fields(report: Report) -> dict[str, str]:
    """Every field of one line (the GPUs may take several), in the original's order."""
    facts = report.facts
    torch = facts.torch if isinstance(facts.torch, Torch) else None
    imports = None if torch is None and facts.torch is not ABSENT else bool(torch and torch.imports)
    if torch is not None and torch.imports is None:
        imports = None
    xpu = {} if not (torch and torch.xpu_available) else {
        "XPU used to build PyTorch": said(torch.xpu),
        "Intel GPU driver version": UNKNOWN,
        "Intel GPU models onboard": _intel(facts, "onboard"),
        "Intel GPU models detected": _intel(facts, "detected"),
    }  # fmt: skip
    return {
        "PyTorch version": _of_torch(imports, torch and torch.version),
        "Is debug build": _of_torch(imports, torch and torch.debug),
        "CUDA used to build PyTorch": _built(imports, torch, "cuda"),
        "ROCM used to build PyTorch": _built(imports, torch, "hip"),
        "OS": os_name(facts),
        "GCC version": tool(facts, "gcc", "gcc "),
        "Clang version": tool(facts, "clang", "clang version "),
        "CMake version": tool(facts, "cmake", "cmake "),
        "Libc version": libc(facts),
        "Python version": python_version(facts),
        "Python platform": platform(facts),
        "Is CUDA available": _of_torch(imports, torch and torch.cuda_available),
        "CUDA runtime version": _driver_field(facts, facts.nvidia.toolkit),
        "CUDA_MODULE_LOADING set to": _module_loading(facts, torch),
        "GPU models and configuration": gpu_models(facts),
        "Nvidia driver version": _driver_field(facts, facts.nvidia.driver),
        "cuDNN version": said(torch.cudnn) if torch and torch.cudnn else UNKNOWN,
        "Is XPU available": _of_torch(imports, torch and torch.xpu_available),
        **xpu,
        "HIP runtime version": _of_hip(torch),
        "MIOpen runtime version": _of_hip(torch),
        "Is XNNPACK available": NOT_HERE if imports is False else UNKNOWN,
        "Caching allocator config": allocator(facts),
    }


def said(value: object) -> str:
    """A value as text; what is not known, or absent, as collect_env says it."""
    return UNKNOWN if value is None or value is ABSENT or value == "" else str(value)


def _of_torch(imports: bool | None, value: object) -> str:
    """What only an imported torch tells: N/A where it could not be imported."""
    if imports is False:
        return NOT_HERE
    return said(value) if imports else UNKNOWN


def _built(imports: bool | None, torch: Torch | None, name: str) -> str:
    if imports is False or torch is None:
        return NOT_HERE if imports is False else UNKNOWN
    value = getattr(torch, name)
    if value is ABSENT:
        return NOT_HERE if name == "hip" or torch.hip else "None"
    return said(value)


def _of_hip(torch: Torch | None) -> str:
    return UNKNOWN if torch and torch.hip else NOT_HERE


def os_name(facts: Facts) -> str:
    """ "Ubuntu 22.04.4 LTS (x86_64)"."""
    host = facts.host
    name = host.os_name or {"darwin": "macOS", "windows": "Windows"}.get(host.system or "", host.system)
    if name is None:
        return UNKNOWN
    return f"{name} ({_machine(facts)})" if host.architecture else name


def _machine(facts: Facts) -> str:
    """The architecture in the kernel's word: a Linux on ARM says aarch64."""
    name = facts.host.architecture or ""
    return "aarch64" if name == "arm64" and facts.host.system == "linux" else name


def tool(facts: Facts, name: str, prefix: str) -> str:
    """What follows a tool's name in the first line of its --version."""
    line = (facts.host.tools or {}).get(name, "")
    return line.partition(prefix)[2].strip() or (line.strip() or UNKNOWN)


def libc(facts: Facts) -> str:
    """ "glibc-2.35"; N/A elsewhere than on Linux."""
    host = facts.host
    if host.system in ("darwin", "windows"):
        return NOT_HERE
    return f"{host.libc}-{host.libc_version or ''}" if host.libc else UNKNOWN


def python_version(facts: Facts) -> str:
    """sys.version and the width of the runtime."""
    python = facts.interpreter
    if python.version is None:
        return UNKNOWN
    width = f"({python.bits}-bit runtime)" if python.bits else ""
    return " ".join(part for part in (python.version, python.build, width) if part)


def platform(facts: Facts) -> str:
    """What platform.platform() says, put together from its parts."""
    host = facts.host
    machine = facts.interpreter.architecture or host.architecture or ""
    if host.system == "linux" and host.kernel and machine:
        with_libc = f"-with-{host.libc}{host.libc_version or ''}" if host.libc else ""
        return f"Linux-{host.kernel}-{'aarch64' if machine == 'arm64' else machine}{with_libc}"
    if host.system == "darwin" and host.macos:
        return f"macOS-{host.macos}-{machine}-{'arm' if machine == 'arm64' else 'i386'}-64bit"
    if host.system == "windows" and host.windows_build:
        release = "11" if host.windows_build >= 22000 else "10"
        return f"Windows-{release}-10.0.{host.windows_build}-SP0"
    return UNKNOWN


def _driver_field(facts: Facts, value: object) -> str:
    """Where torch runs, uses no CUDA and nothing of NVIDIA answered, collect_env says "No CUDA"."""
    return NO_CUDA if _no_cuda(facts) else said(value)


def _no_cuda(facts: Facts) -> bool:
    torch = facts.torch
    unanswered = not facts.nvidia.driver and not facts.nvidia.toolkit and not _names(facts, "nvidia")
    return isinstance(torch, Torch) and bool(torch.imports) and torch.cuda_available is False and unanswered


def gpu_models(facts: Facts) -> str:
    """As `nvidia-smi -L` lists them, without their UUIDs; of a ROCm build the first GPU and its architecture."""
    torch = facts.torch
    if isinstance(torch, Torch) and torch.hip:
        gpu = next((g for g in facts.gpus or () if g.vendor == "amd"), None)
        return f"{gpu.name or 'AMD GPU'}{f' ({gpu.gfx})' if gpu.gfx else ''}" if gpu else UNKNOWN
    names = _names(facts, "nvidia")
    if not names:
        return NO_CUDA if _no_cuda(facts) else UNKNOWN
    lines = [f"GPU {number}: {name}" for number, name in enumerate(names)]
    return lines[0] if len(lines) == 1 else "\n" + "\n".join(lines) + "\n"


def _names(facts: Facts, vendor: str) -> list[str]:
    return [g.name or f"{vendor} GPU {g.pci_id or ''}".strip() for g in facts.gpus or () if g.vendor == vendor]


def _intel(facts: Facts, kind: str) -> str:
    if kind == "onboard":
        return "\n" + "\n".join(f"* {name}" for name in _names(facts, "intel")) if _names(facts, "intel") else NOT_HERE
    devices = facts.torch.devices or () if isinstance(facts.torch, Torch) else ()
    found = [d for d in devices if d.backend == "xpu"]
    lines = [
        f"* [{d.index}] _XpuDeviceProperties(name='{d.name}', total_memory={(d.memory_bytes or 0) >> 20}MB)"
        for d in found
    ]
    return "\n" + "\n".join(lines) if lines else NOT_HERE


def _module_loading(facts: Facts, torch: Torch | None) -> str:
    if torch is None or not torch.cuda_available:
        return NOT_HERE
    return (facts.environ or {}).get("CUDA_MODULE_LOADING", "")


def allocator(facts: Facts) -> str:
    """The variable that configures torch's allocator, in its new or its old name."""
    environ = facts.environ or {}
    names = ("PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_HIP_ALLOC_CONF")
    found = [f"{name}:{environ[name]}" for name in names if environ.get(name)]
    return ", ".join(found) or NOT_HERE


def cpu(facts: Facts) -> Iterator[str]:
    """lscpu's lines, as far as the report knows them; on macOS the model alone."""
    host = facts.host
    if host.system == "darwin":
        yield host.cpu_model or "None"
        return
    rows = (
        ("Architecture", _machine(facts) or None),
        ("CPU(s)", host.cpus),
        ("Model name", host.cpu_model),
        ("Flags", " ".join(host.cpu_flags) if host.cpu_flags else None),
        ("Hypervisor vendor", host.virtual_machine if host.virtual_machine != "unknown" else None),
    )
    known = [f"{name + ':':<41}{value}" for name, value in rows if value]
    yield from known or ["None"]


def libraries(facts: Facts, patterns: Iterable[str] = PACKAGES) -> Iterator[str]:
    """The packages that matter, with the tool that lists them before each."""
    patterns = tuple(patterns)
    packages = [p for p in (*(facts.packages or ()), *_torch_itself(facts)) if p.version]
    chosen = sorted((p for p in packages if any(pattern in p.name for pattern in patterns)), key=lambda p: p.name)
    by_pip = [p for p in chosen if not _is_conda(p)]
    none = UNKNOWN if facts.packages is None else "No relevant packages"
    yield from [f"[pip3] {p.name}=={p.version}" for p in by_pip] or [f"[pip3] {none}"]
    yield from [f"[conda] {p.name:<25} {p.version}" for p in chosen if _is_conda(p)] or [f"[conda] {UNKNOWN}"]


def _torch_itself(facts: Facts) -> Iterator[Package]:
    torch = facts.torch
    if isinstance(torch, Torch) and torch.version and all(p.name != "torch" for p in facts.packages or ()):
        yield Package(name="torch", version=torch.version, installer=torch.installer)


def _is_conda(package: Package) -> bool:
    tool = tools.find(package.installer)
    return tool is not None and bool(tool.channel)
