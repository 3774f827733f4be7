"""torch is a CPU build, on a machine with a GPU that it could use.

What it means
    This build holds no code for any GPU: torch.cuda.is_available() is False whatever the driver says. On Windows
    the package index has CPU builds only; conda, too, falls back to a CPU build where its solver finds no CUDA one.

How to see it yourself
    python -c "import torch; print(torch.__version__, torch.version.cuda, torch.version.hip)" (a +cpu, or None and
    None)

What to do
    Install the build for this GPU and driver from torch's own index, over the installed one.

References
    https://pytorch.org/get-started/locally/
"""

import re
from dataclasses import replace

from doctor.checks import Check, Fit, Judgement
from doctor.checks._machine import heard, no_gpu_given, wants_no_gpu
from doctor.checks._torch import (
    SAID_BY_CUDA_BUILDS,
    capability_of,
    gfx_of,
    gpus_of,
    import_failure,
    installed,
    kind,
    quote,
    search,
    served_by,
    wanted_backend,
)
from doctor.model.facts import ABSENT, ErrorText, Facts, Gpu, Torch
from doctor.model.finding import Evidence, Remedy
from doctor.regex import Regex

check = Check(
    severity="fault",
    needs=("torch.version", "torch.cuda", "gpus"),
    systems=("linux", "windows"),
    keeps_from=("nvidia", "amd", "intel"),
    usual=(Remedy(action="reinstall-torch"),),
    explains=("program-error", "extension-abi-mismatch"),
)

REINSTALL_FOR_XPU = Remedy(action="reinstall-torch", details={"backend": "xpu"})
# said of its kernels by a CUDA build alone: a CPU build that is named beside it is not the one that runs
OF_KERNELS = ("no-kernel-image", "capability-too-new", "capability-too-old", "no-kernels-for-this-gpu")
HIDDEN = frozenset({"", "-1", "NoDevFiles"})
DISCRETE_INTEL = Regex(r"\bArc\b.*\b[AB]\d{2,3}|Data Center GPU|Iris.*Max", re.IGNORECASE)
BUILT_FOR_CUDA = Regex(r"built for[\s\S]*?([\d.]+)\+(cu\d+)[\s\S]*?you have ([\d.]+\+cpu)")


@check
def judge(facts: Facts) -> Judgement:
    torch = installed(facts)
    if import_failure(facts) or facts.host.system == "darwin" or _another_build_ran(facts):
        return None
    if torch is None or kind(facts) is None:
        return _by_message(facts)
    if kind(facts) != "cpu":
        return None
    accelerator, gpu = usable_gpu(facts)
    if accelerator is None:
        return _asked_for_cuda(facts) or _by_message(facts)
    if not _could_serve(facts, accelerator) or _hidden_on_purpose(facts, accelerator):
        return None
    name = (gpu.name if gpu else None) or f"The {accelerator} GPU"
    return check.found(
        facts,
        f"{name} is there, but torch {torch.version} is a CPU build.",
        evidence=("torch.version", "torch.cuda", "nvidia.driver" if accelerator == "cuda" else None),
        remedies=(Remedy(action="reinstall-torch"),),
        torch=torch.version,
        gpu=name,
    )


@check.fit
def fits(facts: Facts) -> Fit | None:
    found, torch = kind(facts), installed(facts)
    if import_failure(facts):
        return Fit(0.05, "torch does not import, whatever it was built for")
    if _another_build_ran(facts) or heard(facts, *SAID_BY_CUDA_BUILDS):
        return Fit(0.05, "what is said is said by a CUDA build")
    if no_gpu_given(facts):
        return Fit(0, "no GPU is there that another build could use")
    if found == "cpu":
        return Fit(6, f"torch {torch.version if torch else ''} is a CPU build")
    if found:
        return Fit(0, f"the installed build is for {found}")
    if facts.gpus and all(g.vendor == "amd" for g in facts.gpus):
        return Fit(0.3, "the GPU is AMD's, which a build for NVIDIA's leaves unused as well")
    if facts.host.container:
        return Fit(0.3, "a container's image mostly brings the build that it was made for")
    if heard(facts, "names-another-runtime"):
        return Fit(0.6, "a library is named that computes without torch")
    if facts.host.system == "windows":
        return Fit(3, "for Windows the package index has CPU builds alone")
    return None


def _another_build_ran(facts: Facts) -> bool:
    return not facts.live and heard(facts, *OF_KERNELS) is not None


def _could_serve(facts: Facts, accelerator: str) -> bool:
    """Whether a build serves the GPU, now or with a newer driver, which alone would not fix this."""
    newer = replace(facts, nvidia=replace(facts.nvidia, driver=None, driver_cuda=None))
    return served_by(facts, accelerator) or (accelerator == "cuda" and served_by(newer, accelerator))


def usable_gpu(facts: Facts) -> tuple[str | None, Gpu | None]:
    """The kind of build that the best GPU wants ("cuda", "rocm", "xpu"), and that GPU."""
    nvidia = [g for g in gpus_of(facts, "nvidia") if g.driver not in ("nouveau", "vfio-pci")]
    if nvidia and facts.nvidia.driver is not ABSENT:
        return "cuda", max(nvidia, key=lambda g: float(capability_of(g) or 0))
    for gpu in gpus_of(facts, "amd"):
        if gfx_of(gpu) and not gpu.integrated and facts.amd.kernel_driver is not False:
            return "rocm", gpu
    for gpu in gpus_of(facts, "intel"):
        if not gpu.integrated and DISCRETE_INTEL.search(gpu.name or ""):
            return "xpu", gpu
    return None, None


