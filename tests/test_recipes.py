"""docs/recipes.md, the GitHub Action and the pre-commit hook: read by the parsers of their readers, and run."""

from __future__ import annotations

import configparser
import io
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import click
import pytest
import yaml
from dockerfile_parse import DockerfileParser

from doctor.cli.main import cli

ROOT = Path(__file__).parents[1]
ACTION = ROOT / ".github/actions/torchdoctor"
TEXT = (ROOT / "docs/recipes.md").read_text(encoding="utf-8")
BLOCKS = {
    match[3].strip("# ").strip(): (match[1], match[2])
    for match in re.finditer(r"^```(\w+)\n((?:#![^\n]*\n)?(# \S[^\n]*)\n.*?)^```$", TEXT, re.M | re.DOTALL)
}
PROLOG = BLOCKS["/etc/slurm/prolog.d/50-torchdoctor.sh"][1]
COMMAND = re.compile(r"(?:/opt/torchdoctor/bin/)?torchdoctor (?:check|fleet|triage)\b.*")
posix = pytest.mark.skipif(sys.platform == "win32", reason="a shell script")


def validated(schema: str, file: Path) -> None:
    argv = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", schema, str(file)]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def accepted(words: list[str]) -> None:
    """The command line is one that click takes; nothing is run."""
    name, *options = words[words.index(next(w for w in words if w.endswith("torchdoctor"))) + 1 :]
    command = cli.get_command(click.Context(cli), name)
    assert command is not None
    for word in ("-o", "--output"):  # its folder need not be here
        if word in options:
            at = options.index(word)
            del options[at : at + 2]
    for at, word in enumerate(options):
        if word == "--from":
            options[at + 1] = os.devnull
    with command.make_context(name, options, resilient_parsing=False):
        pass


def test_all_blocks_are_known() -> None:
    assert sorted(name.rpartition("/")[2] for name in BLOCKS) == sorted([
        "torch.yml", "triage.yml", ".pre-commit-config.yaml", ".gitlab-ci.yml", "Dockerfile", "torchdoctor.service",
        "torchdoctor.timer", "50-torchdoctor.sh", "pod.yaml",
    ])  # fmt: skip
    assert len(re.findall(r"^```\w", TEXT, re.M)) == len(BLOCKS)


@pytest.mark.parametrize(
    ("name", "schema"),
    [(".github/workflows/torch.yml", "vendor.github-workflows"),
     (".github/workflows/triage.yml", "vendor.github-workflows"), (".gitlab-ci.yml", "vendor.gitlab-ci")],
)  # fmt: skip
def test_ci_files(tmp_path: Path, name: str, schema: str) -> None:
    file = tmp_path / "file.yml"
    file.write_text(BLOCKS[name][1])
    validated(schema, file)


def test_the_workflows_use_the_action_as_it_is() -> None:
    action = yaml.safe_load((ACTION / "action.yml").read_text())
    for name in (".github/workflows/torch.yml", ".github/workflows/triage.yml"):
        steps = [s for job in yaml.safe_load(BLOCKS[name][1])["jobs"].values() for s in job["steps"]]
        ours = [s for s in steps if "torchdoctor" in s.get("uses", "")]
        place = "OWNER/torchdoctor/" + ACTION.relative_to(ROOT).as_posix()
        assert [s["uses"].partition("@")[0] for s in ours] == [place]
        assert set(ours[0]["with"]) <= set(action["inputs"])


def test_a_placeholder_is_said_to_be_one() -> None:
    """Nobody copies a line with OWNER in it unaware, and nothing is installed from a name that is nowhere to be had."""
    assert TEXT.index("**Replace `OWNER` and `v1`**") < TEXT.index("OWNER/")
    fleet = (ROOT / "docs/fleet.md").read_text(encoding="utf-8")
    assert "OWNER" not in fleet or "Replace `OWNER`" in fleet
    for text in (TEXT, fleet, (ROOT / "README.md").read_text(encoding="utf-8")):
        assert not re.search(r"(?:pip|pipx|uv tool) (?:install|run)(?: --?[\w-]+)* torchdoctor\b(?!` replaces)", text)


