from dataclasses import replace

from tests.example_case import Case
from tests.examples import linux, with_error, with_nvidia, with_torch

RTX = "NVIDIA GeForce RTX 3090"
COMPAT = "/usr/local/cuda-12.8/compat/libcuda.so.570.86.15"
E803 = "RuntimeError: Unexpected error from cudaGetDeviceCount(). Error 803: system has unsupported display driver / cuda driver combination"
E804 = "RuntimeError: Unexpected error from cudaGetDeviceCount(). Error 804: forward compatibility was attempted on non supported HW"
IMAGE = linux(container="docker", container_gpus=True)


def refused(facts, driver: str = "550.54.15", **nvidia: object):
    return with_torch(with_nvidia(facts, RTX, driver=driver, **nvidia), "2.6.0+cu124", cuda_available=False)


BAD = {
    "the loader takes it": refused(IMAGE, libcuda=COMPAT, library="570.86.15", cuinit=804),
    "803": refused(IMAGE, libcuda=COMPAT, library="570.86.15", cuinit=803),
    "it stands in the variable": replace(
        with_error(refused(IMAGE, cuinit=803), "cuda-error-803", E803),
        environ={"LD_LIBRARY_PATH": "/usr/local/cuda/compat:/usr/local/nvidia/lib64"},
    ),
    "804 although the driver is new enough for this torch": with_error(
        replace(refused(IMAGE, cuinit=None, libcuda=None, library=None), live=False), "cuda-error-804", E804
    ),
    "pasted: 803 in an image": "$ docker run --runtime nvidia -e NVIDIA_VISIBLE_DEVICES=0 vllm/vllm-openai:v0.15.0\n" + E803 + "\n",
    "outside a container, too": replace(
        refused(linux(), libcuda="/usr/local/cuda-12.4/compat/libcuda.so.550.54.15", cuinit=804)
    ),
}
GOOD = {
    "it works on a data-center GPU": with_torch(
        with_nvidia(IMAGE, "NVIDIA H100", driver="535.183.01", libcuda=COMPAT, library="570.86.15", cuinit=0),
        "2.9.1+cu128",
        cuda_available=True,
    ),
    "the driver is too old for this torch": Case(
        with_error(refused(IMAGE, driver="470.82.01", cuinit=None, libcuda=None), "cuda-error-804", E804)
    ),
    "an update without a restart": refused(linux(), library="550.90.07", cuinit=803),
    "nvidia-smi speaks of the mismatch": f"{E804}\n$ nvidia-smi\nFailed to initialize NVML: Driver/library version mismatch\n",
}
