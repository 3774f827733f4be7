from doctor.model.facts import ABSENT
from tests.examples import linux, with_error, with_nvidia, with_torch

NVML = "Failed to initialize NVML: Driver/library version mismatch"
RTX = "NVIDIA GeForce RTX 2080 Ti"
E803 = (
    "UserWarning: CUDA initialization: Unexpected error from cudaGetDeviceCount(). Did you run some cuda functions before calling "
    "NumCudaDevices() that might have already set an error? Error 803: system has unsupported display driver / cuda driver combination"
)

BAD = {
    "nvidia-smi says so": f"$ nvidia-smi\n{NVML}\nNVML library version: 535.183\n",
    "live, by its two halves": with_torch(
        with_nvidia(linux(), RTX, driver="535.171.04", library="535.183.01", smi_error=NVML),
        "2.6.0+cu124",
        cuda_available=False,
    ),
    "error 803": with_error(
        with_torch(with_nvidia(linux(), RTX, driver="535.171.04"), "2.6.0+cu124"), "cuda-error-803", E803
    ),
    "error 803 in a container": with_error(
        with_torch(with_nvidia(linux(container="docker"), RTX, driver="515.65.01"), "2.6.0+cu124"),
        "cuda-error-803",
        E803,
    ),
    "cuInit says 803": with_torch(with_nvidia(linux(), RTX, cuinit=803), "2.6.0+cu124", cuda_available=False),
}
GOOD = {
    "one version": with_torch(with_nvidia(linux(), RTX), "2.6.0+cu124", cuda_available=True),
    "WSL has two by design": with_torch(
        with_nvidia(
            linux(wsl=2),
            RTX,
            driver="551.86",
            kernel_module=ABSENT,
            library="550.54.15",
            libcuda="/usr/lib/wsl/lib/libcuda.so.1",
        ),
        "2.6.0+cu124",
        cuda_available=True,
    ),
    "compatibility libraries that work": with_torch(
        with_nvidia(linux(container="docker"), "NVIDIA A100-SXM4-80GB", driver="535.104.05", library="550.54.15"),
        "2.6.0+cu124",
        cuda_available=True,
    ),
}
BAD["the newer words of the kernel log"] = """\
[    9.424670] NVRM: API mismatch: the client 'kwin_wayland' (pid 1005)
               NVRM: has the version 595.84, but this kernel module has
               NVRM: the version 595.80.  Please make sure that this
               NVRM: kernel module and all NVIDIA driver components
               NVRM: have the same version.
"""
