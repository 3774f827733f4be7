"""inside/collect.py against real libraries that were broken: what RECORD says, and what lies there."""

from __future__ import annotations

import base64
import hashlib
import os
import shutil
import struct
import sys
from collections.abc import Callable
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.inside.test_collect import NONCE, SCRIPT, read_answer, run

LIBRARY = next(iter(sorted(Path(os.__file__).parent.glob("lib-dynload/*.so"))), None)
pytestmark = pytest.mark.skipif(LIBRARY is None, reason="this Python has no compiled module as a file")
SUFFIX = "dylib" if sys.platform == "darwin" else "so"
CUDNN = f"nvidia/cudnn/lib/libcudnn.{SUFFIX}" + ("" if SUFFIX == "dylib" else ".9")


def digest(data: bytes) -> str:
    return "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip("=")


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """Three distributions, as pip leaves them."""
    folder = tmp_path / "site-packages"
    assert LIBRARY is not None
    library = LIBRARY.read_bytes()
    install(folder, "nvidia_cudnn_cu13", "9.24.0.43", {CUDNN: library, "nvidia/cudnn/lib/libstub.so": b"INPUT(x)\n"})
    install(folder, "typing_extensions", "4.16.0", {"typing_extensions.py": b"import typing\n"})
    install(folder, "sympy", "1.14.0", {"sympy/__init__.py": b"x = 1\n", "sympy/core/__init__.py": b"y = 1\n"})
    return folder


def install(site: Path, name: str, version: str, files: dict[str, bytes]) -> None:
    rows = []
    for path, data in files.items():
        (site / path).parent.mkdir(parents=True, exist_ok=True)
        (site / path).write_bytes(data)
        rows.append(f"{path},{digest(data)},{len(data)}")
    info = site / f"{name}-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Name: {name}\nVersion: {version}\n")
    (info / "RECORD").write_text("\n".join([*rows, f"{info.name}/RECORD,,"]) + "\n")


def damaged(site: Path, *, whole: bool = False) -> list[tuple[str, str, str]]:
    before = f"WHOLE = {whole}"
    answer = read_answer(run(sys.executable, site.parent, before, PYTHONPATH=str(site)).stdout, NONCE)
    assert answer
    assert "damaged" not in answer["gaps"]
    return [(d["distribution"], d["file"], d["what"]) for d in answer["damaged"]]


def test_what_was_installed_is_whole(site: Path) -> None:
    assert damaged(site) == []
    assert damaged(site, whole=True) == []


def test_a_folder_that_is_gone_is_known_by_its_init(site: Path) -> None:
    files = {f"mpmath/{name}/__init__.py": b"z = 1\n" for name in ("calculus", "tests")}
    install(site, "mpmath", "1.3.0", {"mpmath/__init__.py": b"", "mpmath/calculus/a/b/__init__.py": b"", **files})
    assert damaged(site) == []
    shutil.rmtree(site / "mpmath" / "tests")  # images leave them out
    assert damaged(site) == []
    shutil.rmtree(site / "mpmath" / "calculus")
    assert [file for _, file, what in damaged(site) if what == "missing"] == [
        "mpmath/calculus/a/b/__init__.py", "mpmath/calculus/__init__.py",
    ]  # fmt: skip


