"""`transformers env`, `accelerate env` and `diffusers-cli env`: their fields, as lists of "- name: value".

Sources of the keys, read in November 2026: huggingface/transformers src/transformers/cli/system.py (commit 0adcb072),
huggingface/accelerate src/accelerate/commands/env.py (commit 002dd35a), huggingface/diffusers
src/diffusers/commands/env.py (commit 03b1a271).
"""

from __future__ import annotations

from doctor.model.facts import ABSENT, Facts, Torch
from doctor.model.report import Report
from doctor.reports.env import collect_env

NOT_KNOWN = "not known"
NOT_READ = "not read by torchdoctor"  # their configuration files are none of its business
FILL_IN = "<fill in>"  # what only the person who reports can say


def transformers(report: Report) -> str:
    """`transformers env`."""
    return _text(_transformers(report.facts))


def accelerate(report: Report) -> str:
    """`accelerate env`."""
    fields = _accelerate(report.facts)
    config = fields.pop("`Accelerate` default config")
    return f"{_text(fields)}- `Accelerate` default config:\n    {config}\n"


def diffusers(report: Report) -> str:
    """`diffusers-cli env`."""
    return _text(_diffusers(report.facts))


def all_fields(report: Report) -> dict[str, str]:
    """The fields of all three."""
    facts = report.facts
    return {**_diffusers(facts), **_accelerate(facts), **_transformers(facts)}


def _text(fields: dict[str, str]) -> str:
    return "".join(f"- {name}: {value}\n" for name, value in fields.items())


def _transformers(facts: Facts) -> dict[str, str]:
    torch = _torch(facts)
    fields = {
        "`transformers` version": version_of(facts, "transformers"),
        "Platform": collect_env.platform(facts),
        "Python version": facts.interpreter.version or NOT_KNOWN,
        "Huggingface_hub version": version_of(facts, "huggingface-hub"),
        "Safetensors version": version_of(facts, "safetensors"),
        "Accelerate version": version_of(facts, "accelerate"),
        "Accelerate config": NOT_READ,
        "DeepSpeed version": version_of(facts, "deepspeed"),
        "PyTorch version (accelerator?)": f"{_torch_version(facts)} ({_accelerator(torch)})",
        "Using distributed or parallel set-up in script?": FILL_IN,
    }
    for backend, available in (("GPU", torch and torch.cuda_available), ("XPU", torch and torch.xpu_available)):
        if available:
            fields[f"Using {backend} in script?"] = FILL_IN
            fields[f"{backend} type"] = _device_name(torch, "cuda" if backend == "GPU" else "xpu")
            break
    return fields


def _accelerate(facts: Facts) -> dict[str, str]:
    torch = _torch(facts)
    memory = facts.host.memory_bytes
    fields = {
        "`Accelerate` version": version_of(facts, "accelerate"),
        "Platform": collect_env.platform(facts),
        "`accelerate` bash location": "not looked for",
        "Python version": facts.interpreter.version or NOT_KNOWN,
        "Numpy version": version_of(facts, "numpy"),
        "PyTorch version (GPU?)": f"{_torch_version(facts)} ({_answer(torch, 'cuda')})",
        "PyTorch XPU available": _answer(torch, "xpu"),
        "PyTorch NPU available": "not asked",
        "PyTorch MLU available": "not asked",
        "PyTorch MUSA available": "not asked",
        "System RAM": f"{memory / (1 << 30):.2f} GB" if memory else NOT_KNOWN,
    }
    if torch and torch.cuda_available:
        fields["GPU type"] = _device_name(torch, "cuda")
    return {**fields, "`Accelerate` default config": NOT_READ}


def _diffusers(facts: Facts) -> dict[str, str]:
    torch = _torch(facts)
    kernel = facts.interpreter.kernel
    return {
        "`diffusers` version": version_of(facts, "diffusers"),
        "Platform": collect_env.platform(facts),
        "Running on a notebook?": NOT_KNOWN if kernel is None else "No" if kernel is ABSENT else "Yes",
        "Running on Google Colab?": _is_set(facts, "COLAB_GPU"),
        "Python version": facts.interpreter.version or NOT_KNOWN,
        "PyTorch version (GPU?)": f"{_torch_version(facts)} ({_answer(torch, 'cuda')})",
        "Flax version (CPU?/GPU?/TPU?)": f"{version_of(facts, 'flax')} (NA)",
        "Jax version": version_of(facts, "jax"),
        "JaxLib version": version_of(facts, "jaxlib"),
        "Huggingface_hub version": version_of(facts, "huggingface-hub"),
        "Transformers version": version_of(facts, "transformers"),
        "Accelerate version": version_of(facts, "accelerate"),
        "Accelerate config": NOT_READ,
        "PEFT version": version_of(facts, "peft"),
        "Safetensors version": version_of(facts, "safetensors"),
        "xFormers version": version_of(facts, "xformers"),
        "Accelerator": _gpus(facts),
        "Using GPU in script?": FILL_IN,
        "Using distributed or parallel set-up in script?": FILL_IN,
    }


def version_of(facts: Facts, name: str) -> str:
    """A package's version; "not installed" only where all packages were listed."""
    for package in facts.packages or ():
        if package.name == name and package.version:
            return package.version
    return "not installed" if facts.packages is not None and facts.live else NOT_KNOWN


def _torch(facts: Facts) -> Torch | None:
    return facts.torch if isinstance(facts.torch, Torch) else None


def _torch_version(facts: Facts) -> str:
    if facts.torch is ABSENT:
        return "not installed"
    torch = _torch(facts)
    return (torch and torch.version) or NOT_KNOWN


def _accelerator(torch: Torch | None) -> str:
    if torch is None or torch.cuda_available is None:
        return "NA"
    return "CUDA" if torch.cuda_available else "XPU" if torch.xpu_available else "NA"


def _is_set(facts: Facts, variable: str) -> str:
    return NOT_KNOWN if facts.environ is None else "Yes" if variable in facts.environ else "No"


def _answer(torch: Torch | None, backend: str) -> str:
    """Whether a backend is available, as Python prints it."""
    value = getattr(torch, f"{backend}_available", None)
    return "NA" if value is None else str(value)


def _device_name(torch: Torch | None, backend: str) -> str:
    devices = (torch.devices or ()) if torch else ()
    return next((d.name for d in devices if d.backend == backend and d.name), NOT_KNOWN)


def _gpus(facts: Facts) -> str:
    if facts.gpus is None:
        return NOT_KNOWN
    found = []
    for gpu in facts.gpus:
        memory = f", {gpu.memory_bytes >> 20} MiB VRAM" if gpu.memory_bytes else ""
        found.append(f"{gpu.name or gpu.vendor}{memory}")
    return "; ".join(found) or "NA"
