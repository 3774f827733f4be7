from doctor.model.facts import ABSENT
from tests.examples import linux, with_error, with_nvidia, with_torch

FAILED = "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that the latest NVIDIA driver is installed and running."
T4 = "Tesla T4"
HALF = {
    "driver": ABSENT, "kernel_module": ABSENT, "library": "550.54.15", "libcuda": "/usr/lib/x86_64-linux-gnu/libcuda.so.1", "smi_error": FAILED,
}  # fmt: skip

BAD = {
    "nvidia-smi fails, live": with_torch(with_nvidia(linux(), T4, **HALF), "2.6.0+cu124", cuda_available=False),
    "nvidia-smi fails, in a ticket": f"$ nvidia-smi\n{FAILED}\n\nRuntimeError: No CUDA GPUs are available\n",
    "no module is loaded, and nvidia-smi is not there": with_torch(
        with_nvidia(linux(), T4, **{**HALF, "smi_error": ABSENT}), "2.6.0+cu124", cuda_available=False
    ),
    "Secure Boot": "$ sudo modprobe nvidia\nmodprobe: ERROR: could not insert 'nvidia': Key was rejected by service\n",
    "no module for this kernel": f"$ nvidia-smi\n{FAILED}\n$ sudo modprobe nvidia\n"
    "modprobe: FATAL: Module nvidia not found in directory /lib/modules/6.8.0-45-generic\n",
}
GOOD = {
    "it runs": with_torch(with_nvidia(linux(), T4), "2.6.0+cu124", cuda_available=True),
    "no GPU in the machine": with_error(with_torch(linux(), "2.6.0+cpu"), "smi-cannot-reach-driver", FAILED),
    "WSL": with_error(with_nvidia(linux(wsl=2), T4, driver="551.86"), "smi-cannot-reach-driver", FAILED),
    "a container": with_error(linux(container="docker"), "smi-cannot-reach-driver", FAILED),
    "no driver at all": with_torch(with_nvidia(linux(), T4, driver=ABSENT), "2.6.0+cu124"),
}
BAD["the container toolkit finds the driver not loaded"] = """\
$ docker run --rm --gpus all ubuntu nvidia-smi
nvidia-container-cli: initialization error: nvml error: driver not loaded: unknown.
"""
