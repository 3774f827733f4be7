"""Fixes for a Jupyter kernel's Python: variables are set where the kernel gets them, and a kernel keeps what it has
imported until it is restarted."""

from __future__ import annotations

from dataclasses import replace

from doctor.fixes.actions import TORCH
from doctor.fixes.situation import Situation
from doctor.fixes.tools import folder_made_by
from doctor.model.facts import Kernel
from doctor.model.finding import Remedy
from doctor.model.fix import Fix, Plan, Step

_PACKAGES = ("install-package", "pin-package", "remove-package", "reinstall-package", "use-other-build", "fix-index")
_VARIABLES = ("set-env", "unset-env")
_AT_START = ("LD_", "DYLD_", "PYTHON", "PATH")  # read once, when a program starts
RESTART = Step(text="Restart the kernel: it still holds what it imported before", where="user")


def restart_kernel(situation: Situation, finding: str, remedy: Remedy) -> Fix:
    """The restart-kernel action."""
    text = "Restart the kernel (Kernel > Restart; in Colab: Runtime > Restart session), and run the cells again"
    return Fix.of(finding, remedy, "Restart the notebook's kernel.", Step(text=text, where="user"))


def for_kernel(plan: Plan, kernel: Kernel) -> Plan:
    """The plan for that kernel's Python, with one restart, after the last fix that needs it."""
    fixes = [_fix(fix, kernel) for fix in plan.fixes]
    last = max((place for place, fix in enumerate(fixes) if _needs_restart(fix)), default=None)
    if last is not None:
        fixes[last] = replace(fixes[last], steps=(*fixes[last].steps, RESTART))
    return replace(plan, fixes=tuple(fixes))


def _needs_restart(fix: Fix) -> bool:
    if any(_makes_environment(step) for step in fix.steps):
        return False
    return fix.action in (*TORCH, *_PACKAGES, *_VARIABLES) and any(step.where != "system" for step in fix.steps)


def _fix(fix: Fix, kernel: Kernel) -> Fix:
    fix = replace(fix, alternatives=tuple(_fix(other, kernel) for other in fix.alternatives))
    name = fix.details.get("name", "")
    if name and fix.action in _VARIABLES:
        return replace(fix, steps=(_variable_step(fix, name, kernel),))
    if any(_makes_environment(step) for step in fix.steps):
        kept = (step for step in fix.steps if not step.shell)  # what activates it in a terminal
        return replace(fix, steps=(*kept, _choose_step("its Python", None)))
    if fix.action == "activate-environment" and "path" in fix.details:
        return replace(fix, steps=(_choose_step(fix.details["path"], fix.details.get("kernel")),))
    return fix


def _makes_environment(step: Step) -> bool:
    return bool(step.argv) and folder_made_by(step.argv or ()) is not None


def _choose_step(python: str, kernel: str | None) -> Step:
    """To use another environment, a notebook needs another kernel."""
    choose = "in the notebook (Kernel > Change kernel)"
    if kernel:
        return Step(text=f'Choose the kernel "{kernel}" {choose}', where="user")
    text = f"Make {python} a kernel (by -m ipykernel install --user --name torch; it needs the package ipykernel)"
    return Step(text=f"{text}, and choose it {choose}", where="user")


def _variable_step(fix: Fix, name: str, kernel: Kernel) -> Step:
    """Setting a variable in a terminal reaches neither the running kernel nor the next one."""
    value, sets = fix.details.get("value", ""), fix.action == "set-env"
    verb = f"Set {name} to {value!r}" if sets else f"Remove {name}"
    if name in kernel.environ or (sets and kernel.file):
        return Step(text=f'{verb} in "env" of {kernel.file}', where="user")
    text = f'{verb} where the kernel gets it: in the shell that starts Jupyter, or in "env" of its kernel.json'
    if not name.startswith(_AT_START):
        code = f"os.environ[{name!r}] = {value!r}" if sets else f"os.environ.pop({name!r}, None)"
        text += f". Or, in the first cell, before torch is imported: import os; {code}"
    return Step(text=text, where="user")
