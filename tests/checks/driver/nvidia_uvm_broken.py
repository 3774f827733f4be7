from tests.examples import linux, mac, with_error, with_nvidia, with_torch

RTX = "NVIDIA GeForce RTX 3050 Ti Laptop GPU"
UNKNOWN = (
    "UserWarning: CUDA initialization: CUDA unknown error - this may be due to an incorrectly set up environment, e.g. changing env variable "
    "CUDA_VISIBLE_DEVICES after program start. Setting the available devices to be zero."
)
TICKET = f"""\
{UNKNOWN}
$ nvidia-smi -L
GPU 0: NVIDIA GeForce RTX 3070 Laptop GPU (UUID: GPU-00000000-0000-0000-0000-000000000000)
"""

BAD = {
    "after suspend, in a ticket": TICKET,
    "a container that sees the GPU": (
        "nvidia-smi inside this container detects my GPU as\n\n  0  Quadro P620\n\nand ComfyUI fails:\n\n"
        f"RuntimeError: {UNKNOWN.partition(': ')[2]}\n"
    ),
    "the old wording": "THCudaCheck FAIL file=../aten/src/THC/THCGeneral.cpp line=50 error=999 : unknown error\n"
    "RuntimeError: cuda runtime error (999) : unknown error at ../aten/src/THC/THCGeneral.cpp:50\n",
    "the node is gone": with_torch(
        with_nvidia(linux(), RTX, cuinit=999, uvm_node=False), "2.6.0+cu124", cuda_available=False, cuda_error=UNKNOWN
    ),
    "the node is gone, and the system call fails": with_torch(
        with_nvidia(linux(container="docker"), RTX, cuinit=304, uvm_node=False),
        "2.6.0+cu124",
        cuda_available=False,
        cuda_error="Error 304: OS call failed or operation not supported on this OS",
    ),
    "the node is gone, and cuInit was not asked": with_torch(
        with_nvidia(linux(), RTX, cuinit=None, uvm_node=False), "2.6.0+cu124", cuda_available=False
    ),
}
GOOD = {
    "it works": with_torch(with_nvidia(linux(), RTX), "2.6.0+cu124", cuda_available=True),
    "the node comes with the first program": with_torch(
        with_nvidia(linux(), RTX, uvm_node=False), "2.6.0+cu124", cuda_available=True
    ),
    "a CPU build": with_torch(
        with_nvidia(linux(), RTX, cuinit=None, uvm_node=False), "2.6.0+cpu", cuda_available=False
    ),
    "a Mac": with_error(with_torch(mac(), "2.9.0"), "cuda-unknown-error", UNKNOWN),
}
GOOD["in the midst of computing"] = """\
Windows 11, a Tesla M40
  0%|          | 0/25 [00:08<?, ?it/s]
Traceback (most recent call last):
  File "D:\\a\\sample.py", line 116, in sample
RuntimeError: CUDA error: unknown error
"""
GOOD["a machine without a GPU"] = """\
The machine has no CUDA GPU (it's a Virtualbox virtual machine)
THCudaCheck FAIL file=torch/csrc/autograd/engine.cpp line=352 error=30 : unknown error
"""
