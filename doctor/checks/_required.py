"""What --require can demand, and whether the facts meet it. Pure.

A demand is a name with comparisons: `torch>=2.5,<2.8`, `cuda>=1`, `memory>=16GB`, `speed>=0.8`.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable
from typing import Any, Literal

from doctor.checks import gap_of, look_up
from doctor.checks._speed import Ratio, product_ratio
from doctor.model.facts import ABSENT, Facts, Torch, TorchDevice
from doctor.model.values import dataclass
from doctor.regex import Regex

Kind = Literal["version", "count", "size", "ratio"]
Value = str | float


@dataclass(frozen=True)
class NotKnown:
    """Why it cannot be said whether a demand is met."""

    reason: str


@dataclass(frozen=True)
class Nothing:
    """It is known that there is none, so that no demand on it is met."""

    reason: str


@dataclass(frozen=True)
class Measure:
    """What can be demanded: `read` gives its value, in bytes where it is a size."""

    kind: Kind
    meaning: str  # for the help
    read: Callable[[Facts], Value | NotKnown | Nothing]
    vendors: str = ""  # whose GPUs a fault keeps from torch, where the demand is not met because of it


@dataclass(frozen=True)
class Demand:
    """One --require, understood."""

    text: str
    name: str
    compared: tuple[tuple[str, str], ...]  # (operator, value as written), all of which must hold

    @property
    def measure(self) -> Measure:
        return MEASURES[self.name]


# ---- reading the facts


def _not_known(facts: Facts, fact: str, what: str) -> NotKnown:
    gap = gap_of(facts, fact)
    why = gap.detail or {"not-in-evidence": "the text does not say"}.get(gap.reason, gap.reason.replace("-", " "))
    return NotKnown(f"{what} is not known ({why})")


def _version(fact: str, what: str) -> Callable[[Facts], Value | NotKnown | Nothing]:
    def read(facts: Facts) -> Value | NotKnown | Nothing:
        value = look_up(facts, fact)
        if value is ABSENT:
            return Nothing(f"there is no {what}")
        return str(value) if value else _not_known(facts, fact, what)

    return read


def _torch_devices(
    facts: Facts, belongs: Callable[[Torch, TorchDevice], bool]
) -> list[TorchDevice] | NotKnown | Nothing:
    """The devices that torch can use: it lists them, and no probe of them has failed."""
    torch = facts.torch
    if torch is ABSENT:
        return Nothing("torch is not installed")
    if not isinstance(torch, Torch):
        return _not_known(facts, "torch", "torch")
    if torch.imports is False:
        return Nothing("torch does not import")
    if torch.devices is None:
        if torch.cuda_available is False and torch.mps_available is not True and torch.xpu_available is not True:
            return []
        return _not_known(facts, "torch.devices", "which devices torch lists")
    failed = {p.id for p in facts.probes or () if p.status in ("failed", "crashed", "timed-out")}
    mine = [d for d in torch.devices if belongs(torch, d)]
    return [d for d in mine if f"{d.backend}:{d.index}" not in failed and d.backend not in failed]


def _count(belongs: Callable[[Torch, TorchDevice], bool]) -> Callable[[Facts], Value | NotKnown | Nothing]:
    def read(facts: Facts) -> Value | NotKnown | Nothing:
        found = _torch_devices(facts, belongs)
        if isinstance(found, Nothing):
            return 0.0
        return found if isinstance(found, NotKnown) else float(len(found))

    return read


def _is_cuda(torch: Torch, device: TorchDevice) -> bool:
    return device.backend == "cuda" and not torch.hip


def _is_rocm(torch: Torch, device: TorchDevice) -> bool:
    return device.backend == "cuda" and bool(torch.hip)


def _is_gpu(torch: Torch, device: TorchDevice) -> bool:
    return device.backend in ("cuda", "xpu", "mps")


def _least(
    belongs: Callable[[Torch, TorchDevice], bool],
    what: str,
    value: Callable[[TorchDevice], str | int | None],
    key: Callable[[Any], Any],
    none: str,
) -> Callable[[Facts], Value | NotKnown | Nothing]:
    """The least value among these devices, if each has one."""

    def read(facts: Facts) -> Value | NotKnown | Nothing:
        found = _torch_devices(facts, belongs)
        if not isinstance(found, list):
            return found
        if not found:
            return Nothing(f"torch uses no {none}")
        values = [v for v in map(value, found) if v]
        if len(values) < len(found):
            return _not_known(facts, "torch.devices", what)
        least = min(values, key=key)
        return float(least) if isinstance(least, int) else least

    return read


def _ram(facts: Facts) -> Value | NotKnown | Nothing:
    sizes = [s for s in (facts.host.memory_bytes, facts.host.cgroup_memory_bytes) if isinstance(s, int)]
    return float(min(sizes)) if sizes else _not_known(facts, "host.memory_bytes", "the machine's memory")


def _size(fact: str, what: str) -> Callable[[Facts], Value | NotKnown | Nothing]:
    def read(facts: Facts) -> Value | NotKnown | Nothing:
        value = look_up(facts, fact)
        return float(value) if isinstance(value, int) else _not_known(facts, fact, what)

    return read


def _speed(facts: Facts) -> Value | NotKnown | Nothing:
    """Of the slowest GPU that was probed, or where there is none of the CPU."""
    probes = [p for p in facts.probes or () if p.status != "skipped"]
    gpus = [p for p in probes if p.device != "cpu"]
    if failed := [p.device for p in gpus if p.status != "ok"]:
        return Nothing(f"the probe of {', '.join(failed)} did not pass")
    ratios: list[Ratio] = []
    for probe in gpus or probes:
        ratio = product_ratio(facts, probe)
        if ratio is None:
            return NotKnown(f"what {probe.device} should reach is not known")
        if probe.data.get("busy"):
            return NotKnown(f"other programs used {probe.device} while it was timed")
        ratios.append(ratio)
    return min(r.ratio for r in ratios) if ratios else NotKnown("nothing was probed")


def _order(version: str) -> Any:
    """What versions are sorted by."""
    from packaging.version import Version

    return Version(version)


MEASURES: dict[str, Measure] = {
    "torch": Measure("version", "the version of torch", _version("torch.version", "torch")),
    "python": Measure("version", "the version of the Python", _version("interpreter.version", "Python")),
    "driver": Measure("version", "the version of the NVIDIA driver", _version("nvidia.driver", "NVIDIA driver")),
    "torch-cuda": Measure("version", "the CUDA that torch is built for", _version("torch.cuda", "CUDA in this torch")),
    "capability": Measure("version", "the lowest compute capability of torch's NVIDIA GPUs",
                          _least(_is_cuda, "the compute capability", lambda d: d.capability, _order, "NVIDIA GPU"),
                          "nvidia"),
    "cuda": Measure("count", "NVIDIA GPUs that torch can use", _count(_is_cuda), "nvidia"),
    "rocm": Measure("count", "AMD GPUs that torch can use", _count(_is_rocm), "amd"),
    "xpu": Measure("count", "Intel GPUs that torch can use", _count(lambda _, d: d.backend == "xpu"), "intel"),
    "mps": Measure("count", "1 where torch can use Apple's GPU", _count(lambda _, d: d.backend == "mps"), "apple"),
    "gpu": Measure("count", "GPUs of any make that torch can use", _count(_is_gpu), "nvidia, amd, intel, apple"),
    "memory": Measure("size", "the memory of the smallest GPU that torch can use",
                      _least(_is_gpu, "a GPU's memory", lambda d: d.memory_bytes, int, "GPU"),
                      "nvidia, amd, intel, apple"),
    "ram": Measure("size", "the machine's memory, or what the container may use", _ram),
    "shm": Measure("size", "/dev/shm", _size("host.shm_bytes", "the size of /dev/shm")),
    "disk": Measure("size", "free space where the environment lies", _size("host.disk_free_bytes", "the free space")),
    "speed": Measure("ratio", "the slowest GPU's rate, as a share of what its model should reach", _speed,
                     "nvidia, amd, intel, apple"),
}  # fmt: skip

# ---- understanding a demand

_DEMAND = Regex(r"\s*([a-z][a-z-]{0,30})\s*((?:[<>=!~]{1,3}).{1,200})\Z", re.DOTALL)
_PART = Regex(r"\s*(>=|<=|==|!=|>|<)\s*(\S.*?)\s*\Z")
_NUMBER = Regex(r"\d{1,9}(?:\.\d{1,6})?\Z")
_SIZE = Regex(r"(\d{1,9}(?:\.\d{1,6})?)\s*([kKMGT]?)(i?)[bB]?\Z")
_COMPARED = {
    ">=": operator.ge, "<=": operator.le, "==": operator.eq, "!=": operator.ne, ">": operator.gt, "<": operator.lt,
}  # fmt: skip


def parse(text: str) -> Demand:
    """ValueError, in one line, where it cannot be understood."""
    match = _DEMAND.match(text)
    if match is None:
        raise ValueError(f"'{text}' is no requirement such as torch>=2.5 or cuda>=1")
    name, rest = match[1], match[2]
    measure = MEASURES.get(name)
    if measure is None:
        raise ValueError(f"'{name}' cannot be required; one of: {', '.join(MEASURES)}")
    if measure.kind == "version":
        from packaging.specifiers import InvalidSpecifier, SpecifierSet  # only where something is required

        try:
            SpecifierSet(rest)
        except InvalidSpecifier:
            raise ValueError(f"'{text}': '{rest}' is no comparison with a version, such as >=2.5,<3") from None
        return Demand(text.strip(), name, (("", rest.strip()),))
    compared = []
    for part in rest.split(","):
        found = _PART.match(part)
        if found is None or _amount(measure.kind, found[2]) is None:
            example = {"count": ">=1", "size": ">=16GB", "ratio": ">=0.8"}[measure.kind]
            raise ValueError(f"'{text}': '{part.strip()}' is no comparison such as {name}{example}")
        compared.append((found[1], found[2]))
    return Demand(text.strip(), name, tuple(compared))


def demands(texts: Iterable[str]) -> tuple[str, ...]:
    """What is required, each once. ValueError, in one line, for what cannot be understood."""
    if isinstance(texts, str):
        raise ValueError(f"requirements are several texts such as 'torch>=2.5', not the text '{texts}'")
    try:
        return tuple(dict.fromkeys(parse(text).text for text in texts))
    except ValueError as error:
        raise ValueError(" ".join(str(error).split())) from None


def _amount(kind: Kind, text: str) -> float | None:
    """A number as written: of sizes in bytes (GB where no unit stands there), of a ratio 80% is 0.8."""
    if kind == "size":
        match = _SIZE.match(text)
        if match is None:
            return None
        power = " kMGT".index(match[2].replace("K", "k") or "G")
        return float(match[1]) * float((1024 if match[3] else 1000) ** power)
    share = kind == "ratio" and text.endswith("%")
    number = text[:-1].strip() if share else text
    return float(number) / (100 if share else 1) if _NUMBER.match(number) else None


def is_met(demand: Demand, facts: Facts) -> tuple[bool | None, str]:
    """Whether the facts meet it, and what they have: None where that is not known."""
    value = demand.measure.read(facts)
    if isinstance(value, NotKnown):
        return None, value.reason
    if isinstance(value, Nothing):
        return False, value.reason
    shown = _shown(demand, value)
    if isinstance(value, str):
        from packaging.specifiers import SpecifierSet
        from packaging.version import InvalidVersion, Version

        try:
            version = Version(value)
        except InvalidVersion:
            return None, f"'{value}' is no version that can be compared"
        return SpecifierSet(demand.compared[0][1]).contains(version, prereleases=True), shown
    amounts = ((sign, _amount(demand.measure.kind, text)) for sign, text in demand.compared)
    return all(amount is not None and _COMPARED[sign](value, amount) for sign, amount in amounts), shown


def _shown(demand: Demand, value: Value) -> str:
    if isinstance(value, str):
        return f"{demand.name} is {value}"
    if demand.measure.kind == "count":
        return f"torch can use {value:.0f}"
    if demand.measure.kind == "size":
        return f"it is {value / 1e9:.3g} GB ({value / (1 << 30):.3g} GiB)"
    return f"it is {value:.2f}"
