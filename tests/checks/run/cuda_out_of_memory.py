from tests.example_case import Case
from tests.examples import linux, with_error, with_nvidia, with_torch

OTHERS = (
    "RuntimeError: CUDA out of memory. Tried to allocate 60.00 MiB (GPU 0; 11.17 GiB total capacity; 505.96 MiB already allocated; "
    "12.50 MiB free; 530.00 MiB reserved in total by PyTorch)"
)
OWN = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 23.64 GiB of which 1.2 GiB is free."

BAD = {
    "pasted: CUDA's number of it": "RuntimeError: cuda runtime error (2) : out of memory at THCStorage.cu:58\n",
    "pasted: in the words of the driver": "CUDA driver error: out of memory\n",
    "pasted: in those of onnxruntime": "onnxruntime::CudaCall CUDA failure 2: out of memory ; GPU=0\n",
    "pasted: in those of HIP": "HIP error: out of memory\n",
    "pasted: cuBLAS can't begin": Case(
        "CUDA error: CUBLAS_STATUS_NOT_INITIALIZED when calling `cublasCreate(handle)`\n", severity="warning"
    ),
    "pasted: in a title": "CUDA out of memory. with single 3090 gpu\n\nThe code that I run needs too much.\n",
    "another process": with_error(
        with_torch(with_nvidia(linux(python="3.8.10"), "Tesla K80", driver="440.64.00"), "1.5.1+cu102"),
        "cuda-out-of-memory",
        OTHERS,
    ),
    "this one": with_error(
        with_torch(with_nvidia(linux(), "NVIDIA GeForce RTX 3090"), "2.6.0+cu124"), "cuda-out-of-memory", OWN
    ),
    "pasted: torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to al": (
        "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB (GPU 0; 8.00 GiB total capacity; 6.10 GiB already allocated; 0 bytes free; 6.50 GiB reserved in total by PyTorch)\n"
    ),
    "pasted: torch.OutOfMemoryError: CUDA out of memory. Tried to allocat": (
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 896.00 MiB. GPU 0 has a total capacity of 15.70 GiB of which 523.12 MiB is free. Process 31337 has 9.85 GiB memory in use. Including non-PyTorch memory, this process has 5.20 GiB memory in use.\n"
    ),
    "pasted: vLLM's share": (
        "ValueError: Free memory on device (20.1/23.64 GiB) on startup is less than desired GPU memory utilization (0.9, 21.28 GiB). Decrease GPU memory utilization or reduce GPU memory used by other processes.\n"
    ),
    "pasted: vLLM's cache": (
        "ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization` when initializing the engine.\n"
    ),
    "pasted: ComfyUI's": (
        "torch.OutOfMemoryError: Allocation on device 0 would exceed allowed memory. (out of memory)\n"
        "Currently allocated     : 7.04 GiB\n"
    ),
}
GOOD = {
    "it is to be avoided": "To avoid CUDA_ERROR_OUT_OF_MEMORY I lowered the batch size, and all is well.\n",
    "healthy": with_torch(with_nvidia(linux(), "NVIDIA GeForce RTX 3090"), "2.6.0+cu124", cuda_available=True),
    "memory of the machine": with_error(linux(), "exception", "MemoryError"),
}
