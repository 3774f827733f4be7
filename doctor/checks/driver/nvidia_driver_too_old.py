"""The NVIDIA driver is too old for this torch.

What it means
    A CUDA build of torch needs a driver that can run its CUDA version, of a branch that knows the GPU. With an older one
    torch.cuda.is_available() is False, or the first kernel fails with «driver version is insufficient». Within one CUDA
    major version any driver from that major's first one on will do (minor-version compatibility).

How to see it yourself
    nvidia-smi shows the driver's version; python -c "import torch; print(torch.version.cuda)" what the build needs.

What to do
    Update the driver. Where that is not possible, install the newest torch build whose CUDA version the driver can run.

References
    https://docs.nvidia.com/deploy/cuda-compatibility/minor-version-compatibility.html
    https://docs.nvidia.com/cuda/cuda-toolkit-release-notes/ (tables 2 and 3)
"""

from doctor.checks import Check, Judgement
from doctor.knowledge import lookup
from doctor.model.facts import Facts
from doctor.model.finding import Evidence, Remedy

check = Check(
    severity="fault",
    needs=("nvidia.driver",),
    explains=("torch-cpu-only",),
)


@check
def judge(facts: Facts) -> Judgement:
    driver = facts.nvidia.driver
    if not driver:
        return None
    system = "windows" if facts.host.system == "windows" or facts.host.wsl else "linux"
    if (early := _older_than_the_gpus_first_branch(facts, driver)) is not None:
        return early
    cuda = facts.torch.cuda if facts.torch else None
    if not cuda or lookup.driver_runs(driver, cuda, system) is not False:
        return None
    need = lookup.driver_need(cuda, system)
    assert need is not None and facts.torch
    return check.found(
        facts,
        f"torch {facts.torch.version} needs driver {need.minimum} or newer; this machine has {driver}.",
        evidence=(
            "nvidia.driver",
            Evidence(fact="needed", value=need.minimum, source=need.why),
            "torch.cuda",
        ),
        remedies=(
            Remedy(action="upgrade-driver", details={"minimum": need.minimum}),
            Remedy(action="downgrade-torch"),
        ),
        driver=driver, needed=need.minimum, cuda=cuda,
    )


def _older_than_the_gpus_first_branch(facts: Facts, driver: str) -> Judgement:
    """A driver that does not know the GPU can run nothing on it, whatever torch is installed."""
    for gpu in facts.gpus or ():
        model = lookup.gpu_model(gpu.name, gpu.pci_id) if gpu.vendor == "nvidia" else None
        capability = gpu.capability or (model.capability if model else None)
        first, _ = lookup.branches_of(capability) if capability else (None, None)
        if first and int(driver.split(".")[0]) < first:
            return check.found(
                facts,
                f"{gpu.name} needs a driver of branch {first} or newer; this machine has {driver}.",
                evidence=("nvidia.driver", Evidence(fact="needed", value=str(first), source="first branch that knows the GPU")),
                remedies=(Remedy(action="upgrade-driver", details={"minimum": str(first)}),),
                driver=driver, needed=str(first), gpu=gpu.name,
            )
    return None
