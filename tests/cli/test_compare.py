"""`torchdoctor compare`, run as installed: "it works on his machine"."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest

from doctor.reports import json as report_json
from doctor.reports import markdown
from tests.comparison.machines import FLEET, GOOD, HIDDEN, OLD_DRIVER

HIS = """\
PyTorch version: 2.6.0+cu124
CUDA used to build PyTorch: 12.4
OS: Ubuntu 22.04.4 LTS (x86_64)
Python version: 3.12.4 (64-bit runtime)
Is CUDA available: True
GPU models and configuration: GPU 0: NVIDIA GeForce RTX 4090
Nvidia driver version: 550.90.07
[pip3] torch==2.6.0
"""
MINE = HIS.replace("550.90.07", "470.256.02").replace("available: True", "available: False")


def compare(folder: Path, *arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "-m", "doctor", "compare", *arguments]
    return subprocess.run(argv, cwd=folder, input=stdin, capture_output=True, text=True, timeout=120, check=False)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "his.txt").write_text(HIS)
    (tmp_path / "mine.txt").write_text(MINE)
    (tmp_path / "his.json").write_text(report_json.render(GOOD))
    (tmp_path / "mine.json").write_text(report_json.render(HIDDEN))
    (tmp_path / "issue.md").write_text("My issue\n\n> quoted\n\n" + markdown.render(OLD_DRIVER))
    return tmp_path


def test_two_texts(folder: Path) -> None:
    done = compare(folder, "his.txt", "mine.txt")
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout.startswith("nvidia-driver-too-old is explained by NVIDIA driver.\n")
    assert "550.90.07" in done.stdout
    assert "470.256.02" in done.stdout
    assert all(len(line) <= 80 for line in done.stdout.splitlines())
    assert "\x1b" not in done.stdout


def test_a_report_a_ticket_and_stdin(folder: Path) -> None:
    done = compare(folder, "his.json", "issue.md", "-", stdin=MINE)
    assert done.returncode == 1, done.stderr
    assert "1 machine, healthy" in done.stdout
    said = " ".join(done.stdout.split())
    assert "nvidia-driver-too-old of issue.md, stdin is gone with the value of his.json" in said


def test_json_by_its_schema(folder: Path) -> None:
    done = compare(folder, "his.json", "mine.json", "--json", "--quiet")
    schema = subprocess.run(
        [sys.executable, "-m", "doctor", "schema", "compare"], capture_output=True, text=True, timeout=60, check=True
    )
    said = json.loads(done.stdout)
    jsonschema.validate(said, json.loads(schema.stdout), jsonschema.Draft202012Validator)
    assert said["differences"][0]["subject"] == "environ.CUDA_VISIBLE_DEVICES"
    assert said["differences"][0]["explains"][0]["finding"] == "gpu-hidden"


def test_markdown_into_a_file(folder: Path) -> None:
    assert compare(folder, "his.json", "mine.json", "--format", "markdown", "-o", "out.md").returncode == 1
    assert "gpu-hidden is explained by" in (folder / "out.md").read_text()


def test_a_folder_is_one_machine_a_file(tmp_path: Path) -> None:
    nodes = tmp_path / "nodes"
    nodes.mkdir()
    for report in FLEET:
        (nodes / report.target.evidence[0]).write_text(report_json.render(report))
    done = compare(tmp_path, "nodes")
    assert "6 machines, healthy" in done.stdout
    assert done.stdout.count("  odd  1 machine") == 2


def test_equal_machines_end_with_0(folder: Path) -> None:
    done = compare(folder, "his.json", "his.json")
    assert (done.returncode, done.stdout.splitlines()[0][:15]) == (0, "Nothing differs")


def test_one_report_is_compared_with_this_machine(folder: Path) -> None:
    done = compare(folder, "his.json", "--no-probe", "--python", sys.executable)
    assert done.returncode == 1, done.stderr
    assert "this machine" in done.stdout


BROKEN = {
    "newer": (report_json.render(GOOD).replace('"schema": "1"', '"schema": "2"'), 'schema "2"'),
    "cut": (report_json.render(GOOD)[:3000], "cut short"),
    "empty": ("", "nothing in it says anything of a machine"),
    "no machine": ("Dear all, see you at noon.", "nothing in it says anything of a machine"),
    "10 MB": (report_json.render(GOOD).replace('"duration_ms"', f'"x": "{"y" * 10_000_000}", "duration_ms"'), "longer"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_what_cannot_be_compared_is_refused(folder: Path, name: str) -> None:
    content, why = BROKEN[name]
    (folder / "broken").write_text(content)
    done = compare(folder, "his.json", "broken")
    assert (done.returncode, done.stdout) == (2, "")
    [line] = [one for one in done.stderr.splitlines() if one.startswith("Error: ")]
    assert "cannot compare 'broken'" in line
    assert why in line


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ((), "Missing argument"),
        (("his.json", "nowhere.json"), "cannot read 'nowhere.json'"),
        (("-", "-"), "stdin can be read only once"),
        (("his.json", "mine.json", "--no-probe"), "are for this machine"),
        (("his.json", "mine.json", "--show-redacted"), "--show-redacted"),
    ],
)
def test_wrong_usage(folder: Path, arguments: tuple[str, ...], why: str) -> None:
    done = compare(folder, *arguments)
    assert done.returncode == 2
    assert why in done.stderr
