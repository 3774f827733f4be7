"""What would help where no build serves a machine: another driver, Python, system, source of builds, or the CPU."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from doctor.knowledge import lookup, vendors
from doctor.knowledge.choosing.machines import Machine, Wanted, kind_of, names, spoken
from doctor.knowledge.choosing.ranking import Candidate, Choice, Nearest, how_cuda_runs, is_beyond, newest_driver, rank
from doctor.knowledge.load import of_tables
from doctor.knowledge.versions import last_day, numbers
from doctor.model.facts import ABSENT

JETSON_PAGE = "https://docs.nvidia.com/deeplearning/frameworks/install-pytorch-jetson-platform/"


def nearest_to(machine: Machine, wanted: Wanted, choice: Choice) -> Iterator[Nearest]:
    """What would help where no build serves all of the machine's GPUs, the least trouble first. Where only certain
    wheels can be had, what they can do."""
    if machine.among is not None:
        yield from _nearest_driver(machine, wanted)
        yield from () if choice.builds else _nearest_cpu(machine, wanted, another_python=False)
        return
    if choice.builds:
        yield from _nearest_driver(machine, wanted)
        yield from _nearest_vendor(machine, wanted)
        yield from on_conda_forge(machine)
        return
    free = replace(wanted, spec=None, pins=None, backend=None)
    if machine.oddity:
        arch = "arm64" if machine.platform == "macos_arm64" else "64-bit"
        fixed = rank(replace(machine, oddity="", python=None), wanted).best
        yield Nearest(
            kind="python",
            text=f"torch has no wheels for {machine.oddity}: install a 64-bit CPython",
            details=(("arch", arch), *_python_for(fixed, machine.platform)),
            candidate=fixed,
        )
        return
    if machine.translated:
        yield _native_python(machine, wanted)
    if machine.libc == "musl":
        yield Nearest(
            kind="os",
            text="torch has no wheels for musl: use a system or a base image with glibc",
            details=(("build", "a glibc base image instead of a musl one"),),
            candidate=rank(replace(machine, libc="glibc"), wanted).best,
        )
        return
    yield from _nearest_driver(machine, wanted)
    yield from _nearest_other_torch(machine, wanted, free)
    pythons = tuple(_nearest_python(machine, wanted))
    yield from pythons
    yield from _nearest_macos(machine, wanted)
    yield from _nearest_vendor(machine, wanted)
    yield from on_conda_forge(machine)
    yield from _nearest_cpu(machine, wanted, another_python=not pythons)


def _native_python(machine: Machine, wanted: Wanted) -> Nearest:
    fixed = rank(replace(machine, platform="macos_arm64", translated=False, python=None, kinds=("mps",)), wanted).best
    return Nearest(
        kind="python",
        text="this Python is an x86-64 program under Rosetta: install one for arm64",
        details=(("arch", "arm64"), *_python_for(fixed, "macos_arm64")),
        candidate=fixed,
    )


def _nearest_driver(machine: Machine, wanted: Wanted) -> Iterator[Nearest]:
    """Another driver: the newest that knows the GPUs, if a build then serves more of them than now."""
    cards = machine.of("cuda")
    if "cuda" not in machine.kinds or machine.driver is None or not cards:
        return
    now = rank(machine, wanted).best
    fixed = rank(replace(machine, driver=None, driver_cuda=None), wanted).best
    if fixed is None or kind_of(fixed.backend) != "cuda" or (now and len(fixed.covers) <= len(now.covers)):
        return
    covered = [c for c in cards if c.name in fixed.covers]
    need = lookup.driver_need(lookup.cuda_of_backend(fixed.backend) or "", machine.numbers)
    minimum = max([need.minimum if need else "0", *(str(c.first) for c in covered if c.first)], key=numbers)
    last = min((c.last for c in covered if c.last), default=None)
    old = [c for c in covered if c.last == last]
    newest = f" (branch {last} is the last that supports it)" if last else ""
    if machine.driver is ABSENT:
        text = f"install the NVIDIA driver, {minimum} or newer{newest}"
    elif last and is_beyond(machine.driver, last, machine.numbers):
        text = f"install an older NVIDIA driver: branch {last} is the last that supports the {names(old)}"
    else:
        have = spoken(machine.driver).removeprefix("driver ")
        text = f"update the NVIDIA driver from {have} to {minimum} or newer{newest}"
    details = (("minimum", minimum), *((("last", str(last)),) if last else ()))
    yield Nearest(kind="driver", text=text, details=details, candidate=fixed)


def _nearest_other_torch(machine: Machine, wanted: Wanted, free: Wanted) -> Iterator[Nearest]:
    """Leave the wish for a version or a backend aside."""
    if free == wanted:
        return
    fixed = rank(machine, free).best
    if fixed and not fixed.leaves_out:
        yield Nearest(
            kind="older-torch",
            text=f"the newest torch that serves this machine is {fixed.release} ({fixed.backend})",
            details=(("torch", fixed.release), ("backend", fixed.backend)),
            candidate=fixed,
        )


def _nearest_python(machine: Machine, wanted: Wanted) -> Iterator[Nearest]:
    """Another Python: the one with which the newest torch serves, of those the nearest to this one."""
    if machine.python is None or not rank(replace(machine, python=None), wanted).builds:
        return
    choices = []
    for python in pythons_on(machine.platform):
        fixed = rank(replace(machine, python=python), wanted).best
        if fixed:
            distance = abs(_minor(python) - _minor(machine.python))
            choices.append(((numbers(fixed.release), -distance), python, fixed))
    if choices:
        _, python, fixed = max(choices, key=lambda c: c[0])
        yield Nearest(
            kind="python",
            text=f"there is no build of torch for this machine and Python {machine.python}; "
            f"for Python {python} there is {f'torch {fixed.release}' if fixed.release else 'one of the vendor'}",
            details=(("python", python),),
            candidate=fixed,
        )


def _nearest_macos(machine: Machine, wanted: Wanted) -> Iterator[Nearest]:
    if "mps" not in machine.kinds or machine.macos is None or not machine.platform.startswith("macos"):
        return
    fixed = rank(replace(machine, macos=None), wanted).best
    if fixed is None:
        return
    needs = (
        lookup.mps_minimum(fixed.release),
        lookup.wheel_minimum_macos(fixed.release, machine.platform, machine.python),
    )
    minimum = max((n for n in needs if n), key=numbers, default=None)
    if minimum and numbers(machine.macos) < numbers(minimum):
        yield Nearest(
            kind="os",
            text=f"update macOS from {machine.macos} to {minimum} or newer",
            details=(("minimum", minimum),),
            candidate=fixed,
        )


def _nearest_vendor(machine: Machine, wanted: Wanted) -> Iterator[Nearest]:
    """What only the vendor of the GPU or the board publishes."""
    therock = vendors.therock()
    listed = therock["windows" if machine.platform == "win_amd64" else "linux"]
    gfx = [c.target or "" for c in machine.of("rocm")]
    known = all(g in listed for g in gfx) and _was_there(therock, machine)
    if gfx and known and machine.platform in ("win_amd64", "linux_x86_64"):
        extras = ",".join(f"device-{g}" for g in dict.fromkeys(gfx))
        yield Nearest(
            kind="vendor",
            text=f"AMD's own index has torch for {', '.join(dict.fromkeys(gfx))}",
            details=(("index", therock["index"]), ("requirement", f"torch[{extras}]"), ("backend", "rocm")),
        )
    row = vendors.jetpack(machine.jetson)
    if row and row["page"]:
        yield Nearest(
            kind="vendor",
            text=f"NVIDIA has wheels for JetPack {row['jetpack']} (Python {row['python']}, up to torch {row['torch']})",
            details=(("page", row["page"]), ("backend", "jetson"), ("python", row["python"])),
        )
    elif row is None and _is_jetson(machine, wanted):
        yield Nearest(
            kind="vendor",
            text="NVIDIA has a torch for each JetPack («cat /etc/nv_tegra_release» says which release this is)",
            details=(("page", JETSON_PAGE), ("backend", "jetson")),
        )


def _is_jetson(machine: Machine, wanted: Wanted) -> bool:
    """Also where its release is not known, but NVIDIA's torch for it is wanted."""
    return bool(machine.jetson) or wanted.backend == "jetson"


