"""Two installations of torch are mixed.

What it means
    Two copies of torch are on Python's path: pip's over conda's, or one in the user's own site-packages (~/.local)
    before that of the environment; or one was installed over another, and both are on record. What is imported is not
    what the environment's tool thinks it is, and packages built for one meet the other.

How to see it yourself
    python -m pip list -v | grep -i torch; python -c "import torch; print(torch.__file__)"; conda list torch

What to do
    Remove the copy that is not wanted; PYTHONNOUSERSITE=1 keeps the one in ~/.local out. Where both share a folder,
    remove both and install one.

References
    https://docs.python.org/3/library/site.html
    https://www.anaconda.com/docs/tools/working-with-conda/packages/pip-install
"""

from doctor.checks import Check, Fit, Judgement
from doctor.checks._machine import heard
from doctor.checks._torch import imports_fail, installed, quote, same_kind, search
from doctor.model.facts import ErrorText, Facts
from doctor.model.finding import Evidence, Remedy
from doctor.regex import Regex

check = Check(
    severity="fault",
    needs=("torch.copies",),
    usual=(
        Remedy(
            action="remove-package", details={"package": "torch"}, text="Remove the copy of torch that is not wanted."
        ),
        Remedy(action="reinstall-torch"),
    ),
    explains=(
        "companion-mismatch",
        "torch-import-crashes",
        "torch-install-broken",
        "torch-cpu-only",
        "extension-abi-mismatch",
        "torch-too-old",
    ),
    instead_of=("torch-import-crashes", "program-error"),
)

MISSING_NAME = Regex(r"module 'torch(?:\.[\w.]+)?' has no attribute '|cannot import name '\w+' from 'torch[.\w]*' \(")
BROKEN = (
    "torch-library-registered-twice",
    "torchvision-nms-missing",
    "custom-cpp-ops-not-loaded",
    "companion-undefined-symbol",
    "extension-undefined-symbol",
    "torch-abi-undefined-symbol",
    "no-torch-c-extension",
    "torch-is-hollow",
    "torch-has-no-attribute",
)


@check
def judge(facts: Facts) -> Judgement:
    torch = installed(facts)
    copies = (torch.copies if torch else None) or ()
    versions = {c.version.split("+")[0] for c in copies if c.version}
    twice = heard(facts, "torch-library-registered-twice")
    if len(copies) < 2 or len(versions) < 2:
        return _by_message(facts, twice)
    missing = search(facts, MISSING_NAME)
    error = twice or heard(facts, *BROKEN) or (missing[0] if missing else None)
    in_home = any("/.local/" in c.path.replace("\\", "/") or c.installer == "user" for c in copies)
    remedies = []
    if any(c.has_files for c in copies[1:]):  # where the others are only on record, removing one takes the files
        remedies.append(
            Remedy(
                action="remove-package",
                details={"package": "torch"},
                text="Remove the copy of torch that is not wanted.",
            )
        )
    if in_home:
        remedies.append(Remedy(action="set-env", details={"name": "PYTHONNOUSERSITE", "value": "1"}))
    remedies.append(Remedy(action="reinstall-torch", details=same_kind(facts)))
    return check.found(
        facts,
        "There are " + " and ".join(f"torch {c.version or '?'} ({c.installer or c.path})" for c in copies) + ".",
        evidence=(
            *(Evidence(fact="torch", value=c.version or "?", source=c.path) for c in copies),
            quote(error) if error else None,
        ),
        remedies=remedies,
        severity=None if error or imports_fail(facts) else "warning",
    )


@check.fit
def fits(facts: Facts) -> Fit | None:
    torch = installed(facts)
    return Fit(0, "there is one copy of torch") if torch and torch.copies and len(torch.copies) == 1 else None


def _by_message(facts: Facts, twice: ErrorText | None) -> Judgement:
    """Torch's libraries are loaded twice, from where is not known."""
    if twice is None:
        return None
    return check.found(
        facts,
        "The libraries of torch are loaded twice, from two installations.",
        evidence=(quote(twice), "torch.version"),
        remedies=(
            Remedy(
                action="remove-package",
                details={"package": "torch"},
                text="Remove the copy of torch that is not wanted.",
            ),
            Remedy(action="reinstall-torch", details=same_kind(facts)),
        ),
        confidence="likely",
    )
