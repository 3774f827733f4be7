from dataclasses import replace

from tests.examples import linux, mac, with_torch

in_vm = replace(mac(), host=replace(mac().host, virtual_machine="Apple Virtualization"))

BAD = {
    "macOS 26": with_torch(mac(macos="26.0"), "2.9.1", mps_built=True, mps_available=False),
    "macOS 14": with_torch(mac(), "2.4.0", mps_built=True, mps_available=False),
}
GOOD = {
    "available": with_torch(mac(), "2.9.1", mps_built=True, mps_available=True),
    "macOS too old": with_torch(mac(macos="12.2"), "2.4.0", mps_built=True, mps_available=False),
    "13.7 is too old for 2.9": with_torch(mac(macos="13.7.4"), "2.9.1", mps_built=True, mps_available=False),
    "a virtual machine": with_torch(in_vm, "2.9.1", mps_built=True, mps_available=False),
    "Linux": with_torch(linux(), "2.9.1+cpu", mps_built=False, mps_available=False),
    "not known": with_torch(mac(), "2.9.1"),
}
