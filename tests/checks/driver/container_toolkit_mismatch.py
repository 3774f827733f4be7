from tests.examples import linux, with_error, with_nvidia, with_torch

E500 = "RuntimeError: Unexpected error from cudaGetDeviceCount(). Did you run some cuda functions before calling NumCudaDevices()? Error 500: named symbol not found"

BAD = {
    "Docker Desktop": f"PS C:\\> docker run --gpus all myimage python app.py\n{E500}\n",
    "a container on Linux": with_error(linux(container="docker"), "cuda-error-500", E500),
    "WSL": with_error(
        with_nvidia(linux(wsl=2, container="docker"), "NVIDIA GeForce RTX 4070", driver="555.85"),
        "cuda-error-500",
        E500,
    ),
    "torch says it, live": with_torch(
        with_nvidia(linux(container="docker"), "NVIDIA L4", driver="555.42.02"),
        "2.6.0+cu124",
        cuda_available=False,
        cuda_error=E500,
    ),
}
GOOD = {
    "a container whose toolkit fits": with_torch(
        with_nvidia(linux(container="docker"), "NVIDIA L4"), "2.6.0+cu124", cuda_available=True
    ),
    "an error 500 of a web server": with_error(
        linux(container="docker"), "cuda-error-500", "HTTP Error 500: Internal Server Error"
    ),
    "no container": with_error(with_nvidia(linux(), "NVIDIA L4"), "cuda-error-500", E500),
}
BAD["the toolkit does not know cgroup v2"] = """\
docker: Error response from daemon: OCI runtime create failed: container_linux.go:367: starting container process caused: process_linux.go:495: container init caused: Running hook #1:: error running hook: exit status 1, stdout: , stderr: nvidia-container-cli: container error: cgroup subsystem devices not found: unknown.
"""
GOOD["a kernel that a build lacks"] = """\
Ubuntu 22.04, TITAN RTX
RuntimeError: CUDA error: "named symbol not found" at attention.cu:160
"""
GOOD["a kernel under a layer for another vendor's GPUs"] = """\
Windows 11, RX 7900 GRE
CUDA error: named symbol not found
"""
