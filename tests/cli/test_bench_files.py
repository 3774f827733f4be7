"""`bench` on reports that exist: comparing, merging, the known errors; what cannot be used is one line and exit 2."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest

from doctor.cli import main
from doctor.model.bench import Gate
from doctor.reports.bench.json import render
from doctor.reports.bench.json import schema as bench_schema
from tests.bench.samples import FIVE, VGG, report, row

LOST = replace(VGG.rows[1], timing=None, gate=Gate(status="INVALID", why="the results are zeros"))


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with reports, which is the current one."""
    slow = replace(VGG, rows=(row(batch=32, ms=9640.0 * 1.2, suite="vgg16"), *VGG.rows[1:]))
    for name, content in {
        "old": VGG, "slow": slow, "lost": replace(VGG, rows=(VGG.rows[0], LOST)), "five": FIVE,
        "other": replace(FIVE, rows=tuple(replace(r, method=2) for r in FIVE.rows)),
    }.items():  # fmt: skip
        (tmp_path / f"{name}.json").write_text(render(content))
    (tmp_path / "cut.json").write_text(render(VGG)[:3000])
    (tmp_path / "newer.json").write_text(render(VGG).replace('"bench-1"', '"bench-7"'))
    (tmp_path / "hostile.json").write_text('{"schema": "\\u001b[31m::error::x"}')
    (tmp_path / "big.json").write_bytes(b"[" + b"1," * (3 << 20) + b"1]")
    (tmp_path / "binary.json").write_bytes(bytes(range(256)))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = main.run(["bench", *words])
    said = capsys.readouterr()
    return code, said.out, said.err


@pytest.mark.parametrize(("new", "code", "word"), [("old", 0, "SAME"), ("slow", 1, "SLOWER"), ("lost", 1, "INVALID")])
def test_compare(capsys: pytest.CaptureFixture[str], files: Path, new: str, code: int, word: str) -> None:
    ended, out, err = run(capsys, "--compare", "old.json", f"{new}.json")
    assert (ended, err) == (code, "")
    assert word in out


def test_compare_as_json(capsys: pytest.CaptureFixture[str], files: Path) -> None:
    code, out, _ = run(capsys, "--compare", "slow.json", "old.json", "--json")
    verdicts = {c["key"]: c["verdict"] for c in json.loads(out)["rows"]}
    assert code == 0
    assert verdicts["vgg16/training/cpu/fp32/32"] == "FASTER"


def test_merge_keeps_methods_apart(capsys: pytest.CaptureFixture[str], files: Path) -> None:
    code, out, _ = run(capsys, "--merge", "old.json", "five.json", "other.json", "--json")
    assert code == 0
    assert [t["method"] for t in json.loads(out)["tables"]] == [2, 1]
    for format in ("csv", "markdown"):
        code, out, _ = run(capsys, "--merge", "old.json", "five.json", f"--{format}")
        assert code == 0
        assert "NVIDIA H200" in out


@pytest.mark.parametrize("name", ["cut", "newer", "hostile", "big", "binary", "missing"])
@pytest.mark.parametrize("how", ["compare", "merge"])
def test_what_cannot_be_used_is_one_line(
    capsys: pytest.CaptureFixture[str], files: Path, name: str, how: str
) -> None:
    words = ("--compare", f"{name}.json", "old.json") if how == "compare" else ("--merge", "old.json", f"{name}.json")
    code, out, err = run(capsys, *words)
    assert (code, out) == (2, "")
    [line] = [one for one in err.splitlines() if one.startswith("Error")]
    assert f"{name}.json" in line
    assert "\x1b" not in err
    assert "Traceback" not in err


@pytest.mark.parametrize("words", [
    ("--known", "--merge"), ("--known", "old.json"), ("--merge",), ("old.json",), ("--json", "--csv"),
    ("--compare", "old.json", "five.json", "slow.json"), ("--compare", "old.json", "five.json", "--html"),
    ("--merge", "old.json", "--html"), ("--known", "--csv"),
])  # fmt: skip
def test_wrong_usage(capsys: pytest.CaptureFixture[str], files: Path, words: tuple[str, ...]) -> None:
    code, out, err = run(capsys, *words)
    assert (code, out) == (2, "")
    assert "Error" in err


def test_known(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "--known")
    assert code == 0
    assert "Nine of the MPS logs" in " ".join(out.split())
    assert "Five torchvision models" in out
    assert json.loads(run(capsys, "--known", "--json")[1])[0]["kind"] == "wrong"
    assert "| wrong |" in run(capsys, "--known", "--markdown")[1]


def test_the_packaged_schema_is_that_of_the_reports(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(["schema", "bench"]) == 0
    packaged = json.loads(capsys.readouterr().out)
    assert packaged == json.loads(json.dumps(bench_schema()))
    jsonschema.Draft202012Validator.check_schema(packaged)


def test_output_goes_to_a_file(capsys: pytest.CaptureFixture[str], files: Path) -> None:
    assert run(capsys, "--merge", "old.json", "-o", "all.txt")[:2] == (0, "")
    assert "method 1" in (files / "all.txt").read_text()


def test_the_table_while_it_runs_shows_nothing_raw(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from doctor.cli import benchmarks, output

    monkeypatch.setattr(output, "somebody_types", lambda: True)
    with benchmarks.Live(10.0) as live:
        live("gate \x1b]0;x\x07[bold]", 0.5)
        live.rows((replace(VGG.rows[1], workload="a\x1b[31mb"),))
        live("over", 2.0)
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "\x1b]0;" not in shown.err
    assert "\x1b[31mb" not in shown.err


def test_without_jinja2_nothing_is_measured_for_a_page(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "jinja2", None)
    for name in ("doctor.reports.html", "doctor.reports.bench.html", "doctor.reports.pages"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.delattr("doctor.reports.html", raising=False)
    code, out, err = run(capsys, "--html", "--python", "/no/such/python")
    assert (code, out) == (2, "")
    assert "torchdoctor[html]" in err


def test_an_empty_report_is_no_error(capsys: pytest.CaptureFixture[str], files: Path) -> None:
    (files / "empty.json").write_text(render(report()))
    assert run(capsys, "--compare", "empty.json", "empty.json")[0] == 0
    assert run(capsys, "--merge", "empty.json")[0] == 0


@pytest.mark.parametrize("format", ["json", "markdown", "csv"])
@pytest.mark.parametrize("words", [("--compare", "old.json", "said.json"), ("--merge", "said.json", "old.json")])
def test_what_is_made_of_files_is_redacted_like_the_report_itself(
    files: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], format: str
) -> None:
    if format == "csv" and words[0] == "--compare":
        pytest.skip("a comparison has no CSV")
    told = "No such file: /home/annakowal/ml/run.py at 10.9.8.7, HF_TOKEN=hf_AbCdEfGh1jklMnopQrst0123"
    gone = replace(VGG.rows[1], timing=None, gate=Gate(status="INVALID", why=told), size=told)
    said = replace(VGG, rows=(VGG.rows[0], gone), machine=replace(VGG.machine, os_name=told))
    (files / "said.json").write_text(render(said))
    code, out, err = run(capsys, *words, "--format", format)
    assert code in (0, 1), err
    for secret in ("annakowal", "hf_AbCdEf", "10.9.8.7"):
        assert secret not in out
