"""conda, mamba and micromamba, with conda-forge: the pytorch channel ended with torch 2.5.1. The versions that
conda-forge has are not in the tables, so its newest build is taken; what it does not build (ROCm, XPU, an exact torch)
comes by pip."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import PurePosixPath, PureWindowsPath
from typing import TYPE_CHECKING

from doctor.fixes.tools import pip
from doctor.fixes.tools._tool import Asking, Change, Kind, Order, Resolution, Tool, option
from doctor.knowledge import vendors
from doctor.model.facts import ABSENT
from doctor.model.fix import Step

if TYPE_CHECKING:
    from doctor.fixes.situation import Situation

CHANNEL = "conda-forge"
_ANSWERED = r"\s*[{\[]"


class Conda(Tool):
    programs = ("conda", "mamba", "micromamba")  # one command line
    rank = 20
    page = "https://conda-forge.org/download/"
    installer = "Miniforge"
    kinds = (
        Kind(name="conda", words="conda environment"),
        Kind(
            name="conda-base", words="conda base environment",
            shared="conda's base environment: conda itself runs in it",
        ),
    )  # fmt: skip
    manifests = ("environment.yml", "environment.yaml")
    manifests_like = r"(?:environment|conda|env)[\w.-]*\.ya?ml"
    said = ("conda", "mamba", "micromamba")
    tagged = "conda"
    failed = (
        r"PackagesNotFoundError|LibMambaUnsatisfiableError|UnsatisfiableError|ResolvePackageNotFound|nothing provides|"
        r"CondaHTTPError"
    )
    missed = r"(?:PackagesNotFoundError|ResolvePackageNotFound):[^\n]*\n((?:\s*-[ \t]*[^\n]+\n?)+)"
    builds = (CHANNEL, "anaconda", "continuum")
    path_said = r"[/\\](?:mini|ana)?(?:conda|forge|mamba)\d?[/\\](envs[/\\])?"
    channel = CHANNEL
    beside = pip.NAME
    needs_pip = False
    makes = "own"
    scripts = ""
    batches = ("conda", "mamba")
    quiet = {"CONDA_ALWAYS_YES": "true", "MAMBA_ALWAYS_YES": "true"}  # noqa: RUF012

    def install(self, situation: Situation, order: Order) -> tuple[Step, ...]:
        if order.requirements[0].startswith("torch") and order.backend:
            names = channel_packages(order)
            if names is None:
                return (*self._without_torch(situation), *pip.tool.install(situation, order))
            by_pip = tuple(
                p.name for p in situation.facts.packages or () if p.name in order.replaces and p.installer == pip.NAME
            )
            before = pip.tool.remove(situation, by_pip) if by_pip else ()
            return (*before, *_pretence(situation, order), *self.from_channel(situation, names))
        again = ("--force-reinstall",) if order.replaces else ()
        argv = (*_conda(situation, "install"), *again, "-c", CHANNEL, *order.requirements)
        return (Step(text=order.text, argv=argv),)

    def remove(self, situation: Situation, packages: tuple[str, ...]) -> tuple[Step, ...]:
        by_pip = {p.name for p in situation.facts.packages or () if p.installer == pip.NAME}
        if by_pip & set(packages):
            return pip.tool.remove(situation, packages)
        names = ("pytorch" if name == "torch" else name for name in packages)
        return (Step(text=f"Remove {' '.join(packages)}", argv=(*_conda(situation, "remove"), *names)),)

    def from_channel(self, situation: Situation, packages: Sequence[str]) -> tuple[Step, ...]:
        argv = (*_conda(situation, "install"), "-c", CHANNEL, *packages)
        return (Step(text=f"Install {packages[0]} from {CHANNEL}", argv=argv),)

    def from_scratch(self, packages: Sequence[str]) -> tuple[Step, ...]:
        get = f"Get conda-forge's installer, {self.installer}, if there is no conda: {self.page}"
        argv = (self.name, "create", "-n", "torch", "-c", CHANNEL, *packages)
        return (Step(text=get), Step(text="Make an environment with conda-forge's build", argv=argv, where="user"))

    def make(self, situation: Situation, python: str, arch: str | None) -> tuple[Step, ...]:
        """The environment remembers the platform: also a conda under Rosetta installs arm64's packages into it."""
        platform = ("--platform", "osx-arm64") if arch == "arm64" else ()
        where = ("-p", str(situation.prefix), "-c", CHANNEL, f"python={python}")
        argv = (situation.tool, "create", *platform, *where)
        return (Step(text=f"Make an environment with Python {python}", argv=argv, where="user"),)

    def activate(self, situation: Situation) -> str | None:
        folder = str(situation.prefix)
        whole = PurePosixPath(folder).is_absolute() or PureWindowsPath(folder).is_absolute()
        return situation.command((situation.tool, "activate", folder if whole else f"./{folder}"))

    def made_by(self, words: Sequence[str]) -> str | None:
        return option(words, "-p") if words[1:2] == ["create"] else None

    def dry_run(self, words: Sequence[str], asking: Asking) -> Resolution | None:
        if "-p" not in words:
            why = "this environment is none of conda's, whose active one would be changed."
            return Resolution(ok=False, message=why)
        if words[1] not in ("install", "create"):
            return None
        said = asking.ask([*words[:2], "--dry-run", "--json", *words[2:]], _ANSWERED)
        try:
            answer = json.loads(said.stdout)
        except ValueError:
            answer = {}
        if not said.ok or answer.get("success") is False:
            text = str(answer.get("message") or answer.get("error") or "")
            return said.failure(text.splitlines() if text else said.lines)
        actions = answer.get("actions", {})
        after: dict[str, str | None] = {str(p.get("name")): None for p in actions.get("UNLINK", ())}
        after |= {str(p.get("name")): str(p.get("version")) for p in actions.get("LINK", ())}
        changes = tuple(Change(n, asking.installed.get(n), a) for n, a in sorted(after.items()))
        return Resolution(ok=True, changes=changes)

    def _without_torch(self, situation: Situation) -> tuple[Step, ...]:
        """pip cannot remove what conda installed, and would put a second torch beside it."""
        torch = situation.facts.torch
        return self.remove(situation, ("torch",)) if torch and torch.installer == self.name else ()


