"""The GPU is older than any that this torch build has code for.

What it means
    Each release of torch and each CUDA version drop the oldest GPU generations: Kepler, then Maxwell and Pascal,
    then Volta. A build without code for the GPU's compute capability prints a warning and fails at the first
    kernel: «no kernel image is available for execution on the device».

How to see it yourself
    python -c "import torch; print(torch.cuda.get_arch_list(), torch.cuda.get_device_capability())"

What to do
    Install a build that still has the generation: often the same release for an older CUDA version (cu126 has
    Maxwell to Volta up to torch 2.14), else an older release.

References
    https://github.com/pytorch/pytorch/blob/main/RELEASE.md
    https://developer.nvidia.com/cuda-legacy-gpus
"""

from dataclasses import replace

from doctor.checks import Check, Fit, Judgement
from doctor.checks._machine import heard, on_mac
from doctor.checks._torch import capability_of, gpus_of, installed, kind, numbers, quote, search, served_by
from doctor.checks.torch._architecture import KEPLER_ENDS as FIRST
from doctor.checks.torch._architecture import fits_age, unserved
from doctor.model.facts import ErrorText, Facts, Interpreter, Nvidia
from doctor.model.finding import Evidence, Remedy
from doctor.regex import Regex

check = Check(
    severity="fault",
    needs=("gpus", "torch.version", "torch.arch_list"),
    systems=("linux", "windows"),
    usual=(Remedy(action="reinstall-torch"), Remedy(action="downgrade-torch")),
    explains=("device-crashes", "device-wrong-results", "extension-abi-mismatch"),
    instead_of=("program-error",),
)


NEEDED = Regex(r"requires \.target sm_(\d+)(\d) or higher")


@check
def judge(facts: Facts) -> Judgement:
    return unserved(check, facts, newer=False) or _never_served(facts) or _said(facts)


def _said(facts: Facts) -> Judgement:
    """Kernels that a GPU is too old for: Triton's, or a package's own."""
    error, confidence = heard(facts, "gpu-too-old-for-kernels"), "certain"
    if error is None:
        error, confidence = _needs_newer(facts), "likely"
    if error is None:
        return None
    return check.found(
        facts,
        "The kernels that the program asks for have no code for a GPU as old as this one.",
        evidence=(quote(error), "torch.version"),
        remedies=(
            Remedy(
                action="none",
                details={"reason": "no release of these kernels serves this GPU: choose another way of the program's"},
            ),
        ),
        title="The GPU is too old for the kernels that are asked for.",
        confidence=confidence,
    )


def _needs_newer(facts: Facts) -> ErrorText | None:
    """ptxas refuses an instruction that only newer GPUs have, and with it the code that was made for this one."""
    found = search(facts, NEEDED)
    asked = found and f"{found[1][1]}.{found[1][2]}"
    known = [c for g in gpus_of(facts, "nvidia") if (c := capability_of(g))]
    if found is None or (known and all(numbers(c) >= numbers(str(asked)) for c in known)):
        return None  # the code was made for another GPU than that
    return found[0]


@check.fit
def fits(facts: Facts) -> Fit | None:
    if _never_served(facts):
        return Fit(6, "no build has code for this GPU")
    return fits_age(facts, newer=False)


def _never_served(facts: Facts) -> Judgement:
    """A CPU build, beside a GPU that is too old for every build that this machine could have: a note that says so."""
    torch = installed(facts)
    old = [g for g in gpus_of(facts, "nvidia") if (c := capability_of(g)) and numbers(c) < FIRST]
    if kind(facts) != "cpu" or not old or len(old) < len(facts.gpus or ()) or on_mac(facts):
        return None
    newer = replace(facts, nvidia=Nvidia(), interpreter=Interpreter())  # whatever the driver and the Python
    if served_by(newer, "cuda"):
        return None  # torch-cpu-only
    name, capability = old[0].name or "The GPU", capability_of(old[0])
    return check.found(
        facts,
        f"{name} has compute capability {capability}: no build of torch for this machine has code for it.",
        evidence=(Evidence(fact="gpu", value=f"{name}, compute capability {capability}"), "torch.version"),
        severity="note",
        remedies=(Remedy(action="none", details={"reason": "no build of torch serves this GPU: the CPU is left"}),),
        title="No build of torch serves this GPU.",
        gpu=name,
        capability=capability,
        torch=torch.version if torch else None,
    )
