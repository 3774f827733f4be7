"""PDM: a source for torch's packages, then the packages.

No command of PDM writes such a source: `pdm config` stores single words, and `include_packages` is a list
(https://pdm-project.org/latest/usage/config/).
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from doctor.fixes.tools import pip
from doctor.fixes.tools._tool import Order, Projects, Sign, Tables, Tool, of_list, requirement_name, table_at
from doctor.model.fix import Step, TomlEdit

if TYPE_CHECKING:
    from doctor.fixes.situation import Situation

_FILES = ("pyproject.toml",)
_LOCK = "pdm.lock"
_SOURCE = "pytorch"  # one name for all builds: the next choice takes the place of this one
_ONLY_THERE = ("pytorch-triton*", "triton-rocm", "triton-xpu")  # what torch needs and the default index lacks


def _reason(lines: Sequence[str]) -> Sequence[str]:
    """Of PDM's account, which goes on with a traceback, the words of the error."""
    errors = [number for number, line in enumerate(lines) if line.startswith("ERROR: ")]
    words = lines[errors[-1] :] if errors else lines
    end = next((number for number, line in enumerate(words) if line.startswith("Traceback (most recent call")), None)
    return words if end is None else words[:end] if errors else words[-1:]


class Pdm(Tool):
    programs = ("pdm",)
    rank = 50
    signs = (Sign(part="/pdm/venvs/", project=_FILES), Sign(lock=_LOCK, project=_FILES))
    manifests = _FILES
    locks = (_LOCK,)
    tables = Tables(lists=r"tool\.pdm\.dev-dependencies", indexes=r"tool\.pdm\.source")
    said = ("pdm",)
    keeps_index = True
    needs_pip = False
    projects = Projects(
        folder=("--project", "-p"), leave="--no-sync", sync="install", verbose=("-v",),
        answered=r"pdm\.termui: .*(Starting round|new pin|Candidate)|unearth\.|Synchronizing|Packages to add",
        chatter=r"INFO: |STATUS: |pdm\.termui: |unearth\.|Set env var |See \S+ for |WARNING: Add '-v'|"
        r"\[ResolutionError\]|.*Lock failed|Adding packages to |\S* \d:\d\d:\d\d Resolve for ",
        reason=_reason, limits=(("PDM_REQUEST_TIMEOUT", "{seconds}"),),
    )  # fmt: skip

    def install(self, situation: Situation, order: Order) -> tuple[Step, ...]:
        """PDM takes another build of the same version for good, and a broken one, too: what is replaced goes first."""
        steps = []
        if order.index:
            source = _source(situation, order)
            file = re.split(r"[/\\]", source.file)[-1]
            steps.append(Step(text=f"Name the index of that build «{_SOURCE}» in {file}", edit=source))
        if order.replaces:
            steps += pip.forget(situation, order.replaces)
        return (*steps, Step(text=order.text, argv=(*_pdm(situation, "add"), *order.requirements)))

    def remove(self, situation: Situation, packages: tuple[str, ...]) -> tuple[Step, ...]:
        return (Step(text=f"Remove {' '.join(packages)}", argv=(*_pdm(situation, "remove"), *packages)),)

    def sync(self, situation: Situation) -> Step | None:
        """`pdm install` makes a lock file where there is none, which `pdm sync` does not."""
        return Step(text="Install what the project asks for", argv=_pdm(situation, "install"))

    def unasked(self, project: Mapping[str, object]) -> Iterator[str]:
        """Source: https://pdm-project.org/latest/usage/dependency/."""
        groups = (table_at(project, "dependency-groups"), table_at(project, "tool", "pdm", "dev-dependencies"))
        for listed in (listed for group in groups for listed in group.values()):
            yield from of_list(listed)

    def names_environment(self, folder: str, real: str, prefix: str) -> bool:
        """demo-AbC_12-x-3.12, or with a name that the user gave in place of the version. Source:
        pdm.cli.commands.venv.utils.get_venv_prefix."""
        import base64
        import hashlib  # loads OpenSSL

        digest = hashlib.md5(folder.replace("\\", "/").encode(), usedforsecurity=False).digest()
        name = os.path.basename(prefix)
        return name.startswith(f"{os.path.basename(folder)}-{base64.urlsafe_b64encode(digest).decode()[:8]}-")


def _source(situation: Situation, order: Order) -> TomlEdit:
    """The names must be whole: PDM looks for a package that a source includes nowhere else, and «torch*» is also
    torchmetrics."""
    named = map(requirement_name, order.requirements)
    names = dict.fromkeys(("torch", *named, *(_ONLY_THERE if _has_own_triton(order.backend) else ())))
    included = json.dumps(list(names))
    lines = ("[[tool.pdm.source]]", f'name = "{_SOURCE}"', f'url = "{order.index}"', f"include_packages = {included}")
    return TomlEdit(file=situation.facts.interpreter.project or "pyproject.toml", toml="\n".join(lines))


def _has_own_triton(backend: str | None) -> bool:
    return (backend or "").startswith(("rocm", "xpu"))


def _pdm(situation: Situation, verb: str) -> tuple[str, ...]:
    """pdm, told which project is meant, so that the command runs from anywhere."""
    folder = situation.project_folder
    return ("pdm", verb, "--project", folder) if folder else ("pdm", verb)


tool = Pdm()
