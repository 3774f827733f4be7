"""A device can't complete the probe: it crashes, hangs or raises an error.

What it means
    A child process that computes on this device was ended by a signal, did not come back in time, or met an error
    of the driver or of torch.

How to see it yourself
    torchdoctor probe --device DEVICE names the stage; python -X faulthandler shows the place

What to do
    What the finding names first: it follows from how the probe ended and at which stage. Where memory, disk space or a
    limit ran out, more of it. Where a variable changes how torch computes, without it. Where the device computes and
    one kind of computation fails, another torch. Where nothing works, the driver, a restart, and then the hardware:
    errors in the system's log (dmesg) at that time point to it.

References
    https://docs.nvidia.com/deploy/xid-errors/
    https://docs.pytorch.org/docs/stable/cuda_environment_variables.html
    https://docs.kernel.org/admin-guide/cgroup-v2.html#memory
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from doctor.checks import Check, Judgement, Unknown
from doctor.checks._features import FEATURES
from doctor.checks._machine import heard
from doctor.checks._torch import import_failure, quote
from doctor.checks.machine.folder_not_writable import ended_by
from doctor.model.facts import ErrorText, Facts, ProbeResult
from doctor.model.finding import Evidence, Finding, Remedy
from doctor.regex import Regex

REINSTALL = Remedy(action="reinstall-torch")
UPGRADE = Remedy(action="upgrade-torch")
DRIVER = Remedy(action="upgrade-driver")
HARDWARE = Remedy(action="hardware-service")
REBOOT = Remedy(action="reboot")
MEMORY = Remedy(action="reduce-memory")
SPACE = Remedy(action="free-disk-space")

check = Check(
    severity="fault",
    needs=("probes",),
    usual=(REINSTALL, DRIVER, HARDWARE),
)

SIGNALS = {4: "SIGILL", 6: "SIGABRT", 7: "SIGBUS", 8: "SIGFPE", 9: "SIGKILL", 10: "SIGBUS", 11: "SIGSEGV"}
NO_ROOM = ("out of memory", "OutOfMemoryError", "CUBLAS_STATUS_ALLOC_FAILED")

# What the ending says. The first that fits is the cause that is concluded.
KILLED_FOR_MEMORY = Regex(r"out-of-memory killer|MemoryError|Cannot allocate memory|DefaultCPUAllocator")
NO_SPACE = Regex(r"No space left on device|Disk quota exceeded")
LIMIT = Regex(r"Too many open files|Resource temporarily unavailable|can't start new thread")
HARDWARE_WORDS = Regex(r"uncorrectable ECC|\bXid\b|hardware stack error|fallen off the bus", re.I)
IN_KERNEL = "waiting inside the kernel"
# Variables that change what torch, CUDA or the loader do with the very operations of the probe.
CHANGING = (
    "LD_PRELOAD", "DYLD_INSERT_LIBRARIES", "PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF", "PYTORCH_HIP_ALLOC_CONF",
    "HSA_OVERRIDE_GFX_VERSION", "CUDA_FORCE_PTX_JIT", "CUDA_INJECTION64_PATH", "CUDA_MPS_PIPE_DIRECTORY",
    "PYTORCH_MPS_HIGH_WATERMARK_RATIO", "PYTORCH_ENABLE_MPS_FALLBACK", "TORCH_CUDNN_V8_API_DISABLED",
    "CUBLASLT_WORKSPACE_SIZE", "CUBLAS_WORKSPACE_CONFIG", "ATEN_CPU_CAPABILITY", "ONEDNN_MAX_CPU_ISA",
    "MKL_ENABLE_INSTRUCTIONS",
)  # fmt: skip
ENDED = ("illegal-memory-access", "gpu-work-refused", "mps-shader-refuses")
FIRST_STAGES = ("open", "reference", "allocate", "kernel")  # who ends there has computed nothing on the device


@check
def judge(facts: Facts) -> Judgement:
    if import_failure(facts):
        return None  # it never came to the device
    found: list[Finding] = []
    for probe in facts.probes or ():
        failed = (
            probe.status == "failed" and not probe.data.get("wrong") and not any(t in probe.reason for t in NO_ROOM)
        )
        if (probe.status not in ("crashed", "timed-out") and not failed) or ended_by(facts, probe):
            continue
        why, remedies = _concluded(facts, probe)
        found.append(
            check.found(
                facts,
                f"{probe.device}: the probe {_end(probe)}{f' in stage «{probe.stage}»' if probe.stage else ''}"
                + (f": {probe.reason}" if probe.reason else ".")
                + (f" {why}" if why else ""),
                evidence=(
                    Evidence(fact=probe.device, value=_end(probe), source="probe", quote=probe.stderr_tail[-300:]),
                    "torch.version",
                    "nvidia.driver" if probe.device.startswith("cuda") else None,
                    *(f"environ.{name}" for name in _changing(facts)),
                ),
                remedies=remedies,
                severity="warning" if probe.stage in FEATURES and probe.status == "timed-out" else None,  # or only slow
                title=f"{probe.device} can't complete the probe.",
                device=probe.device,
                stage=probe.stage,
                signal=probe.signal,
            )
        )
    if not facts.live and facts.probes is None and (error := heard(facts, *ENDED)):
        return _said(facts, error)
    unseen = [p for p in facts.probes or () if p.status == "skipped" and p.stage]
    if unseen and not found:
        return Unknown(f"{unseen[0].device}: the probe never came to the device: {unseen[0].reason}")
    return found or None


def _said(facts: Facts, error: ErrorText) -> Finding:
    """What a program was told when its work on the device was broken off. Whose fault that was, the words don't say."""
    return check.found(
        facts,
        "The device broke off the program's work: by a fault of a kernel, of the driver or of the device itself.",
        evidence=(quote(error), "torch.version", "nvidia.driver"),
        remedies=(UPGRADE, DRIVER, HARDWARE),
        severity="warning",
        confidence="likely",
        title="The device broke off the program's work.",
    )


