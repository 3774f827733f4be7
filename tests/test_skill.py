"""SKILL.md, as agent tools read it (agentskills.io/specification): its head, and that every command in it is one."""

from __future__ import annotations

import re
import shlex

import click
import pytest
import yaml

from doctor.cli.main import cli, run
from tests.test_laws import ROOT

FILE = ROOT / "doctor/skills/torchdoctor/SKILL.md"
TEXT = FILE.read_text(encoding="utf-8")
COMMANDS = [line.partition("#")[0].strip() for line in re.findall(r"^torchdoctor .*$", TEXT, re.M)]


def test_its_head() -> None:
    _, head, body = TEXT.split("---\n", 2)
    said = yaml.safe_load(head)
    assert set(said) <= {"name", "description", "license", "compatibility", "metadata", "allowed-tools"}
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", said["name"])
    assert said["name"] == FILE.parent.name
    assert 100 < len(said["description"]) <= 1024
    assert len(said["compatibility"]) <= 500
    assert len(body.splitlines()) < 500


@pytest.mark.parametrize("line", COMMANDS)
def test_every_command_is_one(line: str, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("ticket.txt", "facts.json"):
        (tmp_path / name).write_text('{"schema": "facts-1", "facts": []}')
    _, name, *options = shlex.split(line)
    command = cli.get_command(click.Context(cli), name)
    assert command is not None
    with command.make_context(name, options):
        pass


def test_there_are_commands() -> None:
    assert len(COMMANDS) >= 9


def test_what_it_names_in_a_report_is_there() -> None:
    from doctor.reports.json import schema

    defined = schema()
    fields = {name for kind in defined["$defs"].values() for name in kind.get("properties", {})}
    for name in ("verdict", "unproven", "questions", "findings", "severity", "root", "explained_by", "confidence",
                 "needs_root", "needs_reboot", "downloads_mb", "alternatives", "argv", "plan", "fixes"):  # fmt: skip
        assert name in fields, name
        assert name in TEXT, name


def test_help_prints_it(capsys) -> None:
    assert run(["help", "skill"]) == 0
    assert capsys.readouterr().out == TEXT
