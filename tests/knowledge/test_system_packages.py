"""tables/system_packages.json and its questions."""

from __future__ import annotations

import re
from pathlib import Path

from doctor.knowledge import lookup
from doctor.knowledge.load import table
from doctor.knowledge.lookup import Distribution

CHECKS = Path(__file__).parents[2] / "doctor" / "checks"
IN_WORDS = {  # what no package manager has, or not under a name that a source tells
    "Docker Desktop", "an older g++", "libstdc++6", "zlibwapi.dll", "libomp140.x86_64.dll", "cudnn", "libatlas-base-dev",
}  # fmt: skip


def test_every_package_that_a_check_names_is_known_or_told_in_words() -> None:
    named = set()
    for path in CHECKS.rglob("*.py"):
        found = re.findall(r'install-system-package",\s*details=\{"package": f?"([^"{]+)"', path.read_text("utf-8"))
        named |= {re.split(r">=| \(", name)[0] for name in found}
    named |= {row["package"] for row in table("libraries")["system"]}
    assert len(named) > 20
    assert {name for name in named if lookup.what_is(name) is None} <= IN_WORDS


def test_every_row_names_a_source_of_each_manager() -> None:
    managers = {row["manager"] for row in table("system_packages")["managers"]} | {"conda-forge"}
    systems = {name for row in table("system_packages")["managers"] for name in row["systems"]}
    for row in table("system_packages")["packages"]:
        assert set(row["names"]) <= managers | systems, row["name"]
        assert set(row.get("since", {})) <= set(row["names"])
        own = {key for key in row["names"] if key in ("dnf", "zypper", "brew", "winget", "conda-forge")}
        if not any(source.startswith("nvidia") for source in row["sources"]):
            assert own <= set(row["sources"]), row["name"]


def test_systems_and_their_managers() -> None:
    def manager(id: str, *like: str) -> str | None:
        return lookup.package_manager(Distribution(id=id, like=like))

    assert [manager("ubuntu"), manager("debian"), manager("pop", "ubuntu", "debian")] == ["apt"] * 3
    assert [manager("fedora"), manager("ol", "fedora"), manager("amzn", "fedora")] == ["dnf"] * 3
    assert [manager("opensuse-tumbleweed"), manager("endeavouros"), manager("macos"), manager("windows")] == [
        "zypper", "pacman", "brew", "winget",
    ]  # fmt: skip
    assert manager("someones-own", "debian") == "apt"
    assert [manager("alpine"), manager("nixos"), manager("gentoo")] == [None] * 3


def test_a_driver_is_never_older_than_the_gpu_or_the_minimum_wants() -> None:
    for row in table("system_packages")["drivers"]:
        system = Distribution(id=row["system"], version=(row["versions"] or ["1"])[0])
        for capability in ("6.1", "7.5", "9.0", "12.0"):
            first, last = lookup.branches_of(capability)
            for minimum in ("470", "535", "570", "580", "590", "610"):
                found = lookup.distribution_driver(system, [capability], minimum, last)
                if found and found.branch:
                    assert found.branch >= int(minimum)
                    assert found.branch >= (first or 0)
                    assert found.branch <= (last or found.branch)
                elif found:
                    assert last is None


def test_the_macos_that_has_mps() -> None:
    newest = lookup.newest_torch()
    assert lookup.newest_with_mps("27.0") == newest
    assert lookup.newest_with_mps("12.3") == "2.4.1"
    assert lookup.newest_with_mps("12.2") is None
