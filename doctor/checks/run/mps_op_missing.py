"""An operator is not implemented on MPS in this torch.

What it means
    The MPS backend does not have every operator of torch; each release adds some.

How to see it yourself
    The message names the operator (aten::…).

What to do
    Install a newer torch, or let these operators run on the CPU: PYTORCH_ENABLE_MPS_FALLBACK=1, set before torch is
    imported.

References
    https://docs.pytorch.org/docs/stable/mps_environment_variables.html
    https://github.com/pytorch/pytorch/issues/77764
"""

import re

from doctor.checks import Check, Judgement
from doctor.checks._machine import heard
from doctor.checks._torch import numbers, quote, release_of, search
from doctor.knowledge import lookup
from doctor.model.facts import Facts
from doctor.model.finding import Remedy
from doctor.regex import Regex

check = Check(
    severity="fault",
    needs=("messages",),
    systems=("darwin",),
    usual=(
        Remedy(action="set-env", details={"name": "PYTORCH_ENABLE_MPS_FALLBACK", "value": "1"}),
        Remedy(action="upgrade-torch"),
    ),
    instead_of=("program-error",),
)

UNSUPPORTED = Regex(
    r"\bMPS\b(?! autocast)[^.]{0,60}(?:[Uu]nsupported|(?:not|n't) (?:yet |currently )?(?:implement|support))|"
    r"not (?:yet |currently )?(?:implemented|supported) (?:for|on|in) (?:the )?'?MPS\b"
)
# a type, a system or a warning: not an operator
OF_ANOTHER_KIND = Regex(r"float\d{2}|\bdtype|[Dd]ata ?type|UserWarning|backend is not supported|MPS version", re.I)


@check
def judge(facts: Facts) -> Judgement:
    error = heard(facts, "mps-operator-not-implemented", "mps-conv3d-not-supported", "mps-adaptive-pool")
    if error is None and (found := search(facts, UNSUPPORTED)) and not OF_ANOTHER_KIND.search(found[0].text):
        error = found[0]
    if error is None:
        return None
    named = re.search(r"aten::[\w.]+", error.text)
    release, newest = release_of(facts), lookup.newest_torch(facts.as_of)
    fallback = Remedy(action="set-env", details={"name": "PYTORCH_ENABLE_MPS_FALLBACK", "value": "1"})
    upgrade = Remedy(action="upgrade-torch")
    newer = release is None or numbers(release)[:2] < numbers(newest)[:2]
    return check.found(
        facts,
        f"{named[0] if named else 'An operator'} is not implemented on MPS{f' in torch {release}' if release else ''}.",
        evidence=(quote(error), "torch.version", "host.macos"),
        remedies=(fallback, upgrade) if newer else (fallback,),
        op=named[0] if named else None,
        torch=release,
    )
