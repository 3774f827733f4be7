from dataclasses import replace

from doctor.model.facts import Metal
from tests.example_case import Case
from tests.examples import mac, with_error, with_torch

OOM = "RuntimeError: MPS backend out of memory (MPS allocated: 0 bytes, other allocations: 0 bytes, max allowed: {}). Tried to allocate {} on private pool."
GUEST = replace(mac(chip="Apple M1 (Virtual)"), metal=Metal(device="Apple Paravirtual device"))

BAD = {
    "no byte to be had": OOM.format("7.93 GB", "35.00 MB"),
    "named device, no byte": "Found device Apple Paravirtual device isLowPower false\n"
    + OOM.format("1.70 GB", "0 bytes"),
    "a runner whose MPS is asked for": with_error(
        with_torch(GUEST, "2.9.1", mps_built=True, mps_available=False),
        "mps-built-not-available",
        "is_built() True is_available() False",
    ),
    "the message on a guest": with_error(
        with_torch(GUEST, "2.9.1"),
        "mps-needs-newer-macos",
        "RuntimeError: The MPS backend is supported on MacOS 14.0+.",
    ),
    "a runner, live, and nobody asks": Case(
        with_torch(GUEST, "2.9.1", mps_built=True, mps_available=False), severity="note"
    ),
}
GOOD = {
    "a guest whose GPU works": with_torch(GUEST, "2.9.1", mps_built=True, mps_available=True),
    "a Mac": with_torch(mac(), "2.9.1", mps_built=True, mps_available=True),
    "a first allocation larger than the memory": OOM.format("9.07 GB", "40.00 GB"),
    "memory in use": with_error(
        with_torch(mac(), "2.9.1"),
        "mps-out-of-memory",
        "RuntimeError: MPS backend out of memory (MPS allocated: 8.20 GB, other allocations: 600.00 MB)",
    ),
}
BAD["a few bytes refused on a hosted runner"] = """\
Image: macos-15-arm64
RuntimeError: MPS backend out of memory (MPS allocated: 1024.00 MB). Tried to allocate 256 bytes on shared pool.
"""