def _was_there(row: dict[str, Any], machine: Machine) -> bool:
    """Whether that was already published on the day by which to judge."""
    return machine.as_of is None or bool(row["seen"] <= last_day(machine.as_of))


def on_conda_forge(machine: Machine) -> Iterator[Nearest]:
    """conda-forge builds for GPUs and Macs that the wheels dropped."""
    table = vendors.conda_forge()
    offer = table["platforms"].get(machine.platform)
    if offer is None or machine.jetson or machine.translated or not _was_there(table, machine):
        return
    if machine.platform == "macos_x86_64":
        yield Nearest(
            kind="conda-forge", text="conda-forge still builds torch for Intel Macs", details=(("package", "pytorch"),)
        )
        return
    cards = [c for c in machine.of("cuda") if c.target]
    if "cuda" not in machine.kinds or not cards or machine.driver is ABSENT:
        return
    for cuda in reversed(offer["cuda"]):
        archs = tuple(table["archs"][cuda.split(".")[0]].split())
        driver = machine.driver or newest_driver(tuple(cards))
        runs = lookup.driver_runs(driver, cuda, machine.numbers) is not False
        if runs and all(how_cuda_runs(machine, c, driver, archs, cuda)[0] in ("native", "family") for c in cards):
            yield Nearest(
                kind="conda-forge",
                text=f"conda-forge's build for CUDA {cuda} has code for the {names(cards)}",
                details=(("package", table["packages"]["cuda"]), ("cuda", cuda)),
            )
            return


