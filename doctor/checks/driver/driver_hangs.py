"""The driver does not answer: calls to it never return.

What it means
    A wedged driver lets nvidia-smi and every program that asks it wait for ever, often in a state that even kill -9
    doesn't end (D). That is not «no driver» and not «no GPU». One slow nvidia-smi alone may be harmless: on servers
    without persistence mode each call wakes the GPUs first.

How to see it yourself
    timeout 30 nvidia-smi; ps -eo pid,stat,wchan,cmd | grep -E ' D|nvidia'; sudo dmesg | tail.

What to do
    Restart the machine. If it comes back, look for Xid messages in dmesg and switch on persistence mode.

References
    https://docs.nvidia.com/deploy/driver-persistence/
    https://docs.nvidia.com/deploy/xid-errors/
"""

from __future__ import annotations

from doctor.checks import Check, Fit, Judgement
from doctor.checks._machine import cuda_works, driver_lists_gpus, heard
from doctor.checks._torch import import_failure, quote
from doctor.model.facts import Facts, Source
from doctor.model.finding import Evidence, Remedy

REMEDIES = (
    Remedy(action="reboot"),
    Remedy(action="stop-process", text="If its process can still be ended, stop the program that holds the GPU."),
)

check = Check(
    severity="fault",
    needs=("messages",),
    keeps_from=("nvidia", "amd", "intel"),
    even_if_imported=True,
    usual=REMEDIES,
    explains=("torch-cpu-only", "torch-import-crashes", "device-crashes", "nvidia-uvm-broken"),
    instead_of=(
        "nvidia-driver-missing",
        "nvidia-driver-not-running",
        "no-accelerator",
        "gpu-hidden",
        "container-without-gpu",
    ),
)

DRIVER_STAGES = ("init", "devices", "cuda", "context", "allocate")


@check
def judge(facts: Facts) -> Judgement:
    silent = [s for s in (*facts.nvidia.sources, *facts.amd.sources, *facts.intel.sources) if s.status == "timed-out"]
    asked = [p for p in facts.probes or () if p.device != "cpu" or p.stage == "driver"]  # the CPU's own has none to ask
    stuck = [s.name for s in silent if s.stuck] + [p.device for p in asked if p.stuck]
    others = _hanging_children(facts)
    blocked = heard(facts, "kernel-task-blocked", "nvidia-smi-in-state-d")
    if not (silent or stuck or blocked):
        return None
    names = [s.name for s in silent] + others
    if blocked or stuck or len(names) > 1:
        who = " and ".join(dict.fromkeys(names or stuck)) or "a process that waits for the driver"
        never = ", not even to be killed" if stuck else ""
        return check.found(
            facts,
            f"Calls to the driver do not return: {who} never answered{never}.",
            evidence=(quote(blocked) if blocked else None, *(_evidence(s) for s in silent)),
            remedies=REMEDIES,
            confidence="certain" if stuck or blocked else "likely",
        )
    source = silent[0]
    return check.found(
        facts,
        f"{source.name} gave {source.message or 'no answer in time'}; nothing else hangs"
        f"{', and torch can use the GPU' if cuda_works(facts) else ''}. What it would have said is not known.",
        title=f"{source.name} did not answer in time.",
        evidence=(_evidence(source),),
        severity="warning",
        remedies=REMEDIES,
    )


@check.fit
def fits(facts: Facts) -> Fit | None:
    return Fit(0.1, "the driver answered nvidia-smi") if driver_lists_gpus(facts) else None


def _hanging_children(facts: Facts) -> list[str]:
    """Our own children that hung while they asked the driver."""
    found = [
        f"the probe of {p.device}"
        for p in facts.probes or ()
        if p.status == "timed-out" and p.device.startswith(("cuda", "xpu"))
    ]
    failure = import_failure(facts)
    if failure and failure.kind == "timed-out" and (failure.stage or "").startswith(DRIVER_STAGES):
        found.append(f"torch ({failure.stage})")
    return found


def _evidence(source: Source) -> Evidence:
    value = "no answer" + (", can't be killed" if source.stuck else "")
    return Evidence(fact=source.name, value=value, source=source.name, quote=source.message)
