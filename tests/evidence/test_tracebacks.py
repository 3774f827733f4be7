"""Tracebacks: which file an error belongs to."""

from __future__ import annotations

import pytest

from tests.evidence.tickets import facts


def test_the_culprit_is_not_the_loader() -> None:
    text = (
        'Traceback (most recent call last):\n  File "/v/lib/python3.8/site-packages/mmcv/utils/ext_loader.py", line 12\n'
        '  File "/usr/lib/python3.8/importlib/__init__.py", line 127, in import_module\n'
        '  File "/v/lib/python3.8/site-packages/torch/_ops.py", line 104, in load_library\n'
        "ImportError: libtorch_cpu.so: cannot open shared object file\n"
    )
    error = next(e for e in facts(text).errors if e.pattern == "exception")
    assert error.path == "/v/lib/python3.8/site-packages/mmcv/utils/ext_loader.py"


def test_frames_of_a_notebook() -> None:
    text = (
        "Input In [18], in <cell line: 1>()\n----> 1 import torchaudio\n\n"
        "File ~/venv/lib/python3.8/site-packages/torchaudio/_extension.py:27, in <module>\n---> 27 _init_extension()\n\n"
        "OSError: libtorch_hip.so: cannot open shared object file\n"
    )
    error = next(e for e in facts(text).errors if e.pattern == "exception")
    assert error.path == "~/venv/lib/python3.8/site-packages/torchaudio/_extension.py"


@pytest.mark.parametrize(
    ("text", "groups"),
    [
        (
            "- **Exception Type:** FileNotFoundError\n- **Exception Message:** No such file: 'x.safetensors'\n",
            ("FileNotFoundError", "No such file: 'x.safetensors'"),
        ),
        ("Exception Type: torch.OutOfMemoryError\nException Message: Allocation on device\n",
         ("torch.OutOfMemoryError", "Allocation on device")),
        ("Failed to import torch: No module named 'torch.futures'\n",
         ("ModuleNotFoundError", "No module named 'torch.futures'")),
        ("ModuleNotFoundError: No module named 'yaml'\n", ("ModuleNotFoundError", "No module named 'yaml'")),
    ],
)  # fmt: skip
def test_exceptions_in_other_spellings(text: str, groups: tuple[str, str]) -> None:
    assert [e.groups for e in facts(text).errors if e.pattern == "exception"] == [groups]
