"""What follows from all that was noted, once every reader has read: the only place where one saying is held against
another. Of several sayings of one fact `Notes.put` keeps the one of the highest Trust; here it is decided what they
mean together. A step that fails is a Gap, like a reader."""

from __future__ import annotations

import re

from doctor.evidence import machine
from doctor.evidence.notes import Mention, Notes, Trust
from doctor.knowledge import lookup
from doctor.model.facts import ABSENT, SERVICES, Gpu, OtherEnvironment, Source

SMI = "nvidia-smi"


def driver(notes: Notes) -> None:
    """An error of nvidia-smi is an answer that failed; a driver without one means that it did not fail."""
    error, driver = notes.get("nvidia.smi_error"), notes.get("nvidia.driver")
    if error and notes.get("nvidia.sources") is None:
        failed = (Source(name=SMI, status="failed", message=error),)
        notes.put("nvidia.sources", failed, source=SMI, rank=Trust.PRINTED)
    elif driver and driver is not ABSENT and error is None:
        notes.put("nvidia.smi_error", ABSENT if notes.get("nvidia.sources") else None, source=SMI, rank=Trust.PRINTED)


def sentences(notes: Notes) -> None:
    """What sentences dispute is not known, nor what they say of another system than this machine's."""
    for fact in notes.disputed:
        if notes.is_said(fact):
            notes.forget(fact)
    for fact in ("host.os_id", "host.os_name", "host.os_version", "host.macos"):
        if notes.is_said(fact) and notes.get("host.system") != notes.said_system:
            notes.forget(fact)


def compared_releases(notes: Notes) -> None:
    """Of several releases of torch that sentences name, the one that fails is this machine's; one that works is not.
    What a tool or a list of packages says stands above them."""
    fact, noted = "torch.version", str(notes.get("torch.version") or "")
    fine = [one for one in notes.releases if one.fails is False]
    if notes.rank_of(fact) > Trust.PRINTED or (not fine and len({one.release for one in notes.releases}) < 2):
        return
    left = [one for one in notes.releases if not any(other.is_of(one.release) for other in fine)]
    failing = [one for one in left if one.fails] or (left if len({one.release for one in left}) == 1 else [])
    if failing and not failing[0].is_of(noted) and (not noted or any(one.is_of(noted) for one in notes.releases)):
        notes.overrule(fact, failing[0].release, notes.releases[failing[0]])
    elif not failing and any(one.is_of(noted) for one in fine):
        notes.forget(fact)


def named_gpus(notes: Notes) -> None:
    """The GPUs that sentences name are the machine's, where nothing better is known and they are of one maker; where
    one is said to fail, it is that one."""
    if notes.gpus or notes.no_gpu or notes.get("host.jetson"):
        return
    mentions = [one for one in notes.mentions if one.fails] or notes.mentions
    mentions = [one for one in mentions if not one.maker_only] or mentions
    if len({machine.vendor_of(one.name) for one in mentions}) != 1:
        return
    if notes.get("host.virtual_machine") in SERVICES and not all(_rented(one) for one in mentions):
        notes.mentions.clear()  # the GPU of the user's own computer
        return
    for one in mentions:
        gpu = machine.named_gpu(one.name)
        if gpu and one.maker_only:
            gpu = Gpu(vendor=gpu.vendor)
        if gpu:
            notes.gpu(gpu, group="prose", rank=Trust.SAID, source="text")


def _rented(mention: Mention) -> bool:
    """Whether a service may have that GPU: NVIDIA's for data centers."""
    return machine.vendor_of(mention.name) == "nvidia" and not re.search(r"GeForce|[RG]TX \d{3,4}\b", mention.name)


def hinted_gpu(notes: Notes) -> None:
    """Whose GPU it is by what is typed for it and by a maker's name, where a program misses a GPU and nothing names
    one."""
    rows = (lookup.error_pattern(error.pattern) for error in notes.errors)
    if not any(row and row.kind == "no-device" for row in rows):
        return
    if notes.get("host.virtual_machine") in SERVICES:
        return
    if notes.gpus or notes.no_gpu or notes.mentions or notes.get("host.jetson") or notes.get("host.system") == "darwin":
        return
    if any(notes.get(f"nvidia.{fact}") for fact in ("driver", "kernel_module", "gpus_seen", "device_nodes")):
        return
    found = [gpu for gpu in notes.hints if not gpu.integrated] or notes.hints
    if found and len({gpu.vendor for gpu in found}) == 1:
        best = next((gpu for gpu in found if gpu.gfx), found[0])
        notes.gpu(best, group="hints", rank=Trust.SAID, source="text")


