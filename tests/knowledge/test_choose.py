"""The reviewed machines, and the special rules."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from doctor.knowledge import lookup
from doctor.knowledge.choose import Choice, choose, conda_forge_cuda
from doctor.knowledge.choosing import avoiding
from doctor.model.facts import Facts, Gpu, Package
from tests.examples import linux, mac, windows, with_amd, with_nvidia
from tests.knowledge.machines import MACHINES, NOTHING, nv
from tests.knowledge.random_machines import MAKERS

WHL = "https://download.pytorch.org/whl/"


@pytest.fixture(autouse=True)
def without_errata(monkeypatch):
    """What serves a machine is one question, which of it has a known fault another: test_errata.py asks that."""
    monkeypatch.setattr(avoiding, "grave", lambda *_: [])


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
    assert conda_forge_cuda(facts, "cu130") == "12.9"
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
    assert found(choose(facts, backend="cpu")) == ("2.14.1", "cpu")


def test_a_build_that_was_seen_comes_before_a_newer_one_that_was_not() -> None:
    first, *others = choose(linux()).builds
    assert (first.status, first.release) == ("verified", "2.14.1")
    unseen = next(b for b in others if b.release == "2.15.0")
    assert (unseen.status, unseen.behind) == ("derived", "its publication was not seen")


def test_a_wish_for_the_cpu_of_a_mac_is_met_by_its_one_build() -> None:
    assert found(choose(mac(), backend="cpu")) == ("2.15.0", "mps")
    assert found(choose(mac(macos="12.2"), backend="cpu")) == ("2.11.0", "mps")


def test_a_wish_for_another_vendors_build_is_met_with_a_warning() -> None:
    best = choose(nv("NVIDIA GeForce RTX 4090"), backend="rocm7.2").best
    assert best is not None
    assert any("no GPU that it is made for" in text for text in best.against)
    best = choose(nv("NVIDIA GeForce RTX 4090"), backend="cu130").best
    assert best is not None
    assert not best.against


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


def test_a_cuda_build_may_be_asked_for_where_there_is_no_gpu() -> None:
    """As when an image is built: the machine that will run it is another one."""
    choice = choose(linux(), backend="cu126")
    assert found(choice) == ("2.14.1", "cu126")
    assert choice.assumes[0].startswith("there is no NVIDIA GPU here")
    assert [conda_forge_cuda(linux(), backend) for backend in ("cu126", "cu130", "cu118")] == ["12.9", "13.0", None]
    without_driver = replace(nv("NVIDIA GeForce RTX 4090"), nvidia=linux().nvidia)
    assert choose(without_driver, backend="cu126").best is None, "this machine has a GPU: its driver comes first"


XFORMERS = Package(name="xformers", version="0.0.27", requires=("numpy", "torch==2.3.1"))


def test_a_follower_keeps_its_torch_where_that_serves() -> None:
    choice = choose(replace(nv("NVIDIA GeForce RTX 4090"), packages=(XFORMERS,)))
    assert found(choice) == ("2.3.1", "cu121")
    assert choice.best
    assert choice.best.companions == ()


def test_a_follower_moves_along_where_its_torch_does_not_serve() -> None:
    choice = choose(replace(nv("NVIDIA GeForce RTX 5090"), packages=(XFORMERS,)))
    assert found(choice) == ("2.15.0", "cu132")
    assert choice.best
    assert choice.best.companions == (("xformers", "0.0.35"),)
    assert not [text for text in choice.assumes if "xformers" in text]
    vllm = Package(name="vllm", version="0.5", requires=("torch==2.3.1", "xformers==0.0.27"))
    both = choose(replace(nv("NVIDIA GeForce RTX 5090"), packages=(XFORMERS, vllm)))
    assert both.best
    assert both.best.companions == (("xformers", "0.0.35"),)
    assert "meets what vllm asks" in both.assumes[0]


def test_a_follower_that_no_index_has_for_the_build_is_named() -> None:
    """Of a build from an index of its own, xformers' wheels are not in the tables; for arm64 there are none."""
    other = choose(replace(nv("NVIDIA GeForce RTX 5090"), packages=(XFORMERS,)), backend="cu130")
    assert other.best
    assert other.best.index
    assert other.best.companions == ()
    assert "install xformers 0.0.35 after it" in other.assumes[0]
    arm = with_nvidia(linux(architecture="arm64"), "NVIDIA GH200 480GB", driver="580.95.05")
    old = Package(name="xformers", version="0.0.19", requires=("torch==2.0.0",))
    assert "no xformers for torch 2.15.0 is known" in choose(replace(arm, packages=(old,))).assumes[0]


def test_as_of() -> None:
    assert found(choose(replace(nv("NVIDIA GeForce RTX 4090"), as_of="2024-05-31"))) == ("2.3.0", "cu121")
    assert found(choose(replace(nv("NVIDIA GeForce RTX 5090"), as_of="2025-04-30"))) == ("2.7.0", "cu128")


def test_as_of_offers_nothing_that_was_not_there_yet() -> None:
    """Neither a younger torch, nor what AMD and conda-forge were seen to publish only later."""
    radeon = with_amd(windows(), "AMD Radeon RX 7900 XTX")
    cards = nv("NVIDIA GeForce GTX 1080", "NVIDIA GeForce RTX 5090")
    assert "vendor" in {n.kind for n in choose(replace(radeon, as_of="2026-08")).nearest}
    assert "vendor" not in {n.kind for n in choose(replace(radeon, as_of="2026-07")).nearest}
    assert "conda-forge" not in {n.kind for n in choose(replace(cards, as_of="2025-04-30")).nearest}
    chance = random.Random(8)
    for _ in range(150):
        facts, _ = chance.choice(MAKERS)(chance)
        day = f"202{chance.randrange(1, 7)}-06-30"
        choice = choose(replace(facts, as_of=day))
        offered = (*choice.builds, *choice.rejected, *(n.candidate for n in choice.nearest if n.candidate))
        for build in offered:
            assert (lookup.release_date(build.release) or "") <= day, build


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


@pytest.mark.parametrize(
    ("l4t", "page"), [("35.4.1", "compute/redist"), ("39.0", "jetson-platform"), (None, "jetson-platform")]
)
def test_a_jetson_is_never_offered_a_torch_without_its_gpu(l4t: str | None, page: str) -> None:
    board = linux(architecture="arm64", jetson=l4t) if l4t else linux(architecture="arm64")
    choice = choose(replace(board, gpus=None), backend="jetson")
    assert choice.best is None
    assert {n.kind for n in choice.nearest} <= {"vendor", "older-torch"}
    assert any(page in dict(n.details).get("page", "") for n in choice.nearest)
