from doctor.model.facts import ABSENT
from tests.examples import linux, with_error, with_nvidia, with_torch

H100 = "NVIDIA H100 80GB HBM3"
E802 = "RuntimeError: Unexpected error from cudaGetDeviceCount(). Did you run some cuda functions before calling NumCudaDevices()? Error 802: system not yet initialized"

BAD = {
    "error 802": with_error(
        with_torch(with_nvidia(linux(), *[H100] * 8), "2.6.0+cu124", cuda_available=False), "cuda-error-802", E802
    ),
    "the service is stopped": with_torch(
        with_nvidia(linux(), *[H100] * 8, cuinit=802, fabric_manager="stopped"), "2.6.0+cu124", cuda_available=False
    ),
    "the service is not there": with_torch(
        with_nvidia(linux(), *[H100] * 4, cuinit=802, fabric_manager=ABSENT), "2.6.0+cu124", cuda_available=False
    ),
    "of another version": "nv-fabricmanager[900]: fabric manager NVIDIA GPU driver interface version 550.54.14 don't match with driver version "
    "550.54.15. Please update with matching NVIDIA driver package.\n",
    "another program's words": "$ ./deviceQuery\ncudaGetDeviceCount returned 802\n-> system not yet initialized\nResult = FAIL\n",
}
BAD["nvidia-smi says that the fabric waits"] = """\
$ nvidia-smi -q -i 0 | grep -A2 Fabric
    Fabric
        State                             : In Progress
        Status                            : N/A
$ nvidia-smi -L
GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-11111111-2222-3333-4444-555555555555)
$ python3 -c "import torch; print(torch.__version__, torch.cuda.is_available())"
2.6.0+cu124 False
"""
GOOD = {
    "it runs": with_torch(
        with_nvidia(linux(), *[H100] * 8, fabric_manager="running"), "2.6.0+cu124", cuda_available=True
    ),
    "one GPU needs none": with_torch(
        with_nvidia(linux(), "NVIDIA H100 PCIe", fabric_manager=ABSENT), "2.6.0+cu124", cuda_available=True
    ),
    "stopped, and CUDA starts all the same": with_torch(
        with_nvidia(linux(), "NVIDIA H200", fabric_manager="stopped"), "2.6.0+cu124", cuda_available=True
    ),
}
