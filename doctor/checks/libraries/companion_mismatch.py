"""torchvision, torchaudio, torchtext or triton was made for another torch.

What it means
    These packages hold code that is compiled against one torch release, and one build of it (CPU, or one CUDA
    version). With another, their operators can't be registered: «operator torchvision::nms does not exist»,
    «undefined symbol», «Couldn't load custom C++ ops».

How to see it yourself
    python -m pip list | grep -i torch; python -c "import torchvision; torchvision.ops.nms"

What to do
    Install the version that was made for this torch, from the same index as torch.

References
    https://github.com/pytorch/vision#installation
    https://docs.pytorch.org/audio/stable/installation.html
"""

import re

from doctor.checks import Check, Judgement
from doctor.checks._machine import heard, on_mac
from doctor.checks._torch import installed, kind_of, numbers, owner, package, quote, release_of, same_kind, search
from doctor.knowledge import lookup
from doctor.knowledge.specifiers import specifier
from doctor.model.facts import ErrorText, Facts, Package
from doctor.model.finding import Evidence, Remedy
from doctor.regex import Regex

check = Check(
    severity="fault",
    needs=("packages", "torch.version", "messages"),
    usual=(Remedy(action="reinstall-package", details={"package": "torchvision"}), Remedy(action="reinstall-torch")),
    instead_of=(
        "extension-abi-mismatch",
        "program-error",
        "torch-too-old",
        "shared-library-missing",
        "compiler-missing",
        "windows-dll-missing",
    ),
)

COMPANIONS = ("torchvision", "torchaudio", "torchtext", "triton", "torchao", "torchcodec")
COMPILED = frozenset({"torchvision", "torchaudio", "torchtext"})
OF_TORCHVISION = (
    "torchvision-nms-missing",
    "custom-cpp-ops-not-loaded",
    "companion-of-newer-torch",
    "nms-without-cuda",
)
PATTERNS = (
    "torchvision-nms-missing",
    "custom-cpp-ops-not-loaded",
    "torchvision-other-cuda",
    "companion-undefined-symbol",
    "companion-library-not-loaded",
    "companion-partially-initialized",
    "triton-cannot-import-name",
    "companion-of-newer-torch",
    "nms-without-cuda",
)
NO_OPERATOR = Regex(
    r"operator (torchvision|torchaudio|torchtext)::\w+ does not exist|"
    r"No such operator (torchvision|torchaudio|torchtext)::|"
    r"'_OpNamespace' '(torchvision|torchaudio|torchtext)' object has no attribute"
)
NO_KERNEL = Regex(r"Could not run '(torchvision|torchaudio)::\w+' with arguments from the 'CUDA' backend")
UNLOADABLE = Regex(
    r"(torchvision|torchaudio|torchtext)(?:[/\\]|\w*\.so).*(?:undefined symbol|[Ss]ymbol not found|"
    r"WinError 127|could not be found|libcudart\.so)"
)
CANNOT_IMPORT = Regex(r"cannot import name '?\w+'? from '(torchvision|torchaudio|torchtext|triton|torchao)\b")
SYMBOLS = (Regex(r"undefined symbol: _Z\w+"), Regex(r"Symbol not found: _+Z\w+"))
MISSING_NAME = Regex(
    r"module 'torch(?:\.[\w.]+)?' has no attribute '\w+'|cannot import name '\w+' from 'torch[\w.]*' \((?!unknown)"
)
NO_SUBMODULE = Regex(r"No module named '(triton)\.[\w.]+'")
NO_PART = Regex(r"No module named 'torch\.[\w.]+'")
NO_DLL = Regex(r"DLL load failed")
TORCH_LIBRARY = Regex(r"lib(?:torch|c10)\w*\.so[\w.]*: cannot open shared object")
ASKED = Regex(r"(?:requested torch|depends on (?:both )?torch \()[=~^<>! ]*(\d[\d.]*)")
REQUIRES = Regex(
    r"(torchvision|torchaudio|torchtext|triton) (\S+) (?:requires|has requirement) torch==([\d.]+)\S*, "
    r"but you(?:'ll)? have torch ([\d.]+)"
)


