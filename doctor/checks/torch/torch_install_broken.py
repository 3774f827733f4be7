"""The installed torch is incomplete or damaged.

What it means
    Files that belong to the installation are not there, are empty, cut off or of another system, or are not of one
    release: a broken download, a full disk, an installation that was cut short, files that an upgrade left behind, a
    folder torch/ that holds nothing to import. The libraries that torch's CUDA builds bring along as packages of their
    own (nvidia-cudnn-cu13 and its like) are part of the installation: a broken one is named with its package.

How to see it yourself
    python -c "import torch" and the file that it names; its size beside the one in the RECORD of its package; folders
    named ~orch in site-packages

What to do
    Remove torch until nothing of it is left, and install it again without the cache. Where only a package beside it is
    broken, install that one again, at the same version: reinstalling torch leaves its files as they are.

References
    https://packaging.python.org/en/latest/specifications/recording-installed-packages/ (RECORD)
"""

import re

from doctor.checks import Check, Fit, Judgement
from doctor.checks._files import NO_CACHE, damaged, evidence_of, is_part_of_torch, readable, reinstalled, summed_up
from doctor.checks._machine import heard, imported
from doctor.checks._torch import (
    import_failure,
    imports_fail,
    installed,
    numbers,
    owner,
    quote,
    release_of,
    same_kind,
    search,
    wanted_by_another,
)
from doctor.knowledge import lookup
from doctor.model.facts import Absent, DamagedFile, ErrorText, Facts, Torch
from doctor.model.finding import Evidence, Finding, Remedy, Severity
from doctor.regex import Regex

check = Check(
    severity="fault",
    needs=("torch.missing_files", "torch.leftovers", "torch.import_failure"),
    keeps_from=("nvidia", "amd", "intel", "apple"),
    usual=(Remedy(action="reinstall-torch"),),
    explains=("torch-import-crashes", "shared-library-missing", "companion-mismatch", "torch-cpu-only"),
    instead_of=("torch-import-crashes", "shared-library-missing", "program-error", "torch-too-old"),
)

CODE = Regex(r"\.(py|so|dll|pyd|dylib)(\.|$)")
CANNOT_OPEN = Regex(
    r"(lib(?:torch|c10|shm|caffe2)[\w-]*\.(?:so|dylib)[\w.]*): cannot open shared object|"
    r"Library not loaded: \S*/(lib(?:torch|c10|shm)\w*\.dylib)"
)
SUBMODULE = Regex(
    r"No module named 'torch\.(?:_C(?:\.\w+)?|_utils|_tensor|_tensor_str|_jit_internal|_namedtensor_internals|version|"
    r"torch_version|functional|nn|utils|cuda|autograd|storage|serialization|random|types)'"
)
OF_TORCH = r"(?:_Z(?:T[ISV])?N?K?(?:2at|3c10|5torch|6caffe2|4thpp|4gloo|\d\dTH)|TH[A-Z]+_)"  # symbols
MIXED = Regex(
    r"[/\\]torch[/\\](?:lib[/\\])?(?:lib(?:torch|c10|shm|caffe2|ATen|TH)|_C)[^\s:]*: undefined symbol: " + OF_TORCH
)
OWN_NAME = Regex(r"\bmodule'? (?:'torch\._C'|object) has no attribute '\w+(?:Tensor|Storage)Base'")
OF_TORCH_FAMILY = Regex(r"(?:py)?torch(?:vision|audio)?(?![\w-])|torch(?:vision|audio)?-\d")
BASIC = Regex(
    r"module 'torch' has no attribute '(tensor|Tensor|nn|cuda|device|float32|zeros|ones|randn|"
    r"no_grad|load|save|optim|utils|"
    r"from_numpy|manual_seed|__version__|version|backends)'|"
    r"\btorch has no attribute '?(__version__)\b"
)
NOT_A_PACKAGE = r"module 'torch' has no attribute|cannot import name .* from 'torch' \(unknown location\)"


