"""The NVIDIA driver is too old for this torch.

What it means
    A CUDA build of torch needs a driver that can run its CUDA version, of a branch that knows the GPU. With an older
    one torch.cuda.is_available() is False, or the first kernel fails with «driver version is insufficient». Within one
    CUDA major version any driver from that major's first one on will do (minor-version compatibility).

How to see it yourself
    nvidia-smi shows the driver's version; python -c "import torch; print(torch.version.cuda)" what the build needs.

What to do
    Update the driver. Where that is not possible, install the newest torch build whose CUDA version the driver can
    run.

References
    https://docs.nvidia.com/deploy/cuda-compatibility/minor-version-compatibility.html
    https://docs.nvidia.com/cuda/cuda-toolkit-release-notes/ (tables 2 and 3)
"""

from __future__ import annotations

import re
from dataclasses import replace

from doctor.checks import Check, Fit, Judgement, Unknown
from doctor.checks._machine import absent, cuda_works, heard, in_container, on_mac, wants_no_gpu
from doctor.checks._torch import build, capability_of, gpus_of, installed, numbers, quote, wheel_platform
from doctor.knowledge import choose, lookup
from doctor.model.facts import ErrorText, Facts
from doctor.model.finding import Evidence, Remedy

check = Check(
    severity="fault",
    needs=("nvidia.driver", "torch.version", "torch.cuda|host.system", "gpus"),
    systems=("linux", "windows"),
    keeps_from=("nvidia",),
    usual=(Remedy(action="upgrade-driver"), Remedy(action="reinstall-torch")),
    explains=("device-crashes",),
    instead_of=("no-accelerator", "gpu-hidden", "program-error", "nvidia-uvm-broken"),
)


@check
def judge(facts: Facts) -> Judgement:
    if on_mac(facts) or facts.host.jetson:
        return None
    if error := heard(facts, "container-needs-newer-cuda"):
        return _image_needs(facts, error)
    if message := _message(facts):
        return _by_message(facts, message)
    driver = facts.nvidia.driver
    if driver is None:
        return Unknown("the driver's version is not known")
    if not driver or cuda_works(facts):
        return None
    return _older_than_the_gpus_first_branch(facts, str(driver)) or _older_than_the_build_needs(facts, str(driver))


@check.fit
def fits(facts: Facts) -> Fit | None:
    driver, cuda = facts.nvidia.driver, _cuda_of_build(facts)
    if absent(driver):
        return Fit(0.05, "there is no driver")
    if driver and installed(facts) is None:
        usual = lookup.build_of(lookup.newest_torch(facts.as_of), platform=wheel_platform(facts) or "linux_x86_64").cuda
        old = usual is not None and lookup.driver_runs(str(driver), usual, _system(facts)) is False
        return Fit(8, f"driver {driver} can't run CUDA {usual}, for which torch is built as a rule") if old else None
    runs = lookup.driver_runs(str(driver), cuda, _system(facts)) if driver and cuda else None
    if runs is None:
        return None
    return Fit(0.02, f"driver {driver} runs CUDA {cuda}") if runs else Fit(6, f"driver {driver} can't run CUDA {cuda}")


def _system(facts: Facts) -> str:
    """Whose driver numbers count: in WSL the driver is that of Windows."""
    return "windows" if facts.host.system == "windows" or facts.host.wsl else "linux"


def _cuda_of_build(facts: Facts) -> str | None:
    """CUDA version of the installed torch, as told or by the default build of its release."""
    torch = installed(facts)
    if torch is None:
        return None
    if torch.cuda is not None:
        return str(torch.cuda) if torch.cuda else None
    made = build(facts)
    return made.cuda if made else None


def _runs_the_build(facts: Facts) -> bool:
    """Whether the driver runs the CUDA that torch was built with: then the runtime that finds it too old belongs to
    another library."""
    torch, driver = installed(facts), facts.nvidia.driver
    if torch is None or not torch.cuda or not driver:
        return False
    return lookup.driver_runs(str(driver), str(torch.cuda), _system(facts)) is True


def _message(facts: Facts) -> ErrorText | None:
    if error := heard(facts, "nvidia-driver-too-old-for-torch", "ptx-unsupported-toolchain"):
        return error
    error = heard(facts, "driver-insufficient-for-runtime", "cuda-error-804")
    # In a container these also say that the image's own libraries are in the way, or that there is no driver.
    if error is None or (
        error.pattern == "driver-insufficient-for-runtime"
        and (absent(facts.nvidia.driver) or (in_container(facts) and not facts.nvidia.driver))
    ):
        return None
    if error.pattern == "driver-insufficient-for-runtime" and (wants_no_gpu(facts) or _runs_the_build(facts)):
        return None
    return error


def _image_needs(facts: Facts, error: ErrorText) -> Judgement:
    """The container toolkit refuses an image: the CUDA version that it asks for is newer than the driver's."""
    cuda = error.groups[0]
    need = lookup.driver_need(cuda, _system(facts))
    return _found(facts, f"The image wants CUDA {cuda}, which the host's driver does not offer.", need, error)