def _concluded(facts: Facts, probe: ProbeResult) -> tuple[str, tuple[Remedy, ...]]:
    """What follows from how the probe ended: a sentence («» where the words say it all), and the remedies in order."""
    said = f"{probe.reason}\n{probe.stderr_tail}"
    if KILLED_FOR_MEMORY.search(said):
        return "The machine's memory, or that of its control group, ran out.", (MEMORY,)
    if NO_SPACE.search(said):
        return "A disk is full.", (SPACE,)
    if found := LIMIT.search(said):
        limit, value = ("open-files", "65536") if "files" in found[0] else ("processes", "4096")
        raised = Remedy(action="raise-limit", details={"limit": limit, "value": value})
        return "The process came to a limit that the system sets it.", (raised,)
    if probe.device.startswith("cuda") and (HARDWARE_WORDS.search(said) or heard(facts, "uncorrectable-ecc")):
        return "The device itself reports the error.", (HARDWARE, REBOOT)
    unset = tuple(Remedy(action="unset-env", details={"name": name}) for name in _changing(facts))
    why = "A variable that changes how it computes is set: try without it first." if unset else ""
    rest = _of_place(facts, probe)
    return " ".join(part for part in (why, rest[0]) if part), (*unset, *rest[1])


def _of_place(facts: Facts, probe: ProbeResult) -> tuple[str, tuple[Remedy, ...]]:
    """What the stage tells: everything fails, one kind of computation, or what is no computation of the device."""
    cpu = probe.device == "cpu"
    hung = probe.status == "timed-out"
    if hung and IN_KERNEL in probe.reason:
        return "It waits for the driver, which does not answer.", (REBOOT, DRIVER, HARDWARE)
    if probe.stage in FEATURES:
        return "The device computes; only this part of torch fails.", (UPGRADE, REINSTALL)
    if probe.stage not in FIRST_STAGES and probe.stage is not None and _computed(probe):
        rest = (UPGRADE, REINSTALL) if cpu else (UPGRADE, DRIVER, HARDWARE)
        return "The device computes, and what this stage does fails: that is a matter of this torch first.", rest
    if cpu:
        return "Nothing can be computed, on a CPU that runs everything else.", (UPGRADE, REINSTALL)
    if probe.device == "mps":
        return "Nothing can be computed on it.", (Remedy(action="upgrade-os"), UPGRADE)
    works = any(p.status == "ok" and p.device != "cpu" and p.device != probe.device for p in facts.probes or ())
    if works:
        return "Another device of this machine passed: this one, not torch, is at fault.", (REBOOT, HARDWARE, DRIVER)
    return "Nothing can be computed on it.", (REBOOT, DRIVER, UPGRADE, HARDWARE) if hung else (DRIVER, UPGRADE, REBOOT)


def _computed(probe: ProbeResult) -> bool:
    """Whether a first computation on the device is known to have succeeded."""
    return any(stage.name == "kernel" and stage.ok for stage in probe.stages)


def _changing(facts: Facts) -> Iterator[str]:
    """The variables that are set and that change the operations of the probe."""
    return (name for name in CHANGING if (facts.environ or {}).get(name))


def _end(probe: ProbeResult) -> str:
    """ "was ended by signal 11 (SIGSEGV)", "did not come back", ..."""
    if probe.status == "timed-out":
        return "did not come back"
    if probe.signal:
        return f"was ended by signal {probe.signal} ({SIGNALS.get(probe.signal, 'unknown')})"
    if probe.status == "crashed":
        return f"ended with code {probe.exit_code}"
    return "met an error"
