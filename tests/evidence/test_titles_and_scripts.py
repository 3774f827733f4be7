"""A title that repeats the error, a script with what it printed below, and wheels that are only offered."""

from __future__ import annotations

from doctor.evidence.read import read
from doctor.model.facts import Facts, Torch


def facts(text: str) -> Facts:
    return read((("ticket.txt", text.encode()),)).facts


IMPORT = """\
ModuleNotFoundError: No module named 'filelock'

Traceback (most recent call last):
  File "/home/ann/run.py", line 1, in <module>
    import torch
  File "/home/ann/venv/lib/python3.11/site-packages/torch/__init__.py", line 59, in <module>
    from torch import serialization
  File "/home/ann/venv/lib/python3.11/site-packages/torch/serialization.py", line 18, in <module>
    import filelock
ModuleNotFoundError: No module named 'filelock'
"""


def test_an_error_that_the_title_repeats_is_that_of_the_traceback() -> None:
    (error,) = (e for e in facts(IMPORT).errors if e.pattern == "exception")
    assert error.path == "/home/ann/venv/lib/python3.11/site-packages/torch/serialization.py"
    assert error.line == 10
    torch = facts(IMPORT).torch
    assert isinstance(torch, Torch)
    assert torch.imports is False


def test_values_below_a_script_that_prints_them() -> None:
    text = "I ran\n```\nimport torch\nprint(torch.cuda.is_available())\nprint(torch.__version__)\n```\nand it said\n"
    for answer, expected in (("`True\n2.5.1+cu124`", True), ("```\nFalse\n2.5.1+cu124\n```", False)):
        torch = facts(text + answer).torch
        assert isinstance(torch, Torch)
        assert (torch.cuda_available, torch.version) == (expected, "2.5.1+cu124")


def test_a_script_alone_says_nothing() -> None:
    seen = facts("print(torch.cuda.is_available())\nIs that True somewhere?\n\nThanks!")
    assert not isinstance(seen.torch, Torch) or seen.torch.cuda_available is None


def test_wheels_that_uv_offers_are_not_of_this_machine() -> None:
    seen = facts(
        "iMac 2019 with an Intel i7, macOS 13\n  hint: Wheels are available for `torch` (v2.6.0) on the following\n"
        "      platforms: `manylinux_2_28_aarch64`, `manylinux1_x86_64`,\n      `macosx_11_0_arm64`, `win_amd64`\n"
    )
    assert seen.host.system == "darwin"
    assert seen.host.architecture != "arm64"
    assert seen.interpreter.translated is not True


def test_intel_in_any_spelling_is_no_apple_chip() -> None:
    seen = facts("My machine is an iMac 2019, intel i7 8700, macOS 12.\ntorch-2.2.2-cp311-none-macosx_11_0_arm64.whl")
    assert seen.host.architecture == "x86_64"
