"""The notebook's kernel still holds packages that were changed under it.

What it means
    Python imports a module once. When pip, uv or conda changes torch (or a package beside it) while a kernel runs, the
    kernel goes on with what it has imported, and imports the rest from the new files: versions mix, names are missing,
    extensions are registered twice. In a terminal the same environment works.

How to see it yourself
    In a cell: import torch; print(torch.__version__), and in a terminal: python -m pip show torch. They differ.

What to do
    Restart the kernel, and run the cells again.

References
    https://ipython.readthedocs.io/en/stable/interactive/magics.html#magic-pip
    https://github.com/spyder-ide/spyder/issues/15987 (torch imported a second time in one process)
"""

from __future__ import annotations

from doctor.checks import Check, Judgement
from doctor.checks._machine import heard
from doctor.checks._torch import quote, search
from doctor.model.facts import ErrorText, Facts
from doctor.model.finding import Remedy
from doctor.regex import Regex

RESTART = Remedy(action="restart-kernel")

check = Check(
    severity="fault",
    needs=("interpreter.kernel", "messages"),
    usual=(RESTART,),
    explains=("torch-duplicate-install", "numpy-abi-mismatch"),
    instead_of=("program-error", "torch-shadowed", "torch-duplicate-install", "companion-mismatch"),
)

# Errors of a process that mixes two versions of a package; in a fresh one they mean other things.
MIXED = Regex(
    r"already has a docstring|partially initialized module|Only a single TORCH_LIBRARY can be used|"
    r"dtype size changed|cannot import name|has no attribute|DLL load failed|undefined symbol|"
    r"operator torchvision::nms does not exist"
)


@check
def judge(facts: Facts) -> Judgement:
    if error := heard(facts, "torch-loaded-twice"):
        return _found(facts, error, "torch was imported a second time in a process that had it already.")
    if error := heard(facts, "previously-imported-packages"):
        return _found(facts, error, "Packages were installed over those that the kernel had imported.")
    advised = heard(facts, "kernel-restart-advised")
    mixed = search(facts, MIXED) if advised else None
    if advised and mixed and _comes_after(mixed[0], advised):
        return _found(facts, mixed[0], "Packages were changed under the running kernel, and then it failed.", "likely")
    return _changed_since(facts)


def _comes_after(error: ErrorText, advised: ErrorText) -> bool:
    """Whether the error stands below the installation in the text."""
    return error.line is None or advised.line is None or error.line > advised.line


def _changed_since(facts: Facts) -> Judgement:
    """Live: torch's files are younger than the kernel that torchdoctor was started from."""
    kernel, torch = facts.interpreter.kernel, facts.torch
    if not kernel or not torch or not kernel.started_at or not torch.installed_at:
        return None
    if torch.installed_at <= kernel.started_at:
        return None
    return check.found(
        facts,
        f"torch {torch.version or ''} was installed at {torch.installed_at}, after this kernel was started "
        f"({kernel.started_at}): the kernel may still hold what was there before.",
        evidence=("interpreter.kernel.started_at", "torch.installed_at", "torch.version"),
        severity="warning",
        remedies=(RESTART,),
    )


def _found(facts: Facts, error: ErrorText, detail: str, confidence: str = "certain") -> Judgement:
    return check.found(
        facts,
        detail,
        evidence=(quote(error), "torch.version"),
        remedies=(RESTART,),
        confidence=confidence,
    )
