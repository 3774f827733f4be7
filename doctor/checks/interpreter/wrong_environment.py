"""torch is installed, but in another environment than the Python that runs.

What it means
    pip and python, or a terminal and a notebook, can belong to different Pythons. What one installs the other does not
    see: «No module named 'torch'» although pip list shows it.

How to see it yourself
    python -c "import sys; print(sys.executable)" in the place that fails, and python -m pip --version beside pip
    --version.

What to do
    Run the Python that has torch (activate its environment, or choose its kernel in the notebook), or install torch
    with the python -m pip of the one that runs.

References
    https://packaging.python.org/en/latest/guides/installing-using-pip-and-virtual-environments/
    https://ipython.readthedocs.io/en/stable/install/kernel_install.html
"""

from __future__ import annotations

from doctor.checks import Check, Judgement
from doctor.checks._machine import heard
from doctor.checks._torch import installed, package, quote
from doctor.model.facts import ABSENT, Facts
from doctor.model.finding import Evidence, Remedy

check = Check(
    severity="fault",
    needs=("messages",),
    usual=(Remedy(action="activate-environment"), Remedy(action="install-torch")),
    instead_of=("torch-missing", "torch-install-broken"),
)


@check
def judge(facts: Facts) -> Judgement:
    error = heard(facts, "module-not-found-torch", "no-module-named-torch")
    if heard(
        facts, "build-without-torch", "build-said-without-torch", "undeclared-build-dependency", "no-torch-c-extension"
    ) or _half_installed(facts):
        return None
    torch = installed(facts)
    if (torch and torch.imports and facts.live) or (error is None and facts.torch is not ABSENT):
        return None
    here = facts.interpreter.executable
    for other in facts.interpreter.others:
        if other.torch and other.python != here:
            version = f" {other.torch}" if other.torch[:1].isdigit() else ""
            named = f"{other.python} has" if other.python else "another Python has"
            return check.found(
                facts,
                f"{here or 'The Python that runs'} has no torch; {named} torch{version}"
                f"{f' ({other.how})' if other.how else ''}.",
                evidence=(
                    quote(error) if error else None,
                    "interpreter.executable",
                    Evidence(
                        fact="other environment",
                        value=f"{other.python}: torch{version}" if other.python else f"torch{version}",
                        source=other.how,
                    ),
                ),
                remedies=(
                    Remedy(
                        action="activate-environment",
                        details={"path": other.python, **({"kernel": other.kernel} if other.kernel else {})},
                    ),
                    Remedy(action="install-torch"),
                ),
                python=other.python,
            )
    listed = package(facts, "torch") or package(facts, "pytorch")
    if error and listed and not facts.live:
        return check.found(
            facts,
            f"A package list shows torch {listed.version}, but the Python that runs does "
            "not find it: pip belongs to another Python.",
            evidence=(
                quote(error),
                Evidence(fact="listed", value=f"torch {listed.version}", source=listed.installer or "package list"),
            ),
            remedies=(Remedy(action="activate-environment"), Remedy(action="install-torch")),
            confidence="likely",
        )
    return None


def _half_installed(facts: Facts) -> bool:
    """Metadata without files, in this very environment: a broken installation."""
    torch = installed(facts)
    return bool(torch and (torch.missing_files or any(not c.has_files for c in torch.copies or ())))
