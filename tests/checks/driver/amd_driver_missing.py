from tests.examples import linux, with_amd, with_error, with_nvidia, with_torch

RX = "AMD Radeon RX 7900 XTX"
NONE = "RuntimeError: No HIP GPUs are available"
NO_MODULE = with_amd(linux(), RX, kernel_driver=False, kfd=False, kfd_accessible=None, render_accessible=None)

BAD = {
    "docker finds none on the host": (
        "docker: Error response from daemon: error gathering device information while adding custom device "
        '"/dev/kfd": no such file or directory.\n'
    ),
    "rocminfo says so": "$ rocminfo\nROCk module is NOT loaded, possibly no GPU devices\n",
    "a ROCm build, no module": with_torch(NO_MODULE, "2.6.0+rocm6.2.4", cuda_available=False),
    "torch finds none": with_error(with_torch(NO_MODULE, "2.6.0+rocm6.2.4", cuda_available=False), "no-hip-gpus", NONE),
    "torch finds none, and nothing is known": NONE + "\n",
}
GOOD = {
    "it is loaded": with_torch(with_amd(linux(), RX, gfx="gfx1100"), "2.6.0+rocm6.2.4", cuda_available=True),
    "graphics of a server's board": with_torch(
        with_amd(linux(), "ES1000", kernel_driver=False, kfd=False, kfd_accessible=None), "2.6.0+cpu"
    ),
    "WSL has no kfd": with_torch(
        with_amd(linux(wsl=2), RX, kernel_driver=False, kfd=False), "2.7.0+rocm6.3", cuda_available=True
    ),
    "an NVIDIA GPU": with_error(with_torch(with_nvidia(linux(), "NVIDIA L4"), "2.6.0+rocm6.2.4"), "no-hip-gpus", NONE),
    "there is no GPU at all": with_error(
        with_torch(linux(), "2.6.0+rocm6.2.4", cuda_available=False), "no-hip-gpus", NONE
    ),
    "in a container it is the container": with_error(linux(container="docker"), "no-hip-gpus", NONE),
    "the node is closed to the user": with_error(
        with_torch(with_amd(linux(), RX, kfd_accessible=False, groups=("u",)), "2.6.0+rocm6.2.4"), "no-hip-gpus", NONE
    ),
}
