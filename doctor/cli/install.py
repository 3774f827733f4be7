"""`torchdoctor install`: the torch build for this machine, why this one, and the commands that install it, or (--run)
doing it; with --env in an environment that is made for it."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from typing import Any

import click

from doctor.cli import applying, output
from doctor.cli.codes import FAULT, NO_VERDICT
from doctor.cli.fix import refuse_idle_options, shell_option, tool_option
from doctor.cli.options import machine_options, machines_of, read_all, request_from
from doctor.cli.progress import watching
from doctor.fixes.quoting import Shell, comment, shell_of
from doctor.fixes.sources import redirected
from doctor.model.facts import Facts
from doctor.model.fix import Fix, Plan
from doctor.model.report import Report

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


def _split_local(spec: str | None, backend: str | None) -> tuple[str | None, str | None]:
    """ "2.6.0+cu124" is a version and a backend."""
    version, plus, local = (spec or "").partition("+")
    if not plus or not version.startswith("==") or not _BACKEND.fullmatch(local):
        return spec, backend
    if backend not in (None, local):
        raise click.UsageError(f"--torch {version[2:]}+{local} and --backend {backend} exclude each other.")
    return version, local


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
@click.option(
    "--env",
    metavar="DIR",
    help="Make an environment there, and install into it. --python can be a version then, such as 3.12.",
)
@click.option("--print-commands", is_flag=True, help="Only the commands, with manual steps as comments.")
@shell_option
@click.option("--run", "run_it", is_flag=True, help="Carry it out: resolve, install, verify; undone if it fails.")
@applying.consent_option
@applying.source_options
@tool_option
@machine_options(formats=(), probes=False)
def command(
    spec: str | None, companions: tuple[str, ...], backend: str | None, env: str | None, print_commands: bool,
    run_it: bool, **options: Any,
) -> int:  # fmt: skip
    """Choose the torch build for this machine, and say why and how to install it. With --run, do it.

    Exit codes: 0 a build serves this machine; with --run: it is installed and verified,
    1 none does (what would help is said); with --run: it failed, and all is as it was before,
    2 wrong usage; with --run: no terminal to ask on, and no --yes, 3 --python names no Python,
    70 a bug in torchdoctor. Nothing is changed without --run.
    """
    sources = applying.sources_from(options)
    refuse_idle_options(options, prints=print_commands, changes=run_it)
    if run_it and (options["sources"] or print_commands):
        raise click.UsageError("--run works on the machine before you: it takes no --from, and no --print-commands.")
    spec, backend = _split_local(spec, backend)
    from doctor.knowledge.choose import no_such_build

    if (unknown := no_such_build(spec, backend)) is not None:
        raise click.UsageError(f"{unknown}.")
    wanted = _version_of(options) if env is not None else None
    report = _report(options)
    if options["python"] and (problem := output.wrong_target(report)) is not None:
        output.complain(f"torchdoctor: {problem}")
        return NO_VERDICT
    facts = replace(report.facts, wheels=applying.wheels_from(sources))
    if env is not None:
        fix, lines = _in_new_environment(facts, env, wanted, spec, backend, companions, run_it, options)
    else:
        fix, lines = advise(
            facts, spec=spec, backend=backend, companions=companions, tool=options["tool"], shell=options["shell"],
            sound=_is_sound(report),
        )  # fmt: skip
    if fix and fix.action == "none":
        output.emit("".join(f"# {line}\n" for line in lines) if print_commands else _page(lines, ""))
        return 0
    if fix:
        (fix,) = redirected(Plan(fixes=(fix,)), sources).fixes
    windows = facts.host.system == "windows"
    if run_it and fix:
        output.emit(_page(lines, ""))
        report = replace(report, plan=Plan(fixes=(fix,)))

        def examine(python: str | None) -> Report:
            return _report({**options, "python": python or options["python"]})

        return applying.run(report, examine, options, must_be_gone=("torch-missing", "torch-install-broken"))
    from doctor.fixes.plan import script

    commands = script(Plan(fixes=(fix,)), windows=windows, shell=options["shell"]) if fix else ""
    if print_commands:
        said = (part for line in lines for part in comment(line, options["shell"] or shell_of(windows=windows)))
        output.emit(commands or "".join(f"{line}\n" for line in said))
    else:
        output.emit(_page(lines, commands))
    return 0 if fix and fix.action.endswith("-torch") else FAULT


def _is_sound(report: Report) -> bool:
    """Whether no fault concerns the installed torch, its libraries or its installation."""
    return not any(f.severity == "fault" and f.layer in ("torch", "libraries", "install") for f in report.findings)


def _report(options: dict[str, Any]) -> Report:
    from doctor import pipeline

    if machines_of(options["sources"]).each_alone:
        raise click.UsageError("a build is chosen for one machine: name its files, not a folder.")
    request = request_from(**{**options, "no_probe": True, "evidence": read_all(options["sources"])})
    with watching(quiet=options["quiet"]) as progress:
        return pipeline.examine(request, progress)


def _version_of(options: dict[str, Any]) -> str | None:
    """The version that --python names, which is taken out of the options then; None where it names a program or
    nothing."""
    if options["python"] is None or not re.fullmatch(r"\d+\.\d+", options["python"]):
        return None
    version: str = options["python"]
    options["python"] = None
    return version


def _in_new_environment(
    facts: Facts,
    env: str,
    python: str | None,
    spec: str | None,
    backend: str | None,
    companions: tuple[str, ...],
    run_it: bool,
    options: dict[str, Any],
) -> tuple[Fix | None, list[str]]:
    from doctor.facts.system import System
    from doctor.fixes import tools
    from doctor.fixes.environment import new_environment
    from doctor.fixes.situation import situation_of

    if not env or not env.isprintable():
        raise click.BadParameter(f"'{env}' is no name for a folder.", param_hint="--env")
    folder = os.path.abspath(os.path.expanduser(env))
    if os.path.lexists(folder) and not (run_it and applying.is_half_made(folder)):
        hint = "name a new folder, or that Python with --python"
        if applying.is_half_made(folder):
            hint = "an interrupted run left it half-made. --run removes it first; so does torchdoctor fix --undo"
        raise click.BadParameter(f"'{env}' is there already: {hint}.")
    tool = options["tool"]
    if tool is not None and not tools.tool(tool).makes:
        makers = [one.name for one in tools.all_tools() if one.makes]
        raise click.UsageError(f"--env works with {', '.join(makers[:-1])} and {makers[-1]}, not with {tool}.")
    fetcher = tools.fetcher().name
    fix, reasons = new_environment(
        situation_of(facts, tool, options["shell"]),
        folder,
        python=python,
        can_fetch=tool == fetcher or (tool is None and applying.has_program(System.of_this_process(), fetcher)),
        spec=spec,
        backend=backend,
        companions=companions,
    )
    return fix, [fix.title, *(f"  + {reason}" for reason in reasons)] if fix else list(reasons)


def advise(
    facts: Facts,
    *,
    spec: str | None,
    backend: str | None,
    companions: tuple[str, ...],
    tool: str | None,
    shell: Shell | None = None,
    sound: bool = False,
) -> tuple[Fix | None, list[str]]:
    """The fix that installs the best build (or what would help, where none serves), and the lines that say why.
    `sound`: nothing is wrong with the installed torch, so that the same build is not installed again."""
    from doctor.fixes.build import installed_companions, is_installed, name_of
    from doctor.fixes.situation import situation_of
    from doctor.fixes.torch import fix_of_build, nearest_fix
    from doctor.knowledge.choose import choose

    situation = situation_of(facts, tool, shell)
    names = tuple(dict.fromkeys((*companions, *installed_companions(facts))))
    choice = choose(facts, torch=spec, backend=backend, companions=names)
    best = choice.best
    if best and sound and is_installed(facts, best):
        text = f"{name_of(best)} serves this machine best, and is installed: there is nothing to do"
        return Fix(finding="install", action="none", title=text), [text, *(f"  + {r}" for r in best.reasons)]
    if best:
        lines = [f"{name_of(best)} serves this machine"]
        lines += [f"  + {reason}" for reason in best.reasons] + [f"  - {reason}" for reason in best.against]
        fix: Fix | None = fix_of_build(
            situation, "install", "reinstall-torch", best, choice.assumes, exact=bool(spec), sound=sound
        )
    else:
        lines = ["no torch build serves this machine as it is"]
        unasked = ("older-torch", "cpu") if spec or backend else ()  # not the requested torch: only printed, never run
        fixes = (nearest_fix(situation, "install", near) for near in choice.nearest if near.kind not in unasked)
        fix = next((f for f in fixes if f), None)
    lines += [f"  ? {near.text}" for near in choice.nearest]
    lines += [f"after it {name_of(other)}: {other.behind}" for other in choice.builds[1:2]]
    for other in choice.rejected:
        lines.append(f"not {name_of(other)}: {other.against[0] if other.against else 'it serves fewer of the GPUs'}")
    lines += [f"assumed: {text}" for text in choice.assumes]
    return fix, lines


def _page(lines: list[str], commands: str) -> str:
    from doctor.reports.text import safe

    text = "".join(f"{safe(line)}\n" for line in lines)
    shown = "".join(f"  {line}\n" for line in commands.splitlines())
    return text + (f"\n{shown}" if shown else "")
