"""Machines with the build that each should get, reviewed by hand against the tables, and the special rules."""

from __future__ import annotations

from dataclasses import replace

import pytest

from doctor.knowledge.choose import Choice, choose, conda_forge_cuda
from doctor.model.facts import ABSENT, Facts, Gpu, Package
from tests.examples import linux, mac, windows, with_amd, with_nvidia

WHL = "https://download.pytorch.org/whl/"


def nv(*names: str, driver: object = "580.95.05", on: Facts | None = None) -> Facts:
    return with_nvidia(on or linux(), *names, driver=driver)  # type: ignore[arg-type]


def arm(python: str = "3.12.4") -> Facts:
    return linux(architecture="arm64", python=python)


def jetson(l4t: str, gpu: str, python: str) -> Facts:
    facts = nv(gpu, driver=None, on=arm(python))
    return replace(facts, host=replace(facts.host, jetson=l4t))


def intel(name: str, on: Facts | None = None) -> Facts:
    return replace(on or linux(), gpus=(Gpu(vendor="intel", name=name),))


def wsl() -> Facts:
    return linux(wsl=2)


# name: (machine, release, backend); the index is checked for all of them below
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
    "MI100": (with_amd(linux(), "AMD Instinct MI100"), "2.15.0", "rocm7.14"),
    "MI210": (with_amd(linux(), "AMD Instinct MI210"), "2.15.0", "rocm7.14"),
    "MI300X": (with_amd(linux(), "AMD Instinct MI300X"), "2.15.0", "rocm7.14"),
    "RX 6800": (with_amd(linux(), "AMD Radeon RX 6800"), "2.15.0", "rocm7.14"),
    "RX 6700 XT, by override": (with_amd(linux(), "AMD Radeon RX 6700 XT"), "2.15.0", "rocm7.14"),
    "RX 7900 XTX": (with_amd(linux(), "AMD Radeon RX 7900 XTX"), "2.15.0", "rocm7.14"),
    "RX 9070": (with_amd(linux(), "AMD Radeon RX 9070"), "2.15.0", "rocm7.14"),
    "780M": (with_amd(linux(), "AMD Radeon 780M"), "2.15.0", "rocm7.14"),
    "Strix Halo": (with_amd(linux(), "AMD Radeon 8060S"), "2.15.0", "rocm7.14"),
    # Intel
    "Arc A770": (intel("Intel(R) Arc(TM) A770 Graphics"), "2.15.0", "xpu"),
    "Arc B580, Windows": (intel("Intel(R) Arc(TM) B580 Graphics", windows()), "2.15.0", "xpu"),
    "UHD graphics count for nothing": (intel("Intel(R) UHD Graphics 770"), "2.15.0", "cpu"),
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
    "Python 3.15": (nv("NVIDIA GeForce RTX 4090", on=linux(python="3.15.0")), "2.15.0", "cu132"),
    "glibc 2.17 (CentOS 7)": (nv("NVIDIA GeForce RTX 3090", on=linux(libc_version="2.17")), "2.6.0", "cu124"),
    "CPU only": (linux(), "2.15.0", "cpu"),
    "CPU only, Arm": (arm(), "2.15.0", "cpu"),
    "CPU only, Windows": (windows(), "2.15.0", "cpu"),
}


@pytest.mark.parametrize("name", MACHINES)
def test_machine(name: str) -> None:
    facts, release, backend = MACHINES[name]
    best = choose(facts).best
    assert best is not None
    assert (best.release, best.backend) == (release, backend)
    assert not best.leaves_out
    if best.index is not None and best.backend != "jetson":
        assert best.index == WHL + best.backend
    assert best.reasons or best.backend == "cpu"


def test_free_threaded_python() -> None:
    facts = nv("NVIDIA GeForce RTX 4090", on=linux(python="3.13.1"))
    facts = replace(facts, interpreter=replace(facts.interpreter, free_threaded=True))
    assert found(choose(facts)) == ("2.12.0", "cu130")


# --- nothing serves: what would ---

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


@pytest.mark.parametrize("name", NOTHING)
def test_nothing_serves(name: str) -> None:
    facts, kind, details = NOTHING[name]
    choice = choose(facts)
    assert choice.builds == ()
    assert choice.nearest[0].kind == kind
    assert details.items() <= dict(choice.nearest[0].details).items()


