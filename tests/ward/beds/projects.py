"""Environments of projects, conda environments, and torch as an editable installation."""

from __future__ import annotations

import json
import sys

from tests.ward import conda
from tests.ward.bed import bed
from tests.ward.place import Place

BROKEN, AGAIN = "torch-install-broken", "reinstall-torch"
NO_CONDA = "conda itself is not on this machine; what is printed for it is solved by tests/fixes/test_conda_specs.py"
CPU_WHEELS = (
    "torch-2.13.0", "filelock", "fsspec", "jinja2", "markupsafe", "mpmath", "networkx", "setuptools", "sympy",
    "typing_extensions", "numpy-2.4.6",
)  # fmt: skip
PYPROJECT = """[project]
name = "demo"
version = "0.1.0"
requires-python = "==3.11.*"
dependencies = ["torch==2.13.0", "numpy==2.4.6"]
"""
UV = """
[[tool.uv.index]]
name = "wheels"
url = "{url}/all"
default = true
"""
POETRY = """
[tool.poetry]
package-mode = false

[[tool.poetry.source]]
name = "wheels"
url = "{url}/whl/cpu"
priority = "primary"
"""
PDM = """
[[tool.pdm.source]]
name = "pypi"
url = "{url}/whl/cpu"
verify_ssl = false

[tool.pdm]
distribution = false
"""


def _break(place: Place) -> None:
    place.remove(place.torch / "lib" / "libtorch_cpu.so")


def _locked_by_uv(place: Place) -> None:
    url = place.serve(*CPU_WHEELS)
    place.project(PYPROJECT + UV.format(url=url))
    place.tool(sys.executable, "-m", "uv", "lock", "-q")


def _locked_by_poetry(place: Place) -> None:
    url = place.serve(*CPU_WHEELS)
    place.project(PYPROJECT + POETRY.format(url=url))
    place.environ |= {"POETRY_CACHE_DIR": str(place.root / "home" / "poetry"), "POETRY_VIRTUALENVS_IN_PROJECT": "true"}
    place.tool("poetry", "lock", "-q")


def _locked_by_pdm(place: Place) -> None:
    url = place.serve(*CPU_WHEELS)
    place.project(PYPROJECT + PDM.format(url=url))
    place.environ |= {"PDM_CACHE_DIR": str(place.root / "home" / "pdm"), "PDM_CHECK_UPDATE": "0"}
    place.write(place.work / ".pdm-python", str(place.python))
    place.tool("pdm", "lock", "-q")


@bed(BROKEN, base="cpu-uv", action=AGAIN, cure="run")
def project_of_uv(place: Place) -> None:
    """The .venv of a uv project, locked: libtorch_cpu.so is gone."""
    _locked_by_uv(place)
    _break(place)


@bed(BROKEN, action=AGAIN, cure="run", needs=("poetry",), limit_s=120)
def project_of_poetry(place: Place) -> None:
    """The .venv of a poetry project, locked: libtorch_cpu.so is gone."""
    _locked_by_poetry(place)
    _break(place)


@bed(BROKEN, action=AGAIN, cure="run", needs=("pdm",), limit_s=120)
def project_of_pdm(place: Place) -> None:
    """The .venv of a PDM project, locked: libtorch_cpu.so is gone."""
    _locked_by_pdm(place)
    _break(place)


@bed("torch-missing", base="bare-uv", action="install-torch", details={"torch": ""}, cure="run")
def project_of_uv_without_torch(place: Place) -> None:
    """A uv project whose environment was never synchronised: torch is in its pyproject.toml and lock file only."""
    _locked_by_uv(place)


@bed(
    "torch-missing", base="bare", action="install-torch", details={"torch": ""}, cure="run", needs=("poetry",),
    limit_s=120,
)  # fmt: skip
def project_of_poetry_without_torch(place: Place) -> None:
    """A poetry project, locked, whose environment holds pip alone."""
    _locked_by_poetry(place)


@bed(
    "torch-missing", base="bare", action="install-torch", details={"torch": ""}, cure="run", needs=("pdm",),
    limit_s=120,
)  # fmt: skip
def project_of_pdm_without_torch(place: Place) -> None:
    """A PDM project, locked, whose environment holds pip alone."""
    _locked_by_pdm(place)


