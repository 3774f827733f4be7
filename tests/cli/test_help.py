"""`help`, `completion`, the manual page: what they say, in real shells where they are installed."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from doctor.checks import all_checks
from doctor.cli.completion import SHELLS
from doctor.cli.main import COMMANDS, run
from doctor.cli.options import FORMATS
from doctor.cli.topics import TOPICS
from scripts import man_page

VARIABLE = "_TORCHDOCTOR_COMPLETE"


@pytest.mark.parametrize("topic", TOPICS)
def test_a_topic_fits_80_columns(topic: str, capsys, monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert run(["help", topic]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    assert all(any(term in line for line in lines) for term, _ in TOPICS[topic].rows)


def test_the_topic_of_formats_names_all_of_them() -> None:
    assert [term for term, _ in TOPICS["formats"].rows] == list(FORMATS)


@pytest.mark.parametrize("name", [name for name, _, _ in COMMANDS])
def test_help_of_a_command_is_its_own(name: str, capsys) -> None:
    assert run(["help", name]) == 0
    asked = capsys.readouterr().out
    assert run([name, "--help"]) == 0
    assert asked.rstrip() == capsys.readouterr().out.rstrip()


@pytest.mark.parametrize("name", ["", *(name for name, _, _ in COMMANDS)])
def test_help_fits_80_columns(name: str, capsys, monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert run([*name.split(), "--help"]) == 0
    said = capsys.readouterr().out
    assert [line for line in said.splitlines() if len(line) > 80] == []
    assert name or "-h, --help" in said


def test_help_of_something_else(capsys) -> None:
    assert run(["help", "exit-code"]) == 2
    assert "Did you mean 'exit-codes'?" in capsys.readouterr().err


def completed(shell: str, monkeypatch, capsys, **environ: str) -> list[str]:
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv(VARIABLE, f"{shell}_complete")
    assert run([]) == 0
    return capsys.readouterr().out.splitlines()


@pytest.mark.parametrize(
    ("line", "word", "expected"),
    [
        ("torchdoctor ch", "ch", "check"),
        ("torchdoctor explain gpu-hi", "gpu-hi", "gpu-hidden"),
        ("torchdoctor explain mps-sdpa", "mps-sdpa", "mps-sdpa-"),
        ("torchdoctor check --only torch-mi", "torch-mi", "torch-missing"),
        ("torchdoctor check --device ", "", "mps"),
        ("torchdoctor check --stri", "--stri", "--strict"),
    ],
)
def test_powershell_is_answered(line: str, word: str, expected: str, monkeypatch, capsys) -> None:
    said = completed("powershell", monkeypatch, capsys, COMP_WORDS=line, COMP_WORD=word)
    assert any(one.startswith(expected) for one in said)
    assert all("\t" in one for one in said)


def test_every_shell_has_a_script(capsys) -> None:
    for shell in SHELLS:
        assert run(["completion", shell]) == 0
        assert VARIABLE in capsys.readouterr().out


def on_path(folder: Path) -> dict[str, str]:
    """The variables of a shell that finds this torchdoctor."""
    (folder / "torchdoctor").write_text(f'#!/bin/sh\nexec {sys.executable} -m doctor "$@"\n')
    (folder / "torchdoctor").chmod(0o755)
    return {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"}


@pytest.mark.skipif(not shutil.which("bash"), reason="no bash")
def test_bash_completes(tmp_path: Path) -> None:
    script = """
    eval "$(torchdoctor completion bash)"
    COMP_WORDS=(torchdoctor explain no-matching) COMP_CWORD=2
    _torchdoctor_completion torchdoctor
    printf '%s\\n' "${COMPREPLY[@]}"
    """
    environ = on_path(tmp_path)
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, env=environ, timeout=120, check=True)
    assert done.stdout.split() == [c.id for c in all_checks() if c.id.startswith("no-matching")]


@pytest.mark.skipif(not shutil.which("fish"), reason="no fish")
@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("ch", ["check"]),
        ("explain no-matching", [c.id for c in all_checks() if c.id.startswith("no-matching")]),
        ("check --device ", ["cpu", "cuda", "mps", "xpu"]),
        ("check --format ", sorted(FORMATS)),
    ],
)
def test_fish_completes(tmp_path: Path, line: str, words: list[str]) -> None:
    script = f"torchdoctor completion fish | source; complete -C 'torchdoctor {line}'"
    environ = {**on_path(tmp_path), "HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path)}
    done = subprocess.run(["fish", "-c", script], capture_output=True, text=True, env=environ, timeout=120, check=True)
    assert [one.split("\t")[0] for one in done.stdout.splitlines()] == words


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("zsh"), reason="no zsh")
def test_zsh_completes(tmp_path: Path) -> None:
    """In a terminal: zsh completes nowhere else."""
    pexpect = pytest.importorskip("pexpect")
    environ = {**on_path(tmp_path), "HOME": str(tmp_path), "TERM": "dumb"}
    shell = pexpect.spawn("zsh", ["-f", "-i"], encoding="utf-8", timeout=60, env=environ, dimensions=(40, 200))
    try:
        shell.sendline('autoload -Uz compinit && compinit -u; eval "$(torchdoctor completion zsh)"; echo RE""ADY')
        shell.expect("READY")
        for typed, completed in (("explain no-match", "no-matching-wheel"), ("check --only gpu-hid", "gpu-hidden")):
            shell.send(f"torchdoctor {typed}\t")
            shell.expect(completed)
            shell.send("\x15")  # the line is cleared
    finally:
        shell.close(force=True)


def test_powershell_script_is_grammatical(capsys) -> None:
    tree_sitter = pytest.importorskip("tree_sitter")
    grammar = pytest.importorskip("tree_sitter_powershell")
    assert run(["completion", "powershell"]) == 0
    parser = tree_sitter.Parser(tree_sitter.Language(grammar.language()))
    assert not parser.parse(capsys.readouterr().out.encode()).root_node.has_error


@pytest.mark.skipif(not shutil.which("groff"), reason="no groff")
def test_the_manual_page_is_set_without_a_warning(tmp_path: Path) -> None:
    page = tmp_path / "torchdoctor.1"
    page.write_text(man_page.text())
    done = subprocess.run(
        ["groff", "-man", "-Tutf8", "-ww", str(page)], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stderr == ""
    shown = re.sub(".\b", "", done.stdout)  # overstrikes
    assert "torchdoctor check" in shown
    assert "EXIT CODES" in shown
