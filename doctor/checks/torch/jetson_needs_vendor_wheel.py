"""This Jetson needs the torch that NVIDIA builds for it.

What it means
    The GPU of a Jetson (Xavier, Orin) is driven by L4T, not by the driver of desktop cards. The wheels of the
    package index for aarch64 are CPU builds, or are made for servers: they don't use it. NVIDIA and the
    jetson-containers project build torch for each JetPack. From JetPack 7 (L4T 38, Thor) on the server wheels fit.

How to see it yourself
    cat /etc/nv_tegra_release; python -c "import torch; print(torch.__version__, torch.cuda.is_available())"

What to do
    Install the wheel made for this JetPack.

References
    https://docs.nvidia.com/deeplearning/frameworks/install-pytorch-jetson-platform/
    https://github.com/dusty-nv/jetson-containers
"""

from doctor.checks import Check, Fit, Judgement
from doctor.checks._machine import CUDA_WANTED, absent, heard
from doctor.checks._torch import installed, kind, numbers, quote
from doctor.model.facts import ErrorText, Facts, Torch
from doctor.model.finding import Remedy

check = Check(
    severity="fault",
    needs=("host.jetson", "torch.cuda_available"),
    systems=("linux",),
    keeps_from=("nvidia",),
    even_if_listed=True,
    usual=(Remedy(action="reinstall-torch", details={"backend": "jetson"}),),
    explains=("program-error",),
    instead_of=(
        "torch-cpu-only",
        "gpu-too-new-for-build",
        "gpu-too-old-for-build",
        "nvidia-driver-missing",
        "nvidia-driver-too-old",
        "nvidia-driver-not-running",
        "shared-library-missing",
        "backend-impossible-here",
        "no-accelerator",
        "no-matching-wheel",
    ),
)

SERVER_WHEELS_FIT = 38  # the first L4T (JetPack 7, Thor) that runs aarch64 server builds
TEGRA = frozenset({"sm_53", "sm_62", "sm_72", "sm_87"})


@check
def judge(facts: Facts) -> Judgement:
    torch, l4t = installed(facts), facts.host.jetson
    if facts.host.system not in (None, "linux"):
        return None
    message = heard(facts, "tegra-with-generic-torch") or _arm_library(facts)
    message = message or (heard(facts, "torch-of-2017-fetched") if l4t else None)
    if (not l4t and message is None) or (torch and torch.cuda_available and not _no_kernels(facts)):
        return None
    unused = isinstance(facts.torch, Torch) and facts.torch.cuda_available is False
    if message is None and ((torch is None and not unused) or (l4t and numbers(l4t)[:1] >= (SERVER_WHEELS_FIT,))):
        return None
    cpu_build = torch is not None and (absent(torch.cuda) or "+cpu" in (torch.version or ""))
    if message is None and not (unused or cpu_build or heard(facts, *CUDA_WANTED)):
        return None  # a Jetson and a release are named, and nothing says that torch leaves the GPU unused
    own_build = bool(torch and torch.arch_list and TEGRA & set(torch.arch_list)) or bool(
        torch and ".nv" in (torch.version or "")
    )
    if own_build or (torch is not None and kind(facts) not in ("cpu", "cuda") and message is None):
        return None
    known = bool(l4t and numbers(str(l4t)))
    return check.found(
        facts,
        f"torch{f' {torch.version}' if torch else ''} is not built for this Jetson{f' (L4T {l4t})' if known else ''}.",
        evidence=("torch.version", "torch.cuda", "host.jetson", quote(message) if message else None),
        remedies=(Remedy(action="reinstall-torch", details={"backend": "jetson"}),),
        confidence="certain" if torch or message else "likely",
        torch=torch.version if torch else None,
        l4t=l4t or None,
    )


@check.fit
def fits(facts: Facts) -> Fit | None:
    if facts.host.jetson:
        return Fit(6, "this is a Jetson")
    if absent(facts.host.jetson) or facts.host.architecture not in (None, "arm64"):
        return Fit(0, "this is no Jetson")
    return Fit(0.05, "nothing says that this is a Jetson")


def _no_kernels(facts: Facts) -> bool:
    """Server builds find the Orin, but have no code for it."""
    return heard(facts, "no-kernel-image", "capability-too-new", "capability-too-old") is not None


def _arm_library(facts: Facts) -> ErrorText | None:
    """A library of the server wheels that JetPack does not have. NVPL is for ARM only."""
    error = heard(facts, "libnvpl-or-libcudss-missing")
    return error if error and ("nvpl" in error.text or facts.host.architecture == "arm64") else None