@bed(
    "torch-missing", base="bare", action="install-torch", details={"torch": ""},
    cure="none", why_not="there is no Pipenv here",
)  # fmt: skip
def project_of_pipenv_without_torch(place: Place) -> None:
    """A Pipenv project, locked, whose environment holds pip alone."""
    place.project('[packages]\ntorch = "*"\n\n[requires]\npython_version = "3.11"\n', "Pipfile")
    place.write(place.work / "Pipfile.lock", '{"_meta": {"pipfile-spec": 6}, "default": {}, "develop": {}}\n')


# ---- editable installations


def _editable(place: Place) -> None:
    """What `pip install -e` of PyTorch's checkout leaves in site-packages; the checkout, built, lies elsewhere."""
    source = place.root / "pytorch"
    source.mkdir()
    place.torch.rename(source / "torch")
    for name in ("torchgen", "functorch"):
        if (place.site / name).exists():
            (place.site / name).rename(source / name)
    info = place.info("torch")
    url = json.dumps({"url": f"file://{source}", "dir_info": {"editable": True}})
    place.write(info / "direct_url.json", url)
    pth = "__editable__.torch-2.13.0.pth"
    place.write(place.site / pth, f"{source}\n")
    kept = [line for line in (info / "RECORD").read_text().splitlines() if line.startswith(info.name)]
    place.write(info / "RECORD", "\n".join([f"{pth},,", f"{info.name}/direct_url.json,,", *kept, ""]))


@bed(None)
def editable_torch(place: Place) -> None:
    """torch was built from source and installed with pip install -e: its files lie in the checkout."""
    _editable(place)


@bed(BROKEN, action=AGAIN, cure="run")
def editable_torch_without_its_source(place: Place) -> None:
    """The same, and the checkout was removed."""
    _editable(place)
    place.remove(place.root / "pytorch")


# ---- conda


@bed(None, needs=("python:rattler",), limit_s=120)
def conda_environment(place: Place) -> None:
    """A conda environment with conda's own torch, as py-rattler installs it from a channel."""
    conda.environment(place, "python", "numpy", "pytorch")


@bed(BROKEN, action=AGAIN, needs=("python:rattler",), cure="none", why_not=NO_CONDA, limit_s=120)
def conda_torch_without_a_library(place: Place) -> None:
    """conda's torch, and libtorch_cpu.so is gone."""
    conda.environment(place, "python", "numpy", "pytorch")
    _break(place)


@bed("torch-missing", action="install-torch", needs=("python:rattler",), cure="none", why_not=NO_CONDA)
def conda_without_torch(place: Place) -> None:
    """A conda environment with a Python and nothing else."""
    conda.environment(place, "python")


@bed("torch-missing", action="install-torch", needs=("python:rattler",), cure="none", why_not="there is no pixi here")
def pixi_without_torch(place: Place) -> None:
    """The environment of a pixi project, which does not ask for torch."""
    place.work = place.root / "project"
    place.write(
        place.work / "pixi.toml",
        '[workspace]\nname = "demo"\nchannels = ["conda-forge"]\nplatforms = ["linux-64"]\n\n'
        '[dependencies]\npython = "3.11.*"\n',
    )
    conda.environment(place, "python", into=place.work / ".pixi" / "envs" / "default")


@bed("torch-duplicate-install", needs=("python:rattler",), cure="none", why_not=NO_CONDA, limit_s=120)
def pip_over_conda(place: Place) -> None:
    """pip unpacked an older torch into the folder of conda's: both have their metadata, the files are mixed."""
    conda.environment(place, "python", "numpy", "pytorch")
    wheel = "torch-2.3.1-cp311-cp311-manylinux2014_aarch64"
    for part in ("torch/functional.py", "torch/nn/", "torch/_", "torch-2.3.1.dist-info/"):
        place.unpack(wheel, only=part)
    for folder in (place.torch, place.torch / "nn"):
        place.remove(*folder.glob("__pycache__/*.pyc"))
