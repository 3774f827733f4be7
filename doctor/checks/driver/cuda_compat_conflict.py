"""A compatibility libcuda of the image stands before the driver's own.

What it means
    CUDA images bring a libcuda of their own (/usr/local/cuda/compat), so that a new CUDA runs on an older driver. That
    works on data-center GPUs and with certain branches of the driver only. Elsewhere, or where the host's driver is
    newer than the image, it must not be taken: CUDA then ends with error 803 (unsupported combination) or 804 (forward
    compatibility on non supported hardware). Restarting the machine changes nothing.

How to see it yourself
    ldconfig -p | grep libcuda.so.1; echo $LD_LIBRARY_PATH: a folder named compat comes first.

What to do
    Take the folder out of LD_LIBRARY_PATH (or put the driver's folder first, /usr/lib/x86_64-linux-gnu), start the
    image with the flags of the container toolkit, use an image of an older CUDA, or update the host's driver.

References
    https://docs.nvidia.com/deploy/cuda-compatibility/ (forward compatibility)
    https://docs.nvidia.com/cuda/cuda-runtime-api/group__CUDART__TYPES.html (errors 803, 804)
    https://github.com/NVIDIA/nvidia-docker/issues/1515
"""

from __future__ import annotations

from doctor.checks import Check, Fit, Judgement
from doctor.checks._machine import absent, cuda_works, heard, in_container, on_mac, shown
from doctor.checks._torch import installed, quote
from doctor.knowledge import lookup
from doctor.model.facts import ErrorText, Facts
from doctor.model.finding import Remedy
from doctor.regex import Regex

DRIVERS_FOLDER = {"arm64": "/usr/lib/aarch64-linux-gnu"}  # where the container toolkit puts the host's libcuda
IMAGE = Remedy(
    action="change-image",
    details={"image": "one whose CUDA is not newer than the host's driver"},
)
HOST = Remedy(
    action="upgrade-driver", text="Update the host's driver, so that the image's compatibility library is not needed."
)

check = Check(
    severity="fault",
    needs=("nvidia.libcuda", "messages"),
    systems=("linux",),
    keeps_from=("nvidia",),
    usual=(Remedy(action="unset-env", details={"name": "LD_LIBRARY_PATH"}), IMAGE, HOST),
    explains=("torch-cpu-only", "device-crashes"),
    instead_of=(
        "nvidia-driver-library-mismatch",
        "nvidia-driver-too-old",
        "library-path-conflict",
        "nvidia-uvm-broken",
        "gpu-hidden",
        "no-accelerator",
        "program-error",
    ),
)

COMPAT = Regex(r"/compat(?:/|$)|/compat\.")
UNSUPPORTED, FORWARD = 803, 804


@check.fit
def fits(facts: Facts) -> Fit | None:
    if _folder(facts):
        return Fit(5, "a compatibility libcuda comes first")
    if facts.nvidia.libcuda or absent(facts.host.container):
        return Fit(0.05, "no compatibility libcuda was seen")
    return Fit(2, "images bring a libcuda of their own") if in_container(facts) else Fit(0.3, "it takes an image")


@check
def judge(facts: Facts) -> Judgement:
    if on_mac(facts) or cuda_works(facts):
        return None
    error = heard(facts, "cuda-error-803", "cuda-error-804")
    code = facts.nvidia.cuinit
    if error is None and code not in (UNSUPPORTED, FORWARD):
        return None
    by_path, image = _folder(facts), _of_the_image(facts, error)
    if not by_path and not image:
        return None
    number = code if code in (UNSUPPORTED, FORWARD) else 804 if error and error.pattern.endswith("804") else 803
    what = f"{by_path} comes before the driver's libcuda" if by_path else "The image's own libcuda comes first"
    return check.found(
        facts,
        f"{what}, and CUDA's start ends with error {number}.",
        evidence=(
            quote(error) if error else None,
            "nvidia.libcuda",
            "nvidia.cuinit",
            "environ.LD_LIBRARY_PATH",
            "nvidia.driver",
            "host.container",
            shown(facts, "nvidia"),
        ),
        remedies=(*_path(facts), IMAGE, HOST),
        confidence="certain" if by_path else "likely",
        library=by_path or None,
    )


def _folder(facts: Facts) -> str:
    """The compatibility folder that the loader takes libcuda from, or that stands in LD_LIBRARY_PATH."""
    library = facts.nvidia.libcuda or ""
    if COMPAT.search(str(library)):
        return str(library)
    entries = (facts.environ or {}).get("LD_LIBRARY_PATH", "").split(":")
    return next((entry for entry in entries if COMPAT.search(entry)), "")


def _of_the_image(facts: Facts, error: ErrorText | None) -> bool:
    """In a container whose host has one version of the driver, and one that is new enough for this torch."""
    if not in_container(facts) or heard(facts, "nvml-version-mismatch", "container-needs-newer-cuda"):
        return False
    if error is None or error.pattern == "cuda-error-803":
        return not (facts.nvidia.kernel_module and facts.nvidia.library)  # else their versions have been compared
    torch = installed(facts)
    if torch is None or not torch.cuda or not facts.nvidia.driver:
        return False
    runs = lookup.driver_runs(str(facts.nvidia.driver), str(torch.cuda), "linux")
    return runs is True


def _path(facts: Facts) -> tuple[Remedy, ...]:
    entries = [entry for entry in (facts.environ or {}).get("LD_LIBRARY_PATH", "").split(":") if entry]
    kept = [entry for entry in entries if not COMPAT.search(entry)]
    if entries and kept != entries and not kept:
        return (Remedy(action="unset-env", details={"name": "LD_LIBRARY_PATH"}),)
    folder = DRIVERS_FOLDER.get(facts.host.architecture or "", "/usr/lib/x86_64-linux-gnu")
    value = ":".join(kept) if entries and kept != entries else ":".join([folder, *kept])
    return (Remedy(action="set-env", details={"name": "LD_LIBRARY_PATH", "value": value}),)