@check
def judge(facts: Facts) -> Judgement:
    error, name = _message(facts)
    wrong = _of_another_release(facts, name) or _of_another_build(facts)
    if error is None and wrong is None:
        return _by_pip(facts)
    if wrong is None:
        return _by_message(facts, error, name)
    companion, wanted, detail, certain = wrong
    shown = error if error and (name in (None, companion.name)) else None
    if shown is None and companion.name == "torchvision":
        shown = heard(facts, "torchvision-image-extension")
    return check.found(
        facts,
        detail,
        evidence=(
            Evidence(fact=companion.name, value=str(companion.version)),
            "torch.version",
            Evidence(fact="needed", value=wanted) if wanted else None,
            quote(shown) if shown else None,
        ),
        remedies=_remedies(facts, companion.name, wanted, companion),
        title=f"{companion.name} was made for another torch.",
        severity=None if shown or (certain and facts.live and companion.name in COMPILED) else "warning",
        package=companion.name,
        version=companion.version,
        needed=wanted,
        torch=release_of(facts),
    )


def _by_pip(facts: Facts) -> Judgement:
    """What pip says of the conflict, where nothing has failed yet."""
    if error := heard(facts, "companion-depends-on-torch"):
        return _by_solver(facts, error)
    found = search(facts, REQUIRES)
    if found is None:
        return _image_extension(facts)
    error, match = found
    name, version, needed, has = match.groups()
    return check.found(
        facts,
        f"{name} {version} was made for torch {needed}; this is torch {has}.",
        evidence=(quote(error),),
        remedies=_remedies(facts, name, lookup.companion(has, name)),
        severity="warning",
        title=f"{name} was made for another torch.",
        package=name,
        version=version,
        torch=has,
    )


def _by_solver(facts: Facts, error: ErrorText) -> Judgement:
    """What was asked for can't be had together: pip's or poetry's solver says why."""
    name, version, needed = error.groups
    asked = search(facts, ASKED)
    wanted = lookup.companion(asked[1][1].rstrip("."), name) if asked else None
    return check.found(
        facts,
        f"{name} {version} was made for torch {needed}; another torch was asked for.",
        evidence=(quote(error), quote(asked[0]) if asked else None),
        remedies=(
            Remedy(action="pin-package", details={"package": name, "spec": f"=={wanted}"} if wanted else {}),
            *_remedies(facts, name, wanted),
            Remedy(action="install-torch", details={"torch": f"=={needed.rstrip('.')}"}),
        ),
        title=f"{name} was made for another torch.",
        package=name,
        version=version,
        needed=needed,
    )


def _image_extension(facts: Facts) -> Judgement:
    """torchvision's own warning: harmless unless its image functions are used."""
    error = heard(facts, "torchvision-image-extension")
    if error is None:
        return None
    return check.found(
        facts,
        "torchvision can't load its image extension: only its functions that read and write images are missing.",
        evidence=(quote(error), "torch.version"),
        remedies=_remedies(facts, "torchvision", lookup.companion(release_of(facts) or "", "torchvision")),
        severity="warning",
        confidence="likely",
        title="torchvision's image extension can't be loaded.",
    )


def _message(facts: Facts) -> tuple[ErrorText | None, str | None]:
    """An error that a companion caused, and which one."""
    for regex in (NO_OPERATOR, NO_KERNEL, UNLOADABLE, CANNOT_IMPORT):
        if found := search(facts, regex):
            return found[0], next((g for g in found[1].groups() if g), None)
    if found := search(facts, NO_SUBMODULE):
        return found[0], "triton"
    if (found := search(facts, NO_DLL)) and (who := owner(found[0].path)) in COMPILED:
        return found[0], who
    if error := heard(facts, "torchao-incompatible-torch"):
        return error, "torchao"
    if (found := search(facts, MISSING_NAME)) and owner(found[0].path) in COMPANIONS:
        return found[0], owner(found[0].path)
    if (found := search(facts, NO_PART)) and (who := _companion_of(found[0].path)):
        return found[0], who
    if (found := search(facts, TORCH_LIBRARY)) and (who := owner(found[0].path)) in COMPANIONS:
        return found[0], who
    if error := heard(facts, *(id for id in PATTERNS if id != "nms-without-cuda" or not on_mac(facts))):
        return (
            error,
            "triton"
            if error.pattern == "triton-cannot-import-name"
            else "torchvision"
            if error.pattern in OF_TORCHVISION
            else next((g.lower() for g in error.groups if g.lower() in COMPANIONS), None),
        )
    for symbol in SYMBOLS:
        if (found := search(facts, symbol)) and owner(found[0].path) in COMPILED:
            return found[0], owner(found[0].path)
    return None, None


