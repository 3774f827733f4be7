from dataclasses import replace

from doctor.model.facts import ABSENT, Amd
from tests.example_case import Case
from tests.examples import linux, with_error, with_nvidia, with_torch

IN = linux(container="docker")
A10 = "NVIDIA A10"
NONE = "RuntimeError: Found no NVIDIA driver on your system. Please check that you have an NVIDIA GPU and installed a driver"
NO_NODES = with_nvidia(
    IN, A10, driver="550.54.15", device_nodes=(), gpus_seen=0, libcuda=ABSENT, uvm_node=False, cuinit=None
)
BANNER = """\
$ docker run -it --rm myimage
WARNING: The NVIDIA Driver was not detected.  GPU functionality will not be available.
   Use the NVIDIA Container Toolkit to start this container with GPU support
"""
NO_TOOLKIT = 'docker: Error response from daemon: could not select device driver "" with capabilities: [[gpu]].\n'
ROCM = """\
root@3f2a9c0b1d4e:/# rocminfo
ROCk module is loaded
Unable to open /dev/kfd read-write: No such file or directory
"""

BAD = {
    "docker compose made it": f"Creating web_generate_run ... done\n{NONE}\n",
    "Docker on a Mac": f"The image builds on an M2 (Apple Silicon).\n{NO_TOOLKIT}",
    "live: a GPU on the bus, no nodes": with_torch(NO_NODES, "2.6.0+cu124", cuda_available=False),
    "live: torch says there is no driver": Case(
        with_torch(replace(IN, gpus=None), "2.6.0+cu124", cuda_available=False, cuda_error=NONE),
        first="container-without-gpu",
    ),
    "the image's banner": BANNER,
    "Docker without the toolkit": NO_TOOLKIT,
    "lost while running": with_error(IN, "nvml-unknown-error", "Failed to initialize NVML: Unknown Error"),
    "a prompt of a container": f"root@3f2a9c0b1d4e:/workspace# python train.py\n{NONE}\n",
    "AMD": ROCM,
    "AMD, live": with_torch(
        replace(IN, amd=Amd(kernel_driver=True, kfd=False), gpus=None), "2.6.0+rocm6.2.4", cuda_available=False
    ),
    "MPS in a container on a Mac": with_error(
        with_torch(linux(architecture="arm64", container="docker", kernel="6.6.22-linuxkit"), "2.6.0+cpu"),
        "not-compiled-with-mps",
        "AssertionError: PyTorch code is not compiled with MPS enabled",
    ),
    "on purpose: a CPU build": Case(with_torch(NO_NODES, "2.6.0+cpu"), severity="note"),
}
GOOD = {
    "a container with its GPU": with_torch(with_nvidia(IN, A10), "2.6.0+cu124", cuda_available=True),
    "a container on a host without one": with_torch(IN, "2.6.0+cu124", cuda_available=False),
    "no container": with_error(with_torch(replace(linux(), gpus=None), "2.6.0+cu124"), "found-no-nvidia-driver", NONE),
    "a desktop's AMD graphics in a container": with_torch(
        replace(IN, amd=Amd(kernel_driver=True, kfd=False)), "2.6.0+cpu", cuda_available=False
    ),
    "a Jetson": with_torch(
        linux(architecture="arm64", container="docker", jetson="36.4.0"), "2.9.0+cpu", cuda_available=False
    ),
}
BAD["nvidia-smi is not in it, and CUDA was asked for"] = """\
root@2f6a1c0b9d3e:/workspace# nvidia-smi
bash: nvidia-smi: command not found
root@2f6a1c0b9d3e:/workspace# python -c "import torch; print(torch.cuda.is_available())"
False
"""
BAD["no description of the GPU for Podman"] = """\
Error: setting up CDI devices: unresolvable CDI devices nvidia.com/gpu=all
"""

VOID = "NVIDIA_VISIBLE_DEVICES=void\n"
BAD["pasted: a pod that asked for no GPU"] = f"$ env | grep NVIDIA\n{VOID}$ nvidia-smi\nbash: nvidia-smi: command not found\n{NONE}\n"
BAD["live: a pod that asked for no GPU"] = replace(
    with_torch(
        replace(linux(container="kubernetes"), gpus=None), "2.6.0+cu124", cuda_available=False, cuda_error=NONE
    ),
    environ={"NVIDIA_VISIBLE_DEVICES": "void"},
)
BAD["Docker Desktop on a Mac"] = Case(
    with_torch(
        replace(linux(architecture="arm64"), host=replace(IN.host, architecture="arm64", kernel="6.6.12-linuxkit")),
        "2.6.0+cpu",
        cuda_available=False,
    ),
    severity="note",
)
GOOD["void, and nobody asks for a GPU"] = replace(
    with_torch(linux(container="kubernetes"), "2.6.0+cpu", cuda_available=False),
    environ={"NVIDIA_VISIBLE_DEVICES": "void"},
)
