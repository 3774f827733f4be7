"""The NVIDIA kernel module and the driver's libraries are of different versions.

What it means
    The driver was updated while the old kernel module stayed loaded (often by an unattended upgrade), or a container
    brings its own libcuda. Every new CUDA program then fails: «Driver/library version mismatch», or error 803.

How to see it yourself
    cat /proc/driver/nvidia/version shows the loaded module, ls -l /usr/lib/x86_64-linux-gnu/libcuda.so.* the library.

What to do
    Restart the machine, or unload and load the nvidia modules while nothing uses the GPU. In a container, do not let
    the image's compatibility libcuda come first.

References
    https://docs.nvidia.com/deploy/cuda-compatibility/
    https://docs.nvidia.com/cuda/cuda-runtime-api/group__CUDART__TYPES.html (error 803)
"""

from __future__ import annotations

from doctor.checks import Check, Fit, Judgement
from doctor.checks._machine import cuda_works, driver_lists_gpus, heard, in_container, on_wsl
from doctor.checks._torch import quote
from doctor.model.facts import Facts
from doctor.model.finding import Remedy

check = Check(
    severity="fault",
    needs=("nvidia.kernel_module", "nvidia.library|nvidia.cuinit", "messages"),
    systems=("linux",),
    keeps_from=("nvidia",),
    usual=(Remedy(action="reboot"),),
    explains=("torch-cpu-only", "device-crashes"),
    instead_of=(
        "nvidia-driver-not-running",
        "nvidia-driver-missing",
        "nvidia-driver-too-old",
        "nvidia-uvm-broken",
        "gpu-hidden",
        "gpu-hardware-fault",
        "no-accelerator",
        "container-without-gpu",
        "library-path-conflict",
        "program-error",
    ),
)

SYSTEM_DRIVER_MISMATCH = 803


@check
def judge(facts: Facts) -> Judgement:
    module, library = facts.nvidia.kernel_module, facts.nvidia.library
    error = heard(facts, "nvml-version-mismatch", "cuda-error-803")
    differ = bool(module and library and module != library) and not on_wsl(facts) and not cuda_works(facts)
    if error is None and facts.nvidia.cuinit != SYSTEM_DRIVER_MISMATCH and not differ:
        return None
    both = f": the loaded module is {module}, the libraries are {library}" if differ else ""
    return check.found(
        facts,
        f"The driver's libraries do not fit the kernel module that is loaded{both}.",
        evidence=(
            quote(error) if error else None,
            "nvidia.kernel_module",
            "nvidia.library",
            "nvidia.libcuda",
            "nvidia.cuinit",
            "nvidia.smi_error",
        ),
        remedies=_remedies(facts, own_libcuda=error is not None and error.pattern == "cuda-error-803"),
        module=module or None,
        library=library or None,
    )


@check.fit
def fits(facts: Facts) -> Fit | None:
    if facts.nvidia.cuinit == SYSTEM_DRIVER_MISMATCH:
        return Fit(6, f"CUDA's start gave {SYSTEM_DRIVER_MISMATCH}")
    return Fit(0.05, "nvidia-smi reached the driver") if driver_lists_gpus(facts) else None


def _remedies(facts: Facts, *, own_libcuda: bool) -> tuple[Remedy, ...]:
    reboot = Remedy(
        action="reboot",
        text="Restart the machine (the host, for a container): then module and libraries are of one version.",
    )
    reload = Remedy(
        action="load-module",
        details={"module": "nvidia", "reload": "yes"},
        text="Unload and load the nvidia modules while nothing uses the GPU.",
    )
    upgrade = Remedy(
        action="upgrade-driver", text="Update the host's driver to the version that the image's libraries need."
    )
    path = (facts.environ or {}).get("LD_LIBRARY_PATH", "")
    unset = (
        (Remedy(action="unset-env", details={"name": "LD_LIBRARY_PATH"}),) if own_libcuda and "compat" in path else ()
    )
    return (*unset, reboot, upgrade) if in_container(facts) else (*unset, reboot, reload)
