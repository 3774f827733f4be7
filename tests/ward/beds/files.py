"""Files of torch's own that are gone, cut short, of another machine or of another release."""

from __future__ import annotations

import struct
import sys

from tests.ward.bed import bed
from tests.ward.place import Place

BROKEN = "torch-install-broken"
AGAIN = "reinstall-torch"
DEPENDENCY = "dependency-broken"  # a diagnosis younger than these beds: their first run had no name for it


@bed(None, fast=True)
def healthy_cpu(place: Place) -> None:
    """Nothing is broken: the CPU build on a machine without a GPU."""


@bed(BROKEN, action=AGAIN, cure="run")
def torch_c_deleted(place: Place) -> None:
    """torch/_C.*.so is gone."""
    place.remove(*place.torch.glob("_C.*.so"))


@bed(BROKEN, action=AGAIN, cure="run", fast=True)
def libtorch_cpu_missing(place: Place) -> None:
    """torch/lib/libtorch_cpu.so is gone."""
    place.remove(place.torch / "lib" / "libtorch_cpu.so")


@bed(BROKEN, action=AGAIN, cure="run")
def libtorch_cpu_empty(place: Place) -> None:
    """torch/lib/libtorch_cpu.so has no bytes: the disk was full."""
    place.write(place.torch / "lib" / "libtorch_cpu.so", b"")


@bed(BROKEN, action=AGAIN, cure="run")
def libtorch_cpu_truncated(place: Place) -> None:
    """The first half of torch/lib/libtorch_cpu.so."""
    place.truncate(place.torch / "lib" / "libtorch_cpu.so")


@bed(BROKEN, action=AGAIN, cure="run")
def libtorch_python_truncated(place: Place) -> None:
    """Nine tenths of torch/lib/libtorch_python.so."""
    place.truncate(place.torch / "lib" / "libtorch_python.so", 0.9)


@bed(BROKEN, action=AGAIN, cure="run")
def torch_code_garbage(place: Place) -> None:
    """torch/functional.py holds zeros, as after a crash of the machine."""
    path = place.torch / "functional.py"
    place.write(path, b"\0" * path.stat().st_size)
    place.remove(*(place.torch / "__pycache__").glob("functional.*"))


@bed(BROKEN, action=AGAIN, cure="run", fast=True)
def install_cut_short(place: Place) -> None:
    """Half of RECORD is written, and half of the folders are there: an installation that was killed."""
    record = place.info("torch") / "RECORD"
    place.truncate(record)
    place.remove(*(place.torch / name for name in ("nn", "optim", "utils", "version.py")))


@bed(BROKEN, action=AGAIN, cure="run")
def folder_emptied(place: Place) -> None:
    """The metadata of torch is there, and the folder torch holds nothing."""
    place.remove(place.torch)
    place.torch.mkdir()


@bed(BROKEN, code=0, cure="none", why_not="a warning: torch works", fast=True)
def orch_leftovers(place: Place) -> None:
    """~orch and its metadata, left by an upgrade on a machine that held the files."""
    place.write(place.site / "~orch" / "__init__.py", "")
    place.write(place.site / "~orch-2.12.0.dist-info" / "METADATA", "Name: torch\nVersion: 2.12.0\n")


@bed("torch-duplicate-install", cure="run")
def torch_over_torch(place: Place) -> None:
    """Code of 2.3.1 was unpacked over 2.13.0, and both have their metadata."""
    place.unpack("torch-2.3.1-cp311-cp311-manylinux2014_aarch64", only="torch/functional.py")
    place.unpack("torch-2.3.1-cp311-cp311-manylinux2014_aarch64", only="torch/nn/")
    place.unpack("torch-2.3.1-cp311-cp311-manylinux2014_aarch64", only="torch/_")
    place.unpack("torch-2.3.1-cp311-cp311-manylinux2014_aarch64", only="torch-2.3.1.dist-info/")
    for folder in (place.torch, place.torch / "nn"):
        place.remove(*folder.glob("__pycache__/*.pyc"))


@bed("torch-duplicate-install", code=0, cure="none", why_not="a warning: torch works")
def metadata_twice(place: Place) -> None:
    """The metadata of 2.12.0 stayed beside that of 2.13.0; the files are those of 2.13.0."""
    old = place.site / "torch-2.12.0.dist-info"
    place.write(old / "METADATA", "Metadata-Version: 2.1\nName: torch\nVersion: 2.12.0\n")
    place.write(old / "RECORD", "torch/__init__.py,,\n")
    place.write(old / "INSTALLER", "pip\n")


def _other_platform(place: Place, wheel: str) -> None:
    place.uninstall("torch")
    if place.torch.exists():
        place.remove(place.torch)
    place.unpack(wheel)


@bed(BROKEN, action=AGAIN, cure="run")
def wheel_for_arm64(place: Place) -> None:
    """A wheel for aarch64 was unpacked on x86-64."""
    _other_platform(place, "torch-2.3.1-cp311-cp311-manylinux2014_aarch64")


@bed(BROKEN, action=AGAIN, cure="run")
def wheel_for_macos(place: Place) -> None:
    """A wheel for macOS was unpacked on Linux."""
    _other_platform(place, "torch-2.3.1-cp311-none-macosx")


@bed(BROKEN, action=AGAIN, cure="run")
def wheel_for_windows(place: Place) -> None:
    """A wheel for Windows was unpacked on Linux."""
    _other_platform(place, "torch-2.3.1-cp311-cp311-win_amd64")


