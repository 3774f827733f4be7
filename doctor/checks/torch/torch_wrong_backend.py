"""torch was built for another maker's GPU.

What it means
    A CUDA build runs on NVIDIA GPUs only, a ROCm build on AMD's, an XPU build on Intel's. On Linux the package
    index has CUDA builds: on a machine with an AMD or Intel GPU they see no GPU at all.

How to see it yourself
    python -c "import torch; print(torch.version.cuda, torch.version.hip)"; lspci | grep -i -E 'vga|3d|display'

What to do
    Install the build for this GPU over the installed one: pip leaves a torch that is there as it is, also when
    another index is named.

References
    https://pytorch.org/get-started/locally/
    https://docs.pytorch.org/docs/stable/notes/get_start_xpu.html
"""

from doctor.checks import Check, Fit, Judgement
from doctor.checks._machine import heard
from doctor.checks._torch import gpus_of, installed, kind, quote, served_by, wanted_backend
from doctor.checks.torch.torch_cpu_only import usable_gpu
from doctor.model.facts import Facts, Gpu
from doctor.model.finding import Evidence, Remedy

check = Check(
    severity="fault",
    needs=("torch.version", "torch.cuda", "torch.hip", "gpus"),
    systems=("linux", "windows"),
    keeps_from=("nvidia", "amd", "intel"),
    usual=(Remedy(action="reinstall-torch"),),
    explains=("program-error",),
    instead_of=("no-accelerator",),
)

MAKERS = {"cuda": "NVIDIA", "rocm": "AMD", "xpu": "Intel"}
VENDORS = {"cuda": "nvidia", "rocm": "amd", "xpu": "intel"}


@check
def judge(facts: Facts) -> Judgement:
    torch, has = installed(facts), kind(facts)
    if asked := _asked_for_another(facts):
        return asked
    if torch is None or has is None:
        return _by_message(facts)
    if has not in MAKERS:
        return None
    wants, gpu = usable_gpu(facts)
    if gpu is None and heard(facts, "found-no-nvidia-driver", "no-cuda-gpus"):
        wants, gpu = _of_a_maker(facts)
    if wants is None or wants == has or gpus_of(facts, VENDORS[has]) or torch.cuda_available or torch.xpu_available:
        return None
    if not served_by(facts, wants):
        return _by_message(facts)
    name = (gpu.name if gpu else None) or f"a GPU of {MAKERS[wants]}"
    return check.found(
        facts,
        f"torch {torch.version} is a build for {MAKERS[has]} GPUs; this machine has {name}.",
        evidence=("torch.version", "torch.cuda", "torch.hip", Evidence(fact="gpu", value=name), _message(facts)),
        remedies=(Remedy(action="reinstall-torch"),),
        torch=torch.version,
        gpu=name,
    )


@check.fit
def fits(facts: Facts) -> Fit | None:
    found = kind(facts)
    if found not in MAKERS and gpus_of(facts, "nvidia"):
        return Fit(0.05, "the GPU is NVIDIA's, for which most builds are made")
    if found is None and facts.host.system == "windows" and facts.gpus and all(g.vendor == "amd" for g in facts.gpus):
        return Fit(4, "the GPU is AMD's, and most builds are for NVIDIA's")
    if found not in MAKERS or not facts.gpus:
        return Fit(0, "the installed build is for the CPU") if found == "cpu" else None
    if gpus_of(facts, VENDORS[found]):
        return Fit(0.02, f"the build is for {MAKERS[found]} GPUs, and there is one")
    return Fit(5, f"the build is for {MAKERS[found]} GPUs, and there is none")


def _by_message(facts: Facts) -> Judgement:
    """What only a CUDA build says, on a machine with another maker's GPU; the version of torch is not known."""
    error = heard(facts, "found-no-nvidia-driver")
    wants, gpu = usable_gpu(facts)
    if gpu is None:
        wants, gpu = _of_a_maker(facts)
    if error is None or gpu is None or wants is None or wants == "cuda" or gpus_of(facts, "nvidia") or facts.host.wsl:
        return None
    served = served_by(facts, wants)
    name = gpu.name or f"a GPU of {MAKERS[wants]}"
    return check.found(
        facts,
        f"torch looks for an NVIDIA GPU, so it is a CUDA build; this machine has {name}"
        + ("." if served else ", for which there is no build here."),
        evidence=(quote(error), Evidence(fact="gpu", value=name)),
        remedies=(Remedy(action="reinstall-torch", details={} if served else {"backend": "cpu"}),),
        confidence="likely",
        gpu=name,
    )


def _of_a_maker(facts: Facts) -> tuple[str | None, Gpu | None]:
    """A GPU of which only the maker is known."""
    for wants, vendor in VENDORS.items():
        for gpu in gpus_of(facts, vendor):
            if gpu.name is None and not gpu.integrated and wants != "cuda":
                return wants, gpu
    return None, None


def _message(facts: Facts) -> Evidence | None:
    error = heard(
        facts, "not-linked-with-backend", "not-compiled-with-other-backend", "found-no-nvidia-driver", "no-cuda-gpus"
    )
    return quote(error) if error else None


def _asked_for_another(facts: Facts) -> Judgement:
    """An installation from another maker's index that left the installed build where it was."""
    torch, has = installed(facts), kind(facts)
    if torch is None:
        return None
    if has is None and facts.host.system == "linux" and "+" not in str(torch.version):
        has = "cuda"  # what the package index has for Linux; wheels of torch's own indexes carry a suffix
    for attempt in facts.attempts:
        index, wants = wanted_backend(attempt)
        if attempt.failed or has not in MAKERS or wants not in MAKERS or wants == has or gpus_of(facts, VENDORS[has]):
            continue
        return check.found(
            facts,
            f"The index asked for has builds for {MAKERS[wants]} GPUs; the torch that is installed, "
            f"{torch.version}, is one "
            f"for {MAKERS[has]} GPUs and was left in place.",
            evidence=(
                "torch.version",
                Evidence(fact="index", value=str(index), source=attempt.tool, quote=attempt.command or ""),
            ),
            remedies=(Remedy(action="reinstall-torch", details={"backend": str(index)}),),
            confidence="likely",
            torch=torch.version,
            index=index,
        )
    return None
