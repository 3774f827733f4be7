"""torch is older than what this machine or this program needs.

What it means
    The installed release has not got what is asked of it: the MPS backend came with 1.12, torch.compile with 2.0,
    torch.accelerator with 2.6; other packages state the oldest torch with which they work.

How to see it yourself
    python -c "import torch; print(torch.__version__)"

What to do
    Install a newer torch, with the torchvision and torchaudio made for it.

References
    https://pytorch.org/blog/introducing-accelerated-pytorch-training-on-mac/ (MPS, 1.12)
    https://docs.pytorch.org/docs/stable/index.html (the versions of the interfaces)
"""

import re

from doctor.checks import Check, Judgement
from doctor.checks._machine import heard, wants
from doctor.checks._torch import is_mac_arm, numbers, owner, quote, release_of, search
from doctor.checks.torch.torch_install_broken import BASIC
from doctor.knowledge import lookup
from doctor.model.facts import ErrorText, Facts, Torch, TorchCopy
from doctor.model.finding import Evidence, Remedy
from doctor.regex import Regex

check = Check(
    severity="fault",
    needs=("torch.version", "messages"),
    usual=(Remedy(action="upgrade-torch"),),
    explains=("mps-not-built", "mps-unavailable", "torch-cpu-only"),
    instead_of=("program-error", "backend-impossible-here"),
)

ATTRIBUTE = Regex(r"module 'torch(?:\.([\w.]+))?' has no attribute '(\w+)'")
NAME = Regex(r"cannot import name '(\w+)' from '(torch[\w.]*)' \((?!unknown location)")
MODULE = Regex(r"No module named '(torch\.[\w.]+)'")
DEVICE = Regex(r"Expected one of (.*) device type at start of device string: (\w+)")
REQUIRED = Regex(r"(?:PyTorch|torch) ?>= ?(\d[\d.]*) (?:is|are) required(?: but found (\d[\d.]*))?")
TO_UPGRADE = Regex(r"require users to upgrade torch to at least v(\d[\d.]*\d)()")
TO_USE = Regex(
    r"requires (?:torch ?>= ?|PyTorch )(\d[\d.]*\d)()(?:: `pip install|, to use it, please upgrade| or higher)"
)


@check
def judge(facts: Facts) -> Judgement:
    return _no_mps(facts) or _missing_name(facts) or _unknown_device(facts) or _required(facts) or _said(facts)


def _said(facts: Facts) -> Judgement:
    """A message that only a torch older than what is asked of it gives."""
    error, needed = heard(facts, "torch-name-not-yet-there"), ""
    if error is None and (error := heard(facts, "autocast-device-unsupported")):
        if error.groups[0] != "mps":
            return None
        needed = "2.5"
    release = release_of(facts)
    if error is None or (needed and release and numbers(release) >= numbers(needed)):
        return None
    return check.found(
        facts,
        f"The program uses what torch{f' {release}' if release else ''} does not have yet.",
        evidence=(quote(error), "torch.version"),
        remedies=(Remedy(action="upgrade-torch", details={"torch": f">={needed}"} if needed else {}),),
        confidence="likely",
        torch=release,
        needed=needed,
    )


def _no_mps(facts: Facts) -> Judgement:
    release = release_of(facts)
    if not _misses_mps(facts) or not release or not is_mac_arm(facts):
        return None
    if lookup.mps_minimum(release) is not None or numbers(release) >= (1, 12):
        return None
    return check.found(
        facts,
        f"torch {release} has no MPS backend: the GPU of {facts.host.cpu_model or 'this Mac'} needs "
        f"torch 1.12 or newer.",
        evidence=("torch.version", Evidence(fact="needed", value="1.12"), "host.cpu_model"),
        remedies=(Remedy(action="upgrade-torch", details={"torch": ">=1.12"}),),
        torch=release,
        needed="1.12",
    )


def _misses_mps(facts: Facts) -> bool:
    """Whether the GPU is asked for: a text that only names an old release on a Mac may be about anything."""
    torch = facts.torch
    refused = isinstance(torch, Torch) and (torch.mps_built is False or torch.mps_available is False)
    complaints = ("complaint-gpu-unused", "complaint-runs-on-cpu", "app-finds-no-gpu", "complaint-mps-fails")
    return facts.live or refused or wants(facts, "mps") or heard(facts, *complaints) is not None


