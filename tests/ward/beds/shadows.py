"""What stands before the installed packages on Python's path."""

from __future__ import annotations

from tests.ward.bed import bed
from tests.ward.place import Place


@bed("torch-shadowed", action="rename-file", cure="hand", fast=True)
def torch_py(place: Place) -> None:
    """A torch.py in the working folder."""
    place.write(place.work / "torch.py", "import torch\nprint(torch.ones(2))\n")


@bed("torch-shadowed", action="change-directory", cure="hand", fast=True)
def source_tree_of_torch(place: Place) -> None:
    """The working folder is a checkout of PyTorch: its folder torch has no compiled part."""
    for name in ("setup.py", "CMakeLists.txt", "torch/csrc/Module.cpp", "c10/core/Device.h"):
        place.write(place.work / name, "")
    for name in ("__init__.py", "_utils.py", "functional.py", "torch_version.py", "_utils_internal.py"):
        place.write(place.work / "torch" / name, (place.torch / name).read_bytes())


@bed("torch-shadowed", action="rename-file", cure="hand", fast=True)
def numpy_py(place: Place) -> None:
    """A numpy.py in the working folder, which has nothing of what torch's own code asks NumPy for."""
    place.write(place.work / "numpy.py", "import numpy as np\n")


@bed("torch-shadowed", action="rename-file", cure="hand", fast=True)
def typing_extensions_py(place: Place) -> None:
    """A typing_extensions.py in the working folder."""
    place.write(place.work / "typing_extensions.py", "TypeAlias = object\n")


@bed("torch-shadowed", action="rename-file", code=0, cure="hand")
def folder_sympy(place: Place) -> None:
    """A folder sympy of one's own in the working folder: torch imports it late, for torch.compile."""
    place.write(place.work / "sympy" / "__init__.py", "raise RuntimeError('my own sympy is not finished')\n")


@bed("stdlib-shadowed", action="rename-file", cure="hand", fast=True)
def random_py(place: Place) -> None:
    """A random.py in the working folder."""
    place.write(place.work / "random.py", "import torch\nprint(torch.rand(3))\n")


@bed("stdlib-shadowed", action="rename-file", cure="hand", fast=True)
def logging_py(place: Place) -> None:
    """A logging.py in the working folder."""
    place.write(place.work / "logging.py", "level = 'debug'\n")


@bed("torch-shadowed", action="unset-env", details={"name": "PYTHONPATH"}, cure="hand")
def pythonpath_to_a_torch(place: Place) -> None:
    """PYTHONPATH leads to an unfinished torch, as a build tree or another tool's bundle has it."""
    place.write(place.root / "tool" / "torch" / "__init__.py", "from torch._C import *\n")
    place.environ["PYTHONPATH"] = str(place.root / "tool")


@bed(
    "torch-duplicate-install", action="remove-package",
    cure="none", why_not="which copy is not wanted is the user's to say",
)  # fmt: skip
def pythonpath_to_another_site(place: Place) -> None:
    """PYTHONPATH leads to the site-packages of another environment, with another torch for another Python."""
    from tests.ward.store import Store

    other = Store(place.wheels.parent).base("old") / "lib" / "python3.10" / "site-packages"
    place.environ["PYTHONPATH"] = str(other)


@bed("torch-duplicate-install", cure="none", why_not="which copy is not wanted is the user's to say")
def user_site_first(place: Place) -> None:
    """PYTHONPATH puts the user's own site-packages (~/.local), with parts of an older torch, first."""
    user = place.root / "home" / ".local" / "lib" / "python3.11" / "site-packages"
    place.unpack("torch-2.3.1-cp311-cp311-manylinux2014_aarch64", into=user, only="torch/_")
    place.unpack("torch-2.3.1-cp311-cp311-manylinux2014_aarch64", into=user, only="torch-2.3.1.dist-info/")
    place.environ["PYTHONPATH"] = str(user)


@bed("interpreter-broken", action="unset-env", details={"name": "PYTHONHOME"}, cure="hand", fast=True)
def pythonhome_elsewhere(place: Place) -> None:
    """PYTHONHOME names a folder without a standard library."""
    place.environ["PYTHONHOME"] = str(place.root / "home")
