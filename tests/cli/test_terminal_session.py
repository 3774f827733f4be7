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


HANDED_OVER = """
import sys
from doctor.cli.main import main
main(["check", "--no-probe", "--python", sys.executable, *sys.argv[1:]])
"""


def test_the_first_line_comes_at_once_and_the_layers_are_replaced(monkeypatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("NO_COLOR", "1")
    session = pexpect.spawn(sys.executable, ["-c", HANDED_OVER], encoding="utf-8", timeout=60, dimensions=(40, 90))
    session.expect("torchdoctor [^\n]* examines")
    session.expect("     machine  ")
    session.expect("     interpreter  CPython")
    text = session.read()
    session.close()
    _, erased, report = text.rpartition("\x1b[J")
    assert erased
    assert "examines" not in report, "it is on the screen already"
    assert re.search(r"^ ok  machine ", report, re.MULTILINE)


def test_a_pipe_gets_the_report_as_a_whole(tmp_path) -> None:
    session = pexpect.spawn(
        "/bin/sh", ["-c", '"$0" -c "$1" > "$2"', sys.executable, HANDED_OVER, str(tmp_path / "out")], encoding="utf-8",
        timeout=60,
    )  # fmt: skip
    text = session.read()
    session.close()
    written = (tmp_path / "out").read_text()
    assert "examines" in written
    assert "\x1b[J" not in written
    assert "     machine" not in text


def test_no_color_on_a_terminal(monkeypatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("NO_COLOR", "1")
    session = pexpect.spawn(sys.executable, ["-c", SLOW_CHECK], encoding="utf-8", timeout=30, dimensions=(40, 90))
    text = session.read()
    session.close()
    assert "\x1b[1;31m" not in text
    assert "FAULT  nvidia-driver-too-old" in text
