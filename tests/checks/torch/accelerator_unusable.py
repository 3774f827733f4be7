from tests.examples import device, linux, mac, with_nvidia, with_torch

L4 = "NVIDIA L4"

BAD: dict[str, object] = {}  # concluded after the checks: see tests/accounting
GOOD = {
    "it is used": with_torch(
        with_nvidia(linux(), L4), "2.6.0+cu124", cuda_available=True, devices=(device("cuda", L4, capability="8.9"),)
    ),
    "no GPU": with_torch(linux(), "2.6.0+cpu", cuda_available=False, devices=()),
    "no judge of its own": with_torch(with_nvidia(linux(), L4), "2.6.0+cu124", cuda_available=False, devices=()),
    "a Mac in use": with_torch(mac(), "2.6.0", mps_available=True, devices=(device("mps", "Apple M1 Pro"),)),
}
