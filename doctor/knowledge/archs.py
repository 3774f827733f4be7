"""Which code a build carries, and which GPU runs it. The public names are those of lookup.py."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from doctor.knowledge.load import of_tables, table
from doctor.knowledge.releases import cuda_of_backend, newest_torch
from doctor.knowledge.versions import at_least, compared, minor_of, numbers

# Tegra parts don't run the code of desktop parts of their major capability, nor the reverse; CUDA 13.2 lets 7.2 and
# 8.7 run it.
TEGRA = {"5.3", "6.2", "7.2", "8.7", "11.0"}
UNIFIED = {"7.2", "8.7"}
UNIFIED_SINCE = "13.2"
RENAMED = {"10.1": "11.0"}  # Thor, before CUDA 13

How = Literal["native", "family", "ptx", "no"]


@of_tables
def _arch_lists() -> dict[tuple[str, str, str], str]:
    return {(row["torch"], row["backend"], row["platform"]): row["archs"] for row in table("archs")["rows"]}


def arch_list_of(release: str, backend: str, platform: str) -> tuple[str, ...] | None:
    """What torch.cuda.get_arch_list() says of that official build: ("sm_75", …, "compute_120") or ("gfx900", …); ()
    for builds without a GPU runtime of that kind (cpu, mps, xpu). A release newer than the tables is taken to have
    the newest known list of that backend, or of the newest backend of the same CUDA major version."""
    if backend in ("cpu", "mps", "xpu"):
        return ()
    lists = _arch_lists()
    minor = minor_of(release)
    found = lists.get((minor, backend, platform))
    if found is None and compared(minor) > compared(minor_of(newest_torch())):
        known = [key for key in lists if key[2] == platform and _kin(key[1], backend)]
        same = [key for key in known if key[1] == backend] or known
        found = lists[max(same, key=lambda key: (numbers(key[0]), _order(key[1])))] if same else None
    return tuple(found.split()) if found is not None else None


def _kin(one: str, other: str) -> bool:
    """Whether two backends are of one kind and major version: cu130 and cu132, rocm7.2 and rocm7.14."""
    return one.rstrip("0123456789.") == other.rstrip("0123456789.") and _order(one)[:1] == _order(other)[:1]


def _order(backend: str) -> tuple[int, ...]:
    return numbers(cuda_of_backend(backend) or backend.removeprefix("rocm"))


def runs_on(capability: str, archs: tuple[str, ...], cuda: str | None = None) -> How:
    """How code for `archs` runs on a GPU: same cubin, a cubin of the same major with lower minor, PTX of an older
    one, or not at all. Tegra parts (7.2, 8.7, 10.1/11.0) are families of their own (8.7 runs sm_80 from CUDA 13.2 on:
    `cuda` is that of the build). Code for sm_90a runs on 9.0 only, code for sm_120f on 12.0 and its later minors."""
    gpu = RENAMED.get(capability, capability)
    ways = {_runs(gpu, arch, cuda) for arch in archs}
    order: tuple[How, ...] = ("native", "family", "ptx")
    return next((way for way in order if way in ways), "no")


def _runs(gpu: str, arch: str, cuda: str | None) -> How:
    kind, _, name = arch.partition("_")
    digits, suffix = name.rstrip("af"), name[len(name.rstrip("af")) :]
    if kind not in ("sm", "compute") or not digits.isdecimal() or len(digits) < 2:
        return "no"
    code = RENAMED.get(f"{digits[:-1]}.{digits[-1]}", f"{digits[:-1]}.{digits[-1]}")
    if code == gpu:
        return "native" if kind == "sm" else "ptx"
    if suffix == "a":
        return "no"
    same_family = numbers(code)[0] == numbers(gpu)[0] and at_least(gpu, code) and _one_family(code, gpu, cuda)
    if kind == "sm" or suffix == "f":
        return ("family" if kind == "sm" else "ptx") if same_family else "no"
    return "ptx" if at_least(gpu, code) else "no"


def _one_family(code: str, gpu: str, cuda: str | None) -> bool:
    if gpu in TEGRA and code not in TEGRA:
        return gpu in UNIFIED and cuda is not None and at_least(cuda, UNIFIED_SINCE)
    return gpu not in TEGRA and code not in TEGRA


def gfx_runs_on(gfx: str, archs: tuple[str, ...]) -> Literal["native", "override", "no"]:
    """The same for AMD: in the list; sound with HSA_OVERRIDE_GFX_VERSION; not at all. In the list is necessary, not
    sufficient (a library may lack kernels for gfx906). Feature suffixes ("gfx90a:sramecc+:xnack-") don't count."""
    listed = {arch.partition(":")[0] for arch in archs}
    target = gfx.partition(":")[0]
    if target in listed:
        return "native"
    row = _override(target)
    return "override" if row and row["sound"] and row["stands_for"] in listed else "no"


def hsa_override(gfx: str, *, sound: bool = True) -> str | None:
    """Value of HSA_OVERRIDE_GFX_VERSION that is sound for that gfx ("gfx1031" -> "10.3.0"); None where there is none.
    It has an effect on Linux only, and does harm where the gfx is in the build's list. `sound=False`: also one that
    works for some and may hang or give wrong results."""
    row = _override(gfx.partition(":")[0])
    return row["value"] if row and (row["sound"] or not sound) else None


def _override(gfx: str) -> Mapping[str, Any] | None:
    return next((row for row in table("archs")["overrides"] if row["gfx"] == gfx), None)
