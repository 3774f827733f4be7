from dataclasses import replace

from doctor.model.facts import Gpu
from tests.example_case import Case
from tests.examples import device, linux, with_amd, with_error, with_nvidia, with_torch

RTX = "NVIDIA GeForce RTX 4090"
NONE = "RuntimeError: No CUDA GPUs are available"
ONE = with_torch(with_nvidia(linux(), RTX), "2.6.0+cu124", cuda_available=False)
SMI = """\
$ nvidia-smi
+-----------------------------------------------------------------------------+
| NVIDIA-SMI 535.104.05             Driver Version: 535.104.05   CUDA Version: 12.2     |
|   0  NVIDIA GeForce RTX 3090        Off | 00000000:01:00.0 Off |                  N/A |
"""

BAD = {
    "a second GPU is chosen, and none is seen": (
        'os.environ["CUDA_VISIBLE_DEVICES"]=\'1\'\n' + NONE + "\n"
    ),
    "empty": replace(ONE, environ={"CUDA_VISIBLE_DEVICES": ""}),
    "minus one": replace(ONE, environ={"CUDA_VISIBLE_DEVICES": "-1"}),
    "a number that is not there": replace(ONE, environ={"CUDA_VISIBLE_DEVICES": "2"}),
    "in front of the command": f"$ CUDA_VISIBLE_DEVICES=1 python train.py\n{NONE}\n{SMI}",
    "the program empties it": with_error(
        with_error(
            with_nvidia(replace(linux(), environ=None), RTX), "visible-devices-empty", "CUDA_VISIBLE_DEVICES=-1"
        ),
        "no-cuda-gpus",
        NONE,
    ),
    "no device detected, by a driver that has one": f"RuntimeError: CUDA error: no CUDA-capable device is detected\n{SMI}",
    "torch sees none, the driver one": f"{NONE}\n{SMI}",
    "torch sees none, nvidia-smi -L one": f"{NONE}\n$ nvidia-smi -L\nGPU 0: Tesla T4 (UUID: GPU-00000000-0000-0000-0000-000000000000)\n",
    "HIP": replace(
        with_torch(with_amd(linux(), "AMD Radeon RX 7900 XTX", gfx="gfx1100"), "2.6.0+rocm6.2.4", cuda_available=False),
        environ={"HIP_VISIBLE_DEVICES": "-1"},
    ),
    "Intel": replace(
        with_torch(
            replace(linux(), gpus=(Gpu(vendor="intel", name="Intel(R) Arc(TM) B580 Graphics"),)),
            "2.9.0+xpu",
            xpu="20250201",
        ),
        environ={"ZE_AFFINITY_MASK": "3"},
    ),
}
GOOD = {
    "pasted: CUDA has no device, and nothing shows a GPU or a variable": (
        "RuntimeError: cuda runtime error (100) : no CUDA-capable device is detected at "
        "/pytorch/aten/src/THC/THCGeneral.cpp:47\n"
    ),
    "pasted: the driver does not initialise": (
        "RuntimeError: CUDA driver initialization failed, you might not have a CUDA gpu.\n"
    ),
    "the first GPU is chosen": 'os.environ["CUDA_VISIBLE_DEVICES"]=\'0\'\n' + NONE + "\n",
    "nothing is set": replace(with_torch(with_nvidia(linux(), RTX), "2.6.0+cu124", cuda_available=True), environ={}),
    "0 hides nothing": replace(
        with_torch(with_nvidia(linux(), RTX), "2.6.0+cpu"), environ={"CUDA_VISIBLE_DEVICES": "0"}
    ),
    "no GPU to hide": replace(with_torch(linux(), "2.6.0+cpu"), environ={"CUDA_VISIBLE_DEVICES": ""}),
    "a UUID": replace(
        with_torch(with_nvidia(linux(), RTX), "2.6.0+cu124", cuda_available=True),
        environ={"CUDA_VISIBLE_DEVICES": "GPU-1234"},
    ),
}
BAD["the container asks for a GPU that is not there"] = """\
docker: Error response from daemon: OCI runtime create failed: stderr: nvidia-container-cli: device error: 1: unknown device: unknown.
"""


