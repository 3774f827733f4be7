"""Packages other than torch, in the tool of the environment."""

from __future__ import annotations

import re
from dataclasses import replace

from doctor.fixes import tools
from doctor.fixes.host import as_root, distribution
from doctor.fixes.situation import Situation
from doctor.fixes.tools import Order, pip
from doctor.knowledge import lookup, vendors
from doctor.knowledge.choose import COMPANIONS
from doctor.model.facts import ABSENT
from doctor.model.finding import Remedy
from doctor.model.fix import Fix, Step
from doctor.regex import Regex

NVCC = "cuda-nvcc"
_NVCC_FROM = 12  # its oldest is 12.0.76: https://anaconda.org/conda-forge/cuda-nvcc-impl/files
FLAGS = ("--no-build-isolation",)
# Packages that come as source, whose setup.py looks for a compiled wheel among the project's own releases (by torch's
# minor version and CUDA major, the Python, the C++ ABI and the platform) and compiles where there is none: see the
# get_wheel_url in each setup.py. pip keeps what it got in its cache, for whichever torch that was.
FETCHES_ITS_WHEEL = {
    "flash-attn": "https://github.com/Dao-AILab/flash-attention/releases",
    "causal-conv1d": "https://github.com/Dao-AILab/causal-conv1d/releases",
    "mamba-ssm": "https://github.com/state-spaces/mamba/releases",
}
BUILT_WITH = ("ninja", "packaging", "psutil", "setuptools", "wheel")  # imported by those setup.py files, or to be fast
_OF_A_DRIVER = Regex(r"(nvidia-(driver|utils)|libnvidia)-")
_NAME = Regex(r"[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?\Z")
_SPEC = Regex(
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
    if package == NVCC and not _has_nvcc(situation, spec):
        return _nvcc_by_hand(finding, remedy, spec)
    others = _also(remedy.details.get("also", ""))
    if others is None:
        return None
    requirement = _named(situation, package) + spec.replace(" ", "")
    verb = {"pin-package": "Pin", "reinstall-package": "Reinstall"}.get(remedy.action, "Install")
    listed = any(p.name == package for p in situation.facts.packages or ())
    again = remedy.action == "reinstall-package" and (listed or not situation.facts.live)  # a ticket lists some only
    names = (package, *(name for name, _ in others))
    requirements = (requirement, *(f"{name}{exact}" for name, exact in others))
    requirement = " ".join(requirements)
    order = Order(
        requirements=requirements, index=index, replaces=names if again else (), note=f"{verb} {requirement}"
    )
    by = _with_tool(situation, package)
    steps = by.by.install(by, order)
    flag = remedy.details.get("flag", "")
    if package in FETCHES_ITS_WHEEL:
        steps = _with_its_wheel(situation, order, package)
    elif flag and (flag != pip.NO_CACHE or _for_wheels(situation).by.pip_options):  # others have their own cache
        steps = _with_flags(situation, order, (flag,))
    return Fix(
        finding=finding,
        action=remedy.action,
        title=remedy.text or f"{verb} {requirement}.",
        details={**remedy.details, **({"spec": spec} if spec else {}), **({"index": index} if index else {})},
        steps=steps,
    )


def _also(words: str) -> tuple[tuple[str, str], ...] | None:
    """(name, specifier) of the packages that go with the first; None where one cannot be named safely.

    >>> _also("nvidia-nccl-cu12==2.21.5 filelock"), _also("-r x")
    ((('nvidia-nccl-cu12', '==2.21.5'), ('filelock', '')), None)
    """
    pairs = []
    for word in words.split():
        name, spec = re.match(r"([\w.-]*)(.*)", word).groups()  # type: ignore[union-attr]
        if not _NAME.match(name) or (spec and not _SPEC.match(spec)):
            return None
        pairs.append((name, spec))
    return tuple(pairs)


def no_build_isolation(situation: Situation, finding: str, remedy: Remedy) -> Fix | None:
    """Install the package so that its build sees the environment; in words where the remedy names none."""
    if not remedy.details.get("package"):
        what = remedy.text or "Install the package with --no-build-isolation."
        return Fix.of(finding, remedy, what, Step(text=what.rstrip("."), where="user"))
    flagged = Remedy(action=remedy.action, details={**remedy.details, "flag": FLAGS[0]}, text=remedy.text)
    return install_package(situation, finding, flagged)


def add_index(situation: Situation, finding: str, remedy: Remedy) -> Fix | None:
    """Install a package from one more index; only from an index that the tables know. `details`: `index` (or
    `backend`), `package`, `spec`."""
    backend = remedy.details.get("backend", "")
    index = remedy.details.get("index") or (lookup.index_url(backend) if backend else None)
    package, spec = remedy.details.get("package", ""), remedy.details.get("spec", "")
    if not index or not index.startswith(_known_indexes()):
        return None
    title = f"Add the index {index}"
    details = {**remedy.details, "index": index}
    by = _for_wheels(situation)
    if not by.by.extra_index or not _NAME.match(package) or (spec and not _SPEC.match(spec)):
        text = f"{title} to what {by.tool} asks for packages"
        return replace(Fix.of(finding, remedy, f"{title}.", Step(text=text, where="user")), details=details)
    requirement = package + spec.replace(" ", "")
    order = Order(requirements=(requirement,), note=f"Install {requirement}, also from {index}")
    *before, last = by.by.install(by, order)
    steps = (*before, replace(last, argv=(*(last.argv or ()), by.by.extra_index, index)))
    return replace(Fix.of(finding, remedy, f"{title}, and install {requirement} from it.", *steps), details=details)


def _known_indexes() -> tuple[str, ...]:
    return ("https://download.pytorch.org/whl", vendors.therock()["index"])


def _with_flags(situation: Situation, order: Order, flags: tuple[str, ...]) -> tuple[Step, ...]:
    """With pip's options, which not every tool accepts on its command line."""
    by, said = _for_wheels(situation), " ".join(flags)
    if not {*flags} <= {*FLAGS, pip.NO_CACHE} or not by.by.pip_options:
        return (Step(text=f"{order.note} with {said}"),)
    *before, last = by.by.install(by, order)
    return (*before, replace(last, text=f"{last.text} with {said}", argv=(*(last.argv or ()), *flags)))


def _with_its_wheel(situation: Situation, order: Order, package: str) -> tuple[Step, ...]:
    """The compiled wheel of the project's release page where it has one for this torch, else compiled here."""
    by = _for_wheels(situation)
    *steps, last = _with_flags(situation, order, (*FLAGS, pip.NO_CACHE))
    torch = situation.facts.torch
    minor = ".".join(lookup.release_of(torch.version).split(".")[:2]) if torch and torch.version else ""
    cuda = (torch.cuda or lookup.build_of(torch.version).cuda or "") if torch and torch.version else ""
    tags = [f"torch{minor}" if minor else "", f"cp{situation.python_version.replace('.', '')}"]
    marked = " and ".join(tag for tag in tags if tag not in ("", "cp"))
    which = f"a wheel with {marked} in its name" if marked else "a wheel for this torch and Python"
    nvcc = f"nvcc of CUDA {str(cuda).split('.')[0]}, the major version of torch's" if cuda else "nvcc of torch's CUDA"
    text = f"{last.text}: it takes {which} where {FETCHES_ITS_WHEEL[package]} has one; else it compiles, with {nvcc}"
    steps.append(replace(last, text=text))
    if not by.by.pip_options:
        return tuple(steps)
    first = Order(requirements=BUILT_WITH, note=f"Install what its build needs: {', '.join(BUILT_WITH)}")
    return (*by.by.install(by, first), *steps)


def _named(situation: Situation, package: str) -> str:
    """The package by the name that its source uses."""
    return "pytorch" if package == "torch" and situation.by.channel else package


def _nvcc_by_hand(finding: str, remedy: Remedy, spec: str) -> Fix:
    text = (
        f"Install {NVCC}{spec}: conda-forge has it for CUDA {_NVCC_FROM} and newer, others are in NVIDIA's toolkit "
        "(https://developer.nvidia.com/cuda-toolkit-archive)"
    )
    title = remedy.text or f"Install {NVCC}{spec}."
    step = Step(text=text, where="user")
    return Fix(finding=finding, action=remedy.action, title=title, details=dict(remedy.details), steps=(step,))


def _has_nvcc(situation: Situation, spec: str) -> bool:
    """Whether the environment's tool has nvcc by that name: pip does not."""
    release = re.match(r"==(\d+)", spec)
    return bool(situation.by.channel) and (release is None or int(release[1]) >= _NVCC_FROM)


def remove_package(situation: Situation, finding: str, remedy: Remedy) -> Fix | None:
    package = remedy.details.get("package", "")
    if not _NAME.match(package):
        return None
    if remedy.details.get("system") or _OF_A_DRIVER.match(package):
        steps: tuple[Step, ...] = (_remove_from_system(situation, package),)
    else:
        by = _with_tool(situation, package)
        steps = by.by.remove(by, (package,))
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


def _with_tool(situation: Situation, package: str) -> Situation:
    """A wheel in another tool's environment is changed by the tool that installs wheels there."""
    installer = next((p.installer for p in situation.facts.packages or () if p.name == package), None)
    by = tools.find(installer)
    is_wheel = (by is not None and by.pip_options) or (package in COMPANIONS and by is not situation.by)
    return _for_wheels(situation) if is_wheel else situation


def _for_wheels(situation: Situation) -> Situation:
    """The same situation with the tool that installs wheels into such an environment."""
    return replace(situation, tool=situation.by.beside) if situation.by.beside else situation


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
