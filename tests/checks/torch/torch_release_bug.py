from tests.examples import linux, mac, with_error, with_torch
from tests.tickets import collect_env

NO_MPS = "AttributeError: module 'torch' has no attribute 'mps'"
ABORT = (
    "MPSNDArray.mm:782: failed assertion `[MPSNDArray, initWithBuffer:descriptor:] Error: buffer is not large enough."
)

BAD = {
    "torch.mps of 2.0.0": with_error(with_torch(mac(macos="13.2"), "2.0.0"), "exception", NO_MPS),
    "an abort in Metal": with_error(with_torch(mac(), "1.12.0"), "mpsgraph-assertion", ABORT),
    "another, of an old release": with_error(
        with_torch(mac(), "2.1.0"), "mpsgraph-assertion", "LLVM ERROR: Failed to infer result type(s)."
    ),
    "pasted: AttributeError: module 'distutils' has no attribute 'version": (
        '  File "/home/u/e/lib/python3.8/site-packages/torch/utils/tensorboard/__init__.py", line 4, in <module>\n'
        "    LooseVersion = distutils.version.LooseVersion\n"
        "AttributeError: module 'distutils' has no attribute 'version'\n"
        + collect_env("1.10.0+cu113", gpu="GPU 0: NVIDIA GeForce RTX 3090")
    ),
}
GOOD = {
    "2.1.0 has it": with_error(with_torch(mac(macos="13.2"), "2.1.0"), "exception", NO_MPS),
    "pasted: what many faults of CUDA say, and no operation": (
        "RuntimeError: CUDA error: an illegal memory access was encountered\n"
        + collect_env("2.4.0+cu121", gpu="GPU 0: NVIDIA GeForce RTX 3090")
    ),
    "pasted: the same, of no known release": "RuntimeError: CUDA error: an illegal memory access was encountered\n",
    "nothing was said": with_torch(mac(), "2.0.0"),
    "1.13 on Linux": with_error(with_torch(linux(), "1.13.1+cpu"), "exception", NO_MPS),
}
