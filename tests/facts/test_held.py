"""What is read of an environment whose Python is gone."""

from __future__ import annotations

from pathlib import Path

import pytest

from doctor.facts.held import held
from doctor.facts.system import System
from doctor.model.facts import Held


def environment(root: Path, config: str, *names: str, level: str = "python3.11") -> str:
    """A recorded machine's /ml, with a dead Python in it."""
    for name in names:
        (root / "ml" / "lib" / level / "site-packages" / name).mkdir(parents=True)
    (root / "ml" / "pyvenv.cfg").write_text(config)
    return "/ml/bin/python"


@pytest.mark.parametrize("config", ["version = 3.11.9\n", "version_info = 3.11.9.final.0\n", "VERSION=3.11.9"])
def test_the_python_is_that_of_pyvenv_cfg(tmp_path: Path, config: str) -> None:
    python = environment(tmp_path, config, "torch-2.13.0+cpu.dist-info", "torchvision-0.28.0+cpu.dist-info", "torch")
    wanted = Held(python="3.11.9", torch="2.13.0+cpu", companions=("torchvision",))
    assert held(System.of_folder(str(tmp_path)), python) == wanted


@pytest.mark.parametrize("config", ["home = /opt/bin\n", "version = latest\n", "\0\xff"])
def test_else_that_of_the_folder(tmp_path: Path, config: str) -> None:
    python = environment(tmp_path, config, "torch-2.13.0.dist-info")
    assert held(System.of_folder(str(tmp_path)), python) == Held(python="3.11", torch="2.13.0")


def test_of_two_torches_nobody_knows_which_one_it_was(tmp_path: Path) -> None:
    python = environment(tmp_path, "", "torch-2.13.0.dist-info", "torch-2.12.0.dist-info", "torch-x y.dist-info")
    assert held(System.of_folder(str(tmp_path)), python) == Held(python="3.11")


def test_a_python_that_is_no_environments(tmp_path: Path) -> None:
    assert held(System.of_folder(str(tmp_path)), "/usr/bin/python3") is None
