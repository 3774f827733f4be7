from dataclasses import replace

from doctor.model.facts import Gpu, Intel
from tests.example_case import Case
from tests.examples import linux, windows, with_nvidia, with_torch

UHD = Gpu(vendor="intel", name="Intel(R) UHD Graphics 630", integrated=True, driver="i915")
ARC = Gpu(vendor="intel", name="Intel(R) Arc(TM) B580 Graphics", driver="xe")


def with_gpu(facts, *gpus: Gpu):
    return replace(facts, gpus=gpus, intel=Intel(kernel_driver="i915", level_zero=False, render_accessible=True))


BAD = {
    "a laptop's graphics and a CPU build": Case(
        with_torch(with_gpu(linux(), UHD), "2.6.0+cpu", cuda_available=False), severity="note"
    ),
    "Windows": Case(
        with_torch(with_gpu(windows(), UHD), "2.6.0+cpu", cuda_available=False), severity="note"
    ),
    "an XPU build": Case(
        with_torch(with_gpu(linux(), UHD), "2.9.0+xpu", xpu="20250201", xpu_available=False), severity="fault"
    ),
    "pasted": Case(
        "$ lspci | grep VGA\n"
        "00:02.0 VGA compatible controller: Intel Corporation Raptor Lake-P [Iris Xe Graphics] (rev 04)\n"
        "torch 2.9.0+xpu\n"
        "RuntimeError: No XPU devices are available.\n",
        severity="fault",
    ),
}
GOOD = {
    "an Arc": with_torch(with_gpu(linux(), ARC), "2.9.0+xpu", xpu="20250201", xpu_available=True),
    "an Arc without its runtime": with_torch(with_gpu(linux(), ARC), "2.9.0+xpu", xpu="20250201", xpu_available=False),
    "beside a card that is used": with_torch(
        replace(with_nvidia(linux(), "NVIDIA L4"), gpus=(Gpu(vendor="nvidia", name="NVIDIA L4"), UHD)),
        "2.6.0+cu124",
        cuda_available=True,
    ),
    "a GPU that the tables do not know": with_torch(
        with_gpu(linux(), Gpu(vendor="intel", name="Intel(R) Graphics")), "2.6.0+cpu", cuda_available=False
    ),
}
