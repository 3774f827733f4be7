"""vLLM's collect_env: the fields of torch's in sections, and its own.

Source of the keys: vllm-project/vllm vllm/collect_env.py (commit 030ea52e), read in November 2026. Its sections on GPUs
come only where torch uses CUDA or XPU, or was built for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from doctor.model.facts import Facts, Torch
from doctor.model.report import Report
from doctor.reports.env import collect_env
from doctor.reports.env.hugging_face import version_of

_RULE = "=" * 30
_SYSTEM = ("OS", "GCC version", "Clang version", "CMake version", "Libc version")
_PYTORCH = ("PyTorch version", "Is debug build", "CUDA used to build PyTorch", "ROCM used to build PyTorch")
_PYTHON = ("Python version", "Python platform")
_CUDA = (
    "Is CUDA available", "CUDA runtime version", "CUDA_MODULE_LOADING set to", "GPU models and configuration",
    "Nvidia driver version", "cuDNN version", "HIP runtime version", "MIOpen runtime version", "Is XNNPACK available",
)  # fmt: skip
_COMPILE_TIME = ("oneAPI compiler version", "SYCL compiler build", "oneCCL version")
_RUN_TIME = (
    "Intel Graphics Compiler (IGC)", "Intel GMM (libigdgmm)", "Level Zero loader version", "Level Zero driver version",
    "vLLM XPU kernels version",
)  # fmt: skip
_VARIABLES = (
    "TORCH", "NCCL", "PYTORCH", "CUDA", "CUBLAS", "CUDNN", "OMP_", "MKL_", "NVIDIA", "ZE_", "ONEAPI_", "SYCL_", "IGC_",
    "CCL_", "I_MPI_", "VLLM_",
)  # fmt: skip
_MORE_PACKAGES = ("transformers", "zmq", "pynvml", "flashinfer-python", "helion")


def render(report: Report) -> str:
    """The text, without the line that says that it is being collected."""
    facts = report.facts
    torch = facts.torch if isinstance(facts.torch, Torch) else Torch()
    known = {**collect_env.fields(report), **own_fields(report)}
    blocks = [
        _section("System Info", _pairs(known, _SYSTEM)),
        _section("PyTorch Info", _pairs(known, (*_PYTORCH, "XPU used to build PyTorch"))),
        _section("Python Environment", _pairs(known, _PYTHON)),
    ]
    if torch.cuda_available or torch.cuda:
        blocks.append(_section("CUDA / GPU Info", _pairs(known, _CUDA)))
    if torch.xpu_available or torch.xpu:
        lines = [*_pairs(known, ("Is XPU available", "XPU runtime version", "Intel GPU models"))]
        lines += ["", "--Compile time--", *_pairs(known, _COMPILE_TIME), "", "--Runtime--", *_pairs(known, _RUN_TIME)]
        blocks.append(_section("Intel XPU / GPU Info", lines))
    packages = collect_env.libraries(facts, (*collect_env.PACKAGES, *_MORE_PACKAGES))
    vllm_lines = [
        *_pairs(known, ("ROCM Version", "vLLM Version")),
        "vLLM Build Flags:", f"  {known['vLLM Build Flags']}", "GPU Topology:", f"  {known['GPU Topology']}",
    ]  # fmt: skip
    variables = [f"{name}={value}" for name, value in (facts.environ or {}).items() if name.startswith(_VARIABLES)]
    blocks += [
        _section("CPU Info", collect_env.cpu(facts)),
        _section("Versions of relevant libraries", packages),
        _section("vLLM Info", vllm_lines),
        _section("Environment Variables", variables if facts.environ is not None else [collect_env.UNKNOWN]),
    ]
    return "\n\n".join(blocks) + "\n"


def own_fields(report: Report) -> dict[str, str]:
    """The fields that torch's collect_env does not have, or has only where XPU is used."""
    facts = report.facts
    torch = facts.torch if isinstance(facts.torch, Torch) else Torch()
    unknown = dict.fromkeys((*_COMPILE_TIME, *_RUN_TIME), collect_env.UNKNOWN)
    intel = [g.name or "Intel GPU" for g in facts.gpus or () if g.vendor == "intel"]
    return {
        "XPU used to build PyTorch": str(torch.xpu) if torch.xpu else "N/A",
        "XPU runtime version": str(torch.xpu) if torch.xpu else "N/A",
        "Intel GPU models": "; ".join(f"GPU {number}: {name}" for number, name in enumerate(intel)) or "No XPU",
        **unknown,
        "vLLM XPU kernels version": version_of(facts, "vllm-xpu-kernels"),
        "ROCM Version": str(facts.amd.rocm) if facts.amd.rocm else collect_env.UNKNOWN,
        "vLLM Version": version_of(facts, "vllm"),
        "vLLM Build Flags": _build_flags(facts, torch),
        "GPU Topology": collect_env.UNKNOWN,
    }


def _build_flags(facts: Facts, torch: Torch) -> str:
    environ = facts.environ or {}
    unset = "Not Set" if facts.environ is not None else collect_env.UNKNOWN
    rocm = "Enabled" if environ.get("ROCM_HOME") else "Disabled"
    xpu = "Enabled" if torch.xpu_available else "Disabled"
    return f"CUDA Archs: {environ.get('TORCH_CUDA_ARCH_LIST', unset)}; ROCm: {rocm}; XPU: {xpu}"


def _section(title: str, lines: Iterable[str]) -> str:
    return "\n".join((_RULE, title.center(len(_RULE)).rstrip(), _RULE, *lines))


def _pairs(known: dict[str, str], names: Iterable[str]) -> Iterator[str]:
    for name in names:
        yield f"{name:<29}: {known[name]}"
