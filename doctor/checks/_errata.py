"""The errata of the torch that is here, and what is said of them. Pure."""

from __future__ import annotations

import re

from doctor.checks._accelerators import accelerators, torch_runs
from doctor.checks._machine import macos
from doctor.checks._memo import once_for_facts
from doctor.checks._torch import build, capability_of, kind
from doctor.formats import cpuinfo
from doctor.knowledge import lookup
from doctor.knowledge.errata import Erratum, Match, Place
from doctor.knowledge.versions import numbers
from doctor.model.facts import ABSENT, Facts, Gpu, Torch
from doctor.model.finding import Evidence, Remedy

BACKEND_OF = {"nvidia": "cuda", "amd": "rocm", "intel": "xpu", "apple": "mps"}
WAY_BACK = 3  # minor releases
TRITONS = ("triton", "pytorch-triton", "triton-windows", "pytorch-triton-rocm", "pytorch-triton-xpu")


@once_for_facts
def matches(facts: Facts) -> tuple[Match, ...]:
    """The errata that hold here or may, the gravest first. () where no torch is installed."""
    return () if facts.torch is ABSENT else lookup.errata_for(place_of(facts))


def used_backends(facts: Facts) -> tuple[str, ...]:
    """The backends that torch is known to compute on here: of each accelerator that it uses, else the CPU."""
    used = dict.fromkeys(BACKEND_OF[a.vendor] for a in accelerators(facts) if a.state in ("proven", "used"))
    return tuple(used) or (("cpu",) if torch_runs(facts) else ())


def place_of(facts: Facts) -> Place:
    """Where errata are asked for: what is known of torch, its devices, the system and the libraries."""
    torch = facts.torch if isinstance(facts.torch, Torch) else None
    host = facts.host
    system_version = {"darwin": macos(facts), "windows": host.os_version}.get(host.system or "")
    return Place(
        version=torch.version if torch else None,
        backends=_backends(facts),
        devices=_devices(facts, torch),
        system=host.system,
        system_version=system_version,
        libraries=_libraries(facts, torch),
        cpu=_cpu(facts),
        imported=torch_runs(facts),
    )


def _backends(facts: Facts) -> tuple[str, ...] | None:
    """What torch can compute on: the accelerators that it uses, or in a text the kind of the build; always the CPU."""
    used = used_backends(facts)
    if used and used != ("cpu",):
        return (*used, "cpu")
    made = kind(facts)
    if made is None:
        return None
    unused = facts.live or any(a.state == "unused" for a in accelerators(facts))
    return ("cpu",) if made == "cpu" or unused else tuple(dict.fromkeys((made, "cpu")))


def _devices(facts: Facts, torch: Torch | None) -> dict[str, tuple[str, ...]]:
    """What the rows call the devices here, backend by backend."""
    found: dict[str, list[str]] = {}
    for device in (torch.devices or ()) if torch else ():
        backend = "rocm" if torch and torch.hip and device.backend == "cuda" else device.backend
        if name := device_name(backend, device.name, device.capability, device.gfx):
            found.setdefault(backend, []).append(name)
    for gpu in facts.gpus or ():
        backend = BACKEND_OF[gpu.vendor]
        if backend not in found and (name := _gpu_name(backend, gpu)):
            found.setdefault(backend, []).append(name)
    if "mps" not in found and (chip := device_name("mps", facts.host.cpu_model, None, None)):
        found["mps"] = [chip]
    return {backend: tuple(names) for backend, names in found.items()}


def _gpu_name(backend: str, gpu: Gpu) -> str | None:
    return device_name(backend, gpu.name, capability_of(gpu) if gpu.vendor == "nvidia" else None, gpu.gfx)


