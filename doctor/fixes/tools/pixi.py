"""pixi: conda-forge's packages in the workspace; a build that conda-forge lacks goes into its [pypi-dependencies]."""

from __future__ import annotations

from doctor.fixes.situation import Situation
from doctor.fixes.tools import Order
from doctor.fixes.tools.conda import conda_packages
from doctor.model.fix import Step


def install(situation: Situation, order: Order) -> tuple[Step, ...]:
    manifest = situation.facts.interpreter.project or "pixi.toml"
    if not (order.requirements[0].startswith("torch") and order.backend):
        return (
            Step(
                text=order.note or f"Install {' '.join(order.requirements)}",
                argv=(*_pixi(situation, "add"), *order.requirements),
            ),
        )
    names = conda_packages(order)
    if names is None:
        lines = [_pypi_line(r, order.index) for r in order.requirements]
        return (
            Step(text=f"Write into {manifest}:\n[pypi-dependencies]\n" + "\n".join(lines)),
            Step(text="Install what the manifest says", argv=_pixi(situation, "install")),
        )
    steps = [Step(text=f"Install {names[0]} from conda-forge", argv=(*_pixi(situation, "add"), *names))]
    if order.cuda:
        major = order.cuda.split(".")[0]
        steps.insert(0, Step(text=f'Write into {manifest}:\n[system-requirements]\ncuda = "{major}"'))
    return tuple(steps)


def remove(situation: Situation, packages: tuple[str, ...]) -> tuple[Step, ...]:
    return (Step(text=f"Remove {' '.join(packages)}", argv=(*_pixi(situation, "remove"), *packages)),)


def _pixi(situation: Situation, verb: str) -> tuple[str, ...]:
    """pixi, told which workspace is meant, so that the command runs from anywhere."""
    project = situation.facts.interpreter.project
    return ("pixi", verb, *(("--manifest-path", project) if project else ()))


def _pypi_line(requirement: str, index: str | None) -> str:
    name, _, version = requirement.partition("==")
    spec = f"=={version}" if version else "*"
    return f'{name} = {{ version = "{spec}", index = "{index}" }}' if index else f'{name} = "{spec}"'
