"""`torchdoctor ticket`, run as installed: it ends with a whole ticket and exit code 0, whatever is broken."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from doctor.cli.main import run
from doctor.evidence import own_report
from doctor.reports import block
from tests.cli.broken import BROKEN, ticket
from tests.sample import only
from tests.tickets import collect_env

posix = pytest.mark.skipif(sys.platform == "win32", reason="programs are shell scripts here")
FOUND = {
    "no torch": "torch-missing",
    "torch segfaults on import": "torch-import-crashes",
    "torch raises on import": "torch-import-crashes",
    "no pip": "torch-missing",
    "no network": "torch-missing",
    "read-only home": "torch-missing",
    "no home": "torch-missing",
    "a Python that does not start": "interpreter-broken",
    "a Python that crashes": "interpreter-broken",
}


# The others (TORCHDOCTOR_TEST_ALL=1, scripts/bench_ticket.py) end the same way: a child that fails, or one that hangs.
SAMPLE = ("torch segfaults on import", "torch hangs on import", "read-only home", "a Python that does not start")


@pytest.mark.slow
@posix
@pytest.mark.parametrize("name", only(BROKEN, SAMPLE))
def test_it_ends_whatever_is_broken(tmp_path: Path, name: str) -> None:
    done = ticket(BROKEN[name](tmp_path), tmp_path, "--time-limit", "3", "--no-probe")
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout.count(block.MARK) == 2
    assert FOUND.get(name, "") in done.stdout
    own = own_report.read(done.stdout.encode())
    assert own
    assert own.facts.live
    assert own.facts.host.system == sys.platform.replace("win32", "windows")


@pytest.mark.slow
@posix
def test_a_hung_tool_is_not_known_and_not_absent(tmp_path: Path) -> None:
    done = ticket(BROKEN["hung nvidia-smi"](tmp_path), tmp_path, "--time-limit", "5", "--no-probe")
    own = own_report.read(done.stdout.encode())
    assert own
    assert any(gap.fact.startswith("nvidia") and gap.reason == "timed-out" for gap in own.facts.gaps)


def evidence(tmp_path: Path, **said: str) -> str:
    path = tmp_path / "ticket.txt"
    path.write_text(collect_env("2.6.0+cu124", driver="470.256.02", available="False", **said))
    return str(path)


def test_of_evidence_and_back(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    issue = tmp_path / "issue.md"
    assert run(["ticket", "--from", evidence(tmp_path), "-o", str(issue)]) == 0
    assert capsys.readouterr().out == ""
    said = []
    for source in (issue, tmp_path / "ticket.txt"):
        assert run(["check", "--from", str(source), "--json"]) == 1
        said.append(json.loads(capsys.readouterr().out))
    assert said[0]["findings"] == said[1]["findings"]
    assert said[0]["plan"] == said[1]["plan"]


def test_markdown_of_check_is_the_same(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["ticket", "--from", evidence(tmp_path)]) == 0
    text = capsys.readouterr().out
    assert run(["check", "--format", "markdown", "--from", evidence(tmp_path)]) == 1
    without_time = [
        [line for line in one.splitlines() if "20" not in line] for one in (text, capsys.readouterr().out)
    ]
    assert without_time[0] == without_time[1]


@pytest.mark.parametrize("shape", ["collect_env", "transformers", "accelerate", "diffusers", "vllm"])
def test_in_the_shape_of_another_tool(tmp_path: Path, capsys: pytest.CaptureFixture[str], shape: str) -> None:
    assert run(["ticket", "--from", evidence(tmp_path), "--as", shape]) == 0
    out = capsys.readouterr().out
    assert "2.6.0+cu124" in out
    assert block.MARK not in out


def test_it_is_redacted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "secret.txt"
    secret = "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCD"
    line = f"/home/annabelle/venv/bin/python: No module named torch\nexport OPENAI_API_KEY={secret}\n"
    path.write_text(collect_env("2.6.0+cu124") + line)
    for arguments in ([], ["--as", "collect_env"], ["--as", "vllm"]):
        assert run(["ticket", "--from", str(path), *arguments]) == 0
        out = capsys.readouterr().out
        assert secret not in out
        assert "annabelle" not in out
    assert run(["ticket", "--from", str(path), "--no-redact"]) == 0
    assert "annabelle" in capsys.readouterr().out


@pytest.mark.parametrize("arguments", [["--as", "nothing"], ["--format", "json"], ["--from", "/nowhere"]])
def test_wrong_usage(arguments: list[str]) -> None:
    assert run(["ticket", *arguments]) == 2


def test_a_folder_is_wrong_usage(tmp_path: Path) -> None:
    evidence(tmp_path)
    assert run(["ticket", "--from", str(tmp_path)]) == 2
