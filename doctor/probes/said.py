"""The words of a child, typed: its lines, what it says of torch, and the measurements of a stage. All of them are
foreign: whatever runs in the target's Python can say anything, and harms nothing but its own verdict.

Which keys a stage has, and what they mean: docs/probes.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any, Literal

from doctor.decode import Refused, check_probe_data, decode, loads
from doctor.model.facts import TorchDevice
from doctor.model.values import dataclass

BEFORE_PROBE = ("start", "import", "facts", "driver")
LINE_SIZE = 1 << 20
LINE_ITEMS = 20_000
# Without these, a probe that says that it is done has proved nothing. By mode; others have none.
_BASE = ("open", "reference", "allocate", "kernel", "precision", "correct")
REQUIRED = {
    "facts": ("import", "facts", "driver"),
    "quick": (*_BASE, "speed"),
    "cpu-only": (*_BASE, "speed"),
    "full": (*_BASE, "speed"),
    "fleet": (*_BASE, "speed"),
    "soak": (*_BASE, "soak"),
    "peers": ("open", "peers"),
}


@dataclass(frozen=True, kw_only=True)
class Line:
    """One line of inside/probe.py."""

    event: Literal["begin", "end", "share", "uses", "done"]
    stage: str | None = None
    ok: bool | None = None
    ms: float | None = None
    share: float | None = None
    data: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Raised:
    """How a stage ended that raised."""

    exception: str | None = None
    message: str = ""
    traceback: str = ""
    module: str | None = None
    exit_code: int | None = None


@dataclass(frozen=True, kw_only=True)
class Said:
    """What the stages «import», «facts» and «driver» say of torch."""

    version: str | None = None
    file: str | None = None
    warnings: tuple[str, ...] | None = None
    cuda: str | None = None
    hip: str | None = None
    xpu: str | None = None
    git: str | None = None
    debug: bool | None = None
    cuda_built: bool | None = None
    mps_built: bool | None = None
    cpu_capability: str | None = None
    threads: int | None = None
    arch_list: tuple[str, ...] | None = None
    loaded_libraries: tuple[str, ...] | None = None
    numpy_works: bool | None = None
    numpy_error: str | None = None
    cuda_available: bool | None = None
    mps_available: bool | None = None
    xpu_available: bool | None = None
    cuda_error: str | None = None
    devices: tuple[TorchDevice, ...] | None = None
    cudnn: int | None = None
    cudnn_error: str | None = None


def line_of(text: str) -> Line:
    """One line. Raises Refused where it is none, or its measurements are none."""
    line = decode(Line, loads(text, size=LINE_SIZE, items=LINE_ITEMS))
    if line.event in ("begin", "end") and line.stage is None:
        raise Refused("a line without its stage")
    if line.event == "end":
        if line.ok is None or line.ms is None:
            raise Refused("a stage without its end")
        if line.stage not in BEFORE_PROBE:
            check_probe_data(line.data)
    if line.event == "share" and not 0 <= (line.share if line.share is not None else -1) <= 1:
        raise Refused("a share that is none")
    return line


def raised(data: Mapping[str, Any]) -> Raised:
    """How a stage raised; of what does not fit the type, nothing."""
    try:
        return decode(Raised, dict(data))
    except Refused:
        return Raised(exception="Exception")
