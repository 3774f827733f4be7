"""What a check loads before it starts its children: everything else is loaded while they import torch."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

# start_first as it is; when it starts a child, what is loaded by then is printed, and all is over.
SCRIPT = """
import os, sys
from doctor import process
def start(argv, **options):
    print(argv[argv.index("-") + 1], *sys.modules)
    sys.stdout.flush()
    os._exit(0)
process.start = start
from doctor.cli.main import run
run(["check"])
"""
LATER = ("checks", "accounting", "evidence", "fixes", "formats", "knowledge", "needs", "redaction", "regex", "reports")


def test_no_table_reader_or_check_is_loaded_before_the_first_child(tmp_path: Path) -> None:
    """On a machine with a GPU, too, whose child is the first."""
    (tmp_path / "machine.json").write_text(json.dumps({"uname": {"system": "linux"}}))
    for name, text in (
        ("dev/nvidia0", ""),
        ("proc/driver/nvidia/version", "NVRM version: NVIDIA UNIX x86_64 Kernel Module  575.64.03  Release Build\n"),
        ("bin/python3", "#!/bin/sh\n"),
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "bin" / "python3").chmod(0o755)
    environ = {**os.environ, "TORCHDOCTOR_ROOT": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True, env=environ)
    loaded = done.stdout.split()
    assert loaded[:1] == ["cuda:0"], "the child of the GPU is the first"
    assert [name for name in loaded if name.startswith(tuple(f"doctor.{room}" for room in LATER))] == []
    assert not {"rich", "jinja2", "packaging", "psutil"} & set(loaded)
