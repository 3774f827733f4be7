"""Packages other than torch, in the tool of the environment."""

from __future__ import annotations

import re
from dataclasses import replace

from doctor.fixes.host import as_root, distribution
from doctor.fixes.situation import CONDAS, Situation
from doctor.fixes.tools import Order, pip, tool
from doctor.knowledge import lookup
from doctor.knowledge.choose import COMPANIONS
from doctor.model.facts import ABSENT
from doctor.model.finding import Remedy
from doctor.model.fix import Fix, Step

_OF_A_DRIVER = re.compile(r"(nvidia-(driver|utils)|libnvidia)-")
_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?\Z")
_SPEC = re.compile(
    r"((===|~=|==|!=|<=|>=|<|>)\s?[0-9][0-9A-Za-z.+*!-]*)(\s?,\s?(===|~=|==|!=|<=|>=|<|>)\s?[0-9][0-9A-Za-z.+*!-]*)*\Z"
)


def install_package(situation: Situation, finding: str, remedy: Remedy) -> Fix | None:
    """install-package, pin-package and reinstall-package. None where the package cannot be named safely;
    words without a command where the remedy names none."""
    package, spec = remedy.details.get("package", ""), remedy.details.get("spec", "")
    if not package and remedy.text:  # which one is the user's to say
        step = Step(text=remedy.text.rstrip("."), where="user")
        return Fix(finding=finding, action=remedy.action, title=remedy.text, steps=(step,))
    if not _NAME.match(package) or (spec and not _SPEC.match(spec)):
        return None
    index = None
    if package in COMPANIONS:
        spec, index = spec or _companion_spec(situation, package), _torch_index(situation)
    requirement = package + spec.replace(" ", "")
    verb = {"pin-package": "Pin", "reinstall-package": "Reinstall"}.get(remedy.action, "Install")
    again = remedy.action == "reinstall-package" and any(p.name == package for p in situation.facts.packages or ())
    order = Order(
        requirements=(requirement,), index=index, replaces=(package,) if again else (), note=f"{verb} {requirement}"
    )
    return Fix(
        finding=finding,
        action=remedy.action,
        title=remedy.text or f"{verb} {requirement}.",
        details={**remedy.details, **({"spec": spec} if spec else {}), **({"index": index} if index else {})},
        steps=tool(_tool_for(situation, package)).install(_with_tool(situation, package), order),
    )


def remove_package(situation: Situation, finding: str, remedy: Remedy) -> Fix | None:
    package = remedy.details.get("package", "")
    if not _NAME.match(package):
        return None
    if remedy.details.get("system") or _OF_A_DRIVER.match(package):
        steps: tuple[Step, ...] = (_remove_from_system(situation, package),)
    else:
        steps = tool(_tool_for(situation, package)).remove(_with_tool(situation, package), (package,))
    return Fix(
        finding=finding,
        action=remedy.action,
        title=remedy.text or f"Remove {package}.",
        details=dict(remedy.details),
        steps=steps,
    )


def _remove_from_system(situation: Situation, package: str) -> Step:
    """A branch in the name is Debian's and Ubuntu's way; other systems call their packages otherwise."""
    text = f"Remove {package}"
    found = lookup.package_manager(distribution(situation))
    if found == "apt" or (situation.facts.host.os_id is None and re.search(r"-\d{3}\Z", package)):
        argv = as_root(situation, ("apt", "remove", "--autoremove", package))
        return Step(text=f"{text}, and what came with it", argv=argv, where="system", needs_root=True)
    return Step(text=f"{text} with the distribution's package manager", where="system", needs_root=True)


def install_pip(situation: Situation, finding: str, remedy: Remedy) -> Fix:
    without = replace(
        situation, facts=replace(situation.facts, interpreter=replace(situation.facts.interpreter, pip=ABSENT))
    )
    return Fix(
        finding=finding,
        action=remedy.action,
        title=remedy.text or "Give the environment a pip.",
        details=dict(remedy.details),
        steps=pip.get_pip(without),
    )


def _tool_for(situation: Situation, package: str) -> str:
    """A package that pip put into a conda environment is changed by pip."""
    by = next((p.installer for p in situation.facts.packages or () if p.name == package), None)
    if situation.tool in CONDAS and (by in ("pip", "uv") or package in COMPANIONS):
        return "pip" if by != "conda" else situation.tool
    return situation.tool


def _with_tool(situation: Situation, package: str) -> Situation:
    return replace(situation, tool=_tool_for(situation, package))


def _companion_spec(situation: Situation, package: str) -> str:
    torch = situation.facts.torch
    version = lookup.companion(torch.version, package) if torch and torch.version else None
    return f"=={version}" if version else ""


def _torch_index(situation: Situation) -> str | None:
    """Companions come from the index of the torch beside them, or their builds differ; None where that is the default
    index, whose builds belong together."""
    torch = situation.facts.torch
    if not torch or not torch.version or "+" not in torch.version:
        return None
    backend = lookup.build_of(torch.version, cuda=torch.cuda, hip=torch.hip, xpu=torch.xpu).backend
    platform = lookup.platform_of(situation.facts.host.system, situation.facts.host.architecture)
    if not backend or (platform and backend == lookup.default_backend(torch.version, platform)):
        return None
    return lookup.index_url(backend)