def _companion_of(path: str | None) -> str | None:
    """The companion that a file belongs to: one that was installed, or built in a folder of its own name."""
    within = re.findall(r"[/\\](\w+)(?=[/\\])", path or "")
    who = owner(path) or (within[-1] if within else None)
    return who if who in COMPANIONS else None


def _of_another_release(facts: Facts, first: str | None) -> tuple[Package, str | None, str, bool] | None:
    """A companion whose version belongs to another torch: it, the right version, the words, whether it breaks."""
    release, torch = release_of(facts), installed(facts)
    if release is None or torch is None or ".dev" in (torch.version or ""):
        return None
    for name in sorted(COMPANIONS, key=lambda n: n != first):
        companion = package(facts, name)
        if companion is None or companion.version is None or ".dev" in companion.version or "a0" in companion.version:
            continue
        public = companion.version.partition("+")[0]
        wanted, fits = lookup.companion(release, name), lookup.torch_of_companion(name, public)
        if fits is None or specifier(fits).contains(release, prereleases=True):
            continue
        if wanted and numbers(wanted)[:2] == numbers(public)[:2]:
            continue  # another patch release of the right line: works
        return (
            companion,
            wanted,
            f"{name} {companion.version} was made for torch {fits.removeprefix('==')}; this is torch {torch.version}.",
            True,
        )
    return None


def _of_another_build(facts: Facts) -> tuple[Package, str | None, str, bool] | None:
    """A companion of the right version for another backend: a CPU torchvision beside a CUDA torch."""
    torch = installed(facts)
    own = _local(torch.version) if torch else None
    if torch is None or own is None:
        return None
    for name in ("torchvision", "torchaudio"):
        companion = package(facts, name)
        theirs = _local(companion.version) if companion else None
        if companion and theirs and own != theirs:
            wanted = lookup.companion(release_of(facts) or "", name)
            return (
                companion,
                wanted,
                f"{name} {companion.version} is a build for {theirs}, torch {torch.version} one for {own}.",
                _cannot_load(own, theirs),
            )
    return None


def _cannot_load(own: str, theirs: str) -> bool:
    """Whether the companion's libraries need some of another backend, or CUDA major, than torch brings. A CPU build
    loads beside any torch, and lacks the GPU's operators."""
    return theirs != "cpu" and re.sub(r"(cu\d\d)\d$", r"\1", own) != re.sub(r"(cu\d\d)\d$", r"\1", theirs)


def _local(version: str | None) -> str | None:
    """ "2.5.1+cu124" -> "cu124"; only where it names a backend."""
    local = (version or "").partition("+")[2]
    return (
        local
        if kind_of(local) in ("cpu", "cuda", "rocm", "xpu") and re.match(r"(cpu|cu\d|rocm\d|xpu)", local)
        else None
    )


def _by_message(facts: Facts, error: ErrorText | None, name: str | None) -> Judgement:
    """The error alone: the versions are not known, or look right."""
    if error is None:
        return None
    name = name or "torchvision"
    wanted = lookup.companion(release_of(facts) or "", name) if release_of(facts) else None
    return check.found(
        facts,
        f"{name} can't use this torch: it was built for another one.",
        evidence=(quote(error), "torch.version"),
        remedies=_remedies(facts, name, wanted),
        title=f"{name} was made for another torch.",
        severity="warning" if error.pattern == "torchao-incompatible-torch" else None,  # it works, more slowly
        confidence="likely",
        package=name,
        needed=wanted,
        torch=release_of(facts),
    )


def _remedies(facts: Facts, name: str, wanted: str | None, companion: Package | None = None) -> tuple[Remedy, ...]:
    """The companion for this torch; or the torch for this companion."""
    details = {"package": name, "spec": f"=={wanted}"} if wanted else {"package": name}
    fits = (
        lookup.torch_of_companion(name, companion.version.partition("+")[0])
        if companion and companion.version
        else None
    )
    torch = {"torch": fits} if fits else {}
    return (
        Remedy(action="reinstall-package", details=details),
        Remedy(action="reinstall-torch", details={**torch, **same_kind(facts)}),
    )