@check
def judge(facts: Facts) -> Judgement:
    torch = facts.torch
    if isinstance(torch, Torch) and torch.shadowed_by:
        return None
    return _files(facts, torch) or _message(facts)


@check.fit
def fits(facts: Facts) -> Fit | None:
    if imported(facts):
        return Fit(0.05, "torch imports")
    another = heard(facts, "wheel-corrupted") and not _torch_was_fetched(facts)
    return Fit(0.1, "nothing says that the damaged package is torch") if another else None


def _files(facts: Facts, torch: Torch | Absent | None) -> Judgement:
    """What a look at the disk says."""
    if not isinstance(torch, Torch):
        return None
    whole = {c.path for c in torch.copies or () if c.has_files}  # a second metadata there is torch-duplicate-install
    hollow = [c for c in torch.copies or () if not c.has_files and c.path not in whole]
    missing = tuple(f for f in torch.missing_files or () if CODE.search(f))
    broken_files = damaged(facts, is_part_of_torch)
    own = [d for d in broken_files if d.distribution == "torch" and d.file not in missing]
    if broken_files and not hollow and not missing:
        return _damaged(facts, own or broken_files)
    if hollow and not whole:
        detail = f"{hollow[0].path} holds the metadata of torch {hollow[0].version or ''} but not its files."
    elif missing:
        others = f", and {len(missing) - 1} more files" if len(missing) > 1 else ""
        detail = f"{missing[0]}{others} of the installation {'are' if others else 'is'} not there."
    elif torch.leftovers:
        detail = f"An earlier installation left {', '.join(torch.leftovers)} behind."
    else:
        return None
    failure = import_failure(facts)
    broken = imports_fail(facts) or bool(hollow)
    return check.found(
        facts,
        detail,
        evidence=(
            "torch.path",
            Evidence(fact="missing", value=", ".join(missing[:5]), source="RECORD against the disk")
            if missing
            else None,
            "torch.leftovers" if torch.leftovers else None,
            Evidence(fact="import", value=failure.message, source="import torch") if failure else None,
        ),
        remedies=(_again(facts),),
        severity=None if broken else "warning",
        torch=torch.version,
        missing=missing[0] if missing else None,
    )


def _damaged(facts: Facts, files: list[DamagedFile]) -> Finding:
    """Of torch itself, or of the packages that bring its libraries."""
    own = files[0].distribution == "torch"
    failure = import_failure(facts)
    # Some slim their images that way.
    harmless = not imports_fail(facts) and all(d.what in ("missing", "unreadable") for d in files)
    stand_in = _stand_in(facts, files)
    return check.found(
        facts,
        summed_up(files) + (f" torch loaded {stand_in} instead, whose version may differ." if stand_in else ""),
        evidence=(
            "torch.path",
            *evidence_of(files),
            Evidence(fact="loaded", value=stand_in, source="/proc/self/maps of the child") if stand_in else None,
            Evidence(fact="import", value=failure.message, source="import torch") if failure else None,
        ),
        remedies=(readable(facts, files) or (_again(facts) if own else reinstalled(files)),),
        severity="warning" if harmless else None,
        torch=facts.torch.version if facts.torch else None,
        missing=files[0].file,
    )


def _again(facts: Facts) -> Remedy:
    """torch again, past the cache, and what it brings along and is damaged, too: the tools leave that as it is."""
    others = {d.distribution: "" for d in damaged(facts, is_part_of_torch) if d.distribution != "torch"}
    also = {"also": " ".join(others)} if others else {}
    return Remedy(action="reinstall-torch", details={**same_kind(facts), "flag": NO_CACHE, **also})


def _stand_in(facts: Facts, files: list[DamagedFile]) -> str | None:
    """The library of another place that torch loaded for a missing one: a CUDA toolkit's, say."""
    names = {d.file.rpartition("/")[2] for d in files if d.what == "missing"}
    loaded = (facts.torch.loaded_libraries if facts.torch else None) or ()
    return next((path for path in loaded if path.rpartition("/")[2] in names), None)