def _by_message(facts: Facts, error: ErrorText) -> Judgement:
    """torch or CUDA says so itself; what is needed follows from the build, or from what the driver offers."""
    system, offered = _system(facts), _offered(facts, error)
    cuda = _cuda_of_build(facts)
    if cuda is None or (offered and lookup.driver_runs(str(facts.nvidia.driver or ""), cuda, system) is True):
        cuda = _next_major(offered) if offered else cuda
    need = lookup.driver_need(cuda, system) if cuda else None
    driver = facts.nvidia.driver
    have = f"driver {driver}" if driver else "the driver"
    runs = f" runs CUDA up to {offered}" if offered else " is older than the program needs"
    wants = f"; {f'driver {need.minimum} or newer' if need else 'a newer one'} is needed"
    torch = installed(facts)
    return _found(
        facts, f"{have[0].upper()}{have[1:]}{runs}{wants}{f' for torch {torch.version}' if torch else ''}.", need, error
    )


def _offered(facts: Facts, error: ErrorText) -> str | None:
    """The highest CUDA version that the driver can run: «found version 11040» is 11.4."""
    if error.pattern == "nvidia-driver-too-old-for-torch" and (
        found := re.search(r"found version (\d{4,5})", error.text)
    ):
        number = int(found[1])
        return f"{number // 1000}.{number % 1000 // 10}"
    if facts.nvidia.driver_cuda:
        return facts.nvidia.driver_cuda
    driver = facts.nvidia.driver
    return lookup.cuda_of_driver(str(driver), _system(facts)) if driver else None


def _next_major(offered: str) -> str | None:
    """What a driver that refused must lack at least: within a major version, from 11 on, it runs all."""
    major = int(offered.split(".")[0])
    return f"{major + 1}.0" if major >= 11 else None


def _older_than_the_build_needs(facts: Facts, driver: str) -> Judgement:
    cuda, system = _cuda_of_build(facts), _system(facts)
    if not cuda or lookup.driver_runs(driver, cuda, system) is not False:
        return None
    need, torch = lookup.driver_need(cuda, system), installed(facts)
    if need is None or torch is None:
        return None
    return _found(
        facts, f"torch {torch.version} needs driver {need.minimum} or newer; this machine has {driver}.", need
    )


def _older_than_the_gpus_first_branch(facts: Facts, driver: str) -> Judgement:
    """A driver that does not know the GPU can run nothing on it, whatever torch is installed."""
    for gpu in gpus_of(facts, "nvidia"):
        capability = capability_of(gpu)
        first = lookup.branches_of(capability)[0] if capability else None
        if first and numbers(driver)[:1] < (first,):
            wanted = _driver_for_torch(facts)
            minimum = wanted.minimum if wanted and numbers(wanted.minimum)[:1] > (first,) else str(first)
            return check.found(
                facts,
                f"{gpu.name} needs a driver of branch {first} or newer; this machine has {driver}.",
                evidence=(
                    "nvidia.driver",
                    Evidence(fact="needed", value=str(first), source="first branch that knows the GPU"),
                    Evidence(fact="needed by torch", value=wanted.minimum, source=wanted.why) if wanted else None,
                ),
                remedies=(Remedy(action="upgrade-driver", details={"minimum": minimum}),),
                driver=driver,
                needed=str(first),
                gpu=gpu.name,
            )
    return None


def _driver_for_torch(facts: Facts) -> lookup.DriverNeed | None:
    """What the installed torch needs; for a CPU build, what the newest build for these GPUs would need."""
    cuda = _cuda_of_build(facts)
    if cuda is None:
        best = choose.choose(replace(facts, nvidia=replace(facts.nvidia, driver=None, driver_cuda=None))).best
        cuda = lookup.build_of(f"{best.release}+{best.backend}").cuda if best else None
    return lookup.driver_need(cuda, _system(facts)) if cuda else None


def _found(facts: Facts, detail: str, need: lookup.DriverNeed | None, error: ErrorText | None = None) -> Judgement:
    upgrade = Remedy(action="upgrade-driver", details={"minimum": need.minimum} if need else {})
    other_build = Remedy(action="reinstall-torch")
    compat = (facts.environ or {}).get("LD_LIBRARY_PATH", "")
    unset = (Remedy(action="unset-env", details={"name": "LD_LIBRARY_PATH"}),) if "compat" in compat else ()
    needed = Evidence(fact="needed", value=need.minimum, source=need.why) if need else None
    return check.found(
        facts,
        detail,
        evidence=(
            quote(error) if error else None,
            "nvidia.driver",
            "nvidia.driver_cuda",
            needed,
            "torch.version",
            "torch.cuda",
        ),
        remedies=(other_build, *unset) if need and _last_branch_below(facts, need) else (upgrade, *unset, other_build),
        driver=facts.nvidia.driver or None,
        needed=need.minimum if need else None,
        cuda=need.cuda if need else None,
    )


def _last_branch_below(facts: Facts, need: lookup.DriverNeed) -> bool:
    """Whether no driver that is new enough knows one of the GPUs any more: then only another build can help."""
    for gpu in gpus_of(facts, "nvidia"):
        capability = capability_of(gpu)
        last = lookup.branches_of(capability)[1] if capability else None
        if last and (last,) < numbers(need.minimum)[:1]:
            return True
    return False
