"""What several checks ask about the installed torch, the GPUs that it meets, and the messages that were seen. Pure."""

from __future__ import annotations

import re

from doctor.checks._memo import once_for_facts
from doctor.checks.runner import quoted
from doctor.knowledge import choose, lookup
from doctor.knowledge.messages import harmless_ids
from doctor.model.facts import ABSENT, STATEMENT, ErrorText, Facts, Gpu, ImportFailure, InstallAttempt, Package, Torch
from doctor.model.finding import Evidence
from doctor.regex import Regex

SAID_BY_CUDA_BUILDS = (
    "nvidia-driver-too-old-for-torch",
    "found-no-nvidia-driver",
    "cuda-error-804",
    "cuda-unknown-error",
    "no-cuda-device-detected",
    "cuda-driver-initialization-failed",
)  # of the driver; a CPU build says that it has no CUDA
SPLIT_LIBRARIES = ("libtorch_cuda_cu", "libtorch_cuda_cpp", "libtorch_hip")  # which few releases or builds have
PLATFORMS = ("linux_x86_64", "win_amd64", "linux_aarch64")


def installed(facts: Facts) -> Torch | None:
    """The installed torch, if one is known by its version."""
    torch = facts.torch
    return torch if isinstance(torch, Torch) and torch.version else None


def wheel_platform(facts: Facts) -> str | None:
    """Platform of the wheels that this Python takes, which under Rosetta is not the hardware's; where the Python is not
    known, that of the hardware."""
    return lookup.platform_of(facts.host.system, facts.interpreter.architecture or facts.host.architecture)


def gpus_of(facts: Facts, vendor: str) -> tuple[Gpu, ...]:
    """Known GPUs of a vendor."""
    return tuple(g for g in facts.gpus or () if g.vendor == vendor)


@once_for_facts
def build(facts: Facts) -> lookup.Build | None:
    """The installed build, taken apart."""
    torch = installed(facts)
    if torch is None or torch.version is None:
        return None
    return lookup.build_of(torch.version, cuda=torch.cuda, hip=torch.hip, xpu=torch.xpu, platform=wheel_platform(facts))


@once_for_facts
def kind(facts: Facts) -> str | None:
    """What the installed build was made for: "cpu", "cuda", "rocm", "xpu", "mps"; None where that is not known."""
    torch = installed(facts)
    if torch is None:
        return None
    for value, name in ((torch.hip, "rocm"), (torch.xpu, "xpu"), (torch.cuda, "cuda")):
        if value:
            return name
    if torch.build and (conda := re.search(r"(?:^|_)(cpu|cuda|rocm)", torch.build)):
        return conda[1]
    made = build(facts)
    if made and made.backend:
        return kind_of(made.backend)
    if any(e.pattern in SAID_BY_CUDA_BUILDS for e in facts.errors):
        return "cuda"
    no_gpu_runtime = torch.cuda is ABSENT and torch.hip is ABSENT and facts.host.system in ("linux", "windows")
    return "cpu" if no_gpu_runtime else None


def kind_of(backend: str | None) -> str | None:
    """ "cu124" -> "cuda", "rocm6.3" -> "rocm"; others are their own kind.

    >>> kind_of("cu124"), kind_of("cpu"), kind_of(None)
    ('cuda', 'cpu', None)
    """
    if not backend:
        return None
    return {"cu": "cuda", "ro": "rocm"}.get(backend[:2], backend)


def release_of(facts: Facts) -> str | None:
    """Public version of the installed torch: "2.6.0"."""
    made = build(facts)
    return made.release if made else None


def numbers(version: str) -> tuple[int, ...]:
    """The leading numbers of a version, for comparison: "2.10.0.dev2025+cu128" -> (2, 10, 0)."""
    found = re.match(r"\d+(?:\.\d+)*", version)
    return tuple(int(n) for n in found[0].split(".")) if found else ()


def wanted_backend(attempt: InstallAttempt) -> tuple[str | None, str | None]:
    """The backend that an installation asks for, by its index, a version suffix or conda's pytorch-cuda, and its kind:
    ("rocm6.3", "rocm"), ("cu118", "cuda"); (None, None) where it leaves that open."""
    for text in (*attempt.indexes, *attempt.requirements):
        if found := re.search(r"(?:/whl(?:/test|/nightly)?/|^torch==[\d.]+\+)(cu\d+|rocm[\d.]+|xpu|cpu)/?$", text):
            return found[1], kind_of(found[1])
        if found := re.match(r"pytorch-cuda=+(\d+)\.(\d+)", text):
            return f"cu{found[1]}{found[2]}", "cuda"
    return None, None


def same_kind(facts: Facts) -> dict[str, str]:
    """`backend` for a remedy that installs torch again and leaves its kind as it is. Only where the GPUs are not known:
    else the choice of the build knows better."""
    found = kind(facts)
    return {"backend": found} if facts.gpus is None and found in ("cuda", "rocm", "xpu") else {}


def is_mac_arm(facts: Facts) -> bool:
    """A Mac with Apple silicon whose Python runs natively."""
    return (
        facts.host.system == "darwin"
        and facts.host.architecture == "arm64"
        and facts.interpreter.architecture in (None, "arm64")
        and not facts.interpreter.translated
    )


def capability_of(gpu: Gpu) -> str | None:
    """CUDA compute capability, as told or by the tables."""
    if gpu.capability or gpu.vendor != "nvidia":
        return gpu.capability
    model = lookup.gpu_model(gpu.name, gpu.pci_id)
    return model.capability if model else None