def _message(facts: Facts) -> Judgement:
    """What an error says."""
    if (found := search(facts, CANNOT_OPEN)) and not _of_another(facts, *found):
        error, match = found
        return _found(facts, f"{match[1] or match[2]}, a file of torch itself, is not there.", error)
    if found := search(facts, MIXED) or search(facts, OWN_NAME):
        return _found(facts, "The libraries of torch are not of one release.", found[0])
    unusable = heard(facts, "no-torch-c-extension")
    if unusable is None and (found := search(facts, SUBMODULE)) and not _asked_by_another(found[0]):
        unusable = found[0]
    if unusable is not None and _within_package(unusable.path):
        return _found(facts, "Parts of torch that belong to every installation can't be imported.", unusable)
    empty = heard(facts, "torch-is-hollow")
    if empty and _within_package(empty.path) and re.search(NOT_A_PACKAGE, empty.text) and not _is_older(facts, empty):
        return _found(facts, "The folder torch that Python finds holds no usable torch.", empty, confidence="likely")
    halfway = heard(facts, "torch-partially-initialized")
    if halfway and owner(halfway.path) == "torch":
        return _found(facts, "The files of torch are not of one release.", halfway, confidence="likely")
    if (found := search(facts, BASIC)) and not _is_older(facts, found[0]):
        detail = "What Python imports as torch has none of torch's own names."
        return _found(facts, detail, found[0], confidence="likely")
    if emptied := heard(facts, "torch-submodule-emptied"):
        detail = "A folder of torch is there without its files: files of two installations are mixed, or were lost."
        return _found(facts, detail, emptied, confidence="likely")
    part = heard(facts, "torch-part-missing")
    if part and (part.path is None or owner(part.path) == "torch"):  # a part that others miss may be of another release
        detail = "A part of torch that belongs to every installation is not there."
        return _found(facts, detail, part, confidence="likely")
    if (damaged := heard(facts, "wheel-corrupted")) and _torch_was_fetched(facts):
        return _found(facts, "The downloaded package is damaged.", damaged)
    left = heard(facts, "invalid-distribution-orch")
    if left and installed(facts) is not None:
        return _found(facts, "An upgrade that was cut short left a folder behind.", left, severity="warning")
    return None


def _of_another(facts: Facts, error: ErrorText, match: re.Match[str]) -> bool:
    """Whether a package built for another torch, or a program that is linked to torch's libraries, misses the file."""
    return "error while loading" in error.text or bool(match[1] and wanted_by_another(facts, error, match))


def _torch_was_fetched(facts: Facts) -> bool:
    """Whether it is torch, or a package of its family, whose download is damaged, as far as the text tells."""
    asked = [r for a in facts.attempts for r in (*a.requirements, a.wheel or "")]
    return any(OF_TORCH_FAMILY.match(r) for r in asked) if asked else isinstance(facts.torch, Torch)


def _asked_by_another(error: ErrorText) -> bool:
    """Whether another package looks inside torch's compiled part, which differs from release to release."""
    return "torch._C." in error.text and owner(error.path) not in (None, "torch")


def _is_older(facts: Facts, error: ErrorText) -> bool:
    """Whether the installed release is from before the name that it lacks: torch-too-old."""
    name, release = re.search(r"has no attribute '(\w+)'", error.text), release_of(facts)
    since = lookup.name_since(name[1]) if name else None
    return since is not None and release is not None and numbers(release) < numbers(since)


def _within_package(path: str | None) -> bool:
    """False where the code that failed is a torch folder outside of an environment: a source tree (torch-shadowed)."""
    return not (path and re.search(r"[/\\]torch[/\\]", path) and owner(path) is None)


def _found(
    facts: Facts, detail: str, error: ErrorText, *, severity: Severity | None = None, confidence: str = "certain"
) -> Finding:
    return check.found(
        facts,
        detail,
        evidence=(quote(error), "torch.version", "torch.path"),
        remedies=(_again(facts),),
        severity=severity,
        confidence=confidence,
    )
