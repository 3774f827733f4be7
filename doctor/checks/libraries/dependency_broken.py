"""A package that torch works with is missing, incomplete or damaged.

What it means
    torch imports other packages: typing_extensions, filelock, sympy, networkx, jinja2, fsspec, NumPy where it is there.
    One of them is not installed though torch requires it, or files of it are not there, empty, cut off or unreadable:
    a download or an installation that was cut short, a full disk, a folder that was cleaned by hand. The same goes for
    torchvision, torchaudio, triton and their like. torch itself is whole, and reinstalling it changes nothing.

How to see it yourself
    python -m pip check names what is missing; python -c "import numpy" (or the package that is named) says whether it
    works by itself.

What to do
    Install the package again, at the version that is there.

References
    https://packaging.python.org/en/latest/specifications/recording-installed-packages/ (RECORD)
    https://packaging.python.org/en/latest/specifications/core-metadata/#requires-dist-multiple-use
"""

import re

from doctor.checks import Check, Judgement
from doctor.checks._files import (
    damaged,
    evidence_of,
    is_for_another_python,
    is_part_of_torch,
    is_pip,
    readable,
    reinstalled,
    summed_up,
)
from doctor.checks._machine import heard, on_mac
from doctor.checks._torch import import_failure, imports_fail, installed, quote
from doctor.fixes.tools import normalised, pip
from doctor.model.facts import Facts, ImportFailure, Torch
from doctor.model.finding import Evidence, Remedy
from doctor.regex import Regex

check = Check(
    severity="fault",
    needs=("torch.version", "torch.import_failure"),
    keeps_from=("nvidia", "amd", "intel", "apple"),
    usual=(Remedy(action="reinstall-package", text="Install the package that the failed import names again."),),
    explains=("torch-import-crashes", "torch-install-broken", "program-error", "numpy-abi-mismatch"),
    instead_of=("torch-import-crashes", "shared-library-missing", "program-error", "numpy-abi-mismatch"),
)

# Without these torch does not import, or much of it does not work (torch.compile, DTensor, the serialisation).
NEEDED = ("filelock", "typing-extensions", "sympy", "networkx", "jinja2", "fsspec", "mpmath", "markupsafe")
AGAIN = Remedy(action="install-package", text="Install the package that the message names.")
NO_MAC = ("model-code-wants-package", "onnxruntime-cpu-provider")  # what is wanted there has no build for a Mac
SAYS = {
    "model-code-wants-package": ("The model's code imports a package that is not installed.", (AGAIN,)),
    "numpy-headers-missing": (
        "A package that is compiled here needs NumPy's header files, which its build does not find.",
        (Remedy(action="install-package", details={"package": "numpy"}),),
    ),
    "metadata-refused": (
        "pip refuses a release of a package whose metadata is not valid; pip before 24.1 takes it.",
        (Remedy(action="pin-package", details={"package": pip.NAME, "spec": "<24.1"}),),
    ),
    "onnxruntime-cpu-provider": (
        "The onnxruntime that is installed has no provider for the GPU.",
        (Remedy(action="reinstall-package", details={"package": "onnxruntime-gpu"}),),
    ),
    "pillow-name-missing": (
        "Pillow is not of a release that fits, or is damaged.",
        (Remedy(action="reinstall-package", details={"package": "pillow"}),),
    ),
}
REQUIREMENT = Regex(r"([A-Za-z0-9][A-Za-z0-9._-]*?)(?:\[[^\]]*\])?\s*\(?([<>=!~][^()]*)?\)?\Z")


@check
def judge(facts: Facts) -> Judgement:
    torch = facts.torch
    if not isinstance(torch, Torch) or torch.shadowed_by:
        return _said(facts) if torch is None else None
    if installed(facts) is None:
        return _not_found(facts) or _said(facts)
    found = _damaged(facts, torch) or _missing(facts, torch) or _doubled(facts, torch) or _not_found(facts)
    return found or _said(facts)


