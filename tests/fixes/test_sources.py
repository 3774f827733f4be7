"""Mirrors, in-house indexes and folders of wheels in the commands of a plan."""

from __future__ import annotations

from dataclasses import replace

import pytest

from doctor.fixes.plan import plan
from doctor.fixes.sources import Sources, redirected
from doctor.model.facts import ABSENT
from doctor.model.fix import Fix, Plan, Step
from tests.examples import linux, with_nvidia
from tests.fixes.situations import finding

WHL = "https://download.pytorch.org/whl"


def argv_of(argv: tuple[str, ...], **sources: object) -> tuple[str, ...]:
    made = Plan(fixes=(Fix(finding="f", action="install-torch", title="t", steps=(Step(text="s", argv=argv),)),))
    redirected_argv = redirected(made, Sources(**sources)).fixes[0].steps[0].argv  # type: ignore[arg-type]
    assert redirected_argv is not None
    return redirected_argv


PIP = ("python", "-m", "pip", "install", "torch==2.15.0", "--index-url", f"{WHL}/cu130")
UV = ("uv", "pip", "install", "--python", "p", "torch==2.15.0", "--torch-backend=cu130")

UV_TOOL = ("uv", "tool", "install", "app", "--with", "torch==2.15.0", "--torch-backend=cu130")
PIPX = ("pipx", "inject", "app", "torch==2.15.0", "--index-url", f"{WHL}/cu130")
PIPX_UV = (*PIPX[:4], f"--pip-args=--index {WHL}/cu130")


@pytest.mark.parametrize("mirror", ["https://mirror.example/pytorch", "https://mirror.example/pytorch/"])
def test_a_mirror_takes_the_place_of_the_public_index(mirror: str) -> None:
    assert argv_of(PIP, pytorch_index=mirror)[-2:] == ("--index-url", "https://mirror.example/pytorch/cu130")
    assert argv_of(UV, pytorch_index=mirror)[-2:] == ("--index", "https://mirror.example/pytorch/cu130")
    assert argv_of(UV_TOOL, pytorch_index=mirror)[-4:] == (
        "--index", "https://mirror.example/pytorch/cu130", "--index-strategy", "unsafe-best-match",
    )  # fmt: skip
    assert argv_of(PIPX, pytorch_index=mirror)[-1] == "https://mirror.example/pytorch/cu130"
    assert argv_of(PIPX_UV, pytorch_index=mirror)[-1] == "--pip-args=--index https://mirror.example/pytorch/cu130"


def test_an_index_that_is_not_pytorchs_stays() -> None:
    argv = ("python", "-m", "pip", "install", "torch", "--index-url", "https://repo.amd.com/rocm/whl/gfx1151")
    assert argv_of(argv, pytorch_index="https://mirror.example") == argv


def test_offline_takes_nothing_but_the_folders() -> None:
    links = ("--find-links", "/wheels", "--no-index")
    assert argv_of(PIP, find_links=("/wheels",), offline=True) == (*PIP[:5], *links)
    assert argv_of(UV, find_links=("/wheels",), offline=True) == (*UV[:6], *links)
    assert argv_of(UV_TOOL, find_links=("/wheels",), offline=True) == (*UV_TOOL[:6], *links)
    for argv in (PIPX, PIPX_UV):
        said = argv_of(argv, find_links=("/my wheels",), offline=True)
        assert said == (*PIPX[:4], "--pip-args=--find-links '/my wheels' --no-index")


def test_a_folder_beside_the_index() -> None:
    assert argv_of(PIP, find_links=("/wheels",)) == (*PIP, "--find-links", "/wheels")


def test_a_removal_is_not_told_of_indexes() -> None:
    argv = ("python", "-m", "pip", "uninstall", "-y", "torch")
    assert argv_of(argv, find_links=("/wheels",), offline=True, pytorch_index="https://mirror.example") == argv


def test_texts_details_and_alternatives_are_redirected_too() -> None:
    other = Fix(finding="f", action="install-torch", title="t", steps=(Step(text="s", argv=PIP),))
    step = Step(text=f'Write url = "{WHL}/cu130"')
    fix = Fix(
        finding="f", action="install-torch", title="t", details={"index": f"{WHL}/cu130"}, steps=(step,),
        alternatives=(other,),
    )  # fmt: skip
    (made,) = redirected(Plan(fixes=(fix,)), Sources(pytorch_index="http://in.house")).fixes
    assert made.details["index"] == "http://in.house/cu130"
    assert made.steps[0].text == 'Write url = "http://in.house/cu130"'
    assert made.alternatives[0].steps[0].argv == (*PIP[:-1], "http://in.house/cu130")


def test_without_wishes_the_plan_is_the_same() -> None:
    made = Plan(fixes=(Fix(finding="f", action="install-torch", title="t"),))
    assert redirected(made, Sources()) is made


def test_nothing_is_downloaded_offline() -> None:
    step = Step(text="s", argv=PIP, downloads_mb=3000)
    made = Plan(fixes=(Fix(finding="f", action="install-torch", title="t", steps=(step,), downloads_mb=3000),))
    (fix,) = redirected(made, Sources(find_links=("/wheels",), offline=True)).fixes
    assert (fix.downloads_mb, fix.steps[0].downloads_mb) == (None, None)
    (fix,) = redirected(made, Sources(pytorch_index="https://mirror.example")).fixes
    assert (fix.downloads_mb, fix.steps[0].downloads_mb) == (3000, 3000)


CPU_WHEEL = "torch-2.13.0+cpu-cp312-cp312-manylinux_2_28_x86_64.whl"


@pytest.mark.parametrize(
    ("wheels", "chosen"),
    [
        ((CPU_WHEEL,), ("2.13.0", "cpu")),
        ((CPU_WHEEL, "torch-2.12.1%2Bcu126-cp312-cp312-manylinux_2_28_x86_64.whl"), ("2.12.1", "cu126")),
        ((CPU_WHEEL, "torch-2.13.0+cu130-cp311-cp311-manylinux_2_28_x86_64.whl"), ("2.13.0", "cpu")),
        ((CPU_WHEEL, "torch-2.14.1-cp312-cp312-win_amd64.whl", "torchvision-0.28.0.whl"), ("2.13.0", "cpu")),
        (("torch-2.13.0-cp312-cp312-manylinux_2_28_x86_64.whl",), ("2.13.0", "cu130")),
    ],
)
def test_offline_the_plan_is_chosen_among_what_is_there(wheels: tuple[str, ...], chosen: tuple[str, str]) -> None:
    facts = replace(with_nvidia(linux(), "NVIDIA GeForce RTX 4090"), torch=ABSENT)
    (fix,) = plan([finding("torch-missing", "install-torch")], facts, wheels=wheels).fixes
    assert (fix.details["torch"], fix.details["backend"]) == chosen
    assert not any(other.details.get("channel") for other in fix.alternatives), "nothing that needs a network"


def test_offline_without_a_torch_that_fits_says_so() -> None:
    facts = replace(with_nvidia(linux(), "NVIDIA GeForce RTX 4090"), torch=ABSENT)
    made = plan([finding("torch-missing", "install-torch")], facts, wheels=("numpy-2.0.0-py3-none-any.whl",))
    assert made.fixes == ()
    assert made.unfixed[0][1] == "only wheels that are there can be installed; of torch for this Python: none"