def _hidden_on_purpose(facts: Facts, accelerator: str) -> bool:
    names = {
        "cuda": ("CUDA_VISIBLE_DEVICES",),
        "rocm": ("HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES"),
        "xpu": ("ZE_AFFINITY_MASK",),
    }
    return any((facts.environ or {}).get(n, "all").strip() in HIDDEN for n in names[accelerator])


def _asked_for_cuda(facts: Facts) -> Judgement:
    """A CUDA build was asked for, and this is what came of it. On a machine of which the GPUs are not known."""
    attempt = next((a for a in facts.attempts if a.failed is not True and wanted_backend(a)[1] == "cuda"), None)
    if attempt is None or facts.gpus == () or kind(facts) != "cpu":
        return None
    asked, torch = wanted_backend(attempt)[0], installed(facts)
    return check.found(
        facts,
        f"A build for {asked} was asked for, but torch {torch.version if torch else ''} is a CPU build.",
        evidence=(
            "torch.version",
            "torch.cuda",
            Evidence(fact="asked for", value=str(asked), quote=attempt.command or ""),
        ),
        remedies=(Remedy(action="reinstall-torch", details={"backend": str(asked)}),),
        confidence="likely",
        torch=torch.version if torch else None,
        asked=asked,
    )


def _by_message(facts: Facts) -> Judgement:
    """A program that asks for CUDA of a CPU build, on a machine of which the GPUs are not known."""
    if facts.host.system == "darwin" or facts.gpus == () or kind(facts) not in (None, "cpu") or _uses_a_gpu(facts):
        return None
    if wants_no_gpu(facts):
        return None
    if lost := heard(facts, "gpu-lost-by-install"):
        return check.found(
            facts,
            f"torch saw the GPU before «{lost.groups[0]}» and not afterwards: another build came along.",
            evidence=(quote(lost), "torch.version", "torch.cuda_available"),
            remedies=(Remedy(action="reinstall-torch", details={"backend": "cuda"}),),
            confidence="likely",
        )
    wanted = search(facts, BUILT_FOR_CUDA)
    error = _not_compiled(facts) or _linked_without_cuda(facts) or (wanted[0] if wanted else None)
    if error is None and kind(facts) == "cpu":
        error = heard(facts, "deserialize-without-cuda")
        error = error or _gpu_is_missed(facts)
    error = error or _without_xpu(facts)
    if error is None:
        return None
    torch = installed(facts)
    version = torch.version if torch else wanted[1][3] if wanted else None
    return check.found(
        facts,
        f"The program wants a GPU, but torch{f' {version}' if version else ''} is a CPU build.",
        evidence=(quote(error), "torch.version", "torch.cuda"),
        remedies=(
            REINSTALL_FOR_XPU
            if error.pattern != "not-compiled-with-cuda" and usable_gpu(facts)[0] == "xpu"
            else _reinstall(wanted),
        ),
        confidence="likely",
        torch=version,
    )


def _uses_a_gpu(facts: Facts) -> bool:
    """torch is known to use one, of whichever maker; its version need not be known."""
    torch = facts.torch
    return isinstance(torch, Torch) and bool(torch.cuda_available or torch.xpu_available or torch.xpu)


def _not_compiled(facts: Facts) -> ErrorText | None:
    """CUDA is asked for. Of a machine with Intel's GPUs alone that tells nothing: no build could give it."""
    only_intel = bool(facts.gpus) and all(g.vendor == "intel" for g in facts.gpus or ())
    without_cuda = heard(facts, "names-another-runtime") and bool(facts.gpus) and not gpus_of(facts, "nvidia")
    return None if only_intel or without_cuda else heard(facts, "not-compiled-with-cuda")


def _gpu_is_missed(facts: Facts) -> ErrorText | None:
    """A program that has found the driver, or somebody whose GPU was used before, misses CUDA."""
    return heard(facts, "complaint-gpu-lost") or (
        heard(facts, "app-finds-no-gpu", "app-uses-cpu") if heard(facts, "app-detects-nvidia") else None
    )


def _linked_without_cuda(facts: Facts) -> ErrorText | None:
    error = heard(facts, "not-linked-with-backend")
    return error if error and "cuda" in error.text else None


def _without_xpu(facts: Facts) -> ErrorText | None:
    """XPU is asked for, with an Intel GPU that it serves, of a torch without XPU."""
    error = heard(facts, "not-compiled-with-other-backend", "not-linked-with-backend")
    return error if error and "xpu" in error.text.lower() and usable_gpu(facts)[0] == "xpu" else None


def _reinstall(wanted: tuple[ErrorText, re.Match[str]] | None) -> Remedy:
    """The CUDA build for which the machine's other packages were made, where a message names it; else any."""
    details = {"torch": f"=={wanted[1][1]}", "backend": wanted[1][2]} if wanted else {"backend": "cuda"}
    return Remedy(action="reinstall-torch", details=details)
