"""The GPUs are joined by NVSwitch, and the fabric manager that must start them is not running.

What it means
    On machines with NVSwitch (HGX, DGX) CUDA waits until the service nvidia-fabricmanager has set up the fabric, and
    says error 802, «system not yet initialized», until then. The service must be of exactly the driver's version.

How to see it yourself
    systemctl status nvidia-fabricmanager; nvidia-smi -q | grep -A2 Fabric shows a state other than Completed.

What to do
    Start the service. If it is missing or of another version than the driver, install the matching one.

References
    https://docs.nvidia.com/datacenter/tesla/fabric-manager-user-guide/
    https://docs.nvidia.com/cuda/cuda-runtime-api/group__CUDART__TYPES.html (error 802)
"""

from __future__ import annotations

import re

from doctor.checks import Check, Fit, Judgement
from doctor.checks._machine import absent, cuda_refused, cuda_works, gpus_of, heard, shown
from doctor.checks._torch import quote
from doctor.model.facts import Facts
from doctor.model.finding import Remedy
from doctor.regex import Regex

START = Remedy(action="start-service", details={"service": "nvidia-fabricmanager"})
INSTALL = Remedy(
    action="install-system-package",
    details={"package": "nvidia-fabricmanager"},
    text="Install the fabric manager of exactly the driver's version.",
)

check = Check(
    severity="fault",
    needs=("messages",),
    systems=("linux",),
    keeps_from=("nvidia",),
    usual=(START, INSTALL),
    explains=("torch-cpu-only", "device-crashes"),
    instead_of=(
        "nvidia-uvm-broken",
        "gpu-hidden",
        "nvidia-driver-library-mismatch",
        "gpu-hardware-fault",
        "program-error",
    ),
)

NOT_READY = 802
# As nvidia-smi names them: GPUs of boards with NVSwitch, and GPUs that such boards may hold.
SWITCHED = Regex(r"SXM(?!2)|\bHGX\b|\bHBM3|\bH200$|\bB[123]00\b|\bGB[123]00\b")
MAY_BE = Regex(r"\b(?:A100|A800|H100|H800|H20)\b(?!.*(?:PCI|NVL))", re.IGNORECASE)
STATES = {
    "stopped": "; nvidia-fabricmanager is not running",
    "unfinished": "; their fabric is not set up: nvidia-fabricmanager has not done its work",
}


@check
def judge(facts: Facts) -> Judgement:
    nvidia = facts.nvidia
    other = heard(facts, "fabric-manager-version-differs")
    version = nvidia.fabric_manager_version
    differs = bool(version and nvidia.driver and version != nvidia.driver) and not cuda_works(facts)
    if other or differs:
        versions = other.groups if other and len(other.groups) == 2 else (version, nvidia.driver)
        return check.found(
            facts,
            f"The fabric manager is {versions[0]}, the driver {versions[1]}: they must be of "
            "one version, so the service does not start.",
            evidence=(
                quote(other) if other else None,
                "nvidia.fabric_manager_version",
                "nvidia.driver",
                "nvidia.fabric_manager",
            ),
            remedies=(INSTALL, START),
        )
    error = heard(facts, "cuda-error-802", "system-not-yet-initialized")
    said = error is not None or nvidia.cuinit == NOT_READY
    if not said and not _waits_for_it(facts):
        return None
    missing = absent(nvidia.fabric_manager)
    state = STATES.get(str(nvidia.fabric_manager), "")
    what = "CUDA says that the system is not yet initialized (802)" if said else "torch can't use the GPUs"
    return check.found(
        facts,
        f"{what}{'; there is no nvidia-fabricmanager' if missing else state}.",
        evidence=(
            quote(error) if error else None,
            "nvidia.cuinit",
            "nvidia.fabric_manager",
            shown(facts, "nvidia"),
            "nvidia.driver",
        ),
        remedies=(INSTALL, START) if missing else (START, INSTALL),
        confidence="certain" if said and (nvidia.fabric_manager or missing) else "likely",
    )


@check.fit
def fits(facts: Facts) -> Fit | None:
    if facts.nvidia.cuinit == 0:
        return Fit(0.02, "CUDA starts")
    names = [gpu.name or "" for gpu in gpus_of(facts, "nvidia")]
    if joined := next((name for name in names if SWITCHED.search(name)), None):
        return Fit(4, f"{joined} is built for NVSwitch")
    if not any(names) or any(MAY_BE.search(name) for name in names):
        return None
    return Fit(0.05, f"{next(filter(None, names))} has no NVSwitch")


def _waits_for_it(facts: Facts) -> bool:
    """Without CUDA's own words: the GPUs are there, their fabric is not, and torch can't use CUDA."""
    return (
        str(facts.nvidia.fabric_manager) in STATES
        and cuda_refused(facts)
        and bool(gpus_of(facts, "nvidia"))
        and not facts.nvidia.smi_error
    )
