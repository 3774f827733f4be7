"""Random machines: what the choice sees of each, and what the oracle sees."""

from __future__ import annotations

import random
from dataclasses import replace

from doctor.model.facts import Facts, Gpu, Nvidia
from tests.examples import linux, mac, windows
from tests.knowledge import oracle

CAPABILITIES = (
    "3.5",
    "3.7",
    "5.0",
    "5.2",
    "6.0",
    "6.1",
    "7.0",
    "7.5",
    "8.0",
    "8.6",
    "8.9",
    "9.0",
    "10.0",
    "10.3",
    "12.0",
    "12.1",
)
SERVERS = ("8.0", "8.6", "8.9", "9.0", "10.0", "10.3", "11.0", "12.0", "12.1")  # beside an Arm CPU
DRIVERS = (
    "418.39",
    "440.33",
    "450.36.06",
    "450.80.02",
    "455.23",
    "460.32.03",
    "470.256.02",
    "495.29.05",
    "510.47.03",
    "515.65.01",
    "520.61.05",
    "525.60.13",
    "535.104.05",
    "545.23.08",
    "550.54.14",
    "560.35.03",
    "565.57.01",
    "570.26",
    "575.51.03",
    "580.65.06",
    "590.44.01",
    "595.45.04",
    "610.43.02",
    "615.71.09",
)
WINDOWS_DRIVERS = (
    "441.22",
    "452.39",
    "466.77",
    "472.12",
    "512.15",
    "522.06",
    "527.41",
    "528.33",
    "537.13",
    "546.33",
    "551.61",
    "560.94",
    "566.36",
    "572.16",
    "576.02",
    "580.88",
    "581.29",
    "582.28",
    "591.44",
    "595.71",
    "610.62",
    "616.92",
)
GFX = (
    "gfx803",
    "gfx900",
    "gfx906",
    "gfx908",
    "gfx90a",
    "gfx90c",
    "gfx942",
    "gfx950",
    "gfx1010",
    "gfx1030",
    "gfx1031",
    "gfx1032",
    "gfx1036",
    "gfx1100",
    "gfx1101",
    "gfx1102",
    "gfx1103",
    "gfx1150",
    "gfx1151",
    "gfx1152",
    "gfx1200",
    "gfx1201",
)
PYTHONS = ("3.7", "3.8", "3.9", "3.10", "3.11", "3.12", "3.13", "3.14", "3.15", "3.16", "3.13t", "3.14t")
GLIBCS = ("2.17", "2.27", "2.28", "2.31", "2.35", "2.39")
MACOS = ("10.15", "11.7", "12.2", "12.3", "12.6", "13.0", "13.6", "14.0", "14.5", "15.3", "26.1")


def several(chance: random.Random, values: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(chance.choices(values, k=chance.choices((1, 2, 3), (6, 3, 1))[0]))


def with_python(facts: Facts, python: str) -> Facts:
    interpreter = replace(facts.interpreter, version=f"{python.rstrip('t')}.1", free_threaded=python.endswith("t"))
    return replace(facts, interpreter=interpreter)


def cuda_machine(chance: random.Random) -> tuple[Facts, oracle.Machine]:
    platform = chance.choice(("linux_x86_64", "linux_x86_64", "linux_aarch64", "win_amd64", "wsl"))
    windows_numbers = platform in ("win_amd64", "wsl")
    python, glibc = chance.choice(PYTHONS), chance.choice(GLIBCS)
    cards = several(chance, SERVERS if platform == "linux_aarch64" else CAPABILITIES)
    driver = chance.choice(WINDOWS_DRIVERS if windows_numbers else DRIVERS)
    if platform == "win_amd64":
        facts = windows()
    else:
        facts = linux(architecture="arm64" if platform == "linux_aarch64" else "x86_64", libc_version=glibc)
    if platform == "wsl":
        facts = replace(facts, host=replace(facts.host, wsl=2))
    gpus = tuple(Gpu(vendor="nvidia", name=f"card {i} ({c})", capability=c) for i, c in enumerate(cards))
    facts = replace(with_python(facts, python), gpus=gpus, nvidia=Nvidia(driver=driver))
    return facts, oracle.Machine(
        platform=platform.replace("wsl", "linux_x86_64"),
        python=python,
        kind="cuda",
        cards=cards,
        driver=driver,
        windows_numbers=windows_numbers,
        glibc=None if platform == "win_amd64" else glibc,
    )


def rocm_machine(chance: random.Random) -> tuple[Facts, oracle.Machine]:
    python, glibc, cards = chance.choice(PYTHONS), chance.choice(GLIBCS), several(chance, GFX)
    gpus = tuple(Gpu(vendor="amd", name=f"card {i} ({g})", gfx=g) for i, g in enumerate(cards))
    facts = replace(with_python(linux(libc_version=glibc), python), gpus=gpus)
    return facts, oracle.Machine(platform="linux_x86_64", python=python, kind="rocm", cards=cards, glibc=glibc)


def apple_machine(chance: random.Random) -> tuple[Facts, oracle.Machine]:
    python, macos, intel = chance.choice(PYTHONS), chance.choice(MACOS), chance.random() < 0.3
    facts = with_python(mac(macos=macos, chip="Intel Core i7" if intel else "Apple M1"), python)
    platform, kind = ("macos_x86_64", "cpu") if intel else ("macos_arm64", "mps")
    return facts, oracle.Machine(platform=platform, python=python, kind=kind, macos=macos)


def cpu_machine(chance: random.Random) -> tuple[Facts, oracle.Machine]:
    platform = chance.choice(("linux_x86_64", "linux_aarch64", "win_amd64"))
    python, glibc = chance.choice(PYTHONS), chance.choice(GLIBCS)
    facts = (
        windows()
        if platform == "win_amd64"
        else linux(architecture="arm64" if platform == "linux_aarch64" else "x86_64", libc_version=glibc)
    )
    return with_python(facts, python), oracle.Machine(
        platform=platform, python=python, kind="cpu", glibc=None if platform == "win_amd64" else glibc
    )


MAKERS = (cuda_machine, cuda_machine, cuda_machine, rocm_machine, apple_machine, cpu_machine)