def torch(notes: Notes) -> None:
    """A torch of another Python; a torch that cannot be imported and of which nothing else is known; several copies."""
    version, absent = notes.get("torch.version"), notes.get("torch") is ABSENT
    known = any(notes.get(f"torch.{fact}") for fact in ("version", "path", "import_failure"))
    if absent and version and not any(o.torch for o in notes.others):
        # unless a list says that it is this one's
        notes.others.append(OtherEnvironment(python="", torch=version, how=notes.source_of("torch.version")))
    elif not absent and notes.get("torch.imports") is False and not known:
        notes.put("torch", ABSENT, source=notes.source_of("torch.imports"), rank=Trust(notes.rank_of("torch.imports")))
    copies = [c for c in notes.copies if c.version]
    releases = {str(v).partition("+")[0] for v in (version, *(c.version for c in copies)) if v}
    if len(copies) > 1 or (len(copies) == 1 and len(releases) > 1):
        notes.put("torch.copies", tuple(copies), source="package lists", rank=Trust.LISTED)


def build(notes: Notes) -> None:
    """torch.version.* follow from a local part (+cu124, +cpu, +rocm6.3, +xpu) where nothing says them."""
    local = str(notes.get("torch.version") or "").partition("+")[2]
    if m := re.fullmatch(r"cu(\d{2,3})(?:[._][\w.]+)?", local):
        said: tuple[object, object] = (f"{m[1][:-1]}.{m[1][-1]}", ABSENT)
    elif m := re.match(r"rocm(\d+\.\d+(?:\.\d+)?)", local):
        said = (ABSENT, m[1])
    elif local.startswith(("cpu", "xpu")):
        said = (ABSENT, ABSENT)
    else:
        return
    for fact, value in zip(("torch.cuda", "torch.hip"), said, strict=True):
        notes.follow(fact, value, "torch.version")


def host(notes: Notes) -> None:
    """Which system it is, and what no machine of that system has."""
    if notes.get("torch.mps_available") or notes.get("torch.mps_built"):
        notes.put("host.system", "darwin", source="torch.backends.mps", rank=Trust.LISTED)
    system = notes.get("host.system")
    guessed = system in ("windows", "darwin") and notes.rank_of("host.system") <= Trust.LOOK
    if guessed and notes.get("host.container") and notes.linux_paths:
        # The prompt is the host's, the messages are of the Linux container.
        notes.overrule("host.system", "linux")
        system = "linux"
    if system != "darwin" and notes.is_said("host.cpu_model") and _is_apple(notes):  # a chip named in passing
        notes.forget("host.cpu_model")
    if system is None:
        return
    lacks = {"darwin": ("jetson", "wsl"), "windows": ("macos", "jetson", "wsl"), "linux": ("macos",)}
    for fact in lacks.get(system, ()):
        notes.put(f"host.{fact}", ABSENT, source=notes.source_of("host.system"), rank=Trust.SAID)
    if notes.get("host.jetson") == "unknown":
        kernel = str(notes.get("host.kernel") or "")
        l4t = machine.L4T_OF_KERNEL.get(".".join(kernel.split(".")[:2]))
        notes.put("host.jetson", l4t, source=notes.source_of("host.kernel"), rank=Trust.TOOL)
    if system == "darwin":
        _mac(notes)


def _is_apple(notes: Notes) -> bool:
    return str(notes.get("host.cpu_model") or "").startswith("Apple")


def _mac(notes: Notes) -> None:
    """What a Mac's processor tells: the hardware, its GPU, and whether Python is translated."""
    cpu = str(notes.get("host.cpu_model") or "")
    if _is_apple(notes):
        notes.put("host.architecture", "arm64", source="CPU", rank=Trust.ANSWERED)
        if "apple" not in notes.vendors:  # Apple silicon is its own GPU
            notes.gpu(Gpu(vendor="apple", name=cpu), group="chip", rank=Trust.LISTED, source="CPU")
    elif cpu.lower().startswith("intel"):
        notes.put("host.architecture", "x86_64", source="CPU", rank=Trust.ANSWERED)
    own, hardware = notes.get("interpreter.architecture"), notes.get("host.architecture")
    if hardware == "arm64" and own == "x86_64":
        notes.put("interpreter.translated", True, source="CPU", rank=Trust.ANSWERED)
    elif hardware and own == hardware:
        notes.put("interpreter.translated", False, source="CPU", rank=Trust.NAMED)


STEPS = (driver, sentences, compared_releases, named_gpus, hinted_gpu, torch, build, host)