def _damaged(facts: Facts, torch: Torch) -> Judgement:
    """Files of a package beside torch."""
    files = damaged(facts, lambda name: not is_part_of_torch(name) and not is_pip(name))  # pip: pip-missing
    if any(is_for_another_python(d) for d in damaged(facts, lambda name: name == "torch")):
        files = [d for d in files if not is_for_another_python(d)]  # all of that folder is another Python's
    if not files:
        return None
    failure = import_failure(facts)
    hurts = imports_fail(facts) or (files[0].distribution == "numpy" and torch.numpy_works is False)
    if failure:  # the one that the import stumbles over comes first
        files.sort(key=lambda d: d.distribution.replace("-", "_") not in f"{failure.message}\n{failure.traceback}")
    return check.found(
        facts,
        summed_up(files),
        evidence=(*evidence_of(files), _import(failure), "torch.version"),
        remedies=(readable(facts, files) or reinstalled(files),),
        severity=None if hurts else "warning",
        package=files[0].distribution,
    )


def _missing(facts: Facts, torch: Torch) -> Judgement:
    """A requirement of torch of which nothing is there. Where torch imports, only what it can't do without for long."""
    failure = import_failure(facts)
    split = [m for text in torch.missing_requirements or () if (m := REQUIREMENT.match(text))]
    wanted = [m for m in split if normalised(m[1]) in NEEDED or (failure and _is_the_reason(m[1], failure))]
    if not wanted:
        return None
    first, *others = (normalised(m[1]) for m in wanted)
    named = " and ".join((first, *others)) if len(others) < 2 else f"{first} and {len(others)} other packages"
    details = {"package": first}
    if wanted[0][2]:
        details["spec"] = wanted[0][2].strip()
    if others:
        details["also"] = " ".join(f"{normalised(m[1])}{(m[2] or '').replace(' ', '')}" for m in wanted[1:])
    return check.found(
        facts,
        f"{named}, which torch {torch.version} requires, {'are' if others else 'is'} not installed.",
        evidence=(
            *(Evidence(fact="required", value=m[0], source="METADATA of torch") for m in wanted[:5]),
            _import(failure),
        ),
        remedies=(Remedy(action="install-package", details=details),),
        severity=None if imports_fail(facts) else "warning",
        package=first,
    )


def _not_found(facts: Facts) -> Judgement:
    """In a text, where torch's METADATA is not seen, the import of torch ended for want of a package."""
    failure = import_failure(facts)
    package = next((name for name in NEEDED if failure and _is_the_reason(name, failure)), None)
    if package is None or facts.live:
        return None
    return check.found(
        facts,
        f"{package}, which torch imports, is not installed.",
        evidence=(_import(failure),),
        remedies=(Remedy(action="install-package", details={"package": package}),),
        package=package,
    )


def _said(facts: Facts) -> Judgement:
    """What packages beside torch, or pip, say of one that is missing or does not fit."""
    error = heard(facts, *SAYS)
    if error is None or (on_mac(facts) and error.pattern in NO_MAC):
        return None
    if error.pattern == "onnxruntime-cpu-provider" and "is not in available" not in error.text:
        return None  # the session fell back: why, it does not say
    detail, remedies = SAYS[error.pattern]
    return check.found(facts, detail, evidence=(quote(error), "torch.version"), remedies=remedies, confidence="likely")


def _doubled(facts: Facts, torch: Torch) -> Judgement:
    """NumPy that is on record twice and does not work: one was put over the other, so that their files are mixed."""
    numpy = next((p for p in facts.packages or () if p.name == "numpy" and p.beside), None)
    if numpy is None or torch.numpy_works is not False:
        return None
    spec = {"spec": f"=={numpy.version}"} if numpy.version else {}
    return check.found(
        facts,
        "numpy is on record twice in the same folder, and does not work: files of two releases are mixed.",
        evidence=(Evidence(fact="numpy", value=f"{numpy.version}, and {numpy.beside} more", source="dist-info"),
                  "torch.numpy_error"),
        remedies=(Remedy(action="reinstall-package", details={"package": "numpy", **spec}),),
        package="numpy",
    )  # fmt: skip


def _is_the_reason(name: str, failure: ImportFailure) -> bool:
    """Whether a failed import speaks of that package: of its module, or of a library of an nvidia-* package."""
    component = re.match(r"nvidia-([a-z]+(?:-[a-z]+)*?)(?:-cu\d+)?\Z", normalised(name))
    said = failure.message.replace("_", "-").lower()
    if component:
        part = component[1].removeprefix("cuda-").replace("runtime", "cudart").replace("-", "")
        return f"lib{part}" in said.replace("-", "")
    return re.search(rf"no module named '{re.escape(normalised(name))}['.]", said) is not None


def _import(failure: ImportFailure | None) -> Evidence | None:
    return Evidence(fact="import", value=failure.message, source="import torch") if failure else None
