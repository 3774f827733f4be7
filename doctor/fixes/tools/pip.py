"""pip, called through the target's own interpreter, so that the right environment gets the package."""

from __future__ import annotations

from doctor.fixes.situation import Situation, has_damaged_pip, has_no_pip
from doctor.fixes.tools import Order
from doctor.model.facts import Facts
from doctor.model.fix import Step

REMOVE = "import shutil, sys; [shutil.rmtree(path, True) for path in sys.argv[1:]]"


def install(situation: Situation, order: Order) -> tuple[Step, ...]:
    """pip does not replace an installed version that meets the requirement, even if its build differs: remove it
    first."""
    pip = (situation.python, "-m", "pip")
    steps = list(get_pip(situation))
    if order.replaces:
        remove = (*pip, "uninstall", "-y", *order.replaces)
        steps.append(Step(text=f"Remove the installed {' '.join(order.replaces)}", argv=remove))
        again = (*pip, "uninstall", "-y", "torch")  # each call removes one
        steps += [Step(text="Remove the other torch in the same folder", argv=again)] * torches_beside(situation.facts)
        for package in situation.facts.packages or ():
            if package.name in order.replaces:
                again = (*pip, "uninstall", "-y", package.name)
                steps += [Step(text=f"Remove the other {package.name}", argv=again)] * package.beside
    argv = (*pip, "install", *order.requirements, *_index(order), *past_cache(order))
    steps.append(Step(text=order.note or f"Install {' '.join(order.requirements)}", argv=argv))
    return tuple(steps)


def remove(situation: Situation, packages: tuple[str, ...]) -> tuple[Step, ...]:
    argv = (situation.python, "-m", "pip", "uninstall", "-y", *packages)
    return (*get_pip(situation), Step(text=f"Remove {' '.join(packages)}", argv=argv))


def forget(situation: Situation, packages: tuple[str, ...]) -> tuple[Step, ...]:
    """The steps that remove what a project's tool would take for good enough. The tools' own `remove` is no help: it
    leaves what another package needs, and knows only what the project's file names."""
    argv = (situation.python, "-m", "pip", "uninstall", "-y", *packages)
    return (*get_pip(situation), Step(text="Forget the present build", argv=argv))


def get_pip(situation: Situation) -> tuple[Step, ...]:
    """A step that gives the environment a pip, where it has none."""
    if not has_no_pip(situation.facts):
        return ()
    return (
        *_without_damaged(situation),
        Step(
            text="Give the environment a pip",
            argv=(situation.python, "-m", "ensurepip", "--upgrade"),
            verify=(situation.python, "-m", "pip", "--version"),
        ),
    )


def _without_damaged(situation: Situation) -> tuple[Step, ...]:
    """ensurepip takes the metadata of a damaged pip for a pip, and a damaged pip cannot remove itself: its folders
    go."""
    if not has_damaged_pip(situation.facts):
        return ()
    pip = next((p for p in situation.facts.packages or () if p.name == "pip" and p.path), None)
    if pip is None or not pip.path:
        return (Step(text="Remove the damaged pip: its folders pip and pip-*.dist-info in site-packages"),)
    site = situation.path(pip.path)
    folders = (str(site / "pip"), str(site / f"pip-{pip.version}.dist-info"))
    return (Step(text="Remove the damaged pip", argv=(situation.python, "-c", REMOVE, *folders)),)


def past_cache(order: Order) -> tuple[str, ...]:
    """pip's option, which uv knows by the same name: uv links its cache's files into environments, so that what was
    damaged here is damaged there."""
    return ("--no-cache-dir",) if order.past_cache else ()


def torches_beside(facts: Facts) -> int:
    """How many other torches are only on record in the folder of the one that is imported."""
    copies = (facts.torch.copies if facts.torch else None) or ()
    return sum(copy.path == copies[0].path and not copy.has_files for copy in copies[1:])


def _index(order: Order) -> tuple[str, ...]:
    if order.index is None:
        return ()
    return ("--index-url", order.index)
