"""The GPU is there, but another program has it for itself.

What it means
    In the compute mode «Exclusive Process» only one process at a time may use the GPU, in «Prohibited» none; others get
    «all CUDA-capable devices are busy or unavailable». A crashed program that still holds the GPU has the same effect.

How to see it yourself
    nvidia-smi -q -d COMPUTE shows the mode; nvidia-smi lists the processes.

What to do
    Stop the process that holds the GPU, or set the mode back: sudo nvidia-smi -c 0.

References
    https://docs.nvidia.com/deploy/nvidia-smi/ (compute mode)
    https://docs.nvidia.com/cuda/cuda-runtime-api/group__CUDART__TYPES.html (error 46)
"""

from __future__ import annotations

from doctor.checks import Check, Fit, Judgement
from doctor.checks._machine import heard
from doctor.checks._torch import quote
from doctor.model.facts import Facts
from doctor.model.finding import Remedy

STOP = Remedy(action="stop-process", text="Stop the process that holds the GPU (nvidia-smi lists it).")
DEFAULT = Remedy(action="set-compute-mode", details={"value": "0"})
REBOOT = Remedy(action="reboot")

check = Check(
    severity="fault",
    needs=("messages",),
    systems=("linux", "windows"),
    usual=(STOP, REBOOT, DEFAULT),
    explains=("device-crashes", "torch-cpu-only"),
    instead_of=("gpu-hidden", "program-error"),
)


@check
def judge(facts: Facts) -> Judgement:
    busy = heard(facts, "cuda-devices-busy")
    exclusive = heard(facts, "compute-mode-exclusive")
    mode = (facts.nvidia.compute_mode or "").lower().replace("_", " ")
    restricted = bool(exclusive) or mode.startswith(("exclusive", "e. process", "prohibited"))
    refused = heard(facts, "no-cuda-device-detected", "cuda-out-of-memory", "no-cuda-gpus") if restricted else None
    if busy is None and refused is None:
        return None
    how = f" (compute mode {facts.nvidia.compute_mode or 'Exclusive Process'})" if restricted else ""
    others = f"; {facts.nvidia.processes} compute processes run on it" if facts.nvidia.processes else ""
    error = busy or refused
    return check.found(
        facts,
        f"The GPU refuses another process{how}{others}.",
        evidence=(
            quote(error) if error else None,
            quote(exclusive) if exclusive else None,
            "nvidia.compute_mode",
            "nvidia.processes",
        ),
        remedies=(DEFAULT, STOP)
        if mode.startswith("prohibited")
        else (STOP, DEFAULT)
        if restricted
        else (STOP, REBOOT, DEFAULT),
        confidence="certain" if restricted else "likely",
    )


@check.fit
def fits(facts: Facts) -> Fit | None:
    mode = (facts.nvidia.compute_mode or "").lower()
    if mode == "default":
        return Fit(0.3, "the compute mode is Default")
    return Fit(4, f"the compute mode is {facts.nvidia.compute_mode}") if mode else None
