"""What is compared: a table of subjects, each one thing that people would change or name as a whole, with the facts in
which it shows. What no row names is a subject of its own, so nothing is left out. Pure."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Literal

from doctor.model.facts import ABSENT, Facts, Gpu, Torch
from doctor.model.values import dataclass
from doctor.reports import words
from doctor.reports.leaves import text_of

Kind = Literal["cause", "effect"]  # what can be changed; what torch, the driver or a program then said


@dataclass(frozen=True)
class Subject:
    """One row. `fields`: dotted facts. `shown`: its value in words, None where the fields say it best."""

    id: str
    label: str
    fields: tuple[str, ...]
    kind: Kind = "cause"
    shown: Callable[[Facts], str | None] | None = None


def _fields(prefix: str, names: str) -> tuple[str, ...]:
    return tuple(f"{prefix}.{name}" for name in names.split())


def _driver(facts: Facts) -> str | None:
    nvidia = facts.nvidia
    if nvidia.driver is ABSENT:
        return "none"
    return nvidia.driver and nvidia.driver + (f", CUDA up to {nvidia.driver_cuda}" if nvidia.driver_cuda else "")


def _gpus(facts: Facts) -> str | None:
    return None if facts.gpus is None else words.gpu_names(facts.gpus) or "none"


def _torch(facts: Facts) -> str | None:
    torch = facts.torch
    if not isinstance(torch, Torch):
        return "not installed" if torch is ABSENT else None
    build = next((f"{n} {v}" for n, v in (("CUDA", torch.cuda), ("ROCm", torch.hip), ("XPU", torch.xpu)) if v), "")
    if not build and torch.cuda is ABSENT and torch.hip is ABSENT and facts.host.system != "darwin":
        build = "CPU build"
    return torch.version and torch.version + (f" ({build})" if build else "")


_CAUSES = (
    Subject("gpus", "GPUs", ("gpus", "nvidia.gpus_seen", "metal.device", "metal.gpu_cores"), shown=_gpus),
    Subject("nvidia-driver", "NVIDIA driver", _fields("nvidia", "driver driver_cuda kernel_module module_flavour "
            "library smi_version packages"), shown=_driver),
    Subject("torch-build", "torch", _fields("torch", "version cuda hip xpu git debug build arch_list requires libraries"
            " cuda_built mps_built cudnn"), shown=_torch),
    Subject("python", "Python", _fields("interpreter", "version implementation bits architecture translated "
            "free_threaded build platform_tag macos_reported"), shown=words.interpreter),
    Subject("system", "system", _fields("host", "system os_name os_id os_like os_version macos windows_build"),
            shown=lambda facts: facts.host.os_name),
    Subject("architecture", "architecture", ("host.architecture",)),
    Subject("libc", "C library", _fields("host", "libc libc_version"),
            shown=lambda facts: " ".join(filter(None, (facts.host.libc, facts.host.libc_version))) or None),
    Subject("cpu", "processor", _fields("host", "cpu_model cpu_flags cpus"), shown=lambda facts: facts.host.cpu_model),
    Subject("container", "container", _fields("host", "container container_gpus")),
    Subject("wsl", "WSL", _fields("host", "wsl dxg")),
    Subject("cpu-quota", "CPUs allowed", _fields("host", "cgroup_cpus cpus_usable")),
    Subject("libcuda", "libcuda", _fields("nvidia", "libcuda libcuda_broken libcuda_elsewhere")),
    Subject("device-nodes", "device nodes", _fields("nvidia", "device_nodes uvm_node nodes_accessible false_nodes "
            "closed_nodes")),
    Subject("fabric-manager", "fabric manager", _fields("nvidia", "fabric_manager fabric_manager_version")),
    Subject("environment", "environment", _fields("interpreter", "environment manager project receipt kernel "
            "externally_managed")),
    Subject("shadowed", "files that shadow modules", _fields("interpreter", "shadowed shadowed_packages")),
    Subject("torch-files", "files of torch", ("torch.copies", "torch.missing_files", "torch.leftovers",
            "torch.shadowed_by", "torch.missing_requirements", "damaged")),
    Subject("paths", "paths", ("interpreter.executable", "interpreter.prefix", "interpreter.base_prefix",
            "interpreter.sys_path", "interpreter.others", "interpreter.user_site", "torch.path")),
    Subject("amd-driver", "AMD driver", _fields("amd", "kernel_driver kfd kfd_accessible render_accessible groups")),
    Subject("intel-driver", "Intel driver", _fields("intel", "kernel_driver level_zero render_accessible")),
    Subject("rocm", "ROCm", ("amd.rocm",)),
)  # fmt: skip
_EFFECTS = (
    Subject("torch-imports", "import torch", _fields("torch", "imports import_failure warnings"), "effect"),
    Subject("cuda-available", "cuda.is_available()", ("torch.cuda_available", "torch.cuda_error"), "effect"),
    Subject("mps-available", "mps.is_available()", ("torch.mps_available",), "effect"),
    Subject("xpu-available", "xpu.is_available()", ("torch.xpu_available",), "effect"),
    Subject("torch-devices", "devices of torch", ("torch.devices",), "effect"),
    Subject("numpy-works", "torch.from_numpy", _fields("torch", "numpy_works numpy_error"), "effect"),
    Subject("python-starts", "start of Python", ("interpreter.start_failure",), "effect"),
    Subject("driver-says", "what the driver says", _fields("nvidia", "cuinit smi_error xids"), "effect"),
    Subject("messages", "messages", ("errors",), "effect"),
    Subject("attempts", "installations tried", ("attempts",), "effect"),
    Subject("probes", "probes", ("probes",), "effect"),
)  # fmt: skip
# Of the day, the run or the very piece: never the same twice, and no reason.
_APART = (
    "live", "as_of", "wheels", "gaps", "origins", "asked_devices", "operations", "threads", "signs", "torch.import_ms",
    "torch.installed_at", "nvidia.sources", "amd.sources", "intel.sources", "torch.loaded_libraries",
)  # fmt: skip
_NAMED = {field for subject in (*_CAUSES, *_EFFECTS) for field in subject.fields}


def subjects(machines: tuple[Facts, ...]) -> tuple[Subject, ...]:
    """All subjects of these machines: the table's, then packages and variables by name, then single facts."""
    return (*_CAUSES, *_EFFECTS, *_by_name("packages", machines), *_by_name("environ", machines), *_SINGLE)