def _pretence(situation: Situation, order: Order) -> tuple[Step, ...]:
    """Where there is no GPU, as when an image is built, conda installs no CUDA build unless it is told of a driver.
    Source: conda's documentation, «Managing virtual packages»."""
    facts = situation.facts
    if not order.cuda or facts.gpus != () or facts.nvidia.driver is not ABSENT:
        return ()
    shell = situation.set_variable("CONDA_OVERRIDE_CUDA", order.cuda)
    return (Step(text="Let conda take this machine for one with a CUDA driver", shell=shell, where="user"),)


def _conda(situation: Situation, verb: str) -> tuple[str, ...]:
    """In that environment; in the active one where it is none of conda's (--tool)."""
    program = situation.tool if situation.tool in tool.programs else tool.name
    theirs = situation.facts.interpreter.environment in (None, *(kind.name for kind in tool.kinds))
    return (program, verb, *(("-p", situation.prefix) if situation.prefix and theirs else ()))


def channel_packages(order: Order) -> tuple[str, ...] | None:
    """conda-forge's names for a build of torch and its companions; None where it has no such build."""
    if order.exact:
        return None
    packages = vendors.conda_forge()["packages"]
    backend = str(order.backend)
    if backend.startswith("cu"):
        if not order.cuda:
            return None
        first: tuple[str, ...] = (packages["cuda"], f"cuda-version={order.cuda}")
    elif backend in packages:
        first = (packages[backend],)
    else:
        return None
    return (*first, *(r.split("==")[0] for r in order.requirements[1:]))


tool = Conda()
