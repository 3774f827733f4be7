"""A device can't complete the probe: it crashes, hangs or raises an error.

What it means
    A child process that computes on this device was ended by a signal, did not come back in time, or met an error
    of the driver or of torch.

How to see it yourself
    torchdoctor probe --device DEVICE names the stage; python -X faulthandler shows the place

What to do
    Install the newest torch that serves the device, and the newest driver; reboot if the device hangs. Errors in
    the system's log (dmesg) at that time point to the hardware.

References
    https://docs.nvidia.com/deploy/xid-errors/
"""

from doctor.checks import Check, Judgement, Unknown
from doctor.checks._torch import import_failure
from doctor.model.facts import Facts, ProbeResult
from doctor.model.finding import Evidence, Finding, Remedy

check = Check(
    severity="fault",
    needs=("probes",),
    usual=(Remedy(action="reinstall-torch"), Remedy(action="upgrade-driver"), Remedy(action="hardware-service")),
)

SIGNALS = {4: "SIGILL", 6: "SIGABRT", 7: "SIGBUS", 8: "SIGFPE", 9: "SIGKILL", 10: "SIGBUS", 11: "SIGSEGV"}
NO_ROOM = ("out of memory", "OutOfMemoryError", "CUBLAS_STATUS_ALLOC_FAILED")


@check
def judge(facts: Facts) -> Judgement:
    if import_failure(facts):
        return None  # it never came to the device
    found: list[Finding] = []
    for probe in facts.probes or ():
        failed = (
            probe.status == "failed" and not probe.data.get("wrong") and not any(t in probe.reason for t in NO_ROOM)
        )
        if probe.status not in ("crashed", "timed-out") and not failed:
            continue
        found.append(
            check.found(
                facts,
                f"{probe.device}: the probe {_end(probe)}{f' in stage «{probe.stage}»' if probe.stage else ''}"
                + (f": {probe.reason}" if probe.reason else "."),
                evidence=(
                    Evidence(fact=probe.device, value=_end(probe), source="probe", quote=probe.stderr_tail[-300:]),
                    "torch.version",
                    "nvidia.driver",
                ),
                remedies=(Remedy(action="reboot"), Remedy(action="upgrade-torch"), Remedy(action="upgrade-driver"))
                if probe.status == "timed-out"
                else (
                    Remedy(action="reinstall-torch"),
                    Remedy(action="upgrade-driver"),
                    Remedy(action="hardware-service"),
                ),
                title=f"{probe.device} can't complete the probe.",
                device=probe.device,
                stage=probe.stage,
                signal=probe.signal,
            )
        )
    unseen = [p for p in facts.probes or () if p.status == "skipped" and p.stage]
    if unseen and not found:
        return Unknown(f"{unseen[0].device}: the probe never came to the device: {unseen[0].reason}")
    return found or None


def _end(probe: ProbeResult) -> str:
    """ "was ended by signal 11 (SIGSEGV)", "did not come back", ..."""
    if probe.status == "timed-out":
        return "did not come back"
    if probe.signal:
        return f"was ended by signal {probe.signal} ({SIGNALS.get(probe.signal, 'unknown')})"
    if probe.status == "crashed":
        return f"ended with code {probe.exit_code}"
    return "met an error"
