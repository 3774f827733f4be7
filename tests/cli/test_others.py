"""explain, probe, schema, and the progress line."""

from __future__ import annotations

import io
import json
import time
from dataclasses import replace

import jsonschema
import pytest

from doctor import pipeline
from doctor.cli import progress
from doctor.cli.main import run
from tests.reports.samples import CRASHED, HEALTHY, NO_TARGET, UNKNOWN


@pytest.mark.parametrize("format", ["terminal", "markdown"])
def test_explain_an_id(capsys, format: str) -> None:
    assert run(["explain", "nvidia-driver-too-old", "--format", format]) == 0
    out = capsys.readouterr().out
    assert "What it means" in out
    assert "The NVIDIA driver is too old for this torch." in out


def test_explain_json(capsys) -> None:
    assert run(["explain", "nvidia-driver-too-old", "--json"]) == 0
    (page,) = json.loads(capsys.readouterr().out)
    assert page["layer"] == "driver"


def test_explain_list(capsys) -> None:
    assert run(["explain", "--list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert any("nvidia-driver-too-old" in line for line in lines)


def test_explain_a_wrong_id(capsys) -> None:
    assert run(["explain", "nvidia-driver-to-old"]) == 2
    assert "Did you mean nvidia-driver-too-old?" in capsys.readouterr().err


def test_explain_nothing(capsys) -> None:
    assert run(["explain"]) == 2


def test_explain_a_pasted_line(capsys) -> None:
    line = "RuntimeError: CUDA error: no kernel image is available for execution on the device"
    assert run(["explain", line]) == 0
    out = capsys.readouterr().out
    assert "gpu-too-new-for-build" in out
    assert run(["explain", line, "--json"]) == 0
    assert "gpu-too-new-for-build" in json.loads(capsys.readouterr().out)[0]["causes"]


def test_explain_an_unknown_line(capsys) -> None:
    assert run(["explain", "the cat sat on the mat"]) == 3
    assert "No known message" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("report", "code", "text"),
    [
        (HEALTHY, 0, "51.3 TFLOP/s fp32, 160 TFLOP/s bf16"),
        (CRASHED, 1, "crashed, signal 11: Segfault"),
        (replace(UNKNOWN, facts=replace(UNKNOWN.facts, live=True)), 3, "No verdict"),
    ],
)
def test_probe(monkeypatch, capsys, report, code: int, text: str) -> None:
    monkeypatch.setattr(pipeline, "examine", lambda request, progress=None: report)
    assert run(["probe"]) == code
    assert text in capsys.readouterr().out


def test_probe_json_and_wrong_target(monkeypatch, capsys) -> None:
    monkeypatch.setattr(pipeline, "examine", lambda request, progress=None: NO_TARGET)
    assert run(["probe", "--json", "--python", "/nowhere"]) == 3
    assert json.loads(capsys.readouterr().out)["verdict"] == "unknown"


@pytest.mark.parametrize("arguments", [
    ["--from", "x"], ["--no-probe"], ["--format", "junit"], ["--quick", "--full"], ["--full", "--soak", "1"],
    ["--soak", "0"],
])  # fmt: skip
def test_probe_wrong_usage(arguments: list[str]) -> None:
    assert run(["probe", *arguments]) == 2


def test_schema(capsys) -> None:
    assert run(["schema"]) == 0
    jsonschema.Draft202012Validator.check_schema(json.loads(capsys.readouterr().out))


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_progress_is_silent_without_a_terminal(capsys) -> None:
    with progress.watching(delay_s=0.0) as tell:
        tell("looking")
        time.sleep(0.05)
    assert capsys.readouterr().err == ""


def test_progress_shows_only_after_the_delay(monkeypatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    with progress.watching(delay_s=60.0) as tell:
        tell("looking")
    assert terminal.getvalue() == ""


def test_progress_shows_the_stage(monkeypatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    with progress.watching(delay_s=0.01) as tell:
        tell("importing [red]torch[/red]\x1b")
        time.sleep(0.6)
    assert "importing [red]torch[/red]?" in terminal.getvalue()


def test_progress_is_silent_when_quiet(monkeypatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    with progress.watching(quiet=True, delay_s=0.0) as tell:
        tell("looking")
        time.sleep(0.05)
    assert terminal.getvalue() == ""


def test_marks_have_an_ascii_form(monkeypatch) -> None:
    from doctor.cli import output

    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii", errors="replace")
    monkeypatch.setattr("sys.stdout", stream)
    output.emit("«ok» … 中")
    assert stream.buffer.getvalue() == b'"ok" ... ?\n'


@pytest.mark.parametrize("text", ["\udcff", "RuntimeError: \udcc3 CUDA error", "\ud800" * 50])
def test_explain_bytes_that_nobody_can_decode(capsys, text: str) -> None:
    assert run(["explain", text]) in (0, 2, 3)
    assert "bug" not in capsys.readouterr().err


FLASH = "UserWarning: 1Torch was not compiled with flash attention."


@pytest.mark.parametrize("format", ["terminal", "markdown", "json"])
def test_explain_a_harmless_warning(capsys, format: str) -> None:
    assert run(["explain", FLASH, "--format", format]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "harmless-warning" in said
    assert "lacks one kernel for attention" in said
    assert "It matters for the speed" in said


def test_explain_tells_a_harmless_warning_beside_an_error(capsys) -> None:
    assert run(["explain", f"{FLASH}\nRuntimeError: operator torchvision::nms does not exist", "--json"]) == 0
    patterns = [entry["pattern"] for entry in json.loads(capsys.readouterr().out)]
    assert patterns == ["torchvision-nms-missing", "attention-kernel-left-out"]


def test_how_a_harmless_warning_looks(tmp_path, monkeypatch, capsys, snapshot) -> None:
    monkeypatch.chdir(tmp_path)
    said = f"{FLASH}\nW tensorflow/utils.cc:38] TF-TRT Warning: Could not find TensorRT\n"
    (tmp_path / "ticket.txt").write_text(said, encoding="utf-8")
    assert run(["check", "--from", "ticket.txt"]) == 3
    assert capsys.readouterr().out.rpartition("No verdict")[0] == snapshot


def test_a_harmless_warning_is_said_after_what_is_not_explained(tmp_path, capsys) -> None:
    ticket = tmp_path / "ticket.txt"
    ticket.write_text(f"{FLASH}\nRuntimeError: the frobnicator of torch failed on device cuda:7\n", encoding="utf-8")
    for format in ("terminal", "markdown", "html"):
        run(["check", "--from", str(ticket), "--format", format])
        said = capsys.readouterr().out
        assert 0 < said.index("frobnicator") < said.index("lacks one"), format