BREAK: dict[str, Callable[[Path], object]] = {
    "missing": lambda path: path.unlink(),
    "empty": lambda path: path.write_bytes(b""),
    "truncated": lambda path: path.write_bytes(path.read_bytes()[: path.stat().st_size // 2]),
    "foreign": lambda path: path.write_bytes(b"<html>403 Forbidden</html>"),
}


@pytest.mark.parametrize("what", BREAK)
def test_a_broken_library_is_named_with_its_distribution(site: Path, what: str) -> None:
    BREAK[what](site / CUDNN)
    assert damaged(site) == [("nvidia-cudnn-cu13", CUDNN, what)]


def test_zeros_of_the_right_size_are_no_library(site: Path) -> None:
    path = site / CUDNN
    path.write_bytes(bytes(path.stat().st_size))
    assert damaged(site) == [("nvidia-cudnn-cu13", CUDNN, "foreign")]


@pytest.mark.skipif(sys.platform != "linux", reason="ELF")
def test_a_library_of_another_processor(site: Path) -> None:
    path = site / CUDNN
    data = bytearray(path.read_bytes())
    data[18:20] = struct.pack("<H", 183 if data[18] == 62 else 62)
    path.write_bytes(data)  # of the same size: the wheel has it so, and it is the only library of the wheel
    (site / "nvidia/cudnn/lib/libstub.so").unlink()
    record = site / "nvidia_cudnn_cu13-9.24.0.43.dist-info/RECORD"
    record.write_text("\n".join(line for line in record.read_text().splitlines() if "libstub" not in line))
    assert damaged(site) == [("nvidia-cudnn-cu13", CUDNN, "foreign")]


def test_modules_of_another_python(site: Path) -> None:
    """A wheel for 3.10 that was unpacked for a newer Python: every file is as it was installed, and none can be
    imported."""
    old, own = "numpy/_core/_umath.cpython-309-x86_64-linux-gnu.so", f"numpy/_core/_umath{EXTENSION_SUFFIXES[0]}"
    content = (site / CUDNN).read_bytes()
    install(site, "numpy", "1.26.4", {old: content})
    assert damaged(site) == [("numpy", old, "foreign")]
    shutil.rmtree(site / "numpy-1.26.4.dist-info")
    install(site, "numpy", "1.26.4", {old: content, own: content})
    assert damaged(site) == []


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read everything")
def test_a_library_that_may_not_be_read(site: Path) -> None:
    (site / CUDNN).chmod(0)
    assert damaged(site) == [("nvidia-cudnn-cu13", CUDNN, "unreadable")]


@pytest.mark.skipif(sys.platform != "linux", reason="ELF")
def test_a_library_that_was_patched_or_stripped_is_whole(site: Path) -> None:
    path = site / CUDNN
    path.write_bytes(path.read_bytes() + b"more")
    assert damaged(site) == []


def test_a_module_that_is_empty_or_gone(site: Path) -> None:
    (site / "typing_extensions.py").write_text("")
    (site / "sympy/__init__.py").unlink()
    assert sorted(damaged(site)) == [
        ("sympy", "sympy/__init__.py", "missing"), ("typing-extensions", "typing_extensions.py", "empty"),
    ]  # fmt: skip


def test_garbage_in_a_module(site: Path) -> None:
    (site / "sympy/__init__.py").write_bytes(bytes(6))
    assert damaged(site) == [("sympy", "sympy/__init__.py", "foreign")]


def test_a_changed_module_is_seen_only_where_all_was_asked_for(site: Path) -> None:
    (site / "sympy/core/__init__.py").write_text("y = 2\n")
    assert damaged(site) == []
    assert damaged(site, whole=True) == [("sympy", "sympy/core/__init__.py", "changed")]


def test_a_pipe_in_place_of_a_library_is_not_opened(site: Path) -> None:
    (site / CUDNN).unlink()
    os.mkfifo(site / CUDNN)
    done = read_answer(run(sys.executable, site.parent, "", PYTHONPATH=str(site)).stdout, NONCE)
    assert done
    assert done["damaged"] == []
    assert "not a regular file" in done["gaps"]["damaged"]


def binary_of() -> Callable[[bytes], tuple[list[str], int]]:
    scope: dict[str, object] = {}
    text = SCRIPT.read_text(encoding="ascii")
    start, end = text.index("ELF_MACHINES ="), text.index("def own_binary")
    exec(text[start:end], scope)
    return scope["binary_of"]  # type: ignore[return-value]


MAGICS = [b"\x7fELF\x02\x01", b"MZ", b"\xca\xfe\xba\xbe", b"\xcf\xfa\xed\xfe", b""]


@given(st.sampled_from(MAGICS), st.binary(max_size=400))
@example(b"\x7fELF\x02\x01", b"")
def test_any_bytes_are_read_or_refused(start: bytes, rest: bytes) -> None:
    try:
        names, needed = binary_of()(start + rest)
    except (ValueError, IndexError, struct.error):
        return
    assert all(isinstance(name, str) for name in names)
    assert needed >= 0
