"""Facts in words, the same for every format: a layer in a line, a GPU by its name, sizes, the labels of facts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from doctor.fixes import tools
from doctor.model.facts import ABSENT, Absent, Facts, Gpu, StartFailure

SYSTEMS = {"linux": "Linux", "darwin": "macOS", "windows": "Windows"}  # as people write them
_ENVIRONMENTS = {
    "venv": "virtual environment", "system": "system Python", "embedded": "embedded Python",
    **{kind.name: kind.words for tool in tools.all_tools() for kind in tool.kinds},
}  # fmt: skip
_PACKAGES_SHOWN = ("torchvision", "torchaudio", "numpy", "triton", "xformers", "flash-attn", "bitsandbytes")
_BRANDS = ("NVIDIA GeForce ", "NVIDIA ", "AMD ", "Intel(R) ", "Intel ")
_LABELS = {
    "nvidia.driver": "driver",
    "nvidia.driver_cuda": "CUDA of driver",
    "nvidia.cuinit": "cuInit",
    "nvidia.uvm_node": "/dev/nvidia-uvm",
    "nvidia.device_nodes": "/dev/nvidia*",
    "nvidia.smi_error": "nvidia-smi",
    "nvidia.gpus_seen": "GPUs of driver",
    "amd.kfd": "/dev/kfd",
    "amd.kernel_driver": "amdgpu",
    "torch.cuda": "torch.version.cuda",
    "torch.hip": "torch.version.hip",
    "torch.xpu": "torch.version.xpu",
    "torch.cuda_available": "cuda.is_available()",
    "torch.mps_available": "mps.is_available()",
    "torch.mps_built": "built with MPS",
    "torch.xpu_available": "xpu.is_available()",
    "torch.numpy_error": "torch.from_numpy",
    "interpreter.version": "Python",
    "interpreter.executable": "interpreter",
    "metal": "Metal",
}


def machine(facts: Facts) -> str | None:
    """ "Ubuntu 22.04.4 LTS, glibc 2.35, x86-64 with AVX2, 64 GB"."""
    host = facts.host
    parts = [
        host.os_name or SYSTEMS.get(host.system or "", host.system),
        f"build {host.windows_build}" if host.windows_build else None,
        f"{host.libc} {host.libc_version or ''}".strip() if host.libc and host.system != "darwin" else None,
        host.cpu_model if host.system == "darwin" else None,
        _architecture(facts),
        size(host.memory_bytes) if host.memory_bytes else None,
        f"WSL {host.wsl}" if host.wsl else None,
        f"in {_article(host.container)}" if host.container else None,
        f"Jetson L4T {host.jetson}" if host.jetson else None,
        "virtual machine" if host.virtual_machine and not host.wsl else None,
    ]
    return ", ".join(p for p in parts if p) or None


def _article(container: str | Absent) -> str:
    return "a container" if container == "container" else f"a {container} container"


def _architecture(facts: Facts) -> str | None:
    name = facts.host.architecture
    flags = facts.host.cpu_flags
    if name is None:
        return None
    shown = "x86-64" if name == "x86_64" else name
    if not flags or name != "x86_64":
        return shown
    best = next(
        (text for flag, text in (("avx512f", "AVX-512"), ("avx2", "AVX2"), ("avx", "AVX")) if flag in flags), None
    )
    return f"{shown} with {best}" if best else f"{shown} without AVX"


def size(count: float) -> str:
    """Bytes in the unit that people compare: 68719476736 -> "64 GB" (of 2^30)."""
    gigabytes = count / (1 << 30)
    return (
        f"{gigabytes:.0f} GB"
        if gigabytes >= 10
        else f"{gigabytes:.1f} GB"
        if gigabytes >= 1
        else f"{count / (1 << 20):.0f} MB"
    )


def driver(facts: Facts) -> str | None:
    """ "NVIDIA 470.256.02, CUDA up to 11.4; RTX 4090"; "no GPU found" where that is known; None where it isn't."""
    stacks = [s for s in (_nvidia(facts), _amd(facts), _intel(facts), _metal(facts)) if s]
    names = gpu_names(facts.gpus or ())
    if not stacks and not names:
        return "no GPU found" if facts.gpus == () else None
    return "; ".join((*stacks, names) if names else stacks)


