"""The AMD GPU stack: amdgpu, /dev/kfd, the kernel's topology, rocminfo."""

from __future__ import annotations

from collections.abc import Callable

from doctor.facts.gpus import pci
from doctor.facts.notes import Notes
from doctor.facts.system import System
from doctor.formats import rocm
from doctor.model.facts import ABSENT, Gap, Source

KFD, TOPOLOGY = "/dev/kfd", "/sys/class/kfd/kfd/topology/nodes"
LIMIT_S = 10.0
LEAST_S = 3.0  # where all else has answered
_VERSION_FILES = ("/opt/rocm/.info/version", "/opt/rocm/.info/version-dev")


def start(system: System, notes: Notes) -> Callable[[Notes], None]:
    """Write down what files say; start rocminfo where it is installed."""
    if system.uname().system != "linux":
        notes.gap("amd", "not-applicable", "only Linux shows the AMD compute stack")
        return lambda notes: None
    notes.set("amd.kernel_driver", system.exists("/sys/module/amdgpu"), "/sys/module/amdgpu")
    kfd = system.exists(KFD)
    notes.set("amd.kfd", kfd, KFD)
    if kfd:
        notes.set("amd.kfd_accessible", system.can_open(KFD), KFD)
    else:
        notes.gap("amd.kfd_accessible", "not-applicable", f"there is no {KFD}")
    notes.set("amd.render_accessible", pci.render_accessible(system, "0x1002"), "/dev/dri")
    notes.gap("amd.render_accessible", "not-applicable", "there is no render node of an AMD GPU")
    notes.set("amd.groups", system.groups(), "getgroups")
    _rocm_version(system, notes)
    nodes = _topology(system)
    notes.set("gpus.kfd", nodes, TOPOLOGY)
    child = system.start(
        ["/opt/rocm/bin/rocminfo"] if system.exists("/opt/rocm/bin/rocminfo") else ["rocminfo"], limit_s=LIMIT_S
    )

    def finish(notes: Notes) -> None:
        if notes.patience_s is not None:
            child.hurry(notes.patience_s, at_least=LEAST_S)
        result = child.result()
        gpus = rocm.parse(result.stdout)
        error = rocm.error_of(result.stdout + result.stderr)
        notes.set("gpus.rocminfo", gpus or None, "rocminfo")
        status = {"not-found": "absent", "timed-out": "timed-out", "permission": "permission"}.get(
            result.status, "failed"
        )
        if gpus or (result.ok and not error):
            status = "ok"
        source = Source(name="rocminfo", status=status, message=error or result.said, stuck=result.stuck)  # type: ignore[arg-type]
        notes.set("amd.sources", (source,), "rocminfo")

    return finish


def _rocm_version(system: System, notes: Notes) -> None:
    for path in _VERSION_FILES:
        text = system.read(path, 256)
        if not isinstance(text, Gap):
            notes.set("amd.rocm", text.strip().split("-")[0], path, text.strip())
            return
    if system.exists("/opt/rocm"):
        notes.gap("amd.rocm", "unreadable", "/opt/rocm does not say its version", "/opt/rocm")
    else:
        notes.set("amd.rocm", ABSENT, "/opt/rocm")


def _topology(system: System) -> tuple[rocm.RocmGpu, ...] | None:
    nodes = system.listdir(TOPOLOGY)
    if isinstance(nodes, Gap):
        return None
    texts = (system.read(f"{TOPOLOGY}/{node}/properties", 16384) for node in sorted(nodes, key=lambda n: (len(n), n)))
    return tuple(gpu for text in texts if not isinstance(text, Gap) and (gpu := rocm.parse_kfd(text)))
