"""`torchdoctor help`: the help of a command, or what holds for all of them."""

from __future__ import annotations

import click

from doctor.cli import output
from doctor.cli.topics import TOPICS


@click.command()
@click.argument("topic", required=False, metavar="[COMMAND|TOPIC]")
def command(topic: str | None) -> int:
    """Help on a command, or on what holds for all: exit-codes, environment, formats, requirements.

    `torchdoctor help skill` prints a SKILL.md, which tells agent tools how to use torchdoctor.
    """
    from doctor.cli.main import cli

    root = click.get_current_context().find_root()
    if topic is None:
        output.emit(cli.get_help(root) + "\n")
    elif topic == "skill":
        output.emit(_skill())
    elif topic in TOPICS:
        output.emit(_page(topic))
    elif (named := cli.get_command(root, topic)) is not None:
        with click.Context(named, info_name=topic, parent=root) as context:
            output.emit(named.get_help(context) + "\n")
    else:
        from difflib import get_close_matches

        near = get_close_matches(topic, (*cli.list_commands(root), *TOPICS), 1)
        raise click.UsageError(
            f"there is no command or topic '{topic}'. "
            + (f"Did you mean '{near[0]}'?" if near else f"Topics: {', '.join(TOPICS)}.")
        )
    return 0


def _skill() -> str:
    from importlib.resources import files

    return files("doctor").joinpath("skills/torchdoctor/SKILL.md").read_text(encoding="utf-8")


def _page(topic: str) -> str:
    formatter = click.HelpFormatter(width=output.width())
    formatter.write_text(TOPICS[topic].title)
    formatter.write_paragraph()
    with formatter.indentation():
        formatter.write_dl(TOPICS[topic].rows, col_max=26)
    return formatter.getvalue()
