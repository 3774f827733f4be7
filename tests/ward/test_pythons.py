"""How the odd Pythons are built, with a stand-in for CPython's source tree: the real one takes minutes a kind."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CONFIGURE = """#!/bin/sh
for word in "$@"; do case "$word" in --prefix=*) prefix=${word#--prefix=};; esac; done
[ -z "$BROKEN" ] || { echo "checking for a compiler... no"; exit 1; }
printf '%s\\n' "$@" > told
printf 'all:\\n\\ttrue\\ninstall:\\n\\tmkdir -p %s/bin\\n\\tcp told %s/bin/python3\\n' "$prefix" "$prefix" > Makefile
"""
ZLIB = "#!/bin/sh\nprintf 'libz.a:\\n\\ttouch libz.a\\n' > Makefile\n"
pytestmark = pytest.mark.skipif(shutil.which("make") is None, reason="make is not there")


def built(folder: Path, *options: str, **variables: str) -> subprocess.CompletedProcess[str]:
    for name, script in (("cpython", CONFIGURE), ("zlib", ZLIB)):
        (folder / name).mkdir(exist_ok=True)
        (folder / name / "configure").write_text(script)
        (folder / name / "configure").chmod(0o755)
    environ = {**os.environ, "TORCHDOCTOR_WARD": str(folder / "store"), **variables}
    argv = [sys.executable, "-m", "tests.ward.pythons", str(folder / "cpython"), *options]
    return subprocess.run(argv, cwd=ROOT, env=environ, capture_output=True, text=True, check=False, timeout=60)


def test_each_kind_is_configured_built_and_installed_once(tmp_path: Path) -> None:
    done = built(tmp_path, "--zlib", str(tmp_path / "zlib"))
    assert (done.returncode, done.stdout.split()) == (0, ["3.13t", "3.13-i686", "3.13-musl"]), done.stderr
    made = (tmp_path / "store" / "pythons").glob("*/bin/python3")
    told = {path.parent.parent.name: path.read_text().splitlines() for path in made}
    assert "--disable-gil" in told["3.13t"]
    assert {"CC=gcc -m32", "py_cv_module__ssl=n/a"} <= {*told["3.13-i686"]}
    (compiler,) = (word for word in told["3.13-musl"] if word.startswith("CC="))
    assert compiler.endswith("/musl-gcc")
    assert any(word.startswith("ZLIB_LIBS=") and word.endswith("libz.a") for word in told["3.13-musl"])
    assert built(tmp_path).stdout == "", "what is there is not built again"


def test_without_zlib_there_is_none_for_musl(tmp_path: Path) -> None:
    assert built(tmp_path).stdout.split() == ["3.13t", "3.13-i686"]


def test_a_step_that_fails_is_told_with_its_last_words(tmp_path: Path) -> None:
    done = built(tmp_path, BROKEN="1")
    assert done.returncode == 1
    assert "checking for a compiler... no" in done.stderr
