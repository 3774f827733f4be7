"""Every spec that a plan prints for conda or pixi is solved, by pixi's own solver, for the machine's virtual packages.

The channel is made here: conda-forge's names, builds and requirements as its feedstocks declare them
(https://github.com/conda-forge/pytorch-cpu-feedstock, https://github.com/conda-forge/cuda-version-feedstock), with the
CUDA versions of knowledge/tables/vendors.json.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from doctor.fixes.plan import plan
from doctor.knowledge import vendors
from doctor.model.facts import ABSENT, Facts
from tests.examples import linux, mac, with_nvidia
from tests.fixes.test_plan import MISSING

rattler = pytest.importorskip("rattler", reason="py-rattler is not installed")
SolverError = pytest.importorskip("rattler.exceptions").SolverError
SUBDIRS = {"linux-64": "linux_x86_64", "osx-arm64": "macos_arm64", "osx-64": "macos_x86_64"}
RELEASES = ("2.8.0", "2.9.1", "2.10.0")
COMPANIONS = ("torchvision", "torchaudio", "numpy")


def record(
    subdir: str, name: str, version: str, build: str, *depends: str, constrains: tuple[str, ...] = ()
) -> dict[str, Any]:
    return {
        "name": name, "version": version, "build": build, "build_number": 0, "depends": depends, "subdir": subdir,
        "constrains": constrains, "md5": "0" * 32, "sha256": "0" * 64, "size": 1, "timestamp": 1_700_000_000_000,
    }  # fmt: skip


def packages(subdir: str) -> Iterator[dict[str, Any]]:
    """What conda-forge has for that platform."""
    cudas = vendors.conda_forge()["platforms"][SUBDIRS[subdir]]["cuda"]
    system = ("__glibc >=2.28,<3.0.a0",) if subdir.startswith("linux") else ("__osx >=11.0",)
    for name in COMPANIONS:
        yield record(subdir, name, "1.0", "0", *(("pytorch",) if name != "numpy" else ()))
    yield record(subdir, "python", "3.12.4", "0")
    for cuda in ("12.8", "12.9", "13.0"):
        major, minor = map(int, cuda.split("."))
        yield record(subdir, "cuda-version", cuda, f"h{minor}", constrains=(f"__cuda >={major}",))
    for release in RELEASES:
        yield record(subdir, "pytorch", release, "cpu_generic_py312_h0_0", "python >=3.12", *system)
        yield record(subdir, "pytorch-cpu", release, "cpu_generic_h0_0", f"pytorch =={release} cpu_*")
        for cuda in cudas:
            build, above = cuda.replace(".", ""), int(cuda.split(".")[0]) + 1
            needs = ("__cuda", f"cuda-version >={cuda},<{above}", "python >=3.12", *system)
            yield record(subdir, "pytorch", release, f"cuda{build}_generic_py312_h0_200", *needs)
            wants = f"pytorch =={release} cuda{build}_*"
            yield record(subdir, "pytorch-gpu", release, f"cuda{build}_generic_h0_200", wants)


@pytest.fixture(scope="module")
def channel(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("channel")
    for subdir in (*SUBDIRS, "noarch"):
        rows = () if subdir == "noarch" else packages(subdir)
        made = {f"{row['name']}-{row['version']}-{row['build']}.conda": row for row in rows}
        (folder / subdir).mkdir()
        (folder / subdir / "repodata.json").write_text(
            json.dumps({"info": {"subdir": subdir}, "packages": {}, "packages.conda": made})
        )
    return folder.as_uri()


def solved(channel: str, specs: list[str], subdir: str, virtual: dict[str, str]) -> dict[str, str]:
    """name -> build. Raises rattler's SolverError."""
    said = [
        rattler.GenericVirtualPackage(rattler.PackageName(n), rattler.Version(v), rattler.BuildString("0"))
        for n, v in virtual.items()
    ]

    async def solve() -> list[Any]:
        found: list[Any] = await rattler.solve([channel], specs, platforms=[subdir, "noarch"], virtual_packages=said)
        return found

    return {one.name.normalized: str(one.build) for one in asyncio.run(solve())}


def specs_of(facts: Facts, tool: str) -> list[list[str]]:
    """What the commands of the plan ask the channel for, of the fix and of its alternatives."""
    found = []
    (fix,) = plan([MISSING], facts, tool=tool).fixes
    for one in (fix, *fix.alternatives):
        for step in one.steps:
            argv = list(step.argv or ())
            if argv[:2] == ["pixi", "add"]:
                found.append([w for w in argv[2:] if not w.startswith("-") and w != facts.interpreter.project])
            elif argv[:2] == ["conda", "install"]:
                found.append(argv[argv.index("conda-forge") + 1 :])
    return found


def in_conda(facts: Facts, tool: str) -> Facts:
    made = replace(facts.interpreter, environment="conda", manager=tool, prefix="/c/envs/ml")
    return replace(facts, interpreter=made, torch=ABSENT)


def nvidia(driver: str, cuda: str, name: str = "NVIDIA GeForce RTX 4090") -> Facts:
    return with_nvidia(linux(), name, driver=driver, driver_cuda=cuda)


MACHINES = {
    "no GPU": (linux(), "linux-64", {"__glibc": "2.35", "__linux": "5.15"}, "cpu"),
    "CUDA 12.4": (nvidia("550.54.14", "12.4"), "linux-64", {"__glibc": "2.35", "__cuda": "12.4"}, "cuda12"),
    "CUDA 12.8": (nvidia("570.86.10", "12.8"), "linux-64", {"__glibc": "2.35", "__cuda": "12.8"}, "cuda12"),
    "CUDA 13.0": (nvidia("580.65.06", "13.0"), "linux-64", {"__glibc": "2.35", "__cuda": "13.0"}, "cuda"),
    "Apple silicon": (mac(), "osx-arm64", {"__osx": "14.5", "__unix": "0"}, "cpu"),
}


@pytest.mark.parametrize("tool", ["conda", "pixi"])
@pytest.mark.parametrize("machine", MACHINES)
def test_what_is_printed_can_be_solved(machine: str, tool: str, channel: str) -> None:
    facts, subdir, virtual, build = MACHINES[machine]
    asked = specs_of(in_conda(facts, tool), tool)
    assert asked, "the plan asks conda-forge for something"
    for specs in asked:
        assert solved(channel, specs, subdir, virtual), specs
    assert solved(channel, asked[0], subdir, virtual)["pytorch"].startswith(build), asked[0]


def test_the_channel_refuses_what_the_driver_cannot_run(channel: str) -> None:
    """Else the test above could not fail."""
    with pytest.raises(SolverError):
        solved(channel, ["pytorch-gpu", "cuda-version=12.9"], "linux-64", {"__glibc": "2.35", "__cuda": "11.8"})
    with pytest.raises(SolverError):
        solved(channel, ["pytorch-gpu"], "linux-64", {"__glibc": "2.35"})
