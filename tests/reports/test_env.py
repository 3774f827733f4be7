"""Other tools' fields: none of theirs is missing, under their own names and in their shapes."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from doctor.evidence.read import read
from doctor.model.facts import ABSENT, Facts, Gpu, Torch, TorchDevice
from doctor.reports import env, markdown
from doctor.reports.env import collect_env, hugging_face
from tests.examples import linux, mac, with_nvidia, with_packages, with_torch
from tests.reports.samples import ALL, HEALTHY, report

# The keys of each tool's report, from its source (November 2026); where a tool prints some only on machines that have
# the device, the machine below has it.
#   torch 2.13.0, torch/utils/collect_env.py: env_info_fmt, and get_env_info for those of XPU
COLLECT_ENV = (
    "PyTorch version", "Is debug build", "CUDA used to build PyTorch", "ROCM used to build PyTorch", "OS",
    "GCC version", "Clang version", "CMake version", "Libc version", "Python version", "Python platform",
    "Is CUDA available", "CUDA runtime version", "CUDA_MODULE_LOADING set to", "GPU models and configuration",
    "Nvidia driver version", "cuDNN version", "Is XPU available", "HIP runtime version", "MIOpen runtime version",
    "Is XNNPACK available", "Caching allocator config", "CPU", "Versions of relevant libraries",
)  # fmt: skip
COLLECT_ENV_XPU = (
    "XPU used to build PyTorch", "Intel GPU driver version", "Intel GPU models onboard", "Intel GPU models detected",
)  # fmt: skip
#   huggingface/transformers 0adcb072, src/transformers/cli/system.py
TRANSFORMERS = (
    "`transformers` version", "Platform", "Python version", "Huggingface_hub version", "Safetensors version",
    "Accelerate version", "Accelerate config", "DeepSpeed version", "PyTorch version (accelerator?)",
    "Using distributed or parallel set-up in script?", "Using GPU in script?", "GPU type",
)  # fmt: skip
#   huggingface/accelerate 002dd35a, src/accelerate/commands/env.py
ACCELERATE = (
    "`Accelerate` version", "Platform", "`accelerate` bash location", "Python version", "Numpy version",
    "PyTorch version (GPU?)", "PyTorch XPU available", "PyTorch NPU available", "PyTorch MLU available",
    "PyTorch MUSA available", "System RAM", "GPU type", "`Accelerate` default config",
)  # fmt: skip
#   huggingface/diffusers 03b1a271, src/diffusers/commands/env.py
DIFFUSERS = (
    "`diffusers` version", "Platform", "Running on a notebook?", "Running on Google Colab?", "Python version",
    "PyTorch version (GPU?)", "Flax version (CPU?/GPU?/TPU?)", "Jax version", "JaxLib version",
    "Huggingface_hub version", "Transformers version", "Accelerate version", "Accelerate config", "PEFT version",
    "Safetensors version", "xFormers version", "Accelerator", "Using GPU in script?",
    "Using distributed or parallel set-up in script?",
)  # fmt: skip
#   vllm-project/vllm 030ea52e, vllm/collect_env.py: env_info_fmt, CUDA_FMT, XPU_FMT
VLLM_SECTIONS = (
    "System Info", "PyTorch Info", "Python Environment", "CUDA / GPU Info", "CPU Info",
    "Versions of relevant libraries", "vLLM Info", "Environment Variables",
)  # fmt: skip
VLLM = (
    "OS", "GCC version", "Clang version", "CMake version", "Libc version", "PyTorch version", "Is debug build",
    "CUDA used to build PyTorch", "ROCM used to build PyTorch", "XPU used to build PyTorch", "Python version",
    "Python platform", "Is CUDA available", "CUDA runtime version", "CUDA_MODULE_LOADING set to",
    "GPU models and configuration", "Nvidia driver version", "cuDNN version", "HIP runtime version",
    "MIOpen runtime version", "Is XNNPACK available", "ROCM Version", "vLLM Version", "vLLM Build Flags",
    "GPU Topology",
)  # fmt: skip
VLLM_XPU = (
    "Is XPU available", "XPU runtime version", "Intel GPU models", "oneAPI compiler version", "SYCL compiler build",
    "oneCCL version", "Intel Graphics Compiler (IGC)", "Intel GMM (libigdgmm)", "Level Zero loader version",
    "Level Zero driver version", "vLLM XPU kernels version",
)  # fmt: skip
KEYS = {
    "collect_env": COLLECT_ENV, "transformers": TRANSFORMERS, "accelerate": ACCELERATE, "diffusers": DIFFUSERS,
    "vllm": VLLM,
}  # fmt: skip

CUDA = replace(
    with_packages(
        with_torch(
            with_nvidia(linux(), "NVIDIA GeForce RTX 4090", driver="550.90.07"), "2.6.0+cu124", cuda_available=True
        ),
        torchvision="0.21.0", numpy="2.1.3", transformers="4.50.0", triton="3.2.0",
    ),
    environ={"PYTORCH_CUDA_ALLOC_CONF": "max_split_size_mb:128", "COLAB_GPU": "1"},
)  # fmt: skip
CUDA = replace(
    CUDA,
    torch=replace(CUDA.torch, devices=(TorchDevice(backend="cuda", index=0, name="NVIDIA GeForce RTX 4090"),)),  # type: ignore[type-var]
    host=replace(CUDA.host, kernel="6.5.0-44-generic", cpus=32, tools={"gcc": "gcc (Ubuntu 11.4.0) 11.4.0",
                 "clang": "Ubuntu clang version 14.0.0-1ubuntu1.1", "cmake": "cmake version 3.22.1"}),
    interpreter=replace(CUDA.interpreter, build="(main, Apr 6 2024, 17:59:24) [GCC 11.4.0]"),
)  # fmt: skip
XPU = replace(
    with_torch(linux(), "2.6.0+xpu", xpu="20250000", xpu_available=True, cuda_available=False),
    gpus=(Gpu(vendor="intel", name="Intel(R) Arc(TM) A770 Graphics"),),
)
XPU = replace(
    XPU,
    torch=replace(XPU.torch, devices=(  # type: ignore[type-var]
        TorchDevice(backend="xpu", index=0, name="Intel(R) Arc(TM) A770 Graphics", memory_bytes=16 << 30),
    )),
)  # fmt: skip


def keys_of(text: str) -> set[str]:
    """What stands before a colon at the beginning of a line, without the mark of a list."""
    return {m[1].strip() for m in re.finditer(r"^(?:- )?([^:\n]+?) *:(?= |$)", text, re.MULTILINE)}


@pytest.mark.parametrize("shape", KEYS)
def test_no_field_is_missing(shape: str) -> None:
    assert set(KEYS[shape]) <= keys_of(env.SHAPES[shape](report(CUDA)))


def test_no_field_of_intel_gpus_is_missing() -> None:
    assert set(COLLECT_ENV_XPU) <= keys_of(collect_env.render(report(XPU)))
    assert set(VLLM_XPU) <= keys_of(env.SHAPES["vllm"](report(XPU)))


def test_the_sections_of_vllm_in_their_order() -> None:
    text = env.SHAPES["vllm"](report(CUDA))
    places = [text.index(title) for title in VLLM_SECTIONS]
    assert places == sorted(places)


def test_a_ticket_has_the_fields_of_all_tools() -> None:
    """Each once, whatever tool it is of."""
    keys = keys_of(markdown.render(report(CUDA)))
    assert {k for names in KEYS.values() for k in names} <= keys


def test_torchs_own_script_has_no_other_fields(torch_python: str) -> None:
    (source,) = Path(torch_python).parent.parent.glob("lib/python*/site-packages/torch/utils/collect_env.py")
    said = re.search(r'env_info_fmt = """\n(.*?)"""', source.read_text(encoding="utf-8"), re.DOTALL)
    assert said
    keys = re.findall(r"^([A-Za-z][\w ]+):", said[1], re.MULTILINE)
    assert tuple(keys) == COLLECT_ENV
    ours = re.findall(r"^([A-Za-z][\w ]+):", collect_env.render(report(CUDA)), re.MULTILINE)
    assert [key for key in ours if key in keys] == keys


@pytest.mark.parametrize("shape", KEYS)
def test_looks(shape: str, snapshot) -> None:
    assert env.SHAPES[shape](report(CUDA)) == snapshot


@pytest.mark.parametrize("facts", [CUDA, XPU, HEALTHY.facts, mac()], ids=["cuda", "xpu", "healthy", "mac"])
def test_collect_env_is_read_back_as_it_was(facts: Facts) -> None:
    """By the reader of the original: it must not conclude what the report does not say."""
    seen = read((("x", collect_env.render(report(facts)).encode()),)).facts
    torch = facts.torch if isinstance(facts.torch, Torch) else Torch()
    if torch.imports:
        assert seen.torch
        for name in ("version", "cuda_available", "cuda", "hip"):
            said = getattr(seen.torch, name)
            assert said is None or said == getattr(torch, name), name
    else:
        assert not seen.torch or seen.torch.version is None
    assert seen.nvidia.driver in (None, facts.nvidia.driver)
    assert (seen.gpus or ()) == () or {g.name for g in seen.gpus or ()} == {g.name for g in facts.gpus or ()}
    assert seen.host.system == facts.host.system
    assert seen.interpreter.version == facts.interpreter.version


def test_nothing_is_said_of_a_torch_that_nobody_imported() -> None:
    unknown = report(replace(CUDA, torch=Torch(version="2.6.0+cu124")))
    assert collect_env.fields(unknown)["PyTorch version"] == "Could not collect"
    broken = report(replace(CUDA, torch=Torch(version="2.6.0+cu124", imports=False)))
    assert collect_env.fields(broken)["PyTorch version"] == "N/A"
    assert collect_env.fields(report(replace(CUDA, torch=ABSENT)))["PyTorch version"] == "N/A"
    assert "torch==2.6.0+cu124" in collect_env.render(broken)


def test_not_installed_is_said_only_where_all_packages_are_known() -> None:
    assert hugging_face.version_of(CUDA, "diffusers") == "not installed"
    assert hugging_face.version_of(replace(CUDA, live=False), "diffusers") == "not known"
    assert hugging_face.version_of(replace(CUDA, packages=None), "transformers") == "not known"


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("shape", KEYS)
def test_every_report_has_every_shape(name: str, shape: str) -> None:
    assert env.SHAPES[shape](ALL[name]).strip()
