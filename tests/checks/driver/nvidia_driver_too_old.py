from tests.examples import linux, windows, with_nvidia, with_torch

RTX = "NVIDIA GeForce RTX 4090"

BAD = {
    "cu124 on a 470 driver, with an Ampere card": with_torch(
        with_nvidia(linux(), "NVIDIA GeForce RTX 3090", driver="470.256.02"), "2.6.0+cu124", cuda_available=False
    ),
    "a driver older than the card": with_torch(with_nvidia(linux(), RTX, driver="470.57.02"), "2.6.0+cpu"),
}
GOOD = {
    "minor-version compatibility": with_torch(with_nvidia(linux(), RTX, driver="535.104.05"), "2.6.0+cu124", cuda_available=True),
    "Windows numbers": with_torch(with_nvidia(windows(), RTX, driver="528.33"), "2.6.0+cu124", cuda_available=True),
}