@bed(BROKEN, action=AGAIN, cure="run")
def library_of_32_bit(place: Place) -> None:
    """torch/lib/libc10.so is a 32-bit one."""
    path = place.torch / "lib" / "libc10.so"
    head = b"\x7fELF\x01\x01\x01" + b"\0" * 9 + struct.pack("<HHIIIIIHHHHHH", 3, 3, 1, 0, 52, 0, 0, 52, 32, 1, 40, 0, 0)
    place.write(path, head + b"\0" * 4096)


@bed(BROKEN, base="bare-3.12", action=AGAIN, cure="none", why_not="there is no wheel of torch for 3.12 in the cache")
def torch_of_another_python(place: Place) -> None:
    """The site-packages of a 3.11 were copied into an environment of 3.12."""
    from tests.ward.place import link_environment
    from tests.ward.store import Store

    other = place.root / "other"
    link_environment(Store(place.wheels.parent).base("cpu"), other)
    for path in next((other / "lib").glob("python*/site-packages")).iterdir():
        if not (place.site / path.name).exists():
            path.rename(place.site / path.name)
    place.remove(other)


@bed(DEPENDENCY, action="install-package", details={"package": "typing-extensions"}, cure="run")
def typing_extensions_missing(place: Place) -> None:
    """A package that torch requires is not there."""
    place.uninstall("typing_extensions")


@bed(DEPENDENCY, action="install-package", details={"package": "sympy"}, code=0, cure="run")
def sympy_missing(place: Place) -> None:
    """sympy, which torch requires, is not there; torch imports it late."""
    place.uninstall("sympy")


@bed(
    DEPENDENCY, code=0, action="reinstall-package", details={"package": "sympy"}, cure="none",
    why_not="a warning: torch works",
)  # fmt: skip
def sympy_cut_short(place: Place) -> None:
    """The folder of sympy is there, half of its files are not."""
    place.remove(place.site / "sympy" / "core", place.site / "sympy" / "functions")


@bed(None, fast=True)
def numpy_not_installed(place: Place) -> None:
    """torch works without NumPy, which it does not require."""
    place.uninstall("numpy")


@bed(DEPENDENCY, action="reinstall-package", details={"package": "numpy"}, cure="run")
def numpy_core_deleted(place: Place) -> None:
    """NumPy's compiled core is gone: torch's own code asks for it while it is imported."""
    place.remove(*(place.site / "numpy" / "_core").glob("_multiarray_umath*.so"))


@bed(BROKEN, base="bare-uv", action=AGAIN, cure="run")
def cache_of_uv_damaged(place: Place) -> None:
    """uv linked its cache's files into the environment, and a crash of the machine emptied one: here and there."""
    cache = place.root / "home" / ".cache" / "uv"
    place.environ["UV_LINK_MODE"] = "hardlink"
    install = ("-m", "uv", "pip", "install", "-q", "--python", str(place.env), "--no-index", "--find-links")
    place.tool(sys.executable, *install, str(place.wheels), "torch==2.13.0+cpu", "numpy==2.4.6")
    library = place.torch / "lib" / "libc10.so"
    assert library.stat().st_nlink > 1, f"uv did not link {cache}"
    with library.open("r+b") as file:
        file.truncate(library.stat().st_size // 2)


# First written down as torch-missing; but a folder torch that holds nothing to import is torch-install-broken's own.
@bed(BROKEN, cure="run")
def folder_left_by_uninstall(place: Place) -> None:
    """torch was uninstalled; its folder stayed, for a program had put its own cache there."""
    place.uninstall("torch")
    place.write(place.torch / "cache" / "kernels.bin", b"\1" * 100)


@bed(DEPENDENCY, action="reinstall-package", details={"package": "numpy"}, cure="run")
def numpy_for_another_python(place: Place) -> None:
    """NumPy's wheel for 3.10 was unpacked for 3.11, which looks for a core of another name."""
    place.uninstall("numpy")
    place.unpack("numpy-1.26.4-cp310")


@bed(None)
def metadata_of_others_is_garbage(place: Place) -> None:
    """Other packages' METADATA are empty, binary, in Latin-1, or not there; an entry point without a name."""
    for name, content in (("a", b""), ("b", bytes(range(256))), ("c", "Name: c\nSummary: Grüße\n".encode("latin-1"))):
        place.write(place.site / f"{name}-1.0.dist-info" / "METADATA", content)
    place.write(place.site / "d-1.0.dist-info" / "RECORD", "\0,,\n../../../../etc/passwd,,\n")
    place.write(place.site / "e-1.0.dist-info" / "entry_points.txt", "[console_scripts\n= :\n")


@bed(None)
def two_thousand_packages(place: Place) -> None:
    """An environment with two thousand other packages."""
    for number in range(2000):
        name = f"package_{number}"
        place.write(place.site / name / "__init__.py", "")
        metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n"
        place.write(place.site / f"{name}-1.0.dist-info" / "METADATA", metadata)
        place.write(place.site / f"{name}-1.0.dist-info" / "RECORD", f"{name}/__init__.py,,\n")


# First written down as torch-import-crashes, which is said only where no file is known to be at fault.
@bed(
    BROKEN, action="system-setting", details={"setting": "file-mode"}, needs=("setpriv", "unshare"),
    cure="none", why_not="whose files they are is their owner's to say",
)  # fmt: skip
def files_of_another_user(place: Place) -> None:
    """The libraries of torch belong to another user, who alone may read them."""
    for name in ("libtorch_cpu.so", "libtorch_python.so"):
        library = place.torch / "lib" / name
        place.write(library, library.read_bytes()).chmod(0o600)
    place.as_nobody()
