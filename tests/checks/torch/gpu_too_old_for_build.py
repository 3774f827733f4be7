from dataclasses import replace

from doctor.model.facts import ProbeResult
from tests.example_case import Case
from tests.examples import device, linux, with_error, with_nvidia, with_torch
from tests.tickets import collect_env

P100 = "Tesla P100-PCIE-16GB with CUDA capability sm_60 is not compatible with the current PyTorch installation."
V100 = "Found GPU1 Tesla V100-SXM2-32GB which is of cuda capability 7.0"
NEW = ("sm_75", "sm_80", "sm_86", "sm_90", "sm_100", "sm_120")

BAD = {
    "a Kepler card in a sentence": (
        "A Tesla K80 and two Tesla K40c are in this machine, with PyTorch 1.3.1.\n"
        "RuntimeError: parallel_for failed: cudaErrorNoKernelImageForDevice: no kernel image is available for execution on the device\n"
    ),
    "P100 on cu128": with_torch(with_nvidia(linux(), "Tesla P100-PCIE-16GB"), "2.8.0+cu128", cuda_available=True),
    "by the list of torch itself": with_torch(
        with_nvidia(linux(), "Tesla V100-SXM2-32GB"), "2.11.0+cu130", cuda_available=True, arch_list=NEW,
        devices=(device("cuda", "Tesla V100-SXM2-32GB", capability="7.0"),),
    ),
    "GTX 1080 on CUDA 13": with_torch(with_nvidia(linux(), "NVIDIA GeForce GTX 1080"), "2.12.0+cu130", cuda_available=True),
    "GTX 780 Ti since CUDA 11": with_torch(
        with_nvidia(linux(python="3.10.12"), "NVIDIA GeForce GTX 780 Ti", driver="470.256.02"), "2.0.1+cu117", cuda_available=True
    ),
    "the warning alone": with_error(replace(linux(), gpus=None), "capability-too-old", P100),
    "one of two, with its warning": with_error(
        with_torch(with_nvidia(linux(), "NVIDIA A100-SXM4-40GB", "Tesla V100-SXM2-32GB"), "2.11.0+cu130", cuda_available=True, arch_list=NEW),
        "capability-too-old", V100,
    ),
    'pasted: torch.AcceleratorError: CUDA error: no kernel image is avail': (
        'Found GPU0 NVIDIA GeForce GTX 960M which is of cuda capability 5.0.\n'
        '    Minimum and Maximum cuda capability supported by this version of PyTorch is\n'
        '    (7.5) - (12.0)\n'
        'torch.AcceleratorError: CUDA error: no kernel image is available for execution on the device\n'
    ),
    'pasted: collect_env': (
        collect_env('2.9.0+cu128', driver='580.65.06', gpu='GPU 0: NVIDIA GeForce GTX 1070')
    ),
    'pasted: /home/user/env/lib/python3.8/site-packages/torch/cuda/__init': (
        '/home/user/env/lib/python3.8/site-packages/torch/cuda/__init__.py:81: UserWarning:\n'
        '    Found GPU0 Quadro K4000 which is of cuda capability 3.0.\n'
        '    PyTorch no longer supports this GPU because it is too old.\n'
        '    The minimum cuda capability supported by this library is 3.7.\n'
    ),
    'pasted: Tesla K40m with CUDA capability sm_35 is not compatible with': (
        'Tesla K40m with CUDA capability sm_35 is not compatible with the current PyTorch installation.\n'
        'The current PyTorch install supports CUDA capabilities sm_37 sm_50 sm_60 sm_70 sm_75 sm_80 sm_86.\n'
    ),
}  # fmt: skip
works = with_torch(
    with_nvidia(linux(), "NVIDIA Odd 1"),
    "2.11.0+cu130",
    cuda_available=True,
    arch_list=NEW,
    devices=(device("cuda", "NVIDIA Odd 1", capability="7.0"),),
)

GOOD = {
    "no kernel for a card that no build has dropped": (
        "An RTX 3090 is in this machine, with PyTorch 1.3.1.\n"
        "RuntimeError: CUDA error: no kernel image is available for execution on the device\n"
    ),
    "the probe computed right on it": replace(works, probes=(ProbeResult(id="cuda:0", device="cuda:0", status="ok"),)),
    "P100 on cu126": with_torch(with_nvidia(linux(), "Tesla P100-PCIE-16GB"), "2.8.0+cu126", cuda_available=True),
    "T4": with_torch(with_nvidia(linux(), "Tesla T4"), "2.11.0+cu130", cuda_available=True),
    "P104-100 on cu121": with_torch(
        with_nvidia(linux(python="3.10.12"), "NVIDIA P104-100"), "2.3.0+cu121", cuda_available=True
    ),
    "a CPU build": with_torch(with_nvidia(linux(), "Tesla K80", driver="470.256.02"), "2.8.0+cpu"),
}

BAD["no build serves a GTX 680"] = Case(
    with_torch(with_nvidia(linux(), "NVIDIA GeForce GTX 680", driver="470.256.02"), "2.6.0+cpu", cuda_available=False),
    severity="note",
)
BAD["nor an older one, whatever its driver"] = Case(
    with_torch(with_nvidia(linux(), "NVIDIA GeForce GTX 580", driver="390.157"), "2.6.0+cpu", cuda_available=False),
    severity="note",
)
GOOD["a CPU build beside a GPU that a build serves"] = with_torch(
    with_nvidia(linux(), "NVIDIA GeForce RTX 3060"), "2.6.0+cpu", cuda_available=False
)
BAD["ptxas refuses an instruction"] = """\
GeForce RTX 2080 Ti
RuntimeError: Internal Triton PTX codegen error
ptxas /tmp/a.ptx, line 217; error   : Feature '.bf16' requires .target sm_80 or higher
"""
GOOD["the code was made for another GPU"] = """\
NVIDIA A100
ptxas /tmp/a.ptx, line 217; error   : Feature '.bf16' requires .target sm_80 or higher
"""
