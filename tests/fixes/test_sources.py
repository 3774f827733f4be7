"""Mirrors, in-house indexes and folders of wheels in the commands of a plan."""

from __future__ import annotations

import pytest

from doctor.fixes.sources import Sources, redirected
from doctor.model.fix import Fix, Plan, Step

WHL = "https://download.pytorch.org/whl"


def argv_of(argv: tuple[str, ...], **sources: object) -> tuple[str, ...]:
    plan = Plan(fixes=(Fix(finding="f", action="install-torch", title="t", steps=(Step(text="s", argv=argv),)),))
    redirected_argv = redirected(plan, Sources(**sources)).fixes[0].steps[0].argv  # type: ignore[arg-type]
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
    plan = Plan(fixes=(Fix(finding="f", action="install-torch", title="t"),))
    assert redirected(plan, Sources()) is plan


def test_nothing_is_downloaded_offline() -> None:
    step = Step(text="s", argv=PIP, downloads_mb=3000)
    plan = Plan(fixes=(Fix(finding="f", action="install-torch", title="t", steps=(step,), downloads_mb=3000),))
    (fix,) = redirected(plan, Sources(find_links=("/wheels",), offline=True)).fixes
    assert (fix.downloads_mb, fix.steps[0].downloads_mb) == (None, None)
    (fix,) = redirected(plan, Sources(pytorch_index="https://mirror.example")).fixes
    assert (fix.downloads_mb, fix.steps[0].downloads_mb) == (3000, 3000)