def _nearest_cpu(machine: Machine, wanted: Wanted, *, another_python: bool) -> Iterator[Nearest]:
    if (machine.kinds == ("cpu",) and not wanted.backend) or _is_jetson(machine, wanted):
        return  # a torch without the GPU is what a Jetson suffers from
    alone, wish = replace(machine, kinds=("cpu",), jetson=None), replace(wanted, backend=None)
    fixed = rank(alone, wish).best
    if fixed is None and another_python:
        yield from _nearest_python(alone, wish)
    elif fixed:
        yield Nearest(
            kind="cpu",
            text=f"torch {fixed.release} runs on the CPU of this machine",
            details=(("torch", fixed.release), ("backend", fixed.backend)),
            candidate=fixed,
        )


@of_tables
def pythons_on(platform: str) -> tuple[str, ...]:
    """Ordinary (not free-threaded) Pythons for which any torch was published on that platform, oldest first."""
    releases = lookup.torch_versions()
    named = {p for r in releases for p in lookup.pythons_of(r, "linux_x86_64") or () if not p.endswith("t")}
    builds = [(r, b) for r in releases for b in lookup.backends_of(r, platform)]
    return tuple(
        p for p in sorted(named, key=numbers) if any(lookup.published(r, b, platform, p) != "no" for r, b in builds)
    )


def _python_for(candidate: Candidate | None, platform: str) -> tuple[tuple[str, str], ...]:
    """The Python to recommend for a build: the newest but one, so that other packages have wheels for it, too."""
    pythons = [p for p in lookup.pythons_of(candidate.release, platform) or () if p[-1] != "t"] if candidate else []
    return (("python", pythons[-2] if len(pythons) > 1 else pythons[0]),) if pythons else ()


def _minor(python: str) -> int:
    return numbers(python)[1]
