"""`check` around a stubbed examination: options, formats, exit codes, files, folders."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest

from doctor import pipeline
from doctor.cli import output
from doctor.cli.main import run
from doctor.cli.options import request_from
from doctor.reports import json as json_report
from doctor.reports.json import parse, schema
from tests.reports.samples import CPU_ONLY, FAULTY, HEALTHY, NO_TARGET, UNKNOWN, WARNING


@pytest.fixture
def examined(monkeypatch: pytest.MonkeyPatch):
    """Examination gives this report; the requests are kept."""
    requests: list[pipeline.Request] = []

    def use(report):
        def examine(request, progress=None):
            requests.append(request)
            return report

        monkeypatch.setattr(pipeline, "examine", examine)
        return requests

    return use


@pytest.mark.parametrize(
    ("report", "arguments", "code"),
    [
        (HEALTHY, [], 0),
        (FAULTY, [], 1),
        (UNKNOWN, [], 3),
        (replace(HEALTHY, findings=(WARNING,)), [], 0),
        (replace(HEALTHY, findings=(WARNING,)), ["--strict"], 1),
        (CPU_ONLY, ["--strict"], 0),
        (NO_TARGET, [], 3),
    ],
)
def test_exit_codes(examined, report, arguments: list[str], code: int) -> None:
    examined(report)
    assert run(["check", *arguments]) == code


def test_no_target_is_one_line_and_json_stays_valid(examined, capsys) -> None:
    examined(NO_TARGET)
    assert run(["check", "--python", "/nowhere"]) == 3
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == "torchdoctor: /nowhere: not found\n"
    assert run(["check", "--python", "/nowhere", "--json"]) == 3
    captured = capsys.readouterr()
    jsonschema.validate(json.loads(captured.out), schema())
    assert captured.err.splitlines()[0] == "torchdoctor: /nowhere: not found"


@pytest.mark.parametrize(
    "arguments",
    [
        ["--as-of", "yesterday"],
        ["--as-of", "2024-13"],
        ["--as-of", "2024-02-30"],
        ["--only", "gpu-hiden"],
        ["--device", "gpu"],
        ["--timeout", "0"],
        ["--timeout", "nan"],
        ["--python", ""],
        ["--python", "kernel:"],
        ["-o", ""],
        ["--from", "-", "--from", "-"],
        ["--format", "yaml"],
        ["--json", "--format", "markdown"],
        ["-o", "/nonexistent-folder/x"],
        ["--from", "/nonexistent-file"],
        ["unexpected"],
    ],
    ids=" ".join,
)
def test_wrong_usage_is_2_before_anything_is_looked_at(examined, capsys, arguments: list[str]) -> None:
    requests = examined(HEALTHY)
    assert run(["check", *arguments]) == 2
    assert not requests
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "Error:" in captured.err


def test_an_unknown_id_names_the_nearest(examined, capsys) -> None:
    examined(HEALTHY)
    run(["check", "--only", "nvidia-driver-to-old"])
    assert "Did you mean nvidia-driver-too-old?" in capsys.readouterr().err


def test_the_request(examined) -> None:
    requests = examined(HEALTHY)
    line = "--python p --as-of 2024-05 --no-probe --device cuda:1 --device cpu --only gpu-hidden --timeout 7"
    run(["check", *line.split()])
    assert requests == [
        pipeline.Request(
            python="p", as_of="2024-05", probe=False, devices=("cuda:1", "cpu"), only=("gpu-hidden",), limit_s=7.0
        )
    ]


def test_request_from_ignores_options_of_the_output() -> None:
    assert request_from(python="p", quiet=True, color="auto", tool="uv") == pipeline.Request(python="p", tool="uv")


def test_json_is_redacted_unless_asked(examined, capsys) -> None:
    examined(FAULTY)
    run(["check", "--json"])
    out = capsys.readouterr().out
    assert "anna" not in out
    assert parse(out).redacted
    run(["check", "--json", "--no-redact"])
    assert parse(capsys.readouterr().out) == FAULTY


def test_what_was_redacted_is_listed(examined, capsys, monkeypatch) -> None:
    examined(FAULTY)
    run(["check", "--json", "--show-redacted"])
    err = capsys.readouterr().err
    assert "user1 is a user, replaced" in err
    assert "anna" not in err  # stderr is no terminal
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    run(["check", "--json", "--show-redacted"])
    assert "anna" in capsys.readouterr().err


def test_a_quiet_run_says_nothing_of_it(examined, capsys) -> None:
    examined(FAULTY)
    run(["check", "--json", "-q"])
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("more", [[], ["--json", "--no-redact"], ["--format", "terminal"]])
def test_nothing_to_list_where_nothing_is_redacted(examined, capsys, more: list[str]) -> None:
    examined(FAULTY)
    assert run(["check", "--show-redacted", *more]) == 2
    assert "redacted" in capsys.readouterr().err


@pytest.mark.parametrize("format", ["terminal", "json", "markdown", "junit", "github"])
def test_formats(examined, capsys, format: str) -> None:
    examined(FAULTY)
    assert run(["check", "--format", format]) == 1
    captured = capsys.readouterr()
    assert "nvidia-driver-too-old" in captured.out
    told = "" if format == "terminal" else "torchdoctor: redacted: 2 users (--show-redacted lists them"
    assert captured.err.startswith(told)
    assert captured.err.count("\n") == bool(told)


def test_the_terminal_is_plain_when_it_is_none(examined, capsys) -> None:
    examined(FAULTY)
    run(["check"])
    assert "\x1b" not in capsys.readouterr().out
    run(["check", "--color", "always"])
    assert "\x1b" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("choice", "environ", "wanted"),
    [
        ("auto", {}, False),
        ("auto", {"FORCE_COLOR": "1"}, True),
        ("auto", {"NO_COLOR": "1", "FORCE_COLOR": "1"}, False),
        ("always", {"NO_COLOR": "1"}, True),
        ("never", {"FORCE_COLOR": "1"}, False),
    ],
)
def test_colour(monkeypatch, choice: str, environ: dict[str, str], wanted: bool) -> None:
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    assert output.wants_color(choice) is wanted


def test_output_file_is_whole_and_keeps_its_mode(examined, tmp_path, capsys) -> None:
    examined(FAULTY)
    file = tmp_path / "report.json"
    file.write_text("old")
    os.chmod(file, 0o640)
    assert run(["check", "--json", "-o", str(file)]) == 1
    assert capsys.readouterr().out == ""
    assert parse(file.read_text()).verdict == "faulty"
    assert list(tmp_path.iterdir()) == [file]
    if sys.platform != "win32":
        assert file.stat().st_mode & 0o777 == 0o640


@pytest.mark.skipif(sys.platform == "win32", reason="no such devices")
def test_only_files_are_replaced(tmp_path) -> None:
    """As root, /dev/full itself would be replaced."""
    (tmp_path / "link").symlink_to(tmp_path / "file")
    output.emit("text", str(tmp_path / "link"))
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "file").read_text() == "text\n"
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    output.emit("text", str(tmp_path / "pipe"))
    assert os.read(reader, 100) == b"text\n"
    os.close(reader)
    assert (tmp_path / "pipe").is_fifo()


def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch) -> None:
    file = tmp_path / "report"
    file.write_text("old")
    monkeypatch.setattr(os, "replace", lambda *_: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    with pytest.raises(Exception, match="No space left"):
        output.emit("new", str(file))
    assert file.read_text() == "old"
    assert list(tmp_path.iterdir()) == [file]


def test_several_files_are_one_machine(examined, tmp_path) -> None:
    requests = examined(HEALTHY)
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_text(name)
    assert run(["check", "--from", str(tmp_path / "a.txt"), "--from", str(tmp_path / "b.txt")]) == 0
    assert [content for _, content in requests[0].evidence] == [b"a.txt", b"b.txt"]


def test_a_folder_is_one_machine_a_file(examined, tmp_path, capsys) -> None:
    requests = examined(FAULTY)
    for name in ("b.txt", "a.txt"):
        (tmp_path / name).write_text(name)
    assert run(["check", "--from", str(tmp_path), "--json"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert [parse(line).verdict for line in lines] == ["faulty", "faulty"]
    assert [r.evidence[0][1] for r in requests] == [b"a.txt", b"b.txt"]
    assert all(r.fixes for r in requests)


def test_a_folder_is_summed_up_and_its_folders_are_named(examined, tmp_path, capsys) -> None:
    requests = examined(FAULTY)
    (tmp_path / "a.txt").write_text("a")
    (tmp_path / "below").mkdir()
    (tmp_path / "below" / "b.txt").write_text("b")
    assert run(["check", "--from", str(tmp_path)]) == 1
    said = capsys.readouterr()
    assert len(said.out.splitlines()) == 1
    assert "1 folder in" in said.err
    assert "torchdoctor: 1 file: 1 faulty." in said.err
    assert not any(r.fixes for r in requests), "a line names no fix"


def test_each_line_of_a_folder_is_printed_at_once(examined, tmp_path, capsys, monkeypatch) -> None:
    examined(FAULTY)
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_text(name)
    seen: list[int] = []
    emit = output.emit
    monkeypatch.setattr(output, "emit", lambda text, to=None: (seen.append(len(text.splitlines())), emit(text, to)))
    run(["check", "--from", str(tmp_path), "--json"])
    assert seen == [1, 1]


def test_a_folder_as_a_table(examined, tmp_path, capsys) -> None:
    examined(FAULTY)
    for name in ("b.txt", "a|b.txt"):
        (tmp_path / name).write_text(name)
    assert run(["check", "--from", str(tmp_path), "--format", "markdown"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == ["| file | verdict | faults |", "|---|---|---|"]
    assert lines[2].endswith("| faulty | nvidia-driver-too-old |")
    assert len(lines) == 4


@pytest.mark.parametrize("arguments", [["--format", "junit"], ["--from", "-"]])
def test_a_folder_alone_and_in_lines(examined, tmp_path, arguments: list[str]) -> None:
    examined(FAULTY)
    (tmp_path / "a").write_text("a")
    assert run(["check", "--from", str(tmp_path), *arguments]) == 2


def test_an_empty_folder_is_wrong_usage(examined, tmp_path) -> None:
    examined(FAULTY)
    assert run(["check", "--from", str(tmp_path)]) == 2


def test_quiet(examined, capsys) -> None:
    examined(HEALTHY)
    assert run(["check", "-q"]) == 0
    assert capsys.readouterr().out.startswith("Nothing is wrong")


def test_the_summary_of_a_job_is_added_to(tmp_path: Path, capsys, monkeypatch) -> None:
    ticket, summary = tmp_path / "ticket.txt", tmp_path / "summary.md"
    ticket.write_text("PyTorch version: 2.6.0+cu124\nNvidia driver version: 440.33\nGPU 0: NVIDIA L4\n")
    summary.write_text("of another step\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    assert run(["check", "--from", str(ticket), "--format", "github", "-q"]) == 1
    assert "::error file=" in capsys.readouterr().out
    assert summary.read_text().startswith("of another step\n**1 fault: nvidia-driver-too-old")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path))
    assert run(["check", "--from", str(ticket), "--format", "github", "-q"]) == 1
    assert "the summary of the job is not written" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("cut", "why"),
    [
        (lambda text: text.replace('"schema": "1"', '"schema": "2"', 1), "update it"),
        (lambda text: text[: len(text) // 2], "cut short, or changed"),
        (lambda text: text.replace('"schema": "1"', '"schema": "bench-1"', 1), "torchdoctor bench --compare"),
    ],
    ids=["newer", "cut", "benchmark"],
)
@pytest.mark.parametrize("command", ["check", "fix", "ticket"])
def test_a_report_that_cannot_be_read_is_not_judged_by_its_words(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], cut: Callable[[str], str], why: str, command: str
) -> None:
    (tmp_path / "report.json").write_text(cut(json_report.render(FAULTY)))
    (tmp_path / "a.txt").write_text("torch 2.6.0+cu124\n")
    assert run([command, "--from", str(tmp_path / "report.json")]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.splitlines()[-1].startswith("Error: cannot judge '")
    assert why in said.err
    if command == "check":  # beside others it hides none of them
        assert run(["check", "--from", str(tmp_path)]) == 3
        assert "2 files: 1 unknown, 1 not read." in capsys.readouterr().err
