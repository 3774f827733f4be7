"""Another Python, another environment, another folder or file name."""

from __future__ import annotations

from dataclasses import replace
from pathlib import PurePosixPath, PureWindowsPath

from doctor.fixes import tools
from doctor.fixes.build import cautions, installed_companions, steps_for_build, use_environment, valid_specifier
from doctor.fixes.effective import RESTS_ON_FILES
from doctor.fixes.quoting import activation, command, is_printable, line
from doctor.fixes.situation import Situation
from doctor.fixes.tools import pip
from doctor.knowledge import choose as choosing
from doctor.knowledge import lookup
from doctor.model.facts import ABSENT
from doctor.model.finding import Remedy
from doctor.model.fix import Fix, Step

WIDE = {"x86": "x86_64", "armv7l": "arm64", "armv6l": "arm64"}  # what a 64-bit system on the same machine calls itself


def replace_interpreter(
    situation: Situation, finding: str, remedy: Remedy, companions: tuple[str, ...] = ()
) -> Fix | None:
    """A new environment with a Python that torch has wheels for, and torch and its companions (those wanted, else those
    of the old environment) in it. None where no Python would help."""
    arch = remedy.details.get("arch") or native_arch(situation)
    held = situation.facts.interpreter.held
    companions = companions or installed_companions(situation.facts) or (held.companions if held else ())
    wish = (valid_specifier(remedy.details.get("torch")), remedy.details.get("backend"))
    python = _another(situation, finding, arch, remedy.details.get("python"))
    picked = pick(situation, python, arch, companions, *wish)
    left: tuple[str, ...] = ()
    where = f"in Python {python}" if python and python[0].isdigit() else "in no Python"
    if picked is None and any(wish):
        picked = pick(situation, python, arch, companions)
        asked = f"torch{wish[0] or ''}" + (f" ({wish[1]})" if wish[1] else "")
        said = "which the environment had" if held else "which was asked for"
        serves = "does not serve" if where != "in no Python" else "serves"
        left = (f"{asked}, {said}, {serves} this machine {where}: another torch takes its place",)
    if picked is None and held and python:
        picked = pick(situation, None, arch, companions)
        left = (f"no torch serves this machine in Python {python}, which the environment had: another one is taken",)
    if picked is None:
        return None
    python, fresh, build = picked
    again = _application_again(situation, python, arch)

    what = f"a 64-bit Python {python}" if arch == "64-bit" else f"Python {python}" + (f" for {arch}" if arch else "")
    return Fix(
        finding=finding,
        action="replace-interpreter",
        title=remedy.text or f"Use {what}.",
        details={
            "python": python,
            **({"arch": arch} if arch else {}),
            "torch": build.release,
            "backend": build.backend,
            "index": build.index or "default",
        },
        steps=again
        or (
            *fresh.by.make(fresh, python, arch),
            *steps_for_build(fresh, build),
            *_other_packages(situation, build, runs=finding != "interpreter-broken"),
            use_environment(fresh),
        ),
        assumes=(*left, *cautions(build)),
    )


def _another(situation: Situation, finding: str, arch: str | None, wanted: str | None) -> str | None:
    """The Pythons that are wanted without the one at hand, where that one is the reason for the change."""
    interpreter, here = situation.facts.interpreter, situation.python_version
    same_will_do = arch or finding in RESTS_ON_FILES or interpreter.implementation not in (None, "cpython")
    if not here or same_will_do or interpreter.free_threaded or (wanted and wanted[0].isdigit()):
        return wanted
    return ",".join(filter(None, (wanted, f"!={here}")))


def _application_again(situation: Situation, python: str, arch: str | None) -> tuple[Step, ...]:
    """An application needs its own environment, made anew: the user's to do, for a snapshot inside
    would go with the old one. () for other environments."""
    tool = tools.of_kind(situation.facts.interpreter.environment)
    argv = tool.again(situation, python, arch) if tool and situation.prefix else None
    if argv is None:
        return ()
    name = situation.path(situation.prefix or "").name
    text = f"Make the environment of {name} anew with Python {python}, then look again"
    return (Step(text=text, shell=command(argv, situation.shell), where="user"),)


def _other_packages(situation: Situation, build: choosing.Candidate, *, runs: bool) -> tuple[Step, ...]:
    """What the new environment lacks of the old one, which only the user knows the use of. `runs`: the old one can
    still be asked."""
    moved = {pip.NAME, "setuptools", "wheel", *(name for name, _ in build.companions)}
    packages = situation.facts.packages
    if packages is not None and all(p.name in moved for p in packages):
        return ()
    again = "Install the other packages of the old environment again"
    if not runs:
        return (Step(text=f"{again}: the *.dist-info folders in its site-packages name them", where="user"),)
    freeze = line(pip.freeze(situation.python), windows=situation.windows)
    return (Step(text=f"{again}; this lists them: {freeze}", where="user"),)


def native_arch(situation: Situation) -> str | None:
    interpreter, host = situation.facts.interpreter, situation.facts.host
    if (
        situation.mac
        and (interpreter.translated or interpreter.architecture == "x86_64")
        and host.architecture == "arm64"
    ):
        return "arm64"
    return "64-bit" if interpreter.bits == 32 else None


