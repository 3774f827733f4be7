"""The GitHub Action: valid, its script against a stub of torchdoctor, and all of it run as a runner does, for real."""

from __future__ import annotations

import json
import os
import re
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.composite import Composite, variables
from tests.reports.hostile import live_commands
from tests.reports.samples import FAULTY, HEALTHY, UNEXPLAINED
from tests.test_laws import ROOT, tracked_files
from tests.test_recipes import ACTION, posix, validated
from tests.tickets import collect_env

GH = """#!/bin/sh
echo "gh $*" >>"$STUB/calls"
case "$*" in
  "api user"*) [ -n "${LOGIN:-}" ] || exit 1; echo "$LOGIN" ;;
  *--input*) cat >>"$STUB/posted" ;;
  *) cat "$STUB/comments.json" 2>/dev/null || echo '[[]]' ;;
esac
"""


def program(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


def test_the_action_is_valid() -> None:
    validated("vendor.github-actions", ACTION / "action.yml")
    action = yaml.safe_load((ACTION / "action.yml").read_text())
    for step in action["runs"]["steps"]:  # an expression in a script is code that a stranger may write
        assert "${{" not in step.get("run", "")
    script = (ACTION / "run.sh").read_text()
    given = {name for step in action["runs"]["steps"] for name in step.get("env", {}) if name.startswith("INPUT_")}
    assert set(re.findall(r"INPUT_[A-Z_]+", script)) <= given


class Job:
    """A step of a job: torchdoctor is a stub that plays a report, gh one that remembers."""

    def __init__(self, folder: Path, report: str, code: int) -> None:
        self.folder = folder
        binary = folder / "runner/torchdoctor/env/bin"
        binary.mkdir(parents=True)
        (folder / "report.json").write_text(report)
        program(binary / "torchdoctor", (
            '#!/bin/sh\necho "$@" >>"$STUB/calls"\nout=""; last=""\n'
            'for a in "$@"; do [ "$last" = -o ] && out="$a"; last="$a"; done\n'
            f'if [ "$1 $2" = "check --from" ]; then echo "::error::annotated"; exit {code}; fi\n'
            f'if [ -n "$out" ]; then cp "$STUB/report.json" "$out"; fi\nexit {code}\n'
        ))  # fmt: skip
        program(folder / "bin/gh", GH)
        self.environ = {
            "PATH": f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}", "RUNNER_TEMP": str(folder / "runner"),
            "GITHUB_OUTPUT": str(folder / "output"), "STUB": str(folder), "GITHUB_REPOSITORY": "a/b",
            "GITHUB_EVENT_PATH": str(folder / "event.json"), "ACTION_PATH": str(ACTION),
        }  # fmt: skip

    def run(self, mode: str, **inputs: str) -> tuple[int, str]:
        given = {f"INPUT_{name.upper()}": value for name, value in inputs.items()}
        done = subprocess.run(["bash", ACTION / "run.sh", mode], env={**self.environ, **given}, capture_output=True,
                              text=True, timeout=60, check=False)  # fmt: skip
        return done.returncode, done.stdout + done.stderr

    def read(self, name: str) -> str:
        path = self.folder / name
        return path.read_text() if path.exists() else ""


@posix
@pytest.mark.parametrize(
    ("fail_on", "codes"),
    [("fault", {0: 0, 1: 1, 3: 0, 70: 70}), ("warning", {1: 1, 3: 0}), ("unknown", {1: 1, 3: 3}), ("any", {3: 3}),
     ("never", {1: 0, 3: 0})],
)  # fmt: skip
def test_what_fails_the_step(tmp_path: Path, fail_on: str, codes: dict[int, int]) -> None:
    from doctor.reports import json as json_format

    for code, ended in codes.items():
        sample = {0: HEALTHY, 1: FAULTY}.get(code, UNEXPLAINED)
        (tmp_path / str(code)).mkdir()
        job = Job(tmp_path / str(code), json_format.render(sample), code)
        got, said = job.run("check", fail_on=fail_on, require="torch>=2.5\n\n  cuda>=1; rm -rf $HOME\n", python=".venv")
        assert got == ended, said
        first = job.read("calls").splitlines()[0]
        assert ("--strict" in first) == (fail_on in ("warning", "any"))
        assert "--python .venv --require torch>=2.5 --require cuda>=1; rm -rf $HOME" in first
        assert f"verdict={sample.verdict}" in job.read("output")
        assert f"exit-code={code}" in job.read("output")
        assert "::error::annotated" in said