def _by_name(field: str, machines: tuple[Facts, ...]) -> Iterator[Subject]:
    names = {name for facts in machines for name in _names(field, facts)}
    yield from (
        Subject(f"{field}.{name}", name, (f"{field}.{name}",)) for name in sorted(names)
    )


def _names(field: str, facts: Facts) -> tuple[str, ...]:
    if field == "packages":
        return tuple(package.name for package in facts.packages or () if package.name != "torch")  # the build's own row
    return tuple(facts.environ or ())


def _single() -> Iterator[Subject]:
    for field in dataclasses.fields(Facts):
        value = getattr(Facts(), field.name)
        kind = Torch if field.name == "torch" else type(value)
        if field.name in (*_APART, "packages", "environ", *_NAMED):
            continue
        if not dataclasses.is_dataclass(kind):
            yield Subject(field.name, words.label(field.name), (field.name,))
            continue
        for part in dataclasses.fields(kind):
            name = f"{field.name}.{part.name}"
            if name not in _NAMED and name not in _APART:
                yield Subject(name, words.label(name), (name,))


_SINGLE = tuple(_single())


# ---- values


def value_of(facts: Facts, field: str) -> object:
    """The value of a dotted fact as it is compared; None where it is not known. Of a GPU what it is, not which one."""
    head, _, rest = field.partition(".")
    whole = getattr(facts, head)
    if head == "packages":
        if whole is None:
            return None
        found = next((p for p in whole if p.name == rest), None)
        if found is None:
            return "not installed" if facts.live else None  # a text may list some only
        return found.version or "of an unknown version"
    if head == "environ":
        return None if whole is None else whole.get(rest, "not set")
    if field == "gpus":
        return None if whole is None else tuple(sorted(map(_model_of, whole)))
    if field == "probes":
        return None if whole is None else tuple(sorted((p.id, p.status) for p in whole))
    if field == "errors":
        return tuple(sorted({e.pattern for e in whole})) or None  # no message is no answer
    if field == "attempts":
        return tuple((a.tool, a.failed, a.message) for a in whole) or None
    if not rest or whole is None:
        return whole
    if whole is ABSENT:  # of a torch that is not installed nothing further is asked
        return ABSENT if field in ("torch.version", "metal.device") else None
    return getattr(whole, rest)


