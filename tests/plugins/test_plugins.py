"""Plugins: the example of the docs, installed, by the installed command; and what bad ones can do (nothing)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from doctor.model.finding import Evidence, Finding, Remedy
from doctor.model.request import Request
from doctor.plugins.installed import Installed
from doctor.plugins.merge import merged
from doctor.plugins.run import Ran, ask, describe
from tests.reports.samples import FAULTY, HEALTHY, UNEXPLAINED
from tests.tickets import WORKING

ROOT = Path(__file__).parents[2]
LICENCE = "ACME-LIC-17: no answer from lic7.acme.example\n"


@pytest.fixture(scope="module")
def beside(tmp_path_factory) -> Path:
    """A folder with the example plugin, installed by pip."""
    folder = tmp_path_factory.mktemp("beside")
    source = tmp_path_factory.mktemp("source") / "plugin"
    source.mkdir()
    for name in ("pyproject.toml", "acme_torchdoctor.py"):
        (source / name).write_text((ROOT / "docs/example-plugin" / name).read_text(encoding="utf-8"), encoding="utf-8")
    argv = [sys.executable, "-m", "uv", "pip", "install", "--quiet", "--offline", "--no-build-isolation", "--no-deps",
            "--python", sys.executable, "--target", str(folder), str(source)]  # fmt: skip
    done = subprocess.run(argv, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return folder


def command(beside: Path, *argv: str, text: str = "") -> tuple[int, str, str]:
    environ = {**os.environ, "PYTHONPATH": str(beside)}
    done = subprocess.run([sys.executable, "-m", "doctor", *argv], input=text, capture_output=True, text=True,
                          timeout=120, check=False, env=environ, cwd=beside)  # fmt: skip
    return done.returncode, done.stdout, done.stderr


def checked(beside: Path, *argv: str, text: str) -> tuple[int, dict]:
    code, out, error = command(beside, "check", "--from", "-", "--json", "-q", *argv, text=text)
    return code, json.loads(out or json.dumps({"error": error}))


def test_the_example_runs_when_it_is_installed_beside(beside: Path) -> None:
    code, report = checked(beside, text=WORKING)
    (run,) = report["plugins"]
    said = (run["name"], run["distribution"], run["version"], run["status"])
    assert said == ("acme", "torchdoctor-acme", "1.2", "ok")
    assert run["checks"] == ["acme/driver-retired", "acme/licence-server-down"]
    assert (run["messages"], run["tables"]) == (["no-licence"], ["drivers 2026-11-01"])
    found = {f["id"]: f for f in report["findings"]}["acme/driver-retired"]
    assert (found["severity"], found["detail"]) == ("warning", "Driver 550.54.15 was supported until 2026-06-30.")
    assert {o["id"]: o["status"] for o in report["outcomes"]}["acme/licence-server-down"] == "skipped"
    assert "acme/driver-retired" in [fix["finding"] for fix in report["plan"]["fixes"]]
    assert code == 0


def test_its_messages_are_recognised_and_its_fault_counts(beside: Path) -> None:
    code, report = checked(beside, text=WORKING + LICENCE)
    found = {f["id"]: f for f in report["findings"]}["acme/licence-server-down"]
    assert found["evidence"][0]["source"] == "stdin, line 9"
    assert (code, report["verdict"]) == (1, "faulty")


def test_named_or_not_at_all(beside: Path) -> None:
    assert checked(beside, "--no-plugins", text=WORKING)[1]["plugins"] == []
    assert checked(beside, "--only", "gpu-hidden", text=WORKING)[1]["plugins"] == []
    assert [p["name"] for p in checked(beside, "--plugin", "acme", text=WORKING)[1]["plugins"]] == ["acme"]
    code, _, error = command(beside, "check", "--from", "-", "--plugin", "other", text=WORKING)
    assert (code, "there is no plugin 'other'; installed: acme." in error) == (2, True)
    assert command(beside, "check", "--plugin", "acme", "--no-plugins")[0] == 2


def test_the_rest_of_the_report_is_as_without_it(beside: Path) -> None:
    for text in (WORKING, WORKING.replace("550.54.15", "440.33").replace("available: True", "available: False")):
        with_it, without = checked(beside, text=text)[1], checked(beside, "--no-plugins", text=text)[1]
        for name in ("findings", "outcomes"):
            assert [x for x in with_it[name] if "/" not in x["id"]] == without[name]
        assert with_it["verdict"] == without["verdict"]
        assert [f for f in with_it["plan"]["fixes"] if "/" not in f["finding"]] == without["plan"]["fixes"]


def test_explain_and_the_terminal_know_it(beside: Path) -> None:
    code, out, _ = command(beside, "explain", "acme/driver-retired")
    assert (code, "playbook gpu-driver" in out) == (0, True)
    assert command(beside, "explain", "acme/other")[0] == 2
    out = command(beside, "check", "--from", "-", text=WORKING)[1]
    assert "plugins" in out
    assert "acme 1.2 (2 checks)" in out


# ---- bad ones

BAD = {
    "raises when imported": "raise RuntimeError('broken')",
    "is no plugin": "plugin = 42",
    "has no such name": "other = 1",
    "ends the process": "import os\nos._exit(0)",
    "exits": "raise SystemExit(0)",
    "crashes": "import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)",
    "speaks without end": "while True: print('x' * 10_000)",
    "answers itself": "import os\nos.write(1, b'{\"findings\": []}')\nraise ValueError('no')",
    "an id of the catalogue": (
        "from doctor.plugin import *\nc = Check(id='gpu-hidden', layer='driver', severity='fault', title='A.')\n"
        "c.judge = lambda facts: Finding(id='torch-missing', layer='torch', severity='fault', title='A.', detail='')\n"
        "plugin = Plugin(checks=(c,))"
    ),
    "a layer of its own": (
        "from doctor.plugin import *\nc = Check(id='a', layer='soul', severity='fault', title='A.')\n"
        "c.judge = lambda facts: None\nplugin = Plugin(checks=(c,))"
    ),
    "an action of its own": (
        "from doctor.plugin import *\nc = Check(id='a', layer='run', severity='fault', title='A.')\n"
        "c.judge = lambda facts: c.found(facts, 'x', remedies=(Remedy(action='rm -rf'),))\nplugin = Plugin(checks=(c,))"
    ),
    "no severity": (
        "from doctor.plugin import *\nc = Check(id='a', layer='run', severity='doom', title='A.')\n"
        "c.judge = lambda facts: c.found(facts, 'x')\nplugin = Plugin(checks=(c,))"
    ),
}
HANGS = "import time\nwhile True: time.sleep(1)"
RAISES_IN_A_CHECK = (
    "from doctor.plugin import *\n"
    "a = Check(id='a', layer='run', severity='fault', title='A.')\na.judge = lambda facts: 1 / 0\n"
    "b = Check(id='b', layer='run', severity='note', title='B.')\n"
    "b.judge = lambda facts: [b.found(facts, 'x' * 10_000_000)] * 1000\nplugin = Plugin(checks=(a, b))"
)


@pytest.fixture
def made(tmp_path: Path, monkeypatch) -> Iterator:
    def make(code: str) -> Installed:
        (tmp_path / "bad_plugin.py").write_text(code)
        monkeypatch.setenv("PYTHONPATH", str(tmp_path))
        return Installed("bad", "bad_plugin:plugin", "torchdoctor-bad", "0")

    return make


@pytest.mark.parametrize("name", BAD)
def test_a_bad_plugin_is_a_gap(name: str, made) -> None:
    ran = ask([made(BAD[name])], FAULTY.facts, limit_s=30)
    assert (ran.findings, ran.outcomes) == ((), ())
    assert [(gap.fact, gap.reason) for gap in ran.gaps] == [("plugins.bad", "crashed")]
    assert (ran.runs[0].status, bool(ran.runs[0].reason)) == ("failed", True)
    after = merged(HEALTHY, ran, Request())
    assert (after.verdict, after.findings, after.is_open) == (HEALTHY.verdict, HEALTHY.findings, False)


@pytest.mark.slow
def test_one_that_hangs_is_a_gap(made) -> None:
    ran = ask([made(HANGS)], FAULTY.facts, limit_s=1)
    assert [(gap.fact, gap.reason) for gap in ran.gaps] == [("plugins.bad", "timed-out")]
    assert merged(UNEXPLAINED, ran, Request()).verdict == UNEXPLAINED.verdict


def test_a_check_that_raises_is_crashed_and_texts_are_bounded(made) -> None:
    ran = ask([made(RAISES_IN_A_CHECK.replace("10_000_000", "3_000"))], FAULTY.facts, limit_s=30)
    assert {o.id: o.status for o in ran.outcomes} == {"bad/a": "crashed", "bad/b": "found"}
    assert (len(ran.findings), len(ran.findings[0].detail)) == (50, 2000)
    assert ask([made(RAISES_IN_A_CHECK)], FAULTY.facts, limit_s=60).runs[0].status == "failed"  # 10 GB are no answer


def test_a_file_in_this_folder_is_not_the_plugins_library(made, tmp_path: Path, monkeypatch) -> None:
    (tmp_path / "here").mkdir()
    (tmp_path / "here/json.py").write_text("raise RuntimeError('shadow')")
    monkeypatch.chdir(tmp_path / "here")
    assert describe(made("from doctor.plugin import *\nplugin = Plugin(checks=())")).checks == ()


FAULT = Finding(id="acme/x", layer="run", severity="fault", title="X.", detail="x",
                remedies=(Remedy(action="install-torch", details={"torch": "==1.0"}),))  # fmt: skip


def test_a_fault_makes_it_faulty_and_nothing_makes_it_healthy() -> None:
    assert merged(HEALTHY, Ran(findings=(FAULT,)), Request()).verdict == "faulty"
    quoted = Evidence(fact="message", value="", quote=UNEXPLAINED.symptoms[0].text)
    note = replace(FAULT, severity="note", evidence=(quoted,))
    after = merged(UNEXPLAINED, Ran(findings=(note,)), Request())
    assert (after.verdict, after.unproven, after.symptoms) == ("unknown", UNEXPLAINED.unproven, UNEXPLAINED.symptoms)
    explained = merged(UNEXPLAINED, Ran(findings=(replace(note, severity="fault"),)), Request())
    assert explained.symptoms[0].explained_by == "acme/x"


def test_its_remedies_do_not_touch_the_fixes_of_others() -> None:
    after = merged(FAULTY, Ran(findings=(FAULT,)), Request())
    assert after.plan.fixes[: len(FAULTY.plan.fixes)] == FAULTY.plan.fixes
    assert [f.id for f in after.findings if f.id != "acme/x"] == [f.id for f in FAULTY.findings]