def _nvidia(facts: Facts) -> str | None:
    nvidia = facts.nvidia
    if nvidia.driver:
        return f"NVIDIA {nvidia.driver}" + (f", CUDA up to {nvidia.driver_cuda}" if nvidia.driver_cuda else "")
    if not any(g.vendor == "nvidia" for g in facts.gpus or ()):
        return None
    return "no NVIDIA driver" if nvidia.driver is ABSENT else "NVIDIA driver not known"


def _amd(facts: Facts) -> str | None:
    if not any(g.vendor == "amd" for g in facts.gpus or ()):
        return None
    if facts.amd.kernel_driver is None:
        return None
    name = "amdgpu" if facts.amd.kernel_driver else "no amdgpu driver"
    return name + (f", ROCm {facts.amd.rocm}" if facts.amd.rocm else "")


def _intel(facts: Facts) -> str | None:
    if not facts.intel.kernel_driver or not any(g.vendor == "intel" for g in facts.gpus or ()):
        return None
    return f"Intel {facts.intel.kernel_driver}" + (", Level Zero" if facts.intel.level_zero else "")


def _metal(facts: Facts) -> str | None:
    return "Metal" if facts.metal and facts.metal.device and facts.host.system == "darwin" else None


def gpu_names(gpus: Iterable[Gpu]) -> str:
    """ "RTX 4090"; "2 x H200"; "RTX 4090, T400"."""
    counted = Counter(short_name(g.name) or f"{g.vendor} GPU {g.pci_id or ''}".strip() for g in gpus)
    return ", ".join(name if n == 1 else f"{n} x {name}" for name, n in counted.items())


def short_name(name: str | None) -> str | None:
    """The model without its maker: "NVIDIA GeForce RTX 4090" -> "RTX 4090"."""
    for brand in _BRANDS:
        if name and name.startswith(brand):
            return name[len(brand) :]
    return name


def interpreter(facts: Facts) -> str | None:
    """ "CPython 3.12.4, 64-bit, virtual environment"; how it fails where it does not start."""
    python = facts.interpreter
    if isinstance(python.start_failure, StartFailure):
        failure = python.start_failure
        return failure.message if failure.kind == "too-old" else f"does not start: {failure.message}"
    if python.version is None:
        return None
    names = {"cpython": "CPython", "pypy": "PyPy"}
    parts = [
        f"{names.get(python.implementation or '', python.implementation or 'Python')} {python.version}",
        "free-threaded" if python.free_threaded else None,
        f"{python.bits}-bit" if python.bits else None,
        f"{python.architecture} under Rosetta" if python.translated else None,
        _ENVIRONMENTS.get(python.environment or "", python.environment),
    ]
    return ", ".join(p for p in parts if p)


def libraries(facts: Facts) -> str | None:
    """ "torchvision 0.21.0, numpy 2.1.3"."""
    if facts.packages is None:
        return None
    versions = {p.name: p.version for p in facts.packages}
    shown = [f"{name} {versions[name]}" for name in _PACKAGES_SHOWN if versions.get(name)]
    return ", ".join(shown) or "no numpy, torchvision or torchaudio"


def megabytes(count: int) -> str:
    """Megabytes (10^6, as pip counts) as a rounded size: 137 -> "140 MB", 2992 -> "3.0 GB"."""
    return f"{count / 1000:.1f} GB" if count >= 1000 else f"{round(count, -1) or count} MB"


def label(fact: str) -> str:
    """The dotted name of a fact as people say it: "torch.version" -> "torch", "host.libc_version" -> "libc version"."""
    if fact in _LABELS:
        return _LABELS[fact]
    if fact.startswith("environ."):
        return fact.removeprefix("environ.")
    if " " in fact:  # a label already
        return fact
    fact = fact.removesuffix(".version").removeprefix("host.").removeprefix("interpreter.")
    return fact.replace(".", " ").replace("_", " ")


def listed(words: list[str], last: str) -> str:
    """ "a", "a or b", "a, b or c"."""
    return f" {last} ".join(w for w in (", ".join(words[:-1]), words[-1]) if w)


def nothing_recognised(facts: Facts) -> bool:
    """Whether nothing in a text was recognised as a fact about a machine."""
    return not facts.live and facts == Facts(live=False, as_of=facts.as_of, gaps=facts.gaps)
