"""Machines with the build that each should get, or with what would help, reviewed by hand against the tables."""

from __future__ import annotations

from dataclasses import replace

from doctor.model.facts import ABSENT, Facts, Gpu
from tests.examples import linux, mac, windows, with_amd, with_nvidia


def nv(*names: str, driver: object = "580.95.05", on: Facts | None = None) -> Facts:
    return with_nvidia(on or linux(), *names, driver=driver)  # type: ignore[arg-type]


def arm(python: str = "3.12.4") -> Facts:
    return linux(architecture="arm64", python=python)


def jetson(l4t: str, gpu: str, python: str) -> Facts:
    facts = nv(gpu, driver=None, on=arm(python))
    return replace(facts, host=replace(facts.host, jetson=l4t))


def intel(name: str, on: Facts | None = None) -> Facts:
    return replace(on or linux(), gpus=(Gpu(vendor="intel", name=name),))


def free_threaded(facts: Facts) -> Facts:
    return replace(facts, interpreter=replace(facts.interpreter, free_threaded=True))


def wsl() -> Facts:
    return linux(wsl=2)


# name: (machine, release, backend)
MACHINES: dict[str, tuple[Facts, str, str]] = {
    # Kepler: branch 470 is the last, CUDA 11 by minor-version compatibility, sm_37 in cu118 until 2.7
    "K80 on 470": (nv("Tesla K80", driver="470.256.02"), "2.7.1", "cu118"),
    "K80 on 450": (nv("Tesla K80", driver="450.80.02"), "2.7.1", "cu118"),
    # Maxwell, Pascal, Volta: cu126 ended with 2.14, CUDA 13 has no code for them
    "GTX 750 Ti on 580": (nv("NVIDIA GeForce GTX 750 Ti"), "2.14.1", "cu126"),
    "GTX 980 on 550": (nv("NVIDIA GeForce GTX 980", driver="550.54.14"), "2.14.1", "cu126"),
    "GTX 1080 on 580, where uv's auto takes cu132": (nv("NVIDIA GeForce GTX 1080"), "2.14.1", "cu126"),
    "GTX 1080 on 515": (nv("NVIDIA GeForce GTX 1080", driver="515.65.01"), "2.7.1", "cu118"),
    "GTX 1080, driver not known": (nv("NVIDIA GeForce GTX 1080", driver=None), "2.14.1", "cu126"),
    "TITAN V on 535": (nv("NVIDIA TITAN V", driver="535.104.05"), "2.14.1", "cu126"),
    "V100 on 580": (nv("Tesla V100-SXM2-32GB"), "2.14.1", "cu126"),
    # Turing and newer: the driver decides
    "T4 on 470": (nv("Tesla T4", driver="470.256.02"), "2.7.1", "cu118"),
    "2080 Ti on 525": (nv("NVIDIA GeForce RTX 2080 Ti", driver="525.60.13"), "2.14.1", "cu126"),
    "A100 on 560": (nv("NVIDIA A100-SXM4-80GB", driver="560.35.03"), "2.14.1", "cu126"),
    "3090 on 580": (nv("NVIDIA GeForce RTX 3090"), "2.15.0", "cu132"),
    "4090 on 525": (nv("NVIDIA GeForce RTX 4090", driver="525.60.13"), "2.14.1", "cu126"),
    "4090 on 590": (nv("NVIDIA GeForce RTX 4090", driver="590.44.01"), "2.15.0", "cu132"),
    "4090 on 610": (nv("NVIDIA GeForce RTX 4090", driver="610.43.02"), "2.15.0", "cu132"),
    "H100 on 535": (nv("NVIDIA H100 80GB HBM3", driver="535.104.05"), "2.14.1", "cu126"),
    # Blackwell: cu128 ended with 2.11
    "B200 on 570": (nv("NVIDIA B200", driver="570.124.06"), "2.11.0", "cu128"),
    "5090 on 570": (nv("NVIDIA GeForce RTX 5090", driver="570.86.16"), "2.11.0", "cu128"),
    "5090 on 580": (nv("NVIDIA GeForce RTX 5090"), "2.15.0", "cu132"),
    # Arm servers
    "GH200 on 550": (nv("NVIDIA GH200 480GB", driver="550.54.14", on=arm()), "2.14.1", "cu126"),
    "GH200 on 580": (nv("NVIDIA GH200 480GB", on=arm()), "2.15.0", "cu132"),
    "DGX Spark: 12.1 runs sm_120": (nv("NVIDIA GB10", on=arm()), "2.15.0", "cu132"),
    "Jetson Orin, JetPack 6": (jetson("36.4.0", "Orin", "3.10.12"), "", "jetson"),
    "Jetson Thor, JetPack 7": (jetson("38.2.0", "NVIDIA Thor", "3.12.3"), "2.15.0", "cu132"),
    # several cards
    "1080 + 4090": (nv("NVIDIA GeForce GTX 1080", "NVIDIA GeForce RTX 4090"), "2.14.1", "cu126"),
    "V100 + 5090: only 2.8 … 2.10 cu128 have both": (nv("Tesla V100", "NVIDIA GeForce RTX 5090"), "2.10.0", "cu128"),
    # Windows and WSL: Windows driver numbers
    "4090, Windows 572": (nv("NVIDIA GeForce RTX 4090", driver="572.16", on=windows()), "2.14.1", "cu126"),
    "1080 on Windows 582, still branch 580": (
        nv("NVIDIA GeForce GTX 1080", driver="582.28", on=windows()),
        "2.14.1",
        "cu126",
    ),
    "4090, WSL 527.41 is below the Windows floor of CUDA 12": (
        nv("NVIDIA GeForce RTX 4090", driver="527.41", on=wsl()),
        "2.7.1",
        "cu118",
    ),
    "4090, WSL 581": (nv("NVIDIA GeForce RTX 4090", driver="581.29", on=wsl()), "2.15.0", "cu132"),
    # AMD
    "MI50: listed to rocm7.2, but no BLAS kernels after 6.3": (
        with_amd(linux(), "AMD Instinct MI50"),
        "2.9.1",
        "rocm6.3",
    ),
    "Vega 64": (with_amd(linux(), "Radeon RX Vega 64"), "2.14.1", "rocm7.2"),
    "MI100": (with_amd(linux(), "AMD Instinct MI100"), "2.14.1", "rocm7.14"),
    "MI210": (with_amd(linux(), "AMD Instinct MI210"), "2.14.1", "rocm7.14"),
    "MI300X": (with_amd(linux(), "AMD Instinct MI300X"), "2.14.1", "rocm7.14"),
    "RX 6800": (with_amd(linux(), "AMD Radeon RX 6800"), "2.14.1", "rocm7.14"),
    "RX 6700 XT, by override": (with_amd(linux(), "AMD Radeon RX 6700 XT"), "2.14.1", "rocm7.14"),
    "RX 7900 XTX": (with_amd(linux(), "AMD Radeon RX 7900 XTX"), "2.14.1", "rocm7.14"),
    "RX 9070": (with_amd(linux(), "AMD Radeon RX 9070"), "2.14.1", "rocm7.14"),
    "780M": (with_amd(linux(), "AMD Radeon 780M"), "2.14.1", "rocm7.14"),
    "Strix Halo": (with_amd(linux(), "AMD Radeon 8060S"), "2.14.1", "rocm7.14"),
    # Intel
    "Arc A770": (intel("Intel(R) Arc(TM) A770 Graphics"), "2.14.1", "xpu"),
    "Arc B580, Windows": (intel("Intel(R) Arc(TM) B580 Graphics", windows()), "2.14.1", "xpu"),
    "UHD graphics count for nothing": (intel("Intel(R) UHD Graphics 770"), "2.14.1", "cpu"),
    # Apple
    "M1, macOS 12.6": (mac(macos="12.6"), "2.5.1", "mps"),
    "M1, macOS 13": (mac(macos="13.6"), "2.8.0", "mps"),
    "M1, macOS 14": (mac(macos="14.5"), "2.15.0", "mps"),
    "M1, macOS 26": (mac(macos="26.1"), "2.15.0", "mps"),
    "M1, Python 3.8": (mac(python="3.8.18"), "2.4.1", "mps"),
    "Intel Mac": (mac(chip="Intel(R) Core(TM) i7"), "2.2.2", "cpu"),
    # Pythons and C libraries
    "Python 3.8": (nv("NVIDIA GeForce RTX 4090", on=linux(python="3.8.18")), "2.4.1", "cu121"),
    "Python 3.9": (nv("NVIDIA GeForce RTX 4090", on=linux(python="3.9.18")), "2.8.0", "cu128"),
    "Python 3.10": (nv("NVIDIA GeForce RTX 4090", on=linux(python="3.10.12")), "2.14.1", "cu130"),
    "Python 3.11": (nv("NVIDIA GeForce RTX 4090", on=linux(python="3.11.9")), "2.15.0", "cu132"),
    "Python 3.13": (nv("NVIDIA GeForce RTX 4090", on=linux(python="3.13.1")), "2.15.0", "cu132"),
    "Python 3.13, free-threaded": (
        free_threaded(nv("NVIDIA GeForce RTX 4090", on=linux(python="3.13.1"))),
        "2.12.0",
        "cu130",
    ),
    "Python 3.14": (nv("NVIDIA GeForce RTX 4090", on=linux(python="3.14.0")), "2.15.0", "cu132"),
    "Python 3.15": (nv("NVIDIA GeForce RTX 4090", on=linux(python="3.15.0")), "2.15.0", "cu132"),
    "glibc 2.17 (CentOS 7)": (nv("NVIDIA GeForce RTX 3090", on=linux(libc_version="2.17")), "2.6.0", "cu124"),
    "CPU only": (linux(), "2.14.1", "cpu"),
    "CPU only, Arm": (arm(), "2.10.0", "cpu"),
    "CPU only, Windows": (windows(), "2.15.0", "cpu"),
}

