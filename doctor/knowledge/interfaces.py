"""What torch's releases offer and lack: names of the interface, the libraries that they load.

The rows are in tables/interfaces.json, libraries.json and pins.json. The public names are those of
lookup.py.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from doctor.knowledge.load import of_tables, table
from doctor.knowledge.versions import numbers

# What torch's own modules import besides the standard library, by import names: the Requires-Dist of its wheels, and of
# what those need, and NumPy, which is optional.
TORCH_IMPORTS = (
    "filelock", "fsspec", "jinja2", "markupsafe", "mpmath", "networkx", "numpy", "setuptools", "sympy", "triton",
    "typing_extensions",
)  # fmt: skip


@of_tables
def _names(group: str, field: str) -> dict[str, str]:
    return {row["name"]: row[field] for row in table("interfaces")[group]}


def name_since(name: str) -> str | None:
    """The release that brought a name of torch's interface, or the longest part of it that the tables know.

    >>> name_since("compiler.disable"), name_since("no_such_name")
    ('2.1', None)
    """
    known = _names("names", "since")
    parts = name.split(".")
    return next((known[p] for n in range(len(parts), 0, -1) if (p := ".".join(parts[:n])) in known), None)


def is_name(name: str) -> bool:
    """Whether the tables know that very name."""
    return name in _names("names", "since")


def present_in(name: str) -> str | None:
    """The newest release that was looked at, if its interface has the name.

    >>> bool(present_in("nn.functional.relu")), present_in("nn.functional.reluu")
    (True, None)
    """
    module, _, last = f"torch.{name}".rpartition(".")
    release, names = _present().get(module, ("", frozenset()))
    return release if last in names else None


@of_tables
def _present() -> dict[str, tuple[str, frozenset[str]]]:
    return {row["module"]: (row["release"], frozenset(row["names"])) for row in table("interfaces")["present"]}


def name_removed(name: str) -> str | None:
    """The release that no longer has the name."""
    return _names("removed", "removed").get(name)


def device_since(kind: str) -> str | None:
    """The release that knew that type of device first ("mps": "1.12")."""
    return _names("devices", "since").get(kind)


def system_package(library: str) -> str | None:
    """The package of the operating system (Debian's name; for .dylib Homebrew's) that holds a library.

    >>> system_package("libgomp.so.1"), system_package("libpython3.11.so.1.0")
    ('libgomp1', 'libpython3-dev')
    """
    stem = library.split(".so")[0].split(".dylib")[0].split(".")[0]
    return _system().get(stem) or _system().get(re.sub(r"-?[\d.]+$", "", stem))


@of_tables
def _system() -> dict[str, str]:
    return {row["library"]: row["package"] for row in table("libraries")["system"]}


def nvidia_component(library: str) -> str | None:
    """The part of CUDA that a library belongs to, as pip's packages name it: "libcudnn_ops.so.9" -> "cudnn"."""
    rows: Sequence[dict[str, str]] = table("libraries")["nvidia"]
    return next((row["part"] for row in rows if library.startswith(row["library"])), None)


def has_own_library(library: str, release: str | None, kind: str | None) -> bool | None:
    """Whether a release of that kind ("cuda", "rocm", …) has that library of torch in its folder; None where the
    tables do not know.

    >>> has_own_library("libtorch_cuda_cu.so", "2.4.1", "cuda"), has_own_library("libtorch_cuda_cu.so", None, None)
    (False, None)
    """
    row = next((r for r in table("libraries")["own"] if r["library"] == library.split(".so")[0]), None)
    if row is None:
        return None
    if release and numbers(release)[:2] < numbers(row["first"])[:2]:
        return False
    if release and row["last"] and numbers(release)[:2] > numbers(row["last"])[:2]:
        return False
    if kind and row["kind"] and kind != row["kind"]:
        return False
    return True if release and (kind or row["kind"] is None) else None


def pins_of(release: str, backend: str | None) -> dict[str, str]:
    """The nvidia-* packages that the package index's Linux wheel of that release pins; empty where the tables do not
    know, or for a build of another backend.

    >>> pins_of("2.2.0", "cu121")["nvidia-nccl-cu12"], pins_of("2.2.0", "cu118")
    ('2.19.3', {})
    """
    row = next((r for r in table("pins")["rows"] if r["torch"] == release), None)
    if row is None or backend not in (None, row["backend"]):
        return {}
    return dict(p.split("==") for p in row["pins"].split())
