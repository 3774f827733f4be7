"""The GPU is there, and torch can't use it; no known fault explains that.

What it means
    The machine has an accelerator, its driver answers, the installed build of torch has code for it, and torch does not
    use it all the same. No diagnosis that torchdoctor knows is behind it. The finding says what was seen, and what is
    tried first by those who meet such machines.

How to see it yourself
    NVIDIA: nvidia-smi, then CUDA's own samples (deviceQuery). AMD: rocminfo. Intel: sycl-ls. Mac: system_profiler
    SPDisplaysDataType. Then: python -c "import torch; torch.zeros(1, device='cuda')" (mps, xpu), with its whole error.

What to do
    In this order: try it outside the container, the batch job or the notebook; restart the machine; make a new
    environment with torch alone; install the driver anew. If that does not help, report it to PyTorch with the output
    of python -m torch.utils.collect_env.

References
    https://docs.pytorch.org/docs/stable/notes/cuda.html
    https://github.com/pytorch/pytorch/issues/new/choose
"""

from __future__ import annotations

from collections.abc import Mapping

from doctor.checks import Check, Judgement, Unknown
from doctor.checks._accelerators import accelerators
from doctor.model.facts import Facts
from doctor.model.finding import Remedy

REBOOT = Remedy(action="reboot")
AFRESH = Remedy(
    action="reinstall-torch",
    text="Install torch anew, best in an environment that holds nothing else.",
)
CONTAINER = Remedy(
    action="restart-container",
    text="Start the container again: after an update of the host's driver the old one keeps the former libraries.",
)
DRIVER = Remedy(action="install-driver", text="Install the GPU's driver anew, in its current version.")
ASK = Remedy(action="ask-provider", text="Ask whoever runs the machine whether the GPU was given to this account.")

# What is tried first, by vendor.
TRY: Mapping[str, tuple[Remedy, ...]] = {
    "nvidia": (REBOOT, AFRESH, DRIVER, ASK),
    "amd": (
        Remedy(action="group-membership", details={"groups": "render,video"}),
        REBOOT,
        AFRESH,
        Remedy(action="install-driver", details={"vendor": "amd"}),
    ),
    "intel": (
        Remedy(action="install-system-package", details={"package": "intel-compute-runtime (Level Zero)"}),
        REBOOT,
        AFRESH,
        Remedy(action="install-driver", details={"vendor": "intel"}),
    ),
    "apple": (AFRESH, REBOOT, Remedy(action="upgrade-os")),
}

check = Check(
    severity="fault",
    concluded=True,
    needs=("gpus", "torch.imports", "torch.devices"),
    keeps_from=("nvidia", "amd", "intel", "apple"),
    usual=(REBOOT, AFRESH, DRIVER, ASK),
    instead_of=("no-accelerator",),
)


def what_to_try(vendor: str, facts: Facts) -> tuple[Remedy, ...]:
    """The remedies for a GPU of that vendor, in the order in which to try them."""
    first = (CONTAINER,) if facts.host.container else ()
    return (*first, *TRY.get(vendor, check.usual))


@check
def judge(facts: Facts) -> Judgement:
    """Nothing is found here: it is concluded when all other checks have answered (doctor/accounting)."""
    left = [a.label for a in accelerators(facts) if a.state == "unused"]
    return Unknown(f"whether another fault explains that torch does not use {left[0]}") if left else None
