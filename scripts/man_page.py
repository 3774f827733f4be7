"""docs/torchdoctor.1: the manual page, made of the help of each command and the topics of `torchdoctor help`."""

from __future__ import annotations

import re

import click

from doctor import __version__
from doctor.cli.main import COMMANDS, cli
from doctor.cli.topics import TOPICS


def text() -> str:
    """The page in the man macros (man(7))."""
    lines = [
        f'.TH TORCHDOCTOR 1 "" "torchdoctor {__version__}" "User Commands"',
        ".SH NAME",
        r"torchdoctor \- why PyTorch does not use this machine as it should, and how to fix it",
        ".SH SYNOPSIS",
        r".B torchdoctor",
        r".I COMMAND",
        r"[OPTIONS] [ARGUMENTS]",
        ".SH COMMANDS",
    ]
    root = click.Context(cli, info_name="torchdoctor")
    for name, _, _ in COMMANDS:
        command = cli.get_command(root, name)
        assert command is not None
        lines += _command(command, click.Context(command, info_name=name, parent=root))
    for name, topic in TOPICS.items():
        lines += [f".SH {name.upper().replace('-', ' ')}", _roff(topic.title)]
        for term, meaning in topic.rows:
            lines += [".TP", f".B {_roff(term)}", _roff(meaning)]
    return "\n".join(lines) + "\n"


def _command(command: click.Command, context: click.Context) -> list[str]:
    arguments = " ".join(piece for piece in command.collect_usage_pieces(context) if piece != "[OPTIONS]")
    lines = [f".SS torchdoctor {_roff(context.info_name or '')} {_roff(arguments)}".rstrip()]
    for paragraph in re.split(r"\n\s*\n", (command.help or "").strip()):
        verbatim = paragraph.startswith("\b")
        body = [_roff(line) for line in paragraph.removeprefix("\b").strip().splitlines()]
        lines += [".nf", *body, ".fi"] if verbatim else [*body, ".PP"]
    for parameter in command.get_params(context):
        if record := parameter.get_help_record(context):
            lines += [".TP", f".B {_roff(record[0])}", _roff(record[1])]
    return lines


def _roff(text: str) -> str:
    """One line of text in which nothing is a request or an escape."""
    text = " ".join(text.split()).replace("\\", r"\e").replace("-", r"\-")
    text = "".join(char if char.isascii() else f"\\[u{ord(char):04X}]" for char in text)
    return rf"\&{text}" if text.startswith((".", "'")) else text
