from tests.examples import mac, with_error, with_torch
from tests.tickets import collect_env

FULL = "MPS backend out of memory (MPS allocated: 5.50 GB, other allocations: 14.76 GB, max allowed: 20.40 GB)"

BAD = {
    "full": with_error(with_torch(mac(), "2.3.1"), "mps-out-of-memory", FULL),
    "the ratio": with_error(with_torch(mac(), "2.3.1"), "mps-watermark-ratio", "invalid low watermark ratio 1.4"),
    "pasted: RuntimeError: MPS backend out of memory (MPS allocated: 17.0": (
        "RuntimeError: MPS backend out of memory (MPS allocated: 17.05 GB, other allocations: 432.00 KB, max allowed: 18.13 GB). Tried to allocate 1.25 GB on private pool. Use PYTORCH_MPS_HIGH_WATERMARK_RATIO=0.0 to disable upper limit for memory allocations (may cause system failure).\n"
    ),
    "pasted: RuntimeError: invalid low watermark ratio 1.4": ("RuntimeError: invalid low watermark ratio 1.4\n"),
    "pasted: RuntimeError: MPS backend out of memory (MPS allocated: 8.98": (
        "RuntimeError: MPS backend out of memory (MPS allocated: 8.98 GB, other allocations: 5.01 MB, max allowed: 9.07 GB). Tried to allocate 98.00 MB on private pool.\n"
        + collect_env("2.1.0", "mac")
    ),
}
GOOD = {
    "a virtual machine has none at all": with_error(
        mac(),
        "mps-oom-nothing-allocated",
        "MPS backend out of memory (MPS allocated: 0 bytes, other allocations: 0 bytes, max allowed: 1.70 GB)",
    ),
    "healthy": with_torch(mac(), "2.3.1", mps_available=True),
}
