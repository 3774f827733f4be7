from dataclasses import replace

from doctor.model.facts import Gpu, Intel
from tests.examples import linux, windows, with_error, with_nvidia, with_torch

ARC = Gpu(vendor="intel", name="Intel(R) Arc(TM) B580 Graphics", driver="xe")


def arc(facts, **intel: object):
    return replace(
        facts,
        gpus=(ARC,),
        intel=Intel(**{"kernel_driver": "xe", "level_zero": False, "render_accessible": True, **intel}),
    )


BAD = {
    "as IPEX writes it": (
        "Ubuntu 24.04, Arc A770\n[W Device.cpp:127] Warning: XPU Device count is zero! (function initGlobalDevicePoolState)\n"
    ),
    "no Level Zero": with_torch(arc(linux()), "2.9.0+xpu", xpu="20250201", xpu_available=False),
    "torch says so": with_error(
        with_torch(arc(linux(), level_zero=None), "2.9.0+xpu", xpu="20250201"),
        "xpu-driver-not-initialized",
        "UserWarning: XPU device count is zero! Failed to initialize XPU devices. The driver may not be installed",
    ),
    "Windows": with_torch(arc(windows()), "2.9.0+xpu", xpu="20250201", xpu_available=False),
    "in a ticket": "RuntimeError: No XPU devices are available.\n",
    "pasted: the runtime counts none": (
        "PyTorch version: 2.9.0+xpu\n"
        "RuntimeError: Native API failed. Native API returns: 39\n"
        "DPCPP Device count is zero!\n"
    ),
}
GOOD = {
    "it works": with_torch(arc(linux(), level_zero=True), "2.9.0+xpu", xpu="20250201", xpu_available=True),
    "a laptop's graphics and a CPU build": with_torch(arc(linux()), "2.9.0+cpu"),
    "an NVIDIA GPU": with_torch(with_nvidia(linux(), "NVIDIA L4"), "2.9.0+xpu", xpu="20250201", xpu_available=False),
}
BAD["the loader finds no driver of the GPU"] = """\
$ ZE_ENABLE_LOADER_DEBUG_TRACE=1 sycl-ls
ZE_LOADER_DEBUG_TRACE:Load Library of libze_intel_gpu.so.1 failed with libze_intel_gpu.so.1: cannot open shared object file: No such file or directory
[opencl:gpu][opencl:1] Intel(R) OpenCL Graphics, Intel(R) UHD Graphics 750 OpenCL 3.0 NEO  [23.43.027642]
$ python3 -c "import torch; print(torch.__version__, torch.xpu.is_available())"
2.7.0+xpu False
"""