def device_name(backend: str, name: str | None, capability: str | None, gfx: str | None) -> str | None:
    """A device as the rows call it: "sm_90", "gfx1100", "M1", an Intel family; None where that is not known.

    >>> device_name("cuda", None, "8.9", None), device_name("mps", "Apple M2 Max", None, None)
    ('sm_89', 'M2')
    """
    if backend == "mps":
        chip = re.search(r"\bM(\d{1,2})\b", name or "")
        return f"M{chip[1]}" if chip else None
    model = lookup.gpu_model(name) if name else None
    if backend == "cuda":
        capability = capability or (model.capability if model else None)
        return f"sm_{capability.replace('.', '')}" if capability else None
    if backend == "rocm":
        return gfx or (model.gfx if model else None)
    return model.architecture.lower() if model and model.architecture and backend == "xpu" else None


def _cpu(facts: Facts) -> dict[str, bool]:
    """What the CPU is and has, as far as that is collected."""
    found = {}
    if architecture := facts.interpreter.architecture or facts.host.architecture:
        found = {name: name == architecture for name in ("x86_64", "arm64")}
    if facts.host.cpu_flags:
        found |= {flag: flag in facts.host.cpu_flags for flag in cpuinfo.MATTER}
    return found


def _libraries(facts: Facts, torch: Torch | None) -> dict[str, str]:
    """Versions of what stands beside torch; "" for what is known to be absent."""
    made = build(facts)
    known = {
        "python": facts.interpreter.version,
        "cudnn": torch.cudnn if torch else None,
        "cuda": made.cuda if made else None,
        "rocm": made.rocm if made else None,
        "driver": facts.nvidia.driver or None,
        "glibc": facts.host.libc_version if facts.host.libc == "glibc" else None,
    }
    found = {name: str(version) for name, version in known.items() if version}
    if made and made.backend:  # one build is made for one of them
        found = {"cuda": "", "rocm": "", **found}
    for package in facts.packages or ():
        if package.version:
            found[package.name] = package.version
        if package.name in TRITONS and package.version:
            found["triton"] = package.version
    if facts.live and facts.packages is not None:
        found |= {name: "" for name in ("numpy", "triton", "torchvision", "torchaudio") if name not in found}
    return found


# ---- what is said of them


def as_evidence(match: Match) -> Evidence:
    """An erratum as evidence: its id, what goes wrong and what helps, and where that is known from."""
    return Evidence(fact=match.erratum.id, value=in_a_sentence(match.erratum), source=match.erratum.sources[0])


def in_a_sentence(erratum: Erratum) -> str:
    """What goes wrong, in which release it no longer does, and the workaround."""
    fixed = f"fixed in torch {erratum.fixed_in}" if erratum.fixed_in else "no fixed release is known"
    return f"{erratum.title} ({fixed})." + (f" {erratum.workaround}" if erratum.workaround else "")


def cure(erratum: Erratum, as_of: str | None = None) -> Remedy | None:
    """The newer torch that does not have it; None where none is known (at that date)."""
    if erratum.fixed_in is None or lookup.fix_is_ahead(erratum):
        return None
    if as_of and erratum.fixed_in not in lookup.torch_versions(as_of=as_of):
        return None
    return Remedy(action="upgrade-torch", details={"torch": f">={erratum.fixed_in}"})


def way_back(erratum: Erratum, facts: Facts) -> Remedy | None:
    """The newest release older than the one here that is known not to have it: for the time until the one with the fix
    is out. None where no fix is known, or where it would be more than WAY_BACK minor releases back: of those less is
    written down, which does not make them better."""
    torch = facts.torch
    version = torch.version if isinstance(torch, Torch) else None
    if version is None or erratum.fixed_in is None or lookup.affects(erratum, version) is not True:
        return None
    release = lookup.release_of(version)
    known = lookup.torch_versions(as_of=facts.as_of)
    older = known[: known.index(release)] if release in known else ()
    minors = sorted({numbers(v)[:2] for v in (*older, release)})[-1 - WAY_BACK :]
    near = (v for v in reversed(older) if numbers(v)[:2] in minors)
    free = next((v for v in near if lookup.affects(erratum, v) is False), None)
    return Remedy(action="downgrade-torch", details={"torch": f"=={free}"}) if free else None


def workaround_of(erratum: Erratum) -> Remedy | None:
    """What the user can do without another torch."""
    if not erratum.workaround:
        return None
    return Remedy(action="none", details={"reason": erratum.workaround}, text=erratum.workaround)
