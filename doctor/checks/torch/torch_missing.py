"""torch is not installed in this environment.

What it means
    The Python that was examined finds no torch on its path: nothing of PyTorch can run in it.

How to see it yourself
    python -m pip show torch; python -c "import torch"

What to do
    Install the build that fits this machine, with the tool that made the environment; or activate the environment
    that has torch already.

References
    https://pytorch.org/get-started/locally/
"""

from doctor.checks import Check, Fit, Judgement
from doctor.checks._machine import heard, imported
from doctor.checks._torch import installed, quote
from doctor.model.facts import ABSENT, Facts
from doctor.model.finding import Remedy

check = Check(
    severity="fault",
    needs=("torch",),
    keeps_from=("nvidia", "amd", "intel", "apple"),
    usual=(Remedy(action="install-torch"),),
    explains=("companion-mismatch", "extension-abi-mismatch"),
)


@check
def judge(facts: Facts) -> Judgement:
    message = heard(facts, "module-not-found-torch", "no-module-named-torch")
    if facts.torch is not ABSENT and (message is None or installed(facts)):
        return None
    if message is not None and heard(facts, "build-without-torch", "undeclared-build-dependency"):
        return None  # the isolated build environment has no torch; the environment itself may well
    where = facts.interpreter.executable or "The Python in use"
    elsewhere = next((o for o in facts.interpreter.others if o.torch), None)
    remedies = [Remedy(action="install-torch")]
    if elsewhere:
        remedies.append(Remedy(action="activate-environment", details={"path": elsewhere.python}))
    asks = f" {facts.interpreter.project} asks for it." if facts.interpreter.project_has_torch else ""
    return check.found(
        facts,
        f"{where} has no torch.{asks}" + (f" {elsewhere.python} has torch {elsewhere.torch}." if elsewhere else ""),
        evidence=("interpreter.executable", "interpreter.version", "torch", quote(message) if message else None),
        remedies=remedies,
        confidence="certain" if facts.torch is ABSENT else "likely",
        python=facts.interpreter.executable,
    )


@check.fit
def fits(facts: Facts) -> Fit | None:
    return Fit(0, "torch imports") if imported(facts) else None
