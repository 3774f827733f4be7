"""A second opinion on the choice of a build: from the JSON tables, by brute force. It shares no code with doctor/.

It knows machines with one vendor's GPUs, given by compute capability or gfx. `works` is every (release, backend) that
runs, with the number of GPUs that it serves and whether it needs a crutch (PTX, an override)."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path

TABLES = Path(__file__).parents[2] / "doctor" / "knowledge" / "tables"


def load(name: str) -> dict:
    return json.loads((TABLES / f"{name}.json").read_text(encoding="utf-8"))


RELEASES, BUILDS, ARCHS, DRIVERS, VENDORS = (load(n) for n in ("releases", "builds", "archs", "drivers", "vendors"))
LISTS = {(row["torch"], row["backend"], row["platform"]): row["archs"].split() for row in ARCHS["rows"]}
OVERRIDES = {row["gfx"]: row for row in ARCHS["overrides"] if row["sound"]}
BLAS = {row["gfx"]: row["until"] for row in VENDORS["rocm_blas"]}


@cache
def nums(text: str) -> tuple[int, ...]:
    out = []
    for part in text.split("."):
        digits = ""
        for c in part:
            if not c.isdigit():
                break
            digits += c
        if not digits:
            break
        out.append(int(digits))
    while out and out[-1] == 0:
        out.pop()
    return tuple(out)


@dataclass(frozen=True)
class Machine:
    platform: str
    python: str  # "3.12", "3.13t"
    kind: str  # cuda, rocm, mps, cpu
    cards: tuple[str, ...] = ()  # capabilities or gfx
    driver: str | None = None
    windows_numbers: bool = False
    glibc: str | None = None
    macos: str | None = None


def works(machine: Machine) -> dict[tuple[str, str], tuple[int, bool]]:
    found = {}
    for row in RELEASES["rows"]:
        tags = row["wheels"].get(machine.platform, {})
        tag = next((t for t, pythons in tags.items() if machine.python in pythons.split()), None)
        if tag is None or not system_ok(machine, tag, row):
            continue
        default = row["cuda_builds"].get(machine.platform, "cpu")
        if machine.platform == "macos_arm64" and row["mps_minimum"]:
            default = "mps"
        backends = {default}
        for build in BUILDS["rows"]:
            if build["torch"] == row["torch"] and machine.platform in build["platforms"]:
                backends.add(build["backend"])
        for backend in backends:
            result = served(machine, row["torch"], backend)
            if result is not None:
                found[(row["torch"], backend)] = result
    return found


def system_ok(machine: Machine, tag: str, row: dict) -> bool:
    if machine.glibc:
        need = "2.17"
        if tag.startswith("manylinux_"):
            need = tag.split("_")[1] + "." + tag.split("_")[2]
        if nums(machine.glibc) < nums(need):
            return False
    if machine.macos:
        if tag.startswith("macosx_") and nums(machine.macos) < nums(".".join(tag.split("_")[1:3])):
            return False
        if machine.kind == "mps" and (not row["mps_minimum"] or nums(machine.macos) < nums(row["mps_minimum"])):
            return False
    return True


def served(machine: Machine, release: str, backend: str) -> tuple[int, bool] | None:
    """(number of GPUs served, whether by a crutch); None where the build is none of the kind or serves nothing."""
    if machine.kind == "cpu":
        return (0, False) if backend in ("cpu", "mps") else None
    if machine.kind == "mps":
        return (1, False) if backend == "mps" else None
    minor = ".".join(release.split(".")[:2])
    archs = LISTS.get((minor, backend, machine.platform))
    if archs is None:
        return None
    if machine.kind == "cuda" and backend[:2] == "cu":
        ways = [cuda_way(machine, card, archs, backend) for card in machine.cards]
    elif machine.kind == "rocm" and backend[:4] == "rocm":
        ways = rocm_ways(machine.cards, archs, backend)
    else:
        return None
    good = [w for w in ways if w]
    return (len(good), "crutch" in good) if good else None


def cuda_way(machine: Machine, card: str, archs: list[str], backend: str) -> str | None:
    major, minor = backend[2:-1], backend[-1]
    side = "windows" if machine.windows_numbers else "linux"
    floor = next((r[side] for r in DRIVERS["needs"] if r["cuda"] == f"{major}.{minor}"), None)
    if floor is None:
        floor = next(r[side] for r in DRIVERS["majors"] if str(r["major"]) == major)
    assert machine.driver
    if nums(machine.driver) < nums(floor):
        return None
    generation = {r["capability"]: r for r in DRIVERS["generations"]}
    era = generation.get(card) or generation.get(card.split(".")[0])
    branch = nums(machine.driver)[0]
    if side == "windows":  # 581.29 is of branch 580: the branch is the greatest that begins at or below it
        branch = max((r["branch"] for r in DRIVERS["branches"] if r["branch"] <= branch), default=branch)
    if era and ((era["first"] and nums(machine.driver)[0] < era["first"]) or (era["last"] and branch > era["last"])):
        return None
    want = tuple(int(p) for p in card.split("."))
    tegra = {(5, 3), (6, 2), (7, 2), (8, 7), (11, 0)}
    best = None
    for arch in archs:
        kind, digits = arch.split("_")
        code = (int(digits[:-1]), int(digits[-1]))
        if kind == "sm" and code[0] == want[0] and code[1] <= want[1]:
            cross = (want in tegra) != (code in tegra) or (want in tegra and code != want)
            unified = want in {(7, 2), (8, 7)} and (int(major), int(minor)) >= (13, 2) and code not in tegra
            if not cross or unified:
                return "code"
        if kind == "compute" and code <= want and driver_cuda(machine.driver) >= (int(major), int(minor)):
            best = "crutch"
    return best


def driver_cuda(driver: str) -> tuple[int, ...]:
    row = max((r for r in DRIVERS["branches"] if r["branch"] <= nums(driver)[0]), key=lambda r: r["branch"])
    return tuple(int(p) for p in row["cuda"].split("."))


def rocm_ways(cards: tuple[str, ...], archs: list[str], backend: str) -> list[str | None]:
    ways: list[str | None] = []
    values = []
    for gfx in cards:
        if gfx in archs:
            fails = gfx in BLAS and nums(backend[4:]) > nums(BLAS[gfx])
            ways.append(None if fails else "code")
        elif gfx in OVERRIDES and OVERRIDES[gfx]["stands_for"] in archs:
            ways.append("crutch")
            values.append(OVERRIDES[gfx]["value"])
        else:
            ways.append(None)
    alone = len(set(values)) == 1 and "code" not in ways
    return ways if alone or not values else [None if w == "crutch" else w for w in ways]


def best(machine: Machine) -> tuple[str | None, set[tuple[str, str]]]:
    """The newest release that serves the most GPUs, without a crutch and seen where that is possible, and all builds
    that do."""
    found = works(machine)
    if not found:
        return None, set()
    most = max(n for n, _ in found.values())
    top = {k: crutch for k, (n, crutch) in found.items() if n == most}
    if any(not crutch for crutch in top.values()):
        top = {k: crutch for k, crutch in top.items() if not crutch}
    top = {k: None for k in top if was_seen(machine, *k)} or top
    newest = max((k[0] for k in top), key=nums)
    return newest, set(top)


def was_seen(machine: Machine, release: str, backend: str) -> bool:
    """Whether the tables say that the build was verified, not derived; of free-threaded Pythons they only know the
    package index's own."""
    row = next(row for row in RELEASES["rows"] if row["torch"] == release)
    default = row["cuda_builds"].get(machine.platform, "cpu")
    if backend == ("mps" if machine.platform == "macos_arm64" and row["mps_minimum"] else default):
        return True
    found = next(b for b in BUILDS["rows"] if (b["torch"], b["backend"]) == (release, backend))
    return found["platforms"][machine.platform] == "verified" and not machine.python.endswith("t")
