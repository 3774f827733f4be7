"""What torch's releases offer and lack: names, libraries, pins."""

from __future__ import annotations

import pytest

from doctor.knowledge import lookup
from doctor.knowledge.load import table
from doctor.knowledge.versions import numbers


@pytest.mark.parametrize(
    ("name", "since"),
    [
        ("compile", "2.0"),
        ("compiler.disable", "2.1"),  # the longest part that is known
        ("nn.attention.flex_attention.create_block_mask", "2.5"),
        ("no_such_name", None),
    ],
)
def test_the_release_that_brought_a_name(name: str, since: str | None) -> None:
    assert lookup.name_since(name) == since


def test_a_name_is_not_removed_before_it_came() -> None:
    for row in table("interfaces")["removed"]:
        since = lookup.name_since(row["name"])
        assert since is None or numbers(since) < numbers(row["removed"])


@pytest.mark.parametrize(
    ("library", "release", "kind", "there"),
    [
        ("libtorch_cuda_cu.so", "1.10.2", "cuda", True),
        ("libtorch_cuda_cu.so", "2.4.1", "cuda", False),
        ("libtorch_hip.so", "2.4.1", "cuda", False),
        ("libtorch_cpu.so", "1.4.0", None, False),
        ("libtorch_cpu.so", None, None, None),
        ("libother.so", "2.4.1", "cuda", None),
    ],
)
def test_torchs_own_libraries(library: str, release: str | None, kind: str | None, there: bool | None) -> None:
    assert lookup.has_own_library(library, release, kind) is there


def test_pins_are_those_of_the_default_wheel() -> None:
    for row in table("pins")["rows"]:
        assert lookup.default_backend(row["torch"], "linux_x86_64") == row["backend"]
    assert lookup.pins_of("2.2.0", "cu121")["nvidia-nccl-cu12"] == "2.19.3"
    assert lookup.pins_of("2.2.0", "cu118") == {}
    assert lookup.pins_of("1.5.0", None) == {}


@pytest.mark.parametrize(
    ("library", "package"),
    [("libgomp.so.1", "libgomp1"), ("libpython3.11.so.1.0", "libpython3-dev"), ("libavutil.59.dylib", "ffmpeg")],
)
def test_system_packages(library: str, package: str) -> None:
    assert lookup.system_package(library) == package
