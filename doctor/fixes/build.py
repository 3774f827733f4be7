"""One build of torch: its name, what to know of it, and the steps that install it."""

from __future__ import annotations

from dataclasses import replace

from doctor.fixes.effective import installed_backend
from doctor.fixes.quoting import activation
from doctor.fixes.situation import Situation
from doctor.fixes.tools import Order
from doctor.knowledge import choose as choosing
from doctor.knowledge import lookup
from doctor.knowledge.choose import COMPANIONS, Candidate
from doctor.model.facts import ABSENT, Facts
from doctor.model.finding import Remedy
from doctor.model.fix import Step
from doctor.model.values import dataclass

VENDORS = {"jetson": "NVIDIA's torch for Jetson"}


@dataclass(frozen=True)
class Damage:
    """What a remedy knows of broken files. `past_cache`: the tool's cache may hold them, too; `also`: packages that
    torch brings along and that are damaged, too."""

    past_cache: bool = False
    also: tuple[str, ...] = ()


UNDAMAGED = Damage()


def damage_of(remedy: Remedy) -> Damage:
    return Damage("flag" in remedy.details, tuple(remedy.details.get("also", "").split()))


def name_of(build: Candidate) -> str:
    """ "torch 2.14.1 (cu126)"."""
    return (
        f"torch {build.release} ({build.backend})"
        if build.release
        else VENDORS.get(build.backend, f"the vendor's torch ({build.backend})")
    )


def requirements_of(build: Candidate) -> tuple[str, ...]:
    """("torch==2.14.1", "torchvision==0.29.1"); without versions where the vendor's index decides."""
    torch = f"torch=={build.release}" if build.release else "torch"
    return (torch, *(f"{name}=={version}" if version else name for name, version in build.companions))


def valid_specifier(spec: str | None) -> str | None:
    """The specifier, unless it is none: a message may have named a version that is no version."""
    if not spec:
        return None
    from packaging.specifiers import InvalidSpecifier

    try:
        return spec if choosing.specifier(spec) is not None else None
    except InvalidSpecifier:
        return None


def installed_companions(facts: Facts) -> tuple[str, ...]:
    """The installed packages that must move along with torch."""
    return tuple(p.name for p in facts.packages or () if p.name in COMPANIONS)


def is_installed(facts: Facts, build: Candidate) -> bool:
    """Whether the installed torch is that build, with the companions that belong to it."""
    installed = {p.name: lookup.release_of(p.version or "") for p in facts.packages or ()}
    return is_same_torch(facts, build) and all(installed.get(name) == version for name, version in build.companions)


def is_same_torch(facts: Facts, build: Candidate) -> bool:
    version = facts.torch.version if facts.torch else None
    same = version is not None and lookup.release_of(version) == build.release
    return same and installed_backend(facts) == build.backend


def is_unknown(facts: Facts) -> bool:
    """Whether a torch is there, or may be, of which a ticket does not tell the version."""
    return facts.torch is None or (facts.torch is not ABSENT and not facts.torch.version)


def cautions(build: Candidate) -> tuple[str, ...]:
    """What the user should know of a build before installing it."""
    unseen = (_unseen(build),) if build.status != "verified" else ()
    return (*unseen, *((f"it leaves out {', '.join(build.leaves_out)}",) if build.leaves_out else ()))


def _unseen(build: Candidate) -> str:
    return f"that {name_of(build)} was published follows from the rules of earlier releases, it was not seen"


def conda_cuda(situation: Situation, build: Candidate, exact: bool) -> str | None:
    """The CUDA version of conda-forge's build where the tool takes that ("" for a build without CUDA); None where torch
    comes from a wheel index."""
    if not situation.by.channel or exact:
        return None
    if build.backend in ("cpu", "mps"):
        return ""
    return choosing.conda_forge_cuda(situation.facts, build.backend) if build.backend.startswith("cu") else None


