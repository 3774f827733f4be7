"""The memory for MPS is used up.

What it means
    The GPU of a Mac shares the machine's memory; torch stops at a part of it (the high watermark). The model, the
    batch and other programs need more than there is.

How to see it yourself
    The message tells how much torch holds, how much others hold, and how much is allowed; Activity Monitor shows
    the programs.

What to do
    Take a smaller batch or model, or 16-bit weights; close other programs. PYTORCH_MPS_HIGH_WATERMARK_RATIO=0.0
    lifts the limit: macOS may then start to swap, or hang.

References
    https://docs.pytorch.org/docs/stable/mps_environment_variables.html
"""

from doctor.checks import Check, Judgement
from doctor.checks._machine import heard
from doctor.checks._torch import quote
from doctor.model.facts import Facts
from doctor.model.finding import Remedy

check = Check(
    severity="fault",
    needs=("messages",),
    systems=("darwin",),
    usual=(Remedy(action="reduce-memory"),),
    instead_of=("program-error", "device-crashes"),
)

NAME = "PYTORCH_MPS_HIGH_WATERMARK_RATIO"


@check
def judge(facts: Facts) -> Judgement:
    if error := heard(facts, "mps-out-of-memory", "mps-oom-other-allocations"):
        return check.found(
            facts,
            "MPS has no more memory within its limit.",
            evidence=(quote(error), "host.memory_bytes", "torch.version", "host.macos"),
            remedies=(Remedy(action="reduce-memory"), Remedy(action="set-env", details={"name": NAME, "value": "0.0"})),
        )
    if error := heard(facts, "mps-invalid-buffer-size"):
        return check.found(
            facts,
            "A single tensor is larger than the largest buffer of Metal on this Mac.",
            evidence=(quote(error), "host.memory_bytes", "torch.version", "host.macos"),
            remedies=(Remedy(action="reduce-memory"),),
        )
    if error := heard(facts, "mps-watermark-ratio"):
        low = Remedy(action="set-env", details={"name": "PYTORCH_MPS_LOW_WATERMARK_RATIO", "value": "0.0"})
        return check.found(
            facts,
            "The low watermark is above the high one: whoever lowers the high one must set both.",
            evidence=(quote(error),),
            remedies=(low, Remedy(action="unset-env", details={"name": NAME})),
        )
    return None