def test_windows_on_arm() -> None:
    """CPU wheels on pytorch.org's index only, for three Pythons."""
    facts = windows(python="3.14.0")
    facts = replace(
        facts,
        host=replace(facts.host, architecture="arm64"),
        interpreter=replace(facts.interpreter, architecture="arm64"),
    )
    choice = choose(facts)
    assert choice.builds == ()
    assert (choice.nearest[0].kind, dict(choice.nearest[0].details)) == ("python", {"python": "3.13"})
    best = choose(replace(facts, interpreter=replace(facts.interpreter, version="3.13.2"))).best
    assert best is not None
    assert (best.release, best.backend, best.index) == ("2.13.0", "cpu", WHL + "cpu")


def test_32_bit_python() -> None:
    facts = windows()
    facts = replace(facts, interpreter=replace(facts.interpreter, bits=32, architecture="x86"))
    near = choose(facts).nearest[0]
    assert near.kind == "python"
    assert dict(near.details)["arch"] == "64-bit"
    assert near.candidate is not None


# --- rules ---


def found(choice: Choice) -> tuple[str, str] | None:
    return (choice.best.release, choice.best.backend) if choice.best else None


def test_a_mask_limits_which_cards_count() -> None:
    both = nv("NVIDIA GeForce GTX 1080", "NVIDIA GeForce RTX 4090")
    assert found(choose(replace(both, environ={"CUDA_VISIBLE_DEVICES": "1"}))) == ("2.15.0", "cu132")
    assert found(choose(replace(both, environ={"CUDA_VISIBLE_DEVICES": "0,1"}))) == ("2.14.1", "cu126")
    hidden = choose(replace(both, environ={"CUDA_VISIBLE_DEVICES": "-1"}))
    assert found(hidden) == ("2.14.1", "cu126")
    assert "hides every GPU" in hidden.assumes[0]


def test_a_mask_by_uuid() -> None:
    facts = nv("NVIDIA GeForce GTX 1080", "NVIDIA GeForce RTX 4090")
    gpus = tuple(replace(g, uuid=f"GPU-{i}abc") for i, g in enumerate(facts.gpus or ()))
    choice = choose(replace(facts, gpus=gpus, environ={"CUDA_VISIBLE_DEVICES": "GPU-1"}))
    assert found(choice) == ("2.15.0", "cu132")
    assert not choice.assumes


def test_the_card_that_is_left_out_is_named() -> None:
    choice = choose(nv("NVIDIA GeForce GTX 1080", "NVIDIA GeForce RTX 4090", driver="590.44.01"))
    assert found(choice) == ("2.15.0", "cu132")
    assert choice.best is not None
    assert choice.best.leaves_out == ("NVIDIA GeForce GTX 1080",)
    assert choice.nearest[0].kind == "driver"


def test_conda_forge_serves_what_no_wheel_serves_natively() -> None:
    facts = nv("NVIDIA GeForce GTX 1080", "NVIDIA GeForce RTX 5090")
    assert conda_forge_cuda(facts) == "12.9"
    assert [n.kind for n in choose(facts).nearest] == ["conda-forge"]


def test_an_integrated_gpu_does_not_count_beside_a_card() -> None:
    facts = nv("NVIDIA GeForce RTX 4090")
    facts = replace(
        facts, gpus=(Gpu(vendor="amd", name="Raphael", gfx="gfx1036", integrated=True), *(facts.gpus or ()))
    )
    best = choose(facts).best
    assert best is not None
    assert best.backend == "cu132"
    assert best.leaves_out == ()


def test_another_vendors_card_is_left_out_by_name() -> None:
    best = choose(with_amd(nv("NVIDIA GeForce RTX 4090"), "AMD Radeon RX 7900 XTX")).best
    assert best is not None
    assert best.backend == "cu132"
    assert best.leaves_out == ("AMD Radeon RX 7900 XTX",)


def test_an_override_is_named_and_never_where_it_would_harm() -> None:
    alone = choose(with_amd(linux(), "AMD Radeon RX 6700 XT")).best
    assert alone is not None
    assert alone.environ == (("HSA_OVERRIDE_GFX_VERSION", "10.3.0"),)
    beside = choose(with_amd(linux(), "AMD Radeon RX 7900 XTX", "AMD Radeon RX 6700 XT")).best
    assert beside is not None
    assert beside.environ == ()
    assert beside.leaves_out == ("AMD Radeon RX 6700 XT",)