def steps_for_build(
    situation: Situation,
    build: Candidate,
    *,
    broken: bool = False,
    exact: bool = False,
    sound: bool = False,
    damage: Damage = UNDAMAGED,
) -> tuple[Step, ...]:
    """The steps that put a build into the environment, in the words of its tool."""
    before, situation = own_environment(situation)
    requirements = requirements_of(build)
    stays = sound and is_same_torch(situation.facts, build)
    also = damage.also if is_same_torch(situation.facts, build) else ()
    order = Order(
        requirements=requirements,
        index=build.index,
        backend=build.backend,
        replaces=(*_replaced(situation.facts, build, broken), *also) if not before and not stays else (),
        cuda=conda_cuda(situation, build, exact) or None,
        exact=exact,
        past_cache=damage.past_cache,
    )
    steps = situation.by.install(situation, order)
    last = steps[-1]
    if last.argv:
        verify = (situation.python, "-c", "import torch; print(torch.__version__)")
        undo = _undo(situation) if not before else None
        size = _download_mb(situation, build, exact=exact)
        steps = (*steps[:-1], replace(last, verify=verify, undo=undo, downloads_mb=size))
    if not before:
        return steps
    return (*before, *steps, use_environment(situation))


def _download_mb(situation: Situation, build: Candidate, *, exact: bool) -> int | None:
    """Of a wheel and what it needs; conda-forge's packages are others."""
    if not build.release or conda_cuda(situation, build, exact) is not None:
        return None
    return lookup.download_mb(build.release, build.backend, choosing.platform_of(situation.facts))


def moved(situation: Situation, build: Candidate) -> tuple[str, ...]:
    """The installed packages that must move along, in their new versions."""
    return tuple(f"{name} {version}".strip() for name, version in build.companions if situation.installed(name))


def _replaced(facts: Facts, build: Candidate, broken: bool) -> tuple[str, ...]:
    """What must be removed first: tools take another build of the same version for good, and cannot repair a broken
    one."""
    torch = facts.torch
    if is_unknown(facts):
        return ("torch",) if broken else ()
    if not torch or not torch.version:
        return ()
    same = lookup.release_of(torch.version) == build.release or not build.release
    names = [n for n, v in build.companions if same and any(p.name == n for p in facts.packages or ())]
    copies = len(torch.copies or ()) > 1
    return ("torch", *names) if same or broken or copies else ()


def _undo(situation: Situation) -> tuple[str, ...] | None:
    """The command that brings the present build back, where its index is known."""
    torch = situation.facts.torch
    if not torch or not torch.version:
        return None
    backend = installed_backend(situation.facts)
    release = lookup.release_of(torch.version)
    if backend is None or lookup.release_date(release) is None:
        return None
    url = lookup.index_url(backend, release) if "+" in torch.version else None
    if "+" in torch.version and url is None:
        return None
    return situation.by.undo(situation, f"torch=={release}", url)


def own_environment(situation: Situation) -> tuple[tuple[Step, ...], Situation]:
    """A system Python that its distribution manages (PEP 668) gets a virtual environment first."""
    interpreter = situation.facts.interpreter
    if interpreter.environment not in ("system", None) or interpreter.externally_managed is not True:
        return (), situation
    python = ".venv\\Scripts\\python.exe" if situation.windows else ".venv/bin/python"
    step = Step(
        text="Make a virtual environment: the system's Python is managed by the distribution (PEP 668)",
        argv=situation.by.venv(situation.python, ".venv"),
    )
    facts = replace(
        situation.facts,
        torch=ABSENT,
        packages=(),
        interpreter=replace(interpreter, externally_managed=False, environment="venv", pip=None, executable=python),
    )
    return (step,), replace(situation, facts=facts, python=python, prefix=".venv")


def use_environment(situation: Situation) -> Step:
    """The line that makes the shell use the new environment of this situation."""
    folder = str(situation.prefix)
    own = situation.by.makes == "own"
    shell = situation.by.activate(situation) if own else activation(folder, situation.shell)
    return Step(text="Use it: activate the new environment", shell=shell, where="user")


def environment_steps(situation: Situation, build: Candidate) -> tuple[Step, ...]:
    from doctor.fixes.system import set_variable_step

    return tuple(set_variable_step(situation, name, value) for name, value in build.environ)
