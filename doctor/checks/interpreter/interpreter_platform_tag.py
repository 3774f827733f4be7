"""This Python takes the Mac for an older system than it is.

What it means
    A Python that was built with an old SDK is told by macOS that it runs on 10.16, whatever the real version is. pip
    derives from it which wheels fit, and finds none for Apple silicon («from versions: none»).

How to see it yourself
    python -c "import platform; print(platform.mac_ver()[0], platform.platform())" prints 10.16; sw_vers the real
    version.

What to do
    Use a Python that was built with a current SDK. Until then SYSTEM_VERSION_COMPAT=0, or pip 24.1 and newer, see the
    real version.

References
    https://github.com/pypa/pip/issues/11618
    https://eclecticlight.co/2020/08/13/macos-version-numbering-isnt-so-simple/
"""

from __future__ import annotations

import re

from doctor.checks import Check, Fit, Judgement
from doctor.checks._machine import heard, imported, macos
from doctor.checks._torch import installed, numbers, quote
from doctor.fixes.tools import pip
from doctor.model.facts import ABSENT, Facts
from doctor.model.finding import Remedy

check = Check(
    severity="fault",
    needs=("interpreter.platform_tag", "interpreter.macos_reported|messages"),
    systems=("darwin",),
    keeps_from=("apple",),
    usual=(Remedy(action="replace-interpreter"),),
    explains=("torch-missing",),
    instead_of=("no-matching-wheel", "index-misconfigured", "python-unsupported", "macos-too-old", "intel-mac"),
)

DISGUISED = (10, 16)


@check
def judge(facts: Facts) -> Judgement:
    reported, real = _reported(facts), macos(facts)
    if facts.host.system not in (None, "darwin") or not reported or numbers(reported)[:2] != DISGUISED:
        return None
    if real is not None and numbers(real)[:1] < (11,):
        return None
    torch, error = (
        installed(facts),
        heard(facts, "wheel-needs-macos-14", "torch-from-versions-none", "no-matching-torch"),
    )
    if torch and torch.imports is not False and error is None:
        return None
    wanted = error is not None or facts.torch is ABSENT
    return check.found(
        facts,
        f"This Python sees macOS {reported}{f', while it is {real}' if real else ''}; "
        "pip looks for wheels of the wrong system.",
        evidence=(
            "interpreter.macos_reported",
            "interpreter.platform_tag",
            "host.macos",
            "interpreter.version",
            quote(error) if error else None,
        ),
        severity=None if wanted else "warning",
        remedies=(
            Remedy(
                action="replace-interpreter", details={"arch": "arm64"} if facts.host.architecture == "arm64" else {}
            ),
            Remedy(action="set-env", details={"name": "SYSTEM_VERSION_COMPAT", "value": "0"}),
            Remedy(action="pin-package", details={"package": pip.NAME, "spec": ">=24.1"}),
        ),
    )


@check.fit
def fits(facts: Facts) -> Fit | None:
    return Fit(0, "torch is installed, and imports") if imported(facts) else None


def _reported(facts: Facts) -> str | None:
    """The macOS version that this Python sees, as told or in its platform's name."""
    tag = re.match(r"macosx-(\d+\.\d+)-", facts.interpreter.platform_tag or "")
    return facts.interpreter.macos_reported or (tag[1] if tag and numbers(tag[1]) == DISGUISED else None)