def test_a_wanted_version_and_backend() -> None:
    facts = nv("NVIDIA GeForce RTX 4090")
    best = choose(facts, torch="==2.4.*", companions=("torchvision", "torchaudio")).best
    assert best is not None
    assert (best.release, best.backend) == ("2.4.1", "cu121")
    assert best.companions == (("torchvision", "0.19.1"), ("torchaudio", "2.4.1"))
    assert found(choose(facts, torch="2.5.1", backend="cu118")) == ("2.5.1", "cu118")
    assert found(choose(facts, backend="cpu")) == ("2.15.0", "cpu")


def test_a_wish_that_the_gpu_rules_out() -> None:
    choice = choose(nv("NVIDIA GeForce RTX 5090"), torch="==2.4.*")
    assert choice.builds == ()
    assert choice.nearest[0].kind == "older-torch"
    assert dict(choice.nearest[0].details) == {"torch": "2.15.0", "backend": "cu132"}


def test_what_other_packages_pin() -> None:
    pinned = Package(name="vllm", version="0.6", requires=("torch==2.5.1",))
    companion = Package(name="torchvision", version="0.20.1", requires=("torch==2.5.1",))
    facts = replace(nv("NVIDIA GeForce RTX 4090"), packages=(pinned,))
    assert found(choose(facts)) == ("2.5.1", "cu124")
    assert found(choose(replace(facts, packages=(companion,)))) == ("2.15.0", "cu132")
    impossible = choose(replace(nv("NVIDIA GeForce RTX 5090"), packages=(pinned,)))
    assert found(impossible) == ("2.15.0", "cu132")
    assert "vllm" in impossible.assumes[0]


def test_as_of() -> None:
    assert found(choose(replace(nv("NVIDIA GeForce RTX 4090"), as_of="2024-05-31"))) == ("2.3.0", "cu121")
    assert found(choose(replace(nv("NVIDIA GeForce RTX 5090"), as_of="2025-04-30"))) == ("2.7.0", "cu128")


def test_companions_decide_between_indexes() -> None:
    """torchaudio's last release was made for the backends of torch 2.11: cu132 is none of them."""
    facts = nv("NVIDIA GeForce RTX 4090", driver="596.36", on=windows())
    best = choose(facts, companions=("torchaudio",)).best
    assert best is not None
    assert best.backend == "cu130"
    assert best.companions == (("torchaudio", "2.11.0"),)


def test_a_ticket_that_shows_only_the_drivers_cuda() -> None:
    facts = with_nvidia(linux(), "NVIDIA GeForce RTX 3090", driver=None, driver_cuda="11.4")
    choice = choose(facts)
    assert found(choice) == ("2.7.1", "cu118")
    assert choice.best is not None
    assert choice.best.reasons[0].startswith("a driver of branch 470 runs CUDA 11.8")


def test_level_zero_masks() -> None:
    gpus = tuple(Gpu(vendor="intel", name=n) for n in ("Intel Arc B580", "Intel Arc A770"))
    best = choose(replace(linux(), gpus=gpus, environ={"ZE_AFFINITY_MASK": "1.0"})).best
    assert best is not None
    assert best.covers == ("Intel Arc A770",)


def test_kepler_is_warned_of_cudnn_9() -> None:
    best = choose(nv("Tesla K80", driver="470.256.02")).best
    assert best is not None
    assert any("cuDNN" in text for text in best.against)


def test_rejected_neighbours_say_why() -> None:
    choice = choose(nv("NVIDIA GeForce RTX 4090", driver="550.54.14"))
    reasons = {c.backend: c.against[0] for c in choice.rejected}
    assert "580" in reasons["cu132"]
    assert "550.54.14" in reasons["cu130"]


def test_nothing_known_is_said() -> None:
    choice = choose(Facts())
    assert found(choice) == ("2.15.0", "cu132")
    assert len(choice.assumes) >= 4


def test_a_card_that_the_tables_do_not_know() -> None:
    choice = choose(nv("NVIDIA Hypothetical 9999"))
    assert found(choice) == ("2.15.0", "cu132")
    assert any("Hypothetical" in a for a in choice.assumes)
