"""The GPU is newer than any that this torch build has code for.

What it means
    A build holds machine code for a list of architectures. A GPU runs code of its own major compute capability with
    the same or a lower minor one, or PTX of any older one; a newer generation than the list has nothing to run: «no
    kernel image is available». torch.cuda.is_available() is True all the same.

How to see it yourself
    python -c "import torch; print(torch.cuda.get_arch_list(), torch.cuda.get_device_capability())"

What to do
    Install a build with a newer CUDA version, which knows this generation.

References
    https://docs.nvidia.com/cuda/cuda-c-programming-guide/#binary-compatibility
    https://developer.nvidia.com/cuda-gpus
"""

from doctor.checks import Check, Fit, Judgement
from doctor.checks.torch._architecture import fits_age, unserved
from doctor.model.facts import Facts
from doctor.model.finding import Remedy

check = Check(
    severity="fault",
    needs=("gpus", "torch.version", "torch.arch_list"),
    systems=("linux", "windows"),
    usual=(Remedy(action="reinstall-torch", details={"backend": "cuda"}), Remedy(action="upgrade-torch")),
    explains=("device-crashes", "device-wrong-results", "extension-abi-mismatch"),
    instead_of=("program-error",),
)


@check
def judge(facts: Facts) -> Judgement:
    return unserved(check, facts, newer=True)


@check.fit
def fits(facts: Facts) -> Fit | None:
    return fits_age(facts, newer=True)
