from tests.example_case import Case
from tests.examples import linux, with_error, with_nvidia, with_torch

A100 = "NVIDIA A100-SXM4-40GB"
XID = "[12345.678901] NVRM: Xid (PCI:0000:{}:00): {}, pid=1234, name=python, {}"

BAD = {
    "uncorrectable ECC": "RuntimeError: CUDA error: uncorrectable ECC error encountered\n",
    "off the bus": XID.format("01", 79, "GPU has fallen off the bus.") + "\n",
    "no handle": "$ nvidia-smi\nUnable to determine the device handle for GPU 0000:02:00.0: Unknown Error\n",
    "lost": "$ nvidia-smi\nUnable to determine the device handle for GPU0000:4E:00.0: GPU is lost.  Reboot the system to recover this GPU\n",
    "an Xid, live": with_torch(with_nvidia(linux(), A100, xids=(48,)), "2.6.0+cu124", cuda_available=True),
    "no devices": "$ nvidia-smi\nNo devices were found\n",
    "a driver that dropped the card": with_error(
        with_nvidia(linux(), "Tesla K80", driver="525.60.13", capability="3.7"),
        "smi-no-devices",
        "No devices were found",
    ),
    "worn memory": Case(
        with_torch(with_nvidia(linux(), A100, xids=(63,)), "2.6.0+cu124", cuda_available=True), severity="warning"
    ),
}
GOOD = {
    "healthy": with_torch(with_nvidia(linux(), A100, xids=()), "2.6.0+cu124", cuda_available=True),
    "a program's own Xid": with_torch(
        with_nvidia(linux(), A100, xids=(31, 13, 43)), "2.6.0+cu124", cuda_available=True
    ),
    "a program's own Xid in dmesg": XID.format("01", 31, "Ch 00000008, intr 00000000. MMU Fault") + "\n",
}
BAD["off the bus, without an Xid"] = """\
[ 1843.308145] NVRM: The NVIDIA GPU 0000:b3:00.0
               NVRM: (PCI ID: 10de:26b5) installed in this system has
               NVRM: fallen off the bus and is not responding to commands.
"""
BAD["nvidia-smi gets errors for values"] = """\
| NVIDIA-SMI 550.90.07              Driver Version: 550.90.07      CUDA Version: 12.4     |
| N/A   ERR!  ERR!             ERR! /  ERR! |   ERR!                 |     ERR!     Default |
"""
BAD["Windows has stopped it"] = """\
NVIDIA GeForce GTX 1060 6GB
Windows has stopped this device because it has reported problems. (Code 43)
"""