def test_every_command_is_one() -> None:
    found = 0
    for language, text in BLOCKS.values():
        if language == "yaml" and "initContainers" in text:
            container = yaml.safe_load(text)["spec"]["initContainers"][0]
            accepted([*container["command"], *container["args"]])
            found += 1
        for match in COMMAND.finditer(text.replace("\\\n", " ")):
            words = match[0].split() if language == "ini" else shlex.split(match[0], comments=False)
            end = next((at for at, word in enumerate(words) if re.match(r"\d?>|&&|\|\|", word)), len(words))
            accepted(words[:end])
            found += 1
    assert found >= 7


def test_dockerfile(tmp_path: Path) -> None:
    parser = DockerfileParser(fileobj=io.BytesIO(BLOCKS["Dockerfile"][1].encode()))
    instructions = [(one["instruction"], one["value"]) for one in parser.structure]
    assert parser.baseimage == "python:3.12-slim"
    health = next(value for name, value in instructions if name == "HEALTHCHECK")
    assert health.endswith("|| exit 1")  # Docker reserves 2 and knows no 3
    assert {name for name, _ in instructions} <= {"FROM", "RUN", "HEALTHCHECK", "CMD", "COMMENT"}


def test_systemd_units(tmp_path: Path) -> None:
    for name in ("torchdoctor.service", "torchdoctor.timer"):
        text = BLOCKS[f"/etc/systemd/system/{name}"][1]
        parser = configparser.ConfigParser(interpolation=None, strict=True)
        parser.optionxform = str  # type: ignore[assignment]
        parser.read_string(text)
        assert "Unit" in parser
        (tmp_path / name).write_text(text)
    assert parser["Timer"]["OnCalendar"]


@posix
@pytest.mark.parametrize("name", ["docs", "run.sh"])
def test_shell_scripts(tmp_path: Path, name: str) -> None:
    file = tmp_path / "script.sh"
    file.write_text(PROLOG if name == "docs" else (ACTION / name).read_text())
    argv = [Path(sys.executable).parent / "shellcheck", file]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout


@posix
@pytest.mark.parametrize(("code", "ended"), [(0, 0), (1, 1), (2, 0), (3, 0), (70, 0)])
def test_the_prolog_fails_for_a_fault_alone(tmp_path: Path, code: int, ended: int) -> None:
    stub = tmp_path / "torchdoctor"
    stub.write_text(f"#!/bin/sh\nexit {code}\n")
    stub.chmod(0o755)
    script = PROLOG.replace("/opt/torchdoctor/bin/torchdoctor", str(stub))
    for environ, expected in (({"SLURM_JOB_GPUS": "0"}, ended), ({}, 0)):
        done = subprocess.run(["sh", "-c", script], env={"PATH": os.environ["PATH"], **environ}, capture_output=True,
                              timeout=60, check=False)  # fmt: skip
        assert done.returncode == expected


def test_the_hook_is_valid() -> None:
    argv = [sys.executable, "-m", "pre_commit", "validate-manifest", str(ROOT / ".pre-commit-hooks.yaml")]
    assert subprocess.run(argv, timeout=120, check=False).returncode == 0
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    used = yaml.safe_load(BLOCKS[".pre-commit-config.yaml"][1])["repos"][0]["hooks"][0]
    assert used["id"] == hook["id"]
    accepted([*shlex.split(hook["entry"]), *used["args"]])
    files = re.compile(hook["files"])
    for name in ("requirements.txt", "a/requirements-gpu.txt", "pyproject.toml", "docker/Dockerfile", "env.Dockerfile"):
        assert files.search(name), name
    assert not files.search("train.py")
