"""conda, mamba and micromamba, with conda-forge: the pytorch channel ended with torch 2.5.1. The versions that
conda-forge has are not in the tables, so its newest build is taken; what it does not build (ROCm, XPU, an exact torch)
comes by pip."""

from __future__ import annotations

from doctor.fixes import quoting
from doctor.fixes.situation import CONDAS, Situation
from doctor.fixes.tools import Order, pip
from doctor.knowledge import vendors
from doctor.model.facts import ABSENT
from doctor.model.fix import Step


def install(situation: Situation, order: Order) -> tuple[Step, ...]:
    if order.requirements[0].startswith("torch") and order.backend:
        names = conda_packages(order)
        if names is None:
            return (*_without_conda_torch(situation), *pip.install(situation, order))
        steps = [
            Step(
                text=f"Install {names[0]} from conda-forge",
                argv=(*_conda(situation, "install"), "-c", "conda-forge", *names),
            )
        ]
        by_pip = tuple(
            p.name for p in situation.facts.packages or () if p.name in order.replaces and p.installer == "pip"
        )
        return (*(pip.remove(situation, by_pip) if by_pip else ()), *_pretence(situation, order), *steps)
    again = ("--force-reinstall",) if order.replaces else ()
    argv = (*_conda(situation, "install"), *again, "-c", "conda-forge", *order.requirements)
    return (Step(text=order.note or f"Install {' '.join(order.requirements)}", argv=argv),)


def remove(situation: Situation, packages: tuple[str, ...]) -> tuple[Step, ...]:
    by_pip = {p.name for p in situation.facts.packages or () if p.installer == "pip"}
    if by_pip & set(packages):
        return pip.remove(situation, packages)
    names = ("pytorch" if name == "torch" else name for name in packages)
    return (Step(text=f"Remove {' '.join(packages)}", argv=(*_conda(situation, "remove"), *names)),)


def _pretence(situation: Situation, order: Order) -> tuple[Step, ...]:
    """Where there is no GPU, as when an image is built, conda installs no CUDA build unless it is told of a driver.
    Source: conda's documentation, «Managing virtual packages»."""
    facts = situation.facts
    if not order.cuda or facts.gpus != () or facts.nvidia.driver is not ABSENT:
        return ()
    shell = quoting.set_variable("CONDA_OVERRIDE_CUDA", order.cuda, shell=situation.shell)
    return (Step(text="Let conda take this machine for one with a CUDA driver", shell=shell, where="user"),)


def _without_conda_torch(situation: Situation) -> tuple[Step, ...]:
    """pip cannot remove what conda installed, and would put a second torch beside it."""
    torch = situation.facts.torch
    return remove(situation, ("torch",)) if torch and torch.installer == "conda" else ()


def _conda(situation: Situation, verb: str) -> tuple[str, ...]:
    """In that environment; in the active one where it is none of conda's (--tool)."""
    program = situation.tool if situation.tool in CONDAS else "conda"
    theirs = situation.facts.interpreter.environment in ("conda", "conda-base", None)
    return (program, verb, *(("-p", situation.prefix) if situation.prefix and theirs else ()))


def conda_packages(order: Order) -> tuple[str, ...] | None:
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
