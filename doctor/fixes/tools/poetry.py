"""Poetry: an explicit source for torch's index, then the packages from it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from doctor.fixes.tools import pip
from doctor.fixes.tools._tool import Order, Projects, Sign, Tables, Tool, of_table, table_at
from doctor.model.fix import Step

if TYPE_CHECKING:
    from doctor.fixes.situation import Situation

_FILES = ("pyproject.toml",)
_LOCK = "poetry.lock"


def _reason(lines: Sequence[str]) -> Sequence[str]:
    """Of poetry's account of an error, which it gives with the places in its own source, the words of the last."""
    starts = [number for number, line in enumerate(lines) if re.fullmatch(r"\s+[A-Za-z.]+(Error|Exception)\s*", line)]
    if not starts:
        return lines
    words = lines[starts[-1] + 1 :]
    end = next((number for number, line in enumerate(words) if re.match(r"\s+at .+:\d+ in ", line)), len(words))
    return [line[2:] for line in words[:end] if not line.strip().startswith("https://")]


class Poetry(Tool):
    programs = ("poetry",)
    rank = 40
    signs = (Sign(part="/pypoetry/", project=_FILES), Sign(lock=_LOCK, project=_FILES))
    manifests = _FILES
    locks = (_LOCK,)
    tables = Tables(
        packages=r"tool\.poetry\.(?:group\.[\w-]+\.)?(?:dev-)?dependencies", indexes=r"tool\.poetry\.source"
    )
    said = ("poetry",)
    failed = r"Unable to find installation candidates for (?P<name>[\w.-]+) \((?P<version>[\w.+]+)\)"
    keeps_index = True
    needs_pip = False
    quiet = {"POETRY_NO_INTERACTION": "1"}  # noqa: RUF012
    projects = Projects(
        folder=("--directory", "-C"), leave="--lock", sync="install", verbose=("-vv",),
        answered=r".*(selecting|conflict|Resolving dependencies\.\.\. \(|from lock file)",
        chatter=r"(Updating|Resolving) dependencies|Using virtualenv|Checking keyring|\s*\d+: ",
        python_range="requires-python, or python below [tool.poetry.dependencies]",
        reason=_reason, limits=(("POETRY_REQUESTS_TIMEOUT", "{seconds}"),),
    )  # fmt: skip

    def install(self, situation: Situation, order: Order) -> tuple[Step, ...]:
        """Poetry replaces a build by another one of the same version, for its lock file tells them apart; the same one
        it takes for good, be it broken, so what is replaced goes first."""
        poetry = _poetry(situation)
        steps = []
        source: tuple[str, ...] = ()
        if order.index:
            name = f"pytorch-{order.backend or 'index'}"
            steps.append(
                Step(
                    text=f"Name the index of that build «{name}» in the project",
                    argv=(*poetry, "source", "add", f"--priority={_priority(order)}", name, order.index),
                )
            )
            source = ("--source", name)
        if order.replaces and not _is_another_build(situation, order):
            steps += pip.forget(situation, order.replaces)
        return (*steps, Step(text=order.text, argv=(*poetry, "add", *order.requirements, *source)))

    def remove(self, situation: Situation, packages: tuple[str, ...]) -> tuple[Step, ...]:
        return (Step(text=f"Remove {' '.join(packages)}", argv=(*_poetry(situation), "remove", *packages)),)

    def sync(self, situation: Situation) -> Step | None:
        return Step(text="Install what the project asks for", argv=(*_poetry(situation), "install"))

    def unasked(self, project: Mapping[str, object]) -> Iterator[str]:
        """Source: https://python-poetry.org/docs/managing-dependencies/."""
        own = table_at(project, "tool", "poetry")
        yield from of_table(own.get("dependencies"))
        for name in table_at(own, "group"):
            group = table_at(own, "group", name)
            if group.get("optional") is not True:
                yield from of_table(group.get("dependencies"))

    def names_environment(self, folder: str, real: str, prefix: str) -> bool:
        """demo-AbC_12-x-py3.12. Source: poetry's EnvManager.generate_env_name."""
        import base64
        import hashlib  # loads OpenSSL

        digest = hashlib.sha256(os.path.normcase(real).encode()).digest()
        return f"-{base64.urlsafe_b64encode(digest).decode()[:8]}-py" in os.path.basename(prefix)


def _priority(order: Order) -> str:
    """An explicit source gives only the packages that are named with it. What a ROCm or XPU build needs besides lies
    beside it and nowhere else: there it may be asked for what the others lack."""
    return "supplemental" if (order.backend or "").startswith(("rocm", "xpu")) else "explicit"


def _is_another_build(situation: Situation, order: Order) -> bool:
    """Whether the lock file will name another build than the installed one."""
    torch = situation.facts.torch
    local = (torch.version or "").partition("+")[2] if torch else ""
    return bool(order.index and order.backend and local and local != order.backend)


def _poetry(situation: Situation) -> tuple[str, ...]:
    """poetry, told which project is meant, so that the command runs from anywhere."""
    folder = situation.project_folder
    return ("poetry", "--directory", folder) if folder else ("poetry",)


tool = Poetry()
