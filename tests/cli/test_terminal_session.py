"""On a real pseudo-terminal: the progress line comes and goes, colours are there, and none of it without a terminal."""

from __future__ import annotations

import re
import sys

import pytest

pexpect = pytest.importorskip("pexpect")

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals of POSIX")

SLOW_CHECK = """
import time
from doctor import pipeline
from tests.reports.samples import FAULTY

def examine(request, progress):
    progress("importing torch")
    time.sleep(2.5)
    return FAULTY

pipeline.examine = examine
from doctor.cli.main import main
main(["check"])
"""


def test_progress_and_colour_on_a_terminal(monkeypatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    session = pexpect.spawn(sys.executable, ["-c", SLOW_CHECK], encoding="utf-8", timeout=30, dimensions=(40, 90))
    session.expect("importing torch ...")
    session.expect("FAULT")
    text = session.before + session.after + session.read()
    session.close()
    assert session.exitstatus == 1
    assert "\x1b[1;31mFAULT" in text
    assert "importing torch" not in re.sub(r"^.*?torchdoctor 1.0 examines", "", text, flags=re.DOTALL)


def test_no_color_on_a_terminal(monkeypatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("NO_COLOR", "1")
    session = pexpect.spawn(sys.executable, ["-c", SLOW_CHECK], encoding="utf-8", timeout=30, dimensions=(40, 90))
    text = session.read()
    session.close()
    assert "\x1b[1;31m" not in text
    assert "FAULT  nvidia-driver-too-old" in text
