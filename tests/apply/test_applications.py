"""Environments of applications, made by real pipx and `uv tool`: mended so that it lasts, and put back."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.index import wheels
from tests.index.patient import UV, Patient, tool
from tests.index.server import Index
from tests.sample import whole

Make = Callable[..., Patient]
PIPX = tool("pipx")


def application(patient: Make, index: Index, wheelhouse: Path) -> Patient:
    """A patient with two Pascal cards, whose user's index has the application and CPU builds."""
    apps = wheelhouse / "whl" / "apps"
    if not apps.exists():
        for version in ("1.0", "1.1"):
            wheels.wheel(apps, "demo-app", version, {"demo_app.py": "def main(): pass\n"}, requires=["torch>=2"],
                         scripts={"demo-app": "demo_app:main"})  # fmt: skip
        wheels.wheel(apps, "extra-tool", "3.0", {"extra_tool.py": ""})
        for wheel in (wheelhouse / "whl" / "cpu").glob("*.whl"):
            shutil.copy(wheel, apps)
    sick = patient(machine="linux-two-gpus")
    url = f"{index.url}/whl/apps"
    sick.set(STUB_CAPABILITY="6.1", UV_DEFAULT_INDEX=url, PIP_INDEX_URL=url)
    (sick.root / "home" / ".local" / "bin").mkdir(parents=True)
    return sick


def variables(sick: Patient, index: Index, **more: str) -> dict[str, str]:
    """The user's own shell."""
    url = f"{index.url}/whl/apps"
    return {
        **sick.variables(), "UV_DEFAULT_INDEX": url, "UV_NO_CONFIG": "1", "UV_PYTHON": sys.executable,
        "UV_CACHE_DIR": str(sick.root.parent / "cache"), "PIP_INDEX_URL": url, "PIP_CONFIG_FILE": os.devnull, **more,
    }  # fmt: skip


def state(sick: Patient, record: str) -> tuple[dict[str, str], str]:
    return sick.content(), (sick.env / record).read_text()


UV_PLACES = {"UV_TOOL_DIR": "home/tools", "UV_TOOL_BIN_DIR": "home/.local/bin"}


def uv_tool(sick: Patient, index: Index, *words: str) -> None:
    assert UV is not None
    places = {name: str(sick.root / path) for name, path in UV_PLACES.items()}
    argv = [UV, "tool", *words]
    subprocess.run(argv, env=variables(sick, index, **places), check=True, capture_output=True, timeout=60)


def test_a_tool_of_uv(patient: Make, index: Index, wheelhouse: Path) -> None:
    sick = application(patient, index, wheelhouse)
    sick.set(UV_TOOL_BIN_DIR=str(sick.root / UV_PLACES["UV_TOOL_BIN_DIR"]))
    uv_tool(sick, index, "install", "demo-app==1.0", "--with", "extra-tool")
    sick.env = sick.root / "home/tools/demo-app"
    assert sick.torch() == "2.13.0+cpu"
    before = state(sick, "uv-receipt.toml")
    done = sick.fix()
    assert done.returncode == 0, done.stderr
    assert "uv tool install demo-app==1.0" in done.stderr
    assert "  torch: 2.13.0+cpu -> 2.13.0+cu126" in done.stderr
    assert "not known in advance" not in done.stderr
    uv_tool(sick, index, "upgrade", "--reinstall", "demo-app")
    assert sick.torch() == "2.13.0+cu126", "it lasts"
    assert (sick.site / "extra_tool.py").exists(), "and so does what else was asked for"
    assert (sick.site / "demo_app-1.0.dist-info").exists(), "and the version"
    assert sick.doctor("fix", "--undo", "--allow", "later-changes").returncode == 0
    assert (sick.torch(), state(sick, "uv-receipt.toml")[1]) == ("2.13.0+cpu", before[1])


def test_a_tool_of_uv_is_put_back(patient: Make, index: Index, wheelhouse: Path) -> None:
    sick = application(patient, index, wheelhouse)
    sick.set(UV_TOOL_BIN_DIR=str(sick.root / UV_PLACES["UV_TOOL_BIN_DIR"]))
    uv_tool(sick, index, "install", "demo-app")
    sick.env = sick.root / "home/tools/demo-app"
    before = state(sick, "uv-receipt.toml")
    done = sick.fix("--pytorch-index", f"{index.url}/empty")
    assert done.returncode == 1
    assert "not cured: torch-cpu-only is still found" in done.stderr
    assert state(sick, "uv-receipt.toml") == before
    assert sick.fix().returncode == 0
    assert sick.torch() == "2.13.0+cu126"
    assert sick.doctor("fix", "--undo").returncode == 0
    assert state(sick, "uv-receipt.toml") == before


@pytest.mark.slow
@pytest.mark.skipif(PIPX is None, reason="pipx is not there")
@pytest.mark.parametrize("backend", [pytest.param("pip", marks=whole), "uv"])  # pip takes four times as long
def test_an_application_of_pipx(patient: Make, index: Index, wheelhouse: Path, backend: str) -> None:
    sick = application(patient, index, wheelhouse)
    assert PIPX is not None
    assert UV is not None
    (sick.root / "bin" / "pipx").symlink_to(PIPX)
    home = sick.root / "home" / "pipx"
    said = {"PIPX_HOME": str(home), "PIPX_BIN_DIR": str(sick.root / "home/.local/bin"), "PIPX_DEFAULT_PYTHON":
            sys.executable, "PIPX_DISABLE_SHARED_LIBS_AUTO_UPGRADE": "1"}  # fmt: skip

    def pipx(*words: str) -> None:
        environ = variables(sick, index, **said)
        environ["PATH"] = os.pathsep.join((os.path.dirname(UV or ""), environ["PATH"]))
        done = subprocess.run(
            [str(PIPX), *words], env=environ, capture_output=True, text=True, timeout=120, check=False
        )
        assert done.returncode == 0, done.stderr

    pipx("install", "--backend", backend, "--skip-maintenance", "demo-app==1.0")
    sick.env = home / "venvs" / "demo-app"
    assert sick.torch() == "2.13.0+cpu"
    before = state(sick, "pipx_metadata.json")
    done = sick.fix()
    assert done.returncode == 0, done.stderr
    assert "pipx inject demo-app torch==2.13.0" in done.stderr
    assert "  torch: 2.13.0+cpu -> 2.13.0+cu126" in done.stderr
    assert "not known in advance" not in done.stderr
    assert sick.doctor("fix", "--undo").returncode == 0
    assert state(sick, "pipx_metadata.json") == before
    assert sick.fix().returncode == 0
    for words in (("upgrade", "--include-injected", "demo-app"), ("reinstall", "--skip-maintenance", "demo-app")):
        pipx(*words)
        assert sick.torch() == "2.13.0+cu126", words
