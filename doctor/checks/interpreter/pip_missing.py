"""This environment has no pip that works.

What it means
    Some environments are made without pip (by uv, or with python -m venv --without-pip), and Debian and Ubuntu keep it
    in packages of their own. Then «pip» on the path may be another Python's, and installs torch there. Or files of the
    pip that is there are missing: an upgrade that was cut short.

How to see it yourself
    python -m pip --version says «No module named pip».

What to do
    python -m ensurepip --upgrade; on Debian and Ubuntu install python3-pip and python3-venv first. In an environment
    of uv use uv pip. Remove a damaged pip first: ensurepip takes its metadata for a pip.

References
    https://docs.python.org/3/library/ensurepip.html
    https://docs.astral.sh/uv/pip/compatibility/
"""

from __future__ import annotations

from doctor.checks import Check, Judgement
from doctor.checks._files import damaged, evidence_of, is_pip, summed_up
from doctor.checks._machine import heard
from doctor.checks._torch import installed, quote
from doctor.fixes import tools
from doctor.model.facts import ABSENT, Facts
from doctor.model.finding import Remedy

PIP = Remedy(action="install-pip")
DEBIAN = Remedy(action="install-system-package", details={"package": "python3-venv"})

check = Check(
    severity="fault",
    needs=("interpreter.pip", "interpreter.environment"),
    usual=(PIP, DEBIAN),
    explains=("torch-missing",),
)


@check
def judge(facts: Facts) -> Judgement:
    error, python = heard(facts, "no-module-named-pip"), facts.interpreter
    if error:
        by_the_system = "ensurepip" in error.text
        return check.found(
            facts,
            "pip is not in this "
            f"environment{', and the system keeps ensurepip in a package of its own' if by_the_system else ''}.",
            evidence=(quote(error), "interpreter.executable", "host.os_name"),
            remedies=(DEBIAN, PIP) if by_the_system else (PIP, DEBIAN),
        )
    if error := heard(facts, "pip-not-recognized"):
        return check.found(
            facts,
            "The command pip is not found: this Python has none, or its folder is not on the path.",
            evidence=(quote(error), "interpreter.executable", "host.os_name"),
            remedies=(PIP, Remedy(action="activate-environment")),
            confidence="likely",
        )
    torch = installed(facts)
    makers = (tools.find(python.manager), tools.of_kind(python.environment))
    if any(tool and not tool.needs_pip for tool in makers) or python.environment != "venv" or torch is not None:
        return None
    if broken := damaged(facts, is_pip):
        return check.found(
            facts,
            f"{summed_up(broken)} «pip install» ends with an error.",
            evidence=("interpreter.pip", *evidence_of(broken)),
            severity="warning",
            remedies=(PIP,),
        )
    if python.pip is not ABSENT:
        return None
    return check.found(
        facts,
        f"{python.executable or 'This environment'} has no pip, so «pip install» would put torch elsewhere.",
        evidence=("interpreter.pip", "interpreter.environment"),
        severity="warning",
        remedies=(PIP,),
    )
