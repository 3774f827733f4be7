"""`torchdoctor install`: the torch build for this machine, why this one, and the commands that install it."""

from __future__ import annotations

import re
from typing import Any

import click

from doctor.cli import output
from doctor.cli.codes import FAULT
from doctor.cli.fix import tool_option
from doctor.cli.options import machine_options, machines_of, read_all, request_from
from doctor.cli.progress import watching
from doctor.model.facts import Facts
from doctor.model.fix import Fix, Plan

_BACKEND = re.compile(r"auto|cpu|mps|xpu|jetson|cuda|rocm|cu\d{2,3}|rocm\d+\.\d+(\.\d+)?")


def _specifier(context: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
    if value is None:
        return None
    from packaging.specifiers import InvalidSpecifier, SpecifierSet

    text = value.removeprefix("torch").strip()
    text = text if not text or text[0] in "<>=!~" else f"=={text}"
    try:
        SpecifierSet(text)
    except InvalidSpecifier:
        raise click.BadParameter(f"'{value}' is no version such as 2.6.0 or specifier such as '>=2.4,<2.7'.") from None
    return text or None


def _backend(context: click.Context, parameter: click.Parameter, value: str) -> str | None:
    if not _BACKEND.fullmatch(value):
        raise click.BadParameter(f"'{value}' is not a backend such as auto, cpu, cu130, rocm7.2, xpu.")
    return None if value == "auto" else value


@click.command()
@click.option(
    "--torch", "spec", metavar="SPEC", callback=_specifier, help="A version or specifier: 2.6.0, '>=2.4,<2.7'."
)
@click.option(
    "--with",
    "companions",
    multiple=True,
    metavar="PACKAGE",
    type=click.Choice(("torchvision", "torchaudio", "torchtext")),
    help="Also this package (repeatable).",
)
@click.option(
    "--backend", default="auto", show_default=True, callback=_backend, help="auto, cpu, cu130, rocm7.2, xpu, …"
)
@click.option("--print-commands", is_flag=True, help="Only the commands, with manual steps as comments.")
@tool_option
@machine_options(formats=(), probes=False)
def command(
    spec: str | None, companions: tuple[str, ...], backend: str | None, print_commands: bool, **options: Any
) -> int:  # fmt: skip
    """Choose the torch build for this machine, and say why and how to install it.

    \b
    Exit codes: 0 a build serves this machine, 1 none does (what would help is said),
    2 wrong usage, 70 a bug in torchdoctor. Nothing is changed.
    """
    facts = _facts(options)
    fix, lines = advise(facts, spec=spec, backend=backend, companions=companions, tool=options["tool"])
    windows = facts.host.system == "windows"
    from doctor.fixes.plan import script

    commands = script(Plan(fixes=(fix,)), windows=windows) if fix else ""
    if print_commands:
        output.emit(commands or "".join(f"# {line}\n" for line in lines))
    else:
        output.emit(_page(lines, commands))
    return 0 if fix and fix.action.endswith("-torch") else FAULT


def _facts(options: dict[str, Any]) -> Facts:
    from doctor import pipeline

    if machines_of(options["sources"]).each_alone:
        raise click.UsageError("a build is chosen for one machine: name its files, not a folder.")
    request = request_from(**{**options, "no_probe": True, "evidence": read_all(options["sources"])})
    if request.evidence:
        return pipeline.read_evidence(request)[1]
    with watching(quiet=options["quiet"]) as progress:
        return pipeline.look_at_machine(request, progress)[1]


def advise(
    facts: Facts, *, spec: str | None, backend: str | None, companions: tuple[str, ...], tool: str | None
) -> tuple[Fix | None, list[str]]:
    """The fix that installs the best build (or what would help, where none serves), and the lines that say why."""
    from doctor.fixes.situation import situation_of
    from doctor.fixes.torch import fix_of_build, installed_companions, name_of, nearest_fix
    from doctor.knowledge.choose import choose

    situation = situation_of(facts, tool)
    names = tuple(dict.fromkeys((*companions, *installed_companions(facts))))
    choice = choose(facts, torch=spec, backend=backend, companions=names)
    best = choice.best
    if best:
        lines = [f"{name_of(best)} serves this machine"]
        lines += [f"  + {reason}" for reason in best.reasons] + [f"  - {reason}" for reason in best.against]
        fix: Fix | None = fix_of_build(situation, "install", "reinstall-torch", best, choice.assumes, exact=bool(spec))
    else:
        lines = ["no torch build serves this machine as it is"]
        fixes = (nearest_fix(situation, "install", near) for near in choice.nearest)
        fix = next((f for f in fixes if f), None)
    lines += [f"  ? {near.text}" for near in choice.nearest]
    lines += [f"next to it {name_of(other)}: {other.behind}" for other in choice.builds[1:2]]
    for other in choice.rejected:
        lines.append(f"not {name_of(other)}: {other.against[0] if other.against else 'it serves fewer of the GPUs'}")
    lines += [f"assumed: {text}" for text in choice.assumes]
    return fix, lines


def _page(lines: list[str], commands: str) -> str:
    from doctor.reports.text import safe

    text = "".join(f"{safe(line)}\n" for line in lines)
    shown = "".join(f"  {line}\n" for line in commands.splitlines())
    return text + (f"\n{shown}" if shown else "")
