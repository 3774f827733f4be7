from tests.examples import device, linux, mac, proven, with_nvidia, with_packages, with_torch


def used_mac(version: str, macos: str = "15.1", chip: str = "Apple M4"):
    facts = with_torch(mac(macos=macos, chip=chip), version, mps_available=True)
    return proven(facts, "mps", torch_devices=(device("mps", chip),))


def used_nvidia(version: str, cudnn: str):
    facts = with_torch(with_nvidia(linux(), "NVIDIA GeForce RTX 4090"), version, cuda_available=True, cudnn=cudnn)
    listed = (device("cuda", "NVIDIA GeForce RTX 4090", capability="8.9"),)
    return proven(with_packages(facts, numpy="2.1.3"), "cuda:0", torch_devices=listed)


BAD = {
    "attention of 2.8.0 on MPS is wrong without a word": used_mac("2.8.0"),
    "conv3d of 2.9.1 beside an old cuDNN is slow": used_nvidia("2.9.1+cu128", "9.10.2"),
    "a nightly, judged by the releases around it": used_mac("2.9.0.dev20250901", macos="14.2"),
}
GOOD = {
    "nothing is installed": linux(),
    "a release that the tables don't know": used_nvidia("2.99.0+cu128", "9.15.1"),
    "no version of torch": used_mac("unknown"),
    "torch does not import": with_torch(mac(macos="15.1"), "2.8.0", imports=False),
}
