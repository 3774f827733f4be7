from dataclasses import replace

from doctor.model.facts import Facts, ProbeResult
from tests.examples import linux, mac, of_a_text, with_error, with_torch
from tests.tickets import collect_env


def said_to_the_user(facts: Facts, pattern: str, text: str) -> Facts:
    return of_a_text(with_error(facts, pattern, text))


BAD = {
    "pasted: half precision on the CPU": 'RuntimeError: "baddbmm_with_gemm" not implemented for \'Half\'\n',
    "pasted: FlashAttention 2 before Ampere": "RuntimeError: FlashAttention only supports Ampere GPUs or newer.\n",
    "pasted: two processes on one GPU": (
        "ncclInvalidUsage: This usually reflects invalid usage of NCCL library.\n"
        "Duplicate GPU detected : rank 1 and rank 0 both on CUDA device 1000\n"
    ),
    "pasted: a GPU number that the machine does not have": (
        "torchrun --standalone --nproc_per_node=8 train.py\nRuntimeError: CUDA error: invalid device ordinal\n"
    ),
    "devices": said_to_the_user(
        with_torch(linux(), "2.6.0+cu124"), "exception", "RuntimeError: Expected all tensors to be on the same device, but found two"
    ),
    "a module that does not exist": said_to_the_user(
        with_torch(mac(macos="12.4"), "1.12.0"), "exception", "ModuleNotFoundError: No module named 'torchvision.ops.nms'"
    ),
    "weights_only": said_to_the_user(
        with_torch(linux(), "2.6.0+cpu"), "exception", "_pickle.UnpicklingError: Weights only load failed. This file can still be loaded"
    ),
    "map_location": said_to_the_user(
        with_torch(linux(), "2.6.0+cpu"), "exception", "RuntimeError: Attempting to deserialize object on a CUDA device but torch.cuda.is_available() is False"
    ),
    'pasted: RuntimeError: Expected all tensors to be on the same device,': (
        'RuntimeError: Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu! (when checking argument for argument mat1 in method wrapper_CUDA_addmm)\n'
        + collect_env('2.1.2+cu121')
    ),
    'pasted: RuntimeError: mat1 and mat2 shapes cannot be multiplied (32x': (
        'RuntimeError: mat1 and mat2 shapes cannot be multiplied (32x512 and 256x10)\n'
        + collect_env('2.5.1+cu124')
    ),
    'pasted: _pickle.UnpicklingError: Weights only load failed. In PyTorc': (
        '_pickle.UnpicklingError: Weights only load failed. In PyTorch 2.6, we changed the default value of the `weights_only` argument in `torch.load` from `False` to `True`.\n'
        + collect_env('2.6.0+cu124')
    ),
    'pasted: RuntimeError: CUDA error: device-side assert triggered': (
        'RuntimeError: CUDA error: device-side assert triggered\n'
        '../aten/src/ATen/native/cuda/Indexing.cu:1146: indexSelectLargeIndex: block: [0,0,0], thread: [0,0,0] Assertion `srcIndex < srcSelectDimSize` failed.\n'
        + collect_env('2.1.0+cu121')
    ),
    'pasted: RuntimeError: Placeholder storage has not been allocated on ': (
        'RuntimeError: Placeholder storage has not been allocated on MPS device!\n'
        + collect_env('2.1.2', 'mac')
    ),
    'pasted: RuntimeError: The expanded size of the tensor (512) must mat': (
        'RuntimeError: The expanded size of the tensor (512) must match the existing size (77) at non-singleton dimension 1\n'
        + collect_env('2.1.2+cu121')
    ),
    'pasted: IndexError: Target 10 is out of bounds.': (
        'IndexError: Target 10 is out of bounds.\n'
        + collect_env('2.1.2+cu121')
    ),
}  # fmt: skip
GOOD = {
    "torchdoctor's own probe met the error, not a program": replace(
        with_torch(linux(), "2.6.0+cu124", cuda_available=True),
        probes=(ProbeResult(id="cuda:0", device="cuda:0", status="failed", stage="kernel",
                            reason="RuntimeError: CUDA error: device-side assert triggered"),),
    ),
    "nothing was said": with_torch(linux(), "2.6.0+cpu"),
    "the GPU is full": with_error(
        with_torch(linux(), "2.6.0+cu124"), "cuda-out-of-memory", "CUDA out of memory. Tried to allocate 2.00 GiB"
    ),
}