# Nothing serves; name: (machine, kind of what would help first, some of its details)
NOTHING: dict[str, tuple[Facts, str, dict[str, str]]] = {
    "4090 on 470": (nv("NVIDIA GeForce RTX 4090", driver="470.256.02"), "driver", {"minimum": "580"}),
    "5090 on 550": (nv("NVIDIA GeForce RTX 5090", driver="550.54.14"), "driver", {"minimum": "580"}),
    "1080 on 590: an older driver": (
        nv("NVIDIA GeForce GTX 1080", driver="590.44.01"),
        "driver",
        {"minimum": "525.60.13", "last": "580"},
    ),
    "no driver": (nv("NVIDIA GeForce RTX 4090", driver=ABSENT), "driver", {"minimum": "580"}),
    "K20X: no torch has sm_35": (nv("Tesla K20Xm", driver="470.256.02"), "cpu", {"backend": "cpu"}),
    "5090, Python 3.8": (nv("NVIDIA GeForce RTX 5090", on=linux(python="3.8.1")), "python", {"python": "3.11"}),
    "Python 3.16": (linux(python="3.16.0a1"), "python", {"python": "3.15"}),
    "M1, macOS 12.2": (mac(macos="12.2"), "os", {"minimum": "14.0"}),
    "M1, macOS 13, Python 3.14": (mac(macos="13.6", python="3.14.0"), "python", {"python": "3.13"}),
    "Rosetta": (mac(rosetta=True), "python", {"arch": "arm64"}),
    "Intel Mac, Python 3.13": (mac(chip="Intel(R) Core(TM) i7", python="3.13.0"), "python", {"python": "3.12"}),
    "Alpine": (linux(libc="musl", libc_version="1.2.4"), "os", {}),
    "RX 7900, Windows": (
        with_amd(windows(), "AMD Radeon RX 7900 XTX"),
        "vendor",
        {"requirement": "torch[device-gfx1100]"},
    ),
    "RX 5700 XT": (with_amd(linux(), "AMD Radeon RX 5700 XT"), "vendor", {"requirement": "torch[device-gfx1010]"}),
    "RX 6800, Windows": (with_amd(windows(), "AMD Radeon RX 6800"), "cpu", {}),
    "Xavier, JetPack 5": (jetson("35.4.1", "Xavier", "3.8.10"), "vendor", {"python": "3.8"}),
    "Orin, JetPack 6, Python 3.12": (jetson("36.4.0", "Orin", "3.12.3"), "python", {"python": "3.10"}),
}