def gfx_of(gpu: Gpu) -> str | None:
    """AMD architecture, as told or by the tables."""
    if gpu.gfx or gpu.vendor != "amd":
        return gpu.gfx
    model = lookup.gpu_model(gpu.name, gpu.pci_id)
    return model.gfx if model else None


def architectures(facts: Facts) -> tuple[str, ...] | None:
    """What the installed build holds code for: as torch says, else by the tables. On a machine whose platform is not
    known, what the build holds on any of them."""
    torch, made = installed(facts), build(facts)
    if torch is not None and torch.arch_list:
        return torch.arch_list
    if made is None or made.backend is None or made.nightly or facts.host.system == "darwin":
        return None
    where = wheel_platform(facts)
    lists = [lookup.arch_list_of(made.release, made.backend, p) for p in ((where,) if where else PLATFORMS)]
    return tuple(dict.fromkeys(arch for archs in lists for arch in archs or ())) or None


def served_by(facts: Facts, accelerator: str) -> bool:
    """Whether the tables have a build of that kind ("cuda", "rocm", "xpu") for this machine."""
    return any(kind_of(b.backend) == accelerator for b in choose.choose(facts).builds)


def import_failure(facts: Facts) -> ImportFailure | None:
    """How `import torch` ended, if it is known to have failed."""
    torch = facts.torch
    failure = torch.import_failure if isinstance(torch, Torch) else None
    return failure if isinstance(failure, ImportFailure) else None


def search(facts: Facts, regex: Regex) -> tuple[ErrorText, re.Match[str]] | None:
    """The first message, recognised or not, that an expression finds, with the match. A line that is known to be a
    harmless warning shows nothing, whatever its words, nor does a sentence that nobody understood."""
    messages, together = _said(facts)
    if not (messages and regex.may_match(together)):
        return None
    return next(((error, found) for error in messages if (found := regex.search(error.text))), None)


@once_for_facts
def _said(facts: Facts) -> tuple[tuple[ErrorText, ...], str]:
    """The messages but for harmless ones and mere statements, and their texts as one."""
    silent = harmless_ids()
    messages = tuple(e for e in facts.errors if e.pattern != STATEMENT and e.pattern not in silent)
    return messages, "\n".join(error.text for error in messages)


def quote(error: ErrorText) -> Evidence:
    """The message as Evidence."""
    return quoted(error)


def owner(path: str | None) -> str | None:
    """The import package that a file lies in: ".../site-packages/torchvision/_C.so" -> "torchvision"; an extension
    module beside the packages gives its own name.

    >>> owner("/usr/lib/python3/dist-packages/exllama_kernels.cpython-310-x86_64-linux-gnu.so")
    'exllama_kernels'
    """
    found = re.search(r"(?:site|dist)-packages[/\\]+([A-Za-z0-9_]+)", path or "")
    return found[1] if found else None


def wanted_by_another(facts: Facts, error: ErrorText, match: re.Match[str]) -> bool:
    """Whether a missing library of torch (`match[1]`, "libtorch_cpu.so") is missed by a package that was built for
    another torch: the package says so, or the installed release never had that library."""
    if owner(error.path) not in (None, "torch"):
        return True
    if owner(error.path) == "torch":
        return False
    if error.text.startswith("ImportError"):  # of an extension module that is linked to it; torch opens it itself
        return True
    has = lookup.has_own_library(match[1], release_of(facts), kind(facts))
    return has is False or (has is None and match[1].startswith(SPLIT_LIBRARIES))


# Packages that hold kernels of their own for the GPU. In any other a missing kernel is one of torch's.
_WITH_KERNELS = frozenset(
    ("flash_attn", "flash_attn_interface", "flashinfer", "xformers", "bitsandbytes", "torch_scatter", "torch_sparse",
     "torch_cluster", "torch_spline_conv", "pyg_lib", "dgl", "spconv", "cumm", "mmcv", "detectron2", "apex", "vllm",
     "sgl_kernel", "sglang", "deepspeed", "mamba_ssm", "causal_conv1d", "auto_gptq", "awq", "exllama", "exllamav2",
     "torchvision", "torchaudio", "pytorch3d", "kaolin", "nvdiffrast", "gsplat", "tinycudann", "MinkowskiEngine",
     "transformer_engine", "natten", "sageattention", "cupy", "torchsparse", "fbgemm_gpu", "kornia_rs", "ctranslate2",
     "diff_gaussian_rasterization", "simple_knn", "inplace_abn", "correlation_cuda", "pcdet")
)  # fmt: skip


def has_kernels(name: str | None) -> bool:
    """Whether an import package has code for GPUs of its own: it is known for that, or is an extension module itself.

    >>> has_kernels("flash_attn"), has_kernels("deform_conv_cuda"), has_kernels("transformers"), has_kernels(None)
    (True, True, False, False)
    """
    return name is not None and (name in _WITH_KERNELS or name.endswith(("_cuda", "_ext", "_kernels", "_gpu")))


def package(facts: Facts, name: str) -> Package | None:
    """An installed distribution by its normalised name, if it is known."""
    return next((p for p in facts.packages or () if p.name == name and p.version), None)


def imports_fail(facts: Facts) -> bool:
    """Whether importing torch is known to fail."""
    torch = facts.torch
    return isinstance(torch, Torch) and (torch.imports is False or import_failure(facts) is not None)
