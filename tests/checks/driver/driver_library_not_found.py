from dataclasses import replace

from doctor.model.facts import ABSENT
from tests.examples import linux, with_error, with_nvidia, with_torch

L4 = "NVIDIA L4"
NO_FILE = "libcuda.so.1: cannot open shared object file: No such file or directory"


def without_library(facts, *elsewhere: str, **nvidia: object):
    given = {"libcuda": ABSENT, "libcuda_broken": ABSENT, "libcuda_elsewhere": elsewhere, "library": ABSENT,
             "cuinit": None, **nvidia}  # fmt: skip
    return with_torch(with_nvidia(facts, L4, **given), "2.6.0+cu124", cuda_available=False)


BAD = {
    "a pod with the library in a folder of its own": (
        "The pod has nvidia.com/gpu: 1.\n>>> torch.cuda.is_available()\nFalse\n\n"
        "/dev/nvidia0 is there in the container, and so is /usr/local/nvidia/lib64/libcuda.so.1\n"
    ),
    "NixOS: nvidia-smi lists the GPU, and torch finds no driver": with_error(
        with_torch(with_nvidia(linux(os_id="nixos"), L4, libcuda=None, cuinit=None, gpus_seen=1), "2.6.0+cu124"),
        "found-no-nvidia-driver", "RuntimeError: Found no NVIDIA driver on your system.",
    ),
    "NixOS": without_library(linux(os_id="nixos"), "/run/opengl-driver/lib/libcuda.so.1"),
    "ldconfig was not run": without_library(linux(), "/usr/lib64/libcuda.so.1"),
    "no compute part": with_error(
        without_library(linux()), "found-no-nvidia-driver", "RuntimeError: Found no NVIDIA driver on your system."
    ),
    "a container with the nodes alone": without_library(linux(container="docker", container_gpus=True)),
    "pasted: nvidia-smi works, the library is not found": (
        "$ nvidia-smi -L\nGPU 0: NVIDIA GeForce RTX 3090 (UUID: GPU-00000000-0000-0000-0000-000000000000)\n"
        "$ cat /proc/driver/nvidia/version\nNVRM version: NVIDIA UNIX x86_64 Kernel Module  535.129.03  Thu Oct 19\n"
        "$ python -c 'import torch; torch.cuda.init()'\nImportError: " + NO_FILE + "\n"
    ),
}
TOOLKIT = "nvidia-container-cli: initialization error: load library failed: libnvidia-ml.so.1: cannot open shared object file\n"
BAD["the container toolkit finds none on the host"] = TOOLKIT
BAD["cuDNN opens it by its other name"] = (
    "The first convolution stops:\n"
    "Could not load library libcudnn_cnn_infer.so.8. Error: libcuda.so: cannot open shared object file: No such file or "
    "directory\nAborted\n"
)
GOOD = {
    "it is found": with_torch(with_nvidia(linux(), L4), "2.6.0+cu124", cuda_available=True),
    "no driver at all": with_torch(with_nvidia(linux(), L4, driver=ABSENT), "2.6.0+cu124", cuda_available=False),
    "a container without a GPU": with_torch(linux(container="docker"), "2.6.0+cu124", cuda_available=False),
    "a CPU build does not want it": replace(
        without_library(linux()), torch=with_torch(linux(), "2.6.0+cpu", cuda_available=False).torch
    ),
    "pasted: no driver is seen": "ImportError: " + NO_FILE + "\n",
}
