from tests.examples import linux, with_error, with_nvidia, with_torch

BUSY = "RuntimeError: CUDA error: all CUDA-capable devices are busy or unavailable"
V100 = "Tesla V100-SXM2-32GB"

BAD = {
    "the message": BUSY + "\n",
    "exclusive mode": with_error(
        with_torch(with_nvidia(linux(), V100, compute_mode="Exclusive_Process", processes=1), "2.6.0+cu124"),
        "cuda-devices-busy",
        BUSY,
    ),
    "exclusive mode, and torch finds none": with_error(
        with_torch(
            with_nvidia(linux(), V100, compute_mode="Exclusive_Process", processes=1),
            "2.6.0+cu124",
            cuda_available=False,
        ),
        "no-cuda-gpus",
        "RuntimeError: No CUDA GPUs are available",
    ),
    "live": with_torch(
        with_nvidia(linux(), V100, compute_mode="Prohibited"),
        "2.6.0+cu124",
        cuda_available=False,
        cuda_error="CUDA error: " + BUSY[26:],
    ),
}
GOOD = {
    "shared": with_torch(
        with_nvidia(linux(), V100, compute_mode="Default", processes=3), "2.6.0+cu124", cuda_available=True
    ),
    "exclusive, and ours": with_torch(
        with_nvidia(linux(), V100, compute_mode="Exclusive_Process"), "2.6.0+cu124", cuda_available=True
    ),
}