def pick(
    situation: Situation,
    wanted: str | None,
    arch: str | None,
    companions: tuple[str, ...] = (),
    torch: str | None = None,
    backend: str | None = None,
) -> tuple[str, Situation, choosing.Candidate] | None:
    """The Python (newest torch first, then the version at hand, then one that other packages have wheels for), the
    situation in it, and the build, of the torch (a specifier) and the backend that are wanted."""
    options = []
    for python in _pythons(wanted):
        fresh = in_new_environment(situation, python, arch)
        choice = choosing.choose(fresh.facts, torch=torch, backend=backend, companions=companions)
        cpu = (n.candidate for n in choice.nearest if n.kind == "cpu" and not (torch or backend))
        best = choice.best or next(cpu, None)
        if best:
            pythons = [
                p for p in lookup.pythons_of(best.release, choosing.platform_of(fresh.facts)) or () if p[-1] != "t"
            ]
            is_newest = bool(pythons) and python == pythons[-1] and len(pythons) > 1
            release = tuple(map(int, best.release.split("."))) if best.release else ()
            options.append(
                (
                    (
                        len(best.covers),
                        release,
                        python == situation.python_version,
                        not is_newest,
                        tuple(map(int, python.split("."))),
                    ),
                    python,
                    fresh,
                    best,
                )
            )
    if not options and situation.facts.as_of:  # the cure came after the ticket
        later = replace(situation, facts=replace(situation.facts, as_of=None))
        return pick(later, wanted, arch, companions, torch, backend)
    if not options:
        return None
    _, python, fresh, best = max(options, key=lambda o: o[0])
    return python, fresh, best


def _pythons(wanted: str | None) -> tuple[str, ...]:
    """All Pythons in the tables that match the request: "3.12", or a specifier such as ">=3.9,<3.13"."""
    known = choosing.pythons()
    if not wanted:
        return known
    if wanted[0].isdigit():
        return tuple(p for p in known if p == wanted)
    from packaging.specifiers import InvalidSpecifier, SpecifierSet

    try:
        spec = SpecifierSet(wanted)
    except InvalidSpecifier:
        return known
    return tuple(p for p in known if p in spec)


def in_new_environment(situation: Situation, python: str, arch: str | None) -> Situation:
    """The situation in a newly made environment, which holds nothing but Python."""
    facts, old = situation.facts, situation.facts.interpreter
    folder = f".venv-{python}"
    tool = situation.tool if situation.by.makes == "own" else tools.fetcher().name
    own = tools.tool(tool).kinds[0].name if situation.by.makes == "own" else None
    windows = str(PureWindowsPath(folder, tools.tool(tool).scripts, "python.exe"))
    executable = windows if situation.windows else f"{folder}/bin/python"
    native = facts.host.architecture or old.architecture
    interpreter = replace(
        old,
        executable=executable,
        prefix=folder,
        version=f"{python}.0",
        free_threaded=False,
        implementation="cpython",
        bits=64,
        architecture=native if arch else old.architecture or native,
        translated=False,
        environment=own or "venv",
        manager=tool,
        externally_managed=False,
        pip=None,
        project=None,
        start_failure=ABSENT,
    )
    if arch == "64-bit" and (wide := WIDE.get(str(interpreter.architecture))):
        interpreter = replace(interpreter, architecture=wide)
    facts = replace(facts, interpreter=interpreter, torch=ABSENT, packages=())
    return replace(situation, facts=facts, tool=tool, python=executable, prefix=folder)


def activate_environment(situation: Situation, finding: str, remedy: Remedy) -> Fix:
    """Run the Python that has torch. `path` is that Python, or the environment's folder."""
    path = remedy.details.get("path") or remedy.details.get("python") or ""
    if not path or not is_printable(path):
        step = Step(text="Activate the environment that has torch, and run its Python", where="user")
    elif PureWindowsPath(path).name == path:  # a program's name, as a ticket may have it, and no folder
        step = Step(text=f"Run {path}: it is the Python that has torch", where="user")
    elif situation.windows:
        folder = PureWindowsPath(path)
        folder = folder.parent.parent if folder.name.lower().startswith("python") else folder
        shell = activation(str(folder), situation.shell)
        step = Step(text=f"Activate {folder}", shell=shell, where="user")
    else:
        place = PurePosixPath(path)
        root = place.parent.parent if place.parent.name == "bin" else place
        shell = activation(str(root), situation.shell)
        other = tools.with_channel()
        own = other.activate(replace(situation, tool=other.name, prefix=str(root)))
        text = f"Activate {root}" + (f" (a {other.kinds[0].words}: {own})" if own else "")
        step = Step(text=text, shell=shell, where="user")
    return Fix(
        finding=finding,
        action="activate-environment",
        title=remedy.text or f"Use the environment that has torch{': ' + path if path else ''}.",
        details=dict(remedy.details),
        steps=(step,),
    )


def change_directory(situation: Situation, finding: str, remedy: Remedy) -> Fix:
    path = remedy.details.get("path", "")
    where = f", not in the folder of {path}" if path else ""
    text = remedy.text or f"Start Python in another folder{where}."
    return Fix(
        finding=finding,
        action="change-directory",
        title=text,
        details=dict(remedy.details),
        steps=(Step(text=text, where="user"),),
    )


def rename_file(situation: Situation, finding: str, remedy: Remedy) -> Fix:
    """A manual step, since only the owner can choose the file's new name."""
    path = remedy.details.get("path", "")
    text = remedy.text or f"Rename {path or 'the file'}: its name hides a module that Python needs."
    return Fix(
        finding=finding,
        action="rename-file",
        title=text,
        details=dict(remedy.details),
        steps=(Step(text=text, where="user"),),
    )
