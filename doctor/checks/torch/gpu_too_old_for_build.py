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

from doctor.checks import Check, Fit, Judgement
from doctor.checks.torch._architecture import fits_age, unserved
from doctor.model.facts import Facts
from doctor.model.finding import Remedy

check = Check(
    severity="fault",
    needs=("gpus", "torch.version", "torch.arch_list"),
    systems=("linux", "windows"),
    usual=(Remedy(action="reinstall-torch"), Remedy(action="downgrade-torch")),
    explains=("device-crashes", "device-wrong-results", "extension-abi-mismatch"),
    instead_of=("program-error",),
)


@check
def judge(facts: Facts) -> Judgement:
    return unserved(check, facts, newer=False)


@check.fit
def fits(facts: Facts) -> Fit | None:
    return fits_age(facts, newer=False)