@posix
@pytest.mark.parametrize(
    ("answer", "posted"),
    [
        ({"action": "create", "comment_id": None, "body": "hello `$(x)`", "labels": ["env"], "verdict": "faulty"},
         ["repos/a/b/issues/7/comments --input -", "repos/a/b/issues/7/labels --input -"]),
        ({"action": "update", "comment_id": 5, "body": "b", "labels": [], "verdict": "unknown"},
         ["-X PATCH repos/a/b/issues/comments/5 --input -"]),
        ({"action": "none", "reason": "it is a pull request", "labels": [], "verdict": None}, []),
    ],
)  # fmt: skip
def test_triage_posts_the_answer_alone(tmp_path: Path, answer: dict, posted: list[str]) -> None:
    job = Job(tmp_path, json.dumps(answer), 0)
    (tmp_path / "event.json").write_text(json.dumps({"issue": {"number": 7, "body": "$(touch pwned) @all"}}))
    code, said = job.run("triage")
    assert code == 0, said
    calls = [line for line in job.read("calls").splitlines() if "--input" in line]
    assert [call.removeprefix("gh api --silent ") for call in calls] == posted
    assert ("hello `$(x)`" in job.read("posted")) == (answer["action"] == "create")
    assert "@all" not in job.read("posted")


@posix
def test_wrong_inputs_are_one_line(tmp_path: Path) -> None:
    job = Job(tmp_path, "{}", 0)
    assert job.run("check", fail_on="sometimes")[0] == 2
    assert job.run("other")[0] == 2


# ---- all of it, with the real torchdoctor


@pytest.fixture(scope="module")
def fetched(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a runner fetches for `uses: …/torchdoctor/.github/actions/torchdoctor@v1`: the action's folder in it."""
    there = tmp_path_factory.mktemp("_actions") / "owner/torchdoctor/v1"
    for path in tracked_files():
        inside = path.relative_to(ROOT)
        if path.is_file() and (inside.parts[0] not in ("tests", "docs") or inside.name == "torchdoctor.1"):
            (there / inside).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, there / inside)
    return there / ACTION.relative_to(ROOT)


class Runner:
    """A job on a machine without a network, whose Python has no torch."""

    def __init__(self, fetched: Path, folder: Path) -> None:
        self.fetched, self.folder, self.workspace = fetched, folder, folder / "work"
        self.temporary = fetched.parents[2] / "_temp"  # one for all tests: an earlier step may have installed it
        for path in (self.workspace, self.temporary):
            path.mkdir(exist_ok=True)
        program(folder / "bin/gh", GH)
        for name in ("python", "python3"):
            program(folder / "bin" / name, f"#!/bin/sh\nexec '{sys.executable}' \"$@\"\n")
        libraries = next(path for path in sys.path if path.endswith("site-packages"))
        self.environ = {
            **variables(folder / "bin"), "STUB": str(folder), "GITHUB_REPOSITORY": "a/b",
            "GITHUB_EVENT_PATH": str(folder / "event.json"),
            # Dependencies come from where the tests have them; torchdoctor itself is built and installed.
            "PYTHONPATH": libraries, "PIP_NO_INDEX": "1", "PIP_NO_DEPS": "1", "PIP_NO_BUILD_ISOLATION": "0",
        }  # fmt: skip

    def run(self, **inputs: str) -> Composite:
        (self.temporary / "summary.md").unlink(missing_ok=True)
        action = Composite(self.fetched, self.workspace, self.temporary, self.environ)
        action.run(**inputs)
        return action

    def read(self, name: str) -> str:
        path = self.folder / name
        return path.read_text() if path.exists() else ""


