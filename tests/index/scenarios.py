"""What breaks an installation of torch, with stub wheels on a recorded machine with a GPU: for pip, uv, poetry and
PDM."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass

from tests.index.patient import Patient

POETRY = """[project]
name = "demo"
version = "0.1.0"
requires-python = ">=3.10,<4"
dependencies = [{dependencies}]

[tool.poetry]
package-mode = false

[[tool.poetry.source]]
name = "mirror"
url = "{url}/whl/{backend}"
priority = "primary"

[[tool.poetry.source]]
name = "rest"
url = "{url}/whl/{rest}"
priority = "supplemental"
"""
PDM = """[project]
name = "demo"
version = "0.1.0"
requires-python = ">=3.10"
dependencies = [{dependencies}]

[tool.pdm]
distribution = false

[[tool.pdm.source]]
name = "pypi"
url = "{url}/whl/{backend}"
"""
PROJECTS = {"poetry": POETRY, "pdm": PDM}


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """`requirements` are installed from the folder of `backend`, then the environment is spoiled. `before` and `after`
    say what version `import torch` shows."""

    name: str
    finding: str
    requirements: tuple[str, ...] = ()
    backend: str = "cu130"
    spoil: Callable[[Patient], None] = lambda patient: None
    before: str | None
    after: str

    def make(self, patient: Patient, tool: str) -> None:
        """Break a new patient, whose environment is that tool's."""
        if tool in PROJECTS:
            dependencies = ", ".join(f'"{requirement}"' for requirement in self.requirements)
            pyproject = PROJECTS[tool].format(
                url=patient.url, dependencies=dependencies, backend=self.backend, rest="cu130"
            )
            patient.make_project(tool, pyproject)
        elif self.requirements:
            patient.install(*self.requirements, backend=self.backend)
        self.spoil(patient)


def _another_torchvision(patient: Patient) -> None:
    patient.install("torchvision==0.28.0", "--no-deps", "--reinstall", backend="cu130")


def _without_libraries(patient: Patient) -> None:
    shutil.rmtree(patient.site / "torch" / "lib")
    (patient.site / "torch" / "__init__.py").write_text(
        "raise ImportError('libtorch_cpu.so: cannot open shared object file')"
    )


def _second_torch(patient: Patient) -> None:
    """In a folder that a .pth file adds, as after `pip install --target`."""
    extra = patient.env / "extra" / "site-packages"
    patient.install("torch==2.13.0", "--target", str(extra), backend="cu130")
    (patient.site / "extra.pth").write_text(f"{extra}\n")


SCENARIOS = (
    Scenario(
        name="a CPU build on a machine with a GPU",
        finding="torch-cpu-only",
        requirements=("torch==2.13.0", "torchvision==0.28.0"),
        backend="cpu",
        before="2.13.0+cpu",
        after="2.13.0+cu130",
    ),
    Scenario(name="no torch", finding="torch-missing", before=None, after="2.15.0+cu130"),
    Scenario(
        name="torchvision of another torch",
        finding="companion-mismatch",
        requirements=("torch==2.14.1", "torchvision==0.29.1"),
        spoil=_another_torchvision,
        before="2.14.1+cu130",
        after="2.14.1+cu130",
    ),
    Scenario(
        name="deleted libraries",
        finding="torch-install-broken",
        requirements=("torchvision==0.29.1",),  # torch is there because of it: the project's file does not name it
        spoil=_without_libraries,
        before=None,
        after="2.14.1+cu130",
    ),
    Scenario(
        name="two torches",
        finding="torch-duplicate-install",
        requirements=("torch==2.14.1",),
        spoil=_second_torch,
        before="2.14.1+cu130",
        after="2.13.0+cu130",  # tools remove the one that is imported
    ),
)