def _model_of(gpu: Gpu) -> str:
    return f"{gpu.vendor} {words.short_name(gpu.name) or gpu.pci_id or ''}".strip()


def differing(subject: Subject, one: Facts, other: Facts) -> tuple[str, ...]:
    """The facts of a subject that are known of both and differ."""
    return tuple(
        field
        for field in subject.fields
        if None not in (a := value_of(one, field), b := value_of(other, field)) and a != b
    )


def is_known(subject: Subject, facts: Facts) -> bool:
    """Whether anything of it is known."""
    return any(value_of(facts, field) is not None for field in subject.fields)


def text(subject: Subject, facts: Facts, fields: tuple[str, ...]) -> str:
    """The value in words. `fields`: those that differ, which say it where the usual words would not."""
    said = subject.shown(facts) if subject.shown else None
    if said is not None:
        return said
    return details(facts, fields or subject.fields)


def details(facts: Facts, fields: tuple[str, ...]) -> str:
    """The fields, by their names where there are several."""
    known = [(field, value) for field in fields if (value := value_of(facts, field)) is not None]
    if len(known) == 1 and len(fields) == 1:
        return _short(known[0][1])
    return "; ".join(f"{field.rpartition('.')[2].replace('_', ' ')} {_short(value)}" for field, value in known)


def _short(value: object) -> str:
    if dataclasses.is_dataclass(value):
        value = getattr(value, "message", None) or getattr(value, "name", None) or "see the report"
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {one}" for key, one in value.items())
    if isinstance(value, int) and not isinstance(value, bool) and value >= 1 << 24:
        return words.size(value)
    if isinstance(value, tuple):
        return ", ".join(_short(one) for one in value) or "none"
    return "(empty)" if value == "" else text_of(value)


# ---- one machine with another's value


def with_value(facts: Facts, other: Facts, subject: Subject) -> Facts:
    """The facts of a machine with another one's value of the subject, where that is known."""
    for field in subject.fields:
        facts = _with(facts, other, field)
    mine, theirs = facts.torch, other.torch
    both = isinstance(mine, Torch) and isinstance(theirs, Torch) and mine.devices and theirs.devices
    if subject.id == "gpus" and both:  # both list them: then that is the hardware's name, no effect
        assert isinstance(mine, Torch) and isinstance(theirs, Torch)
        return replace(facts, torch=replace(mine, devices=theirs.devices))
    return facts


def _with(facts: Facts, other: Facts, field: str) -> Facts:
    head, _, rest = field.partition(".")
    mine, theirs = getattr(facts, head), getattr(other, head)
    if value_of(other, field) is None:
        return facts
    if head == "packages":
        kept = tuple(p for p in mine or () if p.name != rest)
        return replace(facts, packages=(*kept, *(p for p in theirs if p.name == rest)))
    if head == "environ":
        left = {k: v for k, v in (mine or {}).items() if k != rest}
        return replace(facts, environ={**left, **({rest: theirs[rest]} if rest in theirs else {})})
    whole: dict[str, Any]
    if not rest or theirs is ABSENT or mine is ABSENT or mine is None:
        whole = {head: theirs}
        return replace(facts, **whole)
    value = getattr(theirs, rest)
    if value is None:
        return facts
    whole = {head: replace(mine, **{rest: value})}
    return replace(facts, **whole)
