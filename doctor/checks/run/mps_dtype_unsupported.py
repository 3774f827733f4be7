"""MPS does not have this number type, or not on this macOS.

What it means
    Metal has no float64 at all. bfloat16 needs macOS 14, and 64-bit integers in some operators macOS 13.3.

How to see it yourself
    The message names the type.

What to do
    Use float32 on the device (torch.set_default_dtype, .float()); for bfloat16 or int64 update macOS, and torch.

References
    https://docs.pytorch.org/docs/stable/notes/mps.html
"""

import re

from doctor.checks import Check, Judgement
from doctor.checks._machine import apple_silicon, heard
from doctor.checks._torch import numbers, quote, release_of, search
from doctor.model.facts import ErrorText, Facts
from doctor.model.finding import Remedy
from doctor.regex import Regex

check = Check(
    severity="fault",
    needs=("messages",),
    systems=("darwin",),
    usual=(Remedy(action="none", details={"reason": "use float32 on MPS"}, text="Use float32 on MPS."),),
    instead_of=("program-error", "mps-op-missing"),
)

OPERATOR = Regex(
    r"MPS(?: \w+)? does(?: not|n't) support (\w+) (?:op )?with (u?int\d+|float\d+|bfloat16|bool|"
    r"complex\w*)|(\w+)\(\)? ?(?:op )?(?:is )?(?:only )?supported on MPS for (\w+)"
)
NEEDS = {"bfloat16": "14.0", "int64": "13.3", "complex": "14.0"}
SINCE = {"bfloat16": "2.3"}  # the torch that has it on such a macOS, see tables/macos.json


@check
def judge(facts: Facts) -> Judgement:
    error = heard(facts, "mps-no-float64", "mps-bfloat16-needs-macos-14")
    found = search(facts, OPERATOR)
    if error is None and found:
        error = found[0]
    if error is None:
        return None
    dtype = _dtype(error)
    macos = NEEDS.get(dtype)
    old = macos is not None and (facts.host.macos in (None, "") or numbers(str(facts.host.macos)) < numbers(macos))
    remedies: tuple[Remedy, ...] = (
        Remedy(
            action="none",
            details={"reason": f"use float32 in place of {dtype} on MPS"},
            text=f"Use another type than {dtype} on MPS: float32.",
        ),
    )
    if old and macos:
        upgrade_os = Remedy(action="upgrade-os", details={"minimum": macos})
        upgrade = Remedy(action="upgrade-torch")
        remedies = (upgrade, upgrade_os) if dtype == "int64" else (upgrade_os, upgrade)
    elif too_old := _torch_too_old(facts, dtype):
        remedies = (Remedy(action="upgrade-torch", details={"torch": f">={too_old}"}), *remedies)
    return check.found(
        facts,
        f"MPS can't use {dtype} here" + (f": that needs macOS {macos}." if old else "."),
        evidence=(quote(error), "host.macos", "torch.version"),
        remedies=remedies,
        dtype=dtype,
        needed=macos,
    )


def _torch_too_old(facts: Facts, dtype: str) -> str | None:
    """The first torch that has the type, where this one is older."""
    since, release = SINCE.get(dtype), release_of(facts)
    newer = apple_silicon(facts) and since is not None and release is not None  # Intel Macs get none
    return since if newer and numbers(release or "") < numbers(since or "") else None


def _dtype(error: ErrorText) -> str:
    """The number type that a message names."""
    found = re.search(r"(?:b?float|u?int|complex)\d+|complex|ComplexDouble|Double|Float8\w*|B[Ff]loat16", error.text)
    name = found[0].lower() if found else "this type"
    return {"double": "float64", "complexdouble": "complex128"}.get(name, name)
