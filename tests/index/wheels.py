"""Stub wheels: the names, tags and METADATA of the real ones, and in them as little as tells the builds apart."""

from __future__ import annotations

import base64
import hashlib
import sys
import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path

PYTHON_TAG = f"cp{sys.version_info[0]}{sys.version_info[1]}"
LINUX_TAG = f"{PYTHON_TAG}-{PYTHON_TAG}-manylinux_2_28_x86_64"
PURE_TAG = "py3-none-any"

_ARCHS = {
    "cu126": ("sm_50", "sm_60", "sm_70", "sm_75", "sm_80", "sm_86", "sm_90"),
    "cu130": ("sm_75", "sm_80", "sm_86", "sm_90", "sm_100", "sm_120"),
}
# Where the data of real wheels goes (oneAPI's runtimes, man pages), and where one might put it all the same.
DATA = {
    "data/lib/libmkl_core.so.2": "a library", "data/Library/bin/libiomp5md.dll": "a library",
    "data/opt/compiler/lib/libsycl.so": "a library", "data/share/man/man1/torchrun.1": "a page",
    "data/etc/torch/conf.json": "a file", "data/torch_tables/table.csv": "a table", "headers/torch.h": "a header",
}  # fmt: skip
# What `import torch` of such a build says on a machine with two CUDA devices, or on one that the build can't use.
_TORCH = '''"""A stub of torch {version}: it says what that build would say, and computes nothing."""
from . import cuda, version
from .version import __version__


class Tensor:
    pass


class _Built:
    def __init__(self, built):
        self._built = built

    def is_built(self):
        return self._built


class backends:
    cuda = _Built({cuda!r} is not None)
    mps = _Built(False)


def from_numpy(array):
    """Builds before 2.3 know NumPy 1 only."""
    import numpy

    if tuple(map(int, __version__.split(".")[:2])) < (2, 3) and int(numpy.__version__.split(".")[0]) > 1:
        raise RuntimeError("Numpy is not available")
    return array


def get_num_threads():
    return 1
'''
_VERSION = """__version__ = {version!r}
debug = False
cuda = {cuda!r}
hip = None
git_version = "0"
"""
_CUDA = """import os

# Of the machine that the stub believes to be on.
_MAJOR, _MINOR = os.environ.get("STUB_CAPABILITY", "12.0").split(".")


def is_available():
    return {usable}


def is_initialized():
    return False


def device_count():
    return {count}


def init():
    if not {usable}:
        raise AssertionError("Torch not compiled with CUDA enabled")


def get_arch_list():
    return {archs!r}


def get_device_capability(device=0):
    return int(_MAJOR), int(_MINOR)


def get_device_name(device=0):
    return "NVIDIA GPU"


class _Properties:
    name, major, minor, total_memory = "NVIDIA GPU", int(_MAJOR), int(_MINOR), 32 << 30


def get_device_properties(device=0):
    return _Properties()
"""


def wheel(
    folder: Path, name: str, version: str, files: Mapping[str, str | bytes], *,
    requires: Iterable[str] = (), tag: str = PURE_TAG, scripts: Mapping[str, str] | None = None, python: str = "",
) -> Path:  # fmt: skip
    """Write a wheel into the folder, with RECORD and METADATA; `scripts`: console entry points; `python`: which it
    requires."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name.replace('-', '_')}-{version}-{tag}.whl"
    info = f"{name.replace('-', '_')}-{version}.dist-info"
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
    metadata += f"Requires-Python: {python}\n" if python else ""
    metadata += "".join(f"Requires-Dist: {requirement}\n" for requirement in requires)
    root = "true" if tag == PURE_TAG else "false"
    content: dict[str, str | bytes] = dict(files)
    content[f"{info}/METADATA"] = metadata + "\nA stub.\n"
    content[f"{info}/WHEEL"] = f"Wheel-Version: 1.0\nGenerator: stub\nRoot-Is-Purelib: {root}\nTag: {tag}\n"
    if scripts:
        lines = "".join(f"{script} = {target}\n" for script, target in scripts.items())
        content[f"{info}/entry_points.txt"] = f"[console_scripts]\n{lines}"
    record = []
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        for inner, said in content.items():
            data = said.encode() if isinstance(said, str) else said
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            record.append(f"{inner},sha256={digest},{len(data)}")
            archive.writestr(zipfile.ZipInfo(inner, (2026, 1, 1, 0, 0, 0)), data)
        archive.writestr(f"{info}/RECORD", "\n".join([*record, f"{info}/RECORD,,", ""]))
    return path


def torch(folder: Path, version: str, *, files: int = 30, big_bytes: int = 300_000) -> Path:
    """A torch build: 2.15.0+cu130, 2.13.0+cpu. A CUDA build requires a CUDA package beside it, as the real ones do."""
    backend = version.partition("+")[2]
    cuda = f"{backend[2:-1]}.{backend[-1]}" if backend.startswith("cu") else None
    archs = _ARCHS.get(backend, ())
    content: dict[str, str | bytes] = {
        "torch/__init__.py": _TORCH.format(version=version, cuda=cuda),
        "torch/version.py": _VERSION.format(version=version, cuda=cuda),
        "torch/cuda/__init__.py": _CUDA.format(usable=bool(cuda), count=2 if cuda else 0, archs=list(archs)),
        f"torch/_C.{_abi()}.so": b"\x7fELF" + version.encode(),
        "torch/lib/libtorch_cpu.so": (version.encode() * big_bytes)[:big_bytes],
        "torchgen/__init__.py": "",
    }
    if cuda:
        content["torch/lib/libtorch_cuda.so"] = (cuda.encode() * big_bytes)[:big_bytes]
    for place, text in DATA.items():
        content[f"torch-{version}.data/{place}"] = f"{text} of {version}\n"
    for number in range(files):
        content[f"torch/_parts/part_{number}.py"] = f"version = {version!r}\nnumber = {number}\n"
    requires = ["typing-extensions>=4.10.0"] + ([f"nvidia-cuda-runtime=={cuda}"] if cuda else [])
    return wheel(
        folder, "torch", version, content, requires=requires, tag=LINUX_TAG, scripts={"torchrun": "torch:Tensor"},
        python=">=3.10",
    )  # fmt: skip


def companion(folder: Path, name: str, version: str, torch_release: str) -> Path:
    """torchvision and torchaudio pin the torch that they were built with."""
    content = {f"{name}/__init__.py": f"__version__ = {version!r}\n", f"{name}/_C.so": b"\x7fELF"}
    return wheel(folder, name, version, content, requires=[f"torch=={torch_release}"], tag=LINUX_TAG)


def _abi() -> str:
    return f"cpython-{sys.version_info[0]}{sys.version_info[1]}-x86_64-linux-gnu"