@posix
@pytest.mark.slow
def test_it_runs_as_a_runner_runs_it(fetched: Path, tmp_path: Path) -> None:
    runner = Runner(fetched, tmp_path)
    (runner.workspace / "requirements.txt").write_text("numpy\ntorch==2.6.0\n")
    first = runner.run(python=sys.executable, require="python>=3.10\npython>=99", sarif="out.sarif")
    assert [step.name for step in first.steps] == ["Install torchdoctor", "torchdoctor", "Keep the report"]
    assert first.steps[0].code == 0, first.said
    assert first.failed, first.said
    assert first.outputs["verdict"] == "faulty"
    assert first.outputs["exit-code"] == "1"
    report = json.loads(Path(first.outputs["report"]).read_text())
    assert {"torch-missing", "requirement-unmet"} <= {f["id"] for f in report["findings"]}
    assert report["tool"].startswith("torchdoctor ")
    assert "::error file=requirements.txt,line=2,title=torchdoctor torch-missing::" in first.said
    assert "requirement-unmet" in first.summary
    assert live_commands(first.said, ours=True) == []
    assert json.loads((runner.workspace / "out.sarif").read_text())["version"] == "2.1.0"
    assert first.steps[-1].uses.startswith("actions/upload-artifact@")
    assert first.steps[-1].given["path"] == first.outputs["report"]

    never = runner.run(python=sys.executable, fail_on="never", artifact="")
    assert (never.failed, never.outputs["exit-code"]) == (False, "1")
    assert [step.name for step in never.steps] == ["Install torchdoctor", "torchdoctor"]
    wrong = runner.run(require="torch is nice")
    assert wrong.failed
    assert "is no requirement such as" in wrong.said
    assert wrong.outputs["verdict"] == ""


@posix
@pytest.mark.slow
def test_it_answers_an_issue_as_a_runner_runs_it(fetched: Path, tmp_path: Path) -> None:
    runner = Runner(fetched, tmp_path)
    body = collect_env("2.6.0+cu124", driver="470.256.02", available="False") + "\n@all $(touch pwned) ::error::x\n"
    issue = {"number": 7, "title": "no GPU", "body": body, "user": {"login": "x", "type": "User"}, "labels": []}
    (tmp_path / "event.json").write_text(json.dumps({"action": "opened", "issue": issue}))
    (runner.workspace / "labels.json").write_text(json.dumps({"layers": {"driver": ["topic: driver"]}}))
    first = runner.run(mode="triage", labels="labels.json", artifact="")
    assert not first.failed, first.said
    assert first.outputs["verdict"] == "faulty"
    posted = [json.loads(line) for line in json_values(runner.read("posted"))]
    assert posted[1] == {"labels": ["topic: driver"]}
    assert "nvidia-driver-too-old" in posted[0]["body"]
    assert "@all" not in posted[0]["body"]
    assert not list(tmp_path.rglob("pwned"))
    assert live_commands(first.said) == []

    # The same issue again: nothing to say. Edited: the comment is edited, not repeated.
    comment = {"id": 41, "body": posted[0]["body"], "user": {"login": "github-actions[bot]", "type": "Bot"}}
    (tmp_path / "comments.json").write_text(json.dumps([[comment]]))
    (tmp_path / "posted").unlink()
    assert not runner.run(mode="triage").failed
    assert runner.read("posted") == ""
    fixed = collect_env("2.6.0+cu124", available="False")
    (tmp_path / "event.json").write_text(json.dumps({"action": "edited", "issue": {**issue, "body": fixed}}))
    assert not runner.run(mode="triage").failed
    assert "-X PATCH repos/a/b/issues/comments/41 --input -" in runner.read("calls")


def json_values(text: str) -> list[str]:
    """The JSON values that stand one after the other."""
    decoder, found = json.JSONDecoder(), []
    while text := text.lstrip():
        end = decoder.raw_decode(text)[1]
        found.append(text[:end])
        text = text[end:]
    return found


@posix
@pytest.mark.parametrize(("login", "own"), [("robot", "robot"), ("", "")])
def test_who_comments_is_asked(tmp_path: Path, login: str, own: str) -> None:
    """With the token of a user, our comment is that user's, and no bot's."""
    job = Job(tmp_path, json.dumps({"action": "none", "reason": "x", "labels": [], "verdict": None}), 0)
    (tmp_path / "event.json").write_text(json.dumps({"issue": {"number": 7, "body": "x"}}))
    job.environ["LOGIN"] = login
    assert job.run("triage")[0] == 0
    asked = next(line for line in job.read("calls").splitlines() if line.startswith("triage"))
    assert (f"--login {own}" in asked) == bool(own)
