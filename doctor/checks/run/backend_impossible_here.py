"""The program asks for a backend that this machine can never have.

What it means
    CUDA needs an NVIDIA GPU: no Mac of today has one, and no torch for macOS holds CUDA. MPS is for Macs only, XPU
    for Intel GPUs.

How to see it yourself
    The program says device="cuda", .cuda(), or the like.

What to do
    Choose the device at run time: torch.accelerator.current_accelerator() (from 2.6), or "mps" on a Mac, else
    "cpu".

References
    https://docs.pytorch.org/docs/stable/notes/mps.html
    https://docs.pytorch.org/docs/stable/accelerator.html
"""

from doctor.checks import Check, Judgement
from doctor.checks._machine import heard, wants_no_gpu
from doctor.checks._torch import quote, search
from doctor.model.facts import Facts, Torch
from doctor.model.finding import Remedy
from doctor.regex import Regex

CHOOSE = Remedy(
    action="none",
    details={"reason": "let the program choose the device that is there"},
    text="Let the program choose its device at run time.",
)

GLOO = Remedy(
    action="none",
    details={"reason": "let the program use gloo, or one process without torch.distributed"},
    text="Let the program name another backend (init_process_group(backend='gloo')), or run without torch.distributed.",
)

check = Check(severity="warning", needs=("messages",), usual=(CHOOSE,), instead_of=("program-error", "no-accelerator"))

CUDA = ("not-compiled-with-cuda", "cuda-wanted-on-macos", "found-no-nvidia-driver", "no-cuda-gpus", "lightning-no-gpu")
MISSED = ("app-finds-no-gpu", "ultralytics-no-device", "app-uses-cpu")  # in the words of programs
ON_MACS = ("cuda-home-not-set", "xformers-extensions-not-loaded")  # what only NVIDIA's CUDA could give
LINKED = Regex(
    r"PyTorch is not linked with support for (cuda|xpu|mps|hip) devices|"
    r"Torch not compiled with (CUDA|ROCm|XPU|MPS) enabled"
)
MPS = Regex(
    r"device type at start of device string: mps|PyTorch is not linked with support for mps|not compiled with MPS"
)


@check
def judge(facts: Facts) -> Judgement:
    if facts.live:  # torchdoctor asked itself, not a program
        return None
    mac = facts.host.system == "darwin"
    if facts.host.system != "linux" and (error := heard(facts, "nccl-not-built")):
        return check.found(
            facts,
            "The program asks for NCCL, which only builds of torch for GPUs on Linux have.",
            evidence=(quote(error), "host.os_name", "gpus"),
            remedies=(GLOO,),
            wanted="NCCL",
        )
    error = heard(facts, *CUDA, *(ON_MACS if mac else ()), *(MISSED if wants_no_gpu(facts) else ()))
    wanted = "CUDA"
    if found := search(facts, LINKED):
        error, wanted = found[0], (found[1][1] or found[1][2]).upper()
    elif error is None and not mac and (found := search(facts, MPS)):
        error, wanted = found[0], "MPS"
    if error is None or not _impossible(facts, wanted, mac):
        return None
    return check.found(
        facts,
        f"The program asks for {wanted}, which {'a Mac' if mac else 'this machine'} can't have.",
        evidence=(quote(error), "host.os_name", "gpus"),
        remedies=(
            Remedy(
                action="none",
                details={"reason": f"let the program choose the device: {'mps' if mac else 'cpu'} here"},
                text=f"Let the program choose its device at run time; here that is {'mps' if mac else 'cpu'}.",
            ),
        ),
        wanted=wanted,
    )


def _impossible(facts: Facts, wanted: str, mac: bool) -> bool:
    if wanted == "MPS":
        return facts.host.system in ("linux", "windows")
    if mac:
        return True
    if wanted == "CUDA" and facts.gpus and not any(g.vendor == "nvidia" for g in facts.gpus):
        only_intel = all(g.vendor == "intel" for g in facts.gpus)
        return only_intel or (isinstance(facts.torch, Torch) and facts.torch.xpu_available is True)
    if wanted == "CUDA" and wants_no_gpu(facts):
        return True
    return facts.gpus == () and not facts.host.container and not facts.host.wsl
