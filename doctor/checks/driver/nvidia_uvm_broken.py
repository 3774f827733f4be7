"""The driver answers, but CUDA itself can't start: its memory module nvidia_uvm is not usable.

What it means
    CUDA needs the kernel module nvidia_uvm and its node /dev/nvidia-uvm. After suspend and resume, or where the node is
    missing, nvidia-smi goes on working and every CUDA program ends with «unknown error» (999).

How to see it yourself
    ls -l /dev/nvidia-uvm; lsmod | grep nvidia_uvm; nvidia-smi shows the GPU all the same.

What to do
    Unload and load nvidia_uvm while nothing uses the GPU, or restart.

References
    https://docs.nvidia.com/cuda/cuda-runtime-api/group__CUDART__TYPES.html (error 999)
    https://github.com/pytorch/pytorch/issues/49081
    https://github.com/pytorch/pytorch/issues/115340
"""

from __future__ import annotations

from doctor.checks import Check, Fit, Judgement
from doctor.checks._machine import absent, cuda_works, driver_answers, heard, in_container, on_mac, on_wsl
from doctor.checks._torch import installed, quote
from doctor.model.facts import ErrorText, Facts
from doctor.model.finding import Remedy
from doctor.regex import Regex

RELOAD = Remedy(
    action="load-module",
    details={"module": "nvidia_uvm", "reload": "yes"},
    text="Unload and load nvidia_uvm while nothing uses the GPU.",
)
REBOOT = Remedy(action="reboot")

check = Check(
    severity="fault",
    needs=("messages",),
    systems=("linux", "windows"),
    keeps_from=("nvidia",),
    usual=(RELOAD, REBOOT),
    explains=("torch-cpu-only", "device-crashes"),
    instead_of=("program-error", "no-accelerator"),
)

UNKNOWN_ERROR = 999
START = Regex(r"[/\\]torch[/\\]cuda[/\\]__init__\.py$")  # where torch starts CUDA
SYSTEM_CALL_FAILED = 304


@check
def judge(facts: Facts) -> Judgement:
    if on_mac(facts) or facts.host.jetson:
        return None
    error = heard(facts, "cuda-unknown-error", "cuda-error-999")
    if error and error.pattern == "cuda-error-999" and (on_wsl(facts) or _while_computing(facts, error)):
        error = None  # there is no such module in WSL, and later calls say the same of other failures
    without_node = facts.nvidia.uvm_node is False and facts.nvidia.cuinit == SYSTEM_CALL_FAILED
    if error or facts.nvidia.cuinit == UNKNOWN_ERROR or without_node:
        return _found(facts, error)
    torch = installed(facts)
    unavailable = torch is not None and bool(torch.cuda) and torch.cuda_available is False
    started = facts.nvidia.cuinit == 0 or cuda_works(facts)
    if (
        facts.nvidia.uvm_node is False
        and driver_answers(facts)
        and facts.nvidia.device_nodes
        and unavailable
        and not started
    ):
        return _found(facts, None)
    return None


def _while_computing(facts: Facts, error: ErrorText) -> bool:
    """Whether nothing shows that it was CUDA's start that failed: any call ends so whose kernel broke off."""
    without_gpu = facts.gpus == () and not facts.live
    words = "CUDA error: unknown error" in error.text and "initialization" not in error.text
    return without_gpu or (words and not START.search(error.path or ""))


@check.fit
def fits(facts: Facts) -> Fit | None:
    if (error := heard(facts, "cuda-error-999")) and not facts.live and _while_computing(facts, error):
        return Fit(0.1, "nothing shows that it is CUDA's start that fails")
    if facts.nvidia.cuinit == 0:
        return Fit(0.02, "CUDA starts")
    if facts.nvidia.cuinit is not None:
        return Fit(0.1, f"CUDA's start gave {facts.nvidia.cuinit}, not {UNKNOWN_ERROR}")
    if on_wsl(facts) or absent(facts.nvidia.driver):
        return Fit(0, "there is no module nvidia_uvm here")
    if facts.host.system == "windows":
        return Fit(0.5, "Windows has no module nvidia_uvm, though CUDA's start can fail there, too")
    return Fit(2, "/dev/nvidia-uvm is missing") if facts.nvidia.uvm_node is False else None


def _found(facts: Facts, error: ErrorText | None) -> Judgement:
    driver = f"The driver ({facts.nvidia.driver}) answers" if driver_answers(facts) else "A driver was found"
    node = "; /dev/nvidia-uvm is missing" if facts.nvidia.uvm_node is False else ""
    modules = facts.host.system in (None, "linux") and not on_wsl(facts)
    container = Remedy(action="container-flag", details={"flag": "--device=/dev/nvidia-uvm"})
    remedies = (RELOAD, REBOOT) if modules else (REBOOT,)
    if in_container(facts) and facts.nvidia.uvm_node is False:
        remedies = (container, *remedies)
    return check.found(
        facts,
        f"{driver}, but CUDA's start ends with error {facts.nvidia.cuinit or UNKNOWN_ERROR}{node}.",
        evidence=(
            quote(error) if error else None,
            "nvidia.cuinit",
            "nvidia.uvm_node",
            "nvidia.driver",
            "torch.cuda_available",
        ),
        remedies=remedies,
        confidence="certain" if driver_answers(facts) else "likely",
        driver=facts.nvidia.driver or None,
    )
