"""`fix --run` from a notebook's cell: for the kernel's Python, in words that can be read."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable

from tests.index.patient import Patient

Make = Callable[..., Patient]
ASKS_FOR_COLOUR = {"FORCE_COLOR": "1", "CLICOLOR_FORCE": "1"}  # as ipykernel does


def in_cell(sick: Patient) -> None:
    """Make the doctor's process one that a kernel of the patient's environment started."""
    argv = (str(sick.python), "-m", "ipykernel_launcher", "-f", "x.json")
    for pid, parent, words in ((100, 99, ("torchdoctor",)), (99, 98, ("sh", "-c", "torchdoctor")), (98, 1, argv)):
        proc = sick.root / "proc" / str(pid)
        proc.mkdir(parents=True)
        (proc / "status").write_text(f"PPid:\t{parent}\n")
        (proc / "cmdline").write_bytes("\0".join(words).encode() + b"\0")
    path = sick.root / "machine.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "pid": 100}))


def test_the_kernels_python_is_mended(patient: Make) -> None:
    sick = patient()
    in_cell(sick)
    sick.install("torch==2.13.0", backend="cpu")
    sick.set(**ASKS_FOR_COLOUR, VIRTUAL_ENV="/elsewhere")
    argv = [sys.executable, "-m", "doctor", "fix", "--run", "--yes", "--no-probe"]
    done = subprocess.run(argv, env=sick.variables(), capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert f"To be done in {sick.python}:" in done.stderr
    assert "  torch: 2.13.0+cpu -> 2." in done.stderr, "the dry run was understood"
    assert "\x1b" not in done.stderr
    assert "[1m" not in done.stderr, "nor what is left of a colour without its escape"
    assert "Left to you: Restart the kernel" in done.stderr
    assert sick.torch() != "2.13.0+cpu"
