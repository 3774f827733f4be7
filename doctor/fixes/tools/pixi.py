"""pixi: conda-forge's packages in the workspace; a build that conda-forge lacks goes into its [pypi-dependencies].

What has no command in all releases in use is written into the manifest, in the form that all of them read: since 0.71
`pixi workspace platform` takes the place of `pixi workspace system-requirements`, whose table is still understood
(https://pixi.prefix.dev/v0.75.0/workspace/system_requirements/), and `pixi add --pypi` knows `--index` only in the
newest (https://github.com/prefix-dev/pixi/pull/5575).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from doctor.fixes.tools._tool import Kind, Order, Projects, Sign, Tables, Tool, of_table, table_at
from doctor.fixes.tools.conda import CHANNEL, channel_packages
from doctor.model.fix import Step, TomlEdit

if TYPE_CHECKING:
    from doctor.fixes.situation import Situation

_FILES = ("pixi.toml", "pyproject.toml")


class Pixi(Tool):
    programs = ("pixi",)
    rank = 30
    signs = (
        Sign(part="/.pixi/envs/", kind="pixi", of_conda=True, project=_FILES, above="/.pixi/"),
        Sign(file="conda-meta/pixi", kind="pixi", of_conda=True, project=_FILES, above="/.pixi/"),
    )
    kinds = (Kind(name="pixi", words="pixi environment"),)
    manifests = _FILES
    locks = ("pixi.lock",)
    tables = Tables(
        packages=r"(?:tool\.pixi\.)?(?:feature\.[\w-]+\.)?(?:target\.[\w-]+\.)?(?:pypi-)?dependencies",
    )
    said = ("pixi",)
    channel = CHANNEL
    needs_pip = False
    homes = ((".pixi", "bin"),)
    projects = Projects(folder=("--manifest-path",), leave="--no-install", instead={"install": "lock"})

    def install(self, situation: Situation, order: Order) -> tuple[Step, ...]:
        if not (order.requirements[0].startswith("torch") and order.backend):
            return (Step(text=order.text, argv=(*_pixi(situation, "add"), *order.requirements)),)
        names = channel_packages(order)
        if names is None:
            return (
                Step(text="Name that build and its index in the workspace", edit=_pypi(situation, order)),
                Step(text="Install what the manifest says", argv=_pixi(situation, "install")),
            )
        packages = self.from_channel(situation, names)
        if not order.cuda:
            return packages
        needs = _table(situation, "system-requirements", f"cuda = {json.dumps(order.cuda.split('.')[0])}")
        return (Step(text="Let the workspace count on a driver with CUDA", edit=needs), *packages)

    def remove(self, situation: Situation, packages: tuple[str, ...]) -> tuple[Step, ...]:
        return (Step(text=f"Remove {' '.join(packages)}", argv=(*_pixi(situation, "remove"), *packages)),)

    def sync(self, situation: Situation) -> Step | None:
        return Step(text="Install what the workspace asks for", argv=_pixi(situation, "install"))

    def unasked(self, project: Mapping[str, object]) -> Iterator[str]:
        """Source: https://pixi.prefix.dev/latest/reference/pixi_manifest/."""
        for manifest in (project, table_at(project, "tool", "pixi")):
            yield from of_table(manifest.get("dependencies"))
            yield from of_table(manifest.get("pypi-dependencies"))

    def from_channel(self, situation: Situation, packages: Sequence[str]) -> tuple[Step, ...]:
        text = f"Install {packages[0]} from {CHANNEL}"
        return (Step(text=text, argv=(*_pixi(situation, "add"), *packages)),)


def _pixi(situation: Situation, verb: str) -> tuple[str, ...]:
    """pixi, told which workspace is meant, so that the command runs from anywhere."""
    project = situation.facts.interpreter.project
    return ("pixi", verb, *(("--manifest-path", project) if project else ()))


def _pypi(situation: Situation, order: Order) -> TomlEdit:
    return _table(situation, "pypi-dependencies", *(_pypi_line(r, order.index) for r in order.requirements))


def _table(situation: Situation, name: str, *lines: str) -> TomlEdit:
    """Lines of a table of the manifest, which in a pyproject.toml is pixi's own part of it."""
    manifest = situation.facts.interpreter.project or "pixi.toml"
    prefix = "tool.pixi." if re.search(r"(^|[/\\])pyproject\.toml$", manifest) else ""
    return TomlEdit(file=manifest, toml="\n".join((f"[{prefix}{name}]", *lines)))


def _pypi_line(requirement: str, index: str | None) -> str:
    name, _, version = requirement.partition("==")
    spec = f"=={version}" if version else "*"
    return f'{name} = {{ version = "{spec}", index = "{index}" }}' if index else f'{name} = "{spec}"'


tool = Pixi()