def _missing_name(facts: Facts) -> Judgement:
    """A name of torch's interface that the installed release has not got."""
    found = search(facts, ATTRIBUTE) or search(facts, NAME) or search(facts, MODULE)
    if found is None:
        return None
    error, match = found
    if match.re is ATTRIBUTE.compiled:
        name = ".".join(p for p in match.groups() if p)
    elif match.re is NAME.compiled:
        name = f"{match[2]}.{match[1]}".removeprefix("torch.")
    else:
        name = match[1].removeprefix("torch.")
    since, release = lookup.name_since(name), release_of(facts)
    if lookup.name_removed(name):
        return None  # the program is older than torch: program-error
    if since and release and numbers(release) >= numbers(since):
        if lookup.is_name(name):
            return None
        since = None  # it is a newer part of something old
    newest = None if since else _in_newest(name, release, error)
    asked_by_library = _from_library(error.path) and (
        _older_than_newest(facts, release) if release else match.re is MODULE.compiled
    )
    if since is None and newest is None and not asked_by_library:
        return None  # a wrong name in the program, or a broken torch: for others to say
    if since and any(numbers(c.version) >= numbers(since) for c in _copies(facts) if c.version):
        return None  # another copy of torch has it: torch-duplicate-install
    needed = f">={since}" if since else f">{release}" if release else ""
    return check.found(
        facts,
        f"torch{f' {release}' if release else ''} has no torch.{name}"
        + (
            f", which came with {since}."
            if since
            else f"; torch {newest} has it."
            if newest
            else f"; the code that asks for it ({owner(error.path)}) needs a newer torch."
        ),
        evidence=(
            quote(error),
            "torch.version",
            Evidence(fact="needed", value=needed or f"torch {newest}"),
        ),
        remedies=(Remedy(action="upgrade-torch", details={"torch": needed} if needed else {}),),
        confidence="certain" if since and release else "likely",
        torch=release,
        name=name,
        needed=needed or None,
    )


def _in_newest(name: str, release: str | None, error: ErrorText) -> str | None:
    """The newest release that was looked at, where it has the name and the installed one is older, or not known. What
    every torch has says that this is none: torch-install-broken."""
    newest = lookup.present_in(name)
    if newest is None or (release and numbers(release) >= numbers(newest)):
        return None
    return newest if release or not BASIC.search(error.text) else None


def _copies(facts: Facts) -> tuple[TorchCopy, ...]:
    return (facts.torch.copies if isinstance(facts.torch, Torch) else None) or ()


def _older_than_newest(facts: Facts, release: str) -> bool:
    return numbers(release) < numbers(lookup.newest_torch(facts.as_of))


def _from_library(path: str | None) -> bool:
    """Whether the code that failed is an installed package other than torch, which knows what it asks for."""
    return owner(path) not in (None, "torch")


def _unknown_device(facts: Facts) -> Judgement:
    found = search(facts, DEVICE)
    if found is None or (facts.host.system in ("linux", "windows") and found[1][2] == "mps"):
        return None
    error, match = found
    wanted = match[2]
    needed = lookup.device_since(wanted)
    if needed is None or re.search(rf"\b{wanted}\b", match[1]):
        return None
    return check.found(
        facts,
        f"This torch does not know the device «{wanted}», which came with torch {needed}.",
        evidence=(quote(error), "torch.version", Evidence(fact="needed", value=needed)),
        remedies=(Remedy(action="upgrade-torch", details={"torch": f">={needed}"}),),
        needed=needed,
    )


def _required(facts: Facts) -> Judgement:
    """A package that says which torch it needs, at run time."""
    found = search(facts, REQUIRED) or search(facts, TO_UPGRADE) or search(facts, TO_USE)
    if found is None:
        return None
    error, match = found
    release = match[2] or release_of(facts)
    told = "please upgrade" in match[0] or "to upgrade torch" in match[0]  # the package has looked itself
    if (release is None and not told) or (release and numbers(release) >= numbers(match[1])):
        return None
    return check.found(
        facts,
        f"A package needs torch {match[1]} or newer{f'; this is {release}' if release else ''}.",
        evidence=(quote(error), "torch.version"),
        remedies=(Remedy(action="upgrade-torch", details={"torch": f">={match[1]}"}),),
        torch=release,
        needed=match[1],
    )
