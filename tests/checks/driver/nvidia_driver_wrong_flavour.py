from tests.examples import linux, with_nvidia, with_torch

RTX, OLD = "NVIDIA GeForce RTX 5090", "NVIDIA GeForce GTX 1080 Ti"
NONE = "No devices were found"


def without_devices(name: str, flavour: str | None, *, smi_error: object = NONE, **nvidia: object):
    given = {"smi_error": smi_error, "gpus_seen": 0, "cuinit": 100, "module_flavour": flavour, **nvidia}
    return with_torch(with_nvidia(linux(), name, driver="580.65.06", **given), "2.9.1+cu128", cuda_available=False)


BAD = {
    "Blackwell under the proprietary module": without_devices(RTX, "proprietary"),
    "Pascal under the open module": without_devices(OLD, "open"),
    "the kernel says which one it wants": (
        "NVRM: loading NVIDIA UNIX x86_64 Kernel Module  570.86.16  Fri Jan 24 20:56:28 UTC 2025\n"
        "NVRM: The NVIDIA GPU 0000:01:00.0 (PCI ID: 10de:2b85)\n"
        "NVRM: installed in this system requires use of the NVIDIA open kernel modules.\n"
        "NVRM: GPU 0000:01:00.0: RmInitAdapter failed! (0x22:0x56:762)\n"
        "$ nvidia-smi\nNo devices were found\n"
    ),
    "the kernel says that it wants the other one": (
        "kernel: NVRM: The NVIDIA GPU 0000:09:00.0 (PCI ID: 10de:1d01)\n"
        "               NVRM: installed in this system is not supported by open\n"
        "               NVRM: nvidia.ko because it does not include the required GPU\n"
        "               NVRM: System Processor (GSP).\n"
        "kernel: NVRM: None of the NVIDIA devices were initialized.\n"
    ),
    "the firmware gave it no address range": (
        "[    4.1] NVRM: This PCI I/O region assigned to your NVIDIA device is invalid:\n"
        "               NVRM: BAR1 is 0M @ 0x0 (PCI:0000:01:00.0)\n"
        "$ nvidia-smi\nNo devices were found\n"
    ),
    "by the module's line and the GPU": (
        "$ cat /proc/driver/nvidia/version\n"
        "NVRM version: NVIDIA UNIX x86_64 Kernel Module  570.86.16  Fri Jan 24 20:56:28 UTC 2025\n"
        "$ lspci | grep -i nvidia\n"
        "01:00.0 VGA compatible controller: NVIDIA Corporation GB202 [GeForce RTX 5090] (rev a1)\n"
        "$ nvidia-smi\nNo devices were found\n"
    ),
}
GOOD = {
    "Blackwell under the open module": without_devices(RTX, "open"),
    "a GPU that runs with either": without_devices("NVIDIA GeForce RTX 4090", "proprietary"),
    "it works": with_torch(with_nvidia(linux(), RTX, module_flavour="open"), "2.9.1+cu128", cuda_available=True),
    "the flavour is not known": without_devices(RTX, None),
}
