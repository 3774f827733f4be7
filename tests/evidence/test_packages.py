import pytest

from doctor.model.facts import ABSENT
from tests.evidence.tickets import facts


def versions(text: str) -> dict[str, str | None]:
    return {p.name: p.version for p in facts(text).packages or ()}


@pytest.mark.parametrize("text", [
    "$ pip list\nPackage     Version\n----------- ------------\ntorch       2.1.0+cu121\nnumpy 1.26.4\n",
    "$ pip freeze\ntorch==2.1.0+cu121\nnumpy==1.26.4\n",
    "[pip3] numpy==1.26.4\n[pip3] torch==2.1.0+cu121\n",
    "Successfully installed numpy-1.26.4 torch-2.1.0+cu121\n",
    " + numpy==1.26.4\n + torch==2.1.0+cu121\n",
    "Requirement already satisfied: numpy<2 in ./lib/python3.10/site-packages (1.26.4)\n"
    "Requirement already satisfied: torch in ./lib/python3.10/site-packages (2.1.0+cu121)\n",
    "Name: torch\nVersion: 2.1.0+cu121\n---\nName: numpy\nVersion: 1.26.4\n",
])  # fmt: skip
def test_lists(text: str) -> None:
    assert versions(text) == {"torch": "2.1.0+cu121", "numpy": "1.26.4"}
    assert facts(text).torch.version == "2.1.0+cu121"
    assert facts(text).torch.cuda == "12.1"


def test_conda_names_the_build() -> None:
    seen = facts(
        "# Name                    Version                   Build  Channel\npytorch  2.1.1  py3.11_cuda12.1_cudnn8.9"
        ".2_0  pytorch\nmkl  2024.1.0  ha957f24_692  conda-forge\n"
    )
    assert (seen.torch.version, seen.torch.cuda, seen.torch.installer, seen.torch.build) == (
        "2.1.1",
        "12.1",
        "conda",
        "py3.11_cuda12.1_cudnn8.9.2_0",
    )
    assert facts("pytorch  2.3.0  cpu_py311h1 conda-forge\n").torch.cuda is ABSENT


def test_one_conda_package_under_two_names_is_one_copy() -> None:
    assert facts("[pip3] torch==1.5.0\n[conda] pytorch  1.5.0  py3.7_cuda10.1.243_c\n").torch.copies is None


def test_two_releases_are_two_copies() -> None:
    copies = facts("PyTorch version: 1.9.0+cu102\n[pip3] torch==1.9.0\n[conda] pytorch  1.6.0\n").torch.copies
    assert [(c.version, c.installer) for c in copies] == [("1.9.0", "pip"), ("1.6.0", "conda")]


@pytest.mark.parametrize(
    "text",
    [
        "drm                   425984  0\nveth                   16384  0\n",
        "GPU 0: 12345 MiB\n",
        "torch 2.10.0 was slow\n",
    ],
)
def test_other_tables_are_no_packages(text: str) -> None:
    assert facts(text).packages is None