UUID = "GPU-01234567-89ab-cdef-0123-456789abcdef"


def masked(value: str, *, gpus: int = 1, uuids: bool = True, works: bool = False, **torch: object):
    facts = with_torch(with_nvidia(linux(), *[RTX] * gpus), "2.6.0+cu124", cuda_available=works, **torch)
    own = tuple(replace(g, uuid=UUID.replace("0", str(i), 1)) for i, g in enumerate(facts.gpus or ()))
    return replace(facts, gpus=own if uuids else facts.gpus, environ={"CUDA_VISIBLE_DEVICES": value})


SEEN = (device("cuda", RTX),)
BAD["a UUID that is not there"] = masked("GPU-deadbeef")
BAD["a UUID, and the driver tells none"] = masked("GPU-deadbeef", uuids=False)
BAD["a MIG device that is not there"] = masked("MIG-1234")
BAD["twice the same"] = masked("0,0")
BAD["the first of two is chosen"] = Case(masked("0", gpus=2, works=True, devices=SEEN), severity="note")
BAD["the second of two is chosen"] = Case(masked("1", gpus=2, works=True, devices=SEEN), severity="note")
BAD["one of two, and an end of the list"] = Case(masked("0,-1", gpus=2, works=True, devices=SEEN), severity="note")
BAD["one of two, and one that is not there"] = Case(masked("0,7", gpus=2, works=True, devices=SEEN), severity="note")
BAD["by UUID"] = Case(masked("GPU-11234567", gpus=2, works=True, devices=SEEN), severity="note")
GOOD["the UUID of the GPU"] = masked(UUID[:12], works=True)
GOOD["both of two"] = masked("1,0", gpus=2, works=True, devices=(*SEEN, device("cuda", RTX, 1)))
GOOD["a MIG device in use"] = masked("MIG-1234", works=True, devices=SEEN)
GOOD["twice the same, where the driver lets it pass"] = masked("0,0", works=True, devices=SEEN)
GOOD["the driver's start fails, and no variable is told of"] = """\
Quadro RTX 5000, CentOS 7
/home/u/v/lib/python3.9/site-packages/torch/cuda/__init__.py:83: UserWarning: CUDA initialization: CUDA driver initialization failed, you might not have a CUDA gpu.
False
"""
GOOD["the same in a container"] = """\
docker run --gpus all image
$ nvidia-smi
| NVIDIA-SMI 525.105.17   Driver Version: 525.105.17   CUDA Version: 12.0     |
/opt/lib/python3.9/site-packages/torch/cuda/__init__.py:88: UserWarning: CUDA initialization: CUDA driver initialization failed, you might not have a CUDA gpu.
False
"""
MIG = """\
>>> torch.cuda.is_available()
False
$ nvidia-smi
+---------------------------------------------------------------------------------------+
| NVIDIA-SMI 530.41.03              Driver Version: 530.41.03    CUDA Version: 12.1     |
|-----------------------------------------+----------------------+----------------------+
|   0  NVIDIA A100-SXM4-80GB           Off| 00000000:40:00.0 Off |                   On |
| N/A   27C    P0               31W / 400W|      0MiB / 81920MiB |     N/A      Default |
|                                         |                      |              Enabled |
+-----------------------------------------+----------------------+----------------------+
| MIG devices:                                                                          |
{devices}
+---------------------------------------------------------------------------------------+
"""
BAD["MIG mode without an instance"] = Case(MIG.format(devices="|  No MIG devices found                   |"), severity="fault")
BAD["MIG mode, and no instance is shown"] = MIG.partition("| MIG devices")[0]
GOOD["a MIG instance"] = MIG.format(devices="|  0    1   0   0  |     11MiB / 20224MiB | 42      0 |  3   0    2    0    0 |")
GOOD["MIG mode, and torch computes"] = replace(
    with_torch(with_nvidia(linux(), "NVIDIA A100-SXM4-80GB"), "2.6.0+cu124", cuda_available=True),
    nvidia=replace(with_nvidia(linux(), "NVIDIA A100-SXM4-80GB").nvidia, mig=True),
)
