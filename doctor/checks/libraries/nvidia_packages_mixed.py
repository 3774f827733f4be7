"""pip's nvidia-* packages are not those that this torch needs.

What it means
    CUDA builds of torch pin the exact versions of the nvidia-* packages that hold their libraries. An upgrade of
    one of them, or packages for another CUDA major version that write into the same folders, leave torch with
    libraries that do not fit.

How to see it yourself
    python -m pip check; python -m pip list | grep nvidia

What to do
    Remove the packages of the other CUDA version, and install torch again, which brings those that it pins.

References
    https://download.pytorch.org/whl/torch/ (METADATA beside each wheel: Requires-Dist)
"""


from doctor.checks import Check, Judgement
from doctor.checks._machine import heard
from doctor.checks._torch import build, imports_fail, installed, quote, release_of, same_kind, search
from doctor.checks.libraries.library_path_conflict import SYMBOL, VERSIONS
from doctor.knowledge import lookup
from doctor.model.facts import ErrorText, Facts, Package
from doctor.model.finding import Evidence, Finding, Remedy
from doctor.regex import Regex

check = Check(
    severity="fault",
    needs=("torch.version", "torch.requires", "packages"),
    systems=("linux", "windows"),
    usual=(Remedy(action="reinstall-torch", details={"backend": "cuda"}),),
    explains=("torch-import-crashes", "device-crashes", "shared-library-missing"),
    instead_of=("library-path-conflict", "torch-import-crashes", "program-error"),
)

PIN = Regex(r"^\s*(nvidia[\w.-]*)\s*\(?==\s*([\w.]+)")
CONFLICT = Regex(
    r"torch (\S+) requires (nvidia-[\w-]+)==([\d.]+\w*)(?![\w.]).*but you have (nvidia-[\w-]+) ([\d.]+\w*)"
)
FAMILY = Regex(r"^nvidia-(\w[\w-]*?)-cu(\d+)$")


@check
def judge(facts: Facts) -> Judgement:
    error = _error(facts)
    wrong = _unpinned(facts)
    if wrong:
        package, pinned = wrong
        return _found(
            facts,
            f"torch needs {package.name} {pinned}; installed is {package.version}.",
            (
                Evidence(fact=package.name, value=str(package.version)),
                Evidence(fact="pinned", value=pinned, source="torch's Requires-Dist"),
            ),
            (
                Remedy(action="reinstall-package", details={"package": package.name, "spec": f"=={pinned}"}),
                Remedy(action="reinstall-torch", details=same_kind(facts)),
            ),
            error,
        )
    if found := search(facts, CONFLICT):
        message, match = found
        return _found(
            facts,
            f"torch {match[1]} needs {match[2]} {match[3]}; installed is {match[5]}.",
            (Evidence(fact=match[2], value=match[5]),),
            (
                Remedy(action="reinstall-package", details={"package": match[2], "spec": f"=={match[3]}"}),
                Remedy(action="reinstall-torch", details=same_kind(facts)),
            ),
            error or message,
        )
    twice = _two_families(facts)
    if twice and error:
        stray, kept = twice
        return _found(
            facts,
            f"{stray.name} {stray.version} and {kept.name} {kept.version} hold the same library for two CUDA versions.",
            (Evidence(fact=stray.name, value=str(stray.version)), Evidence(fact=kept.name, value=str(kept.version))),
            (
                Remedy(action="remove-package", details={"package": stray.name}),
                Remedy(action="reinstall-package", details={"package": kept.name, "spec": f"=={kept.version}"}),
            ),
            error,
        )
    return None


def _error(facts: Facts) -> ErrorText | None:
    found = search(facts, SYMBOL) or search(facts, VERSIONS)
    return found[0] if found else heard(facts, "cuda-library-not-found", "libcudnn-not-loaded")


def _unpinned(facts: Facts) -> tuple[Package, str] | None:
    """The first nvidia-* package whose version is not the one that torch pins."""
    torch, release, made = installed(facts), release_of(facts), build(facts)
    pins = {m[1]: m[2] for r in (torch.requires if torch else None) or () if (m := PIN.match(r))}
    if not pins and release and facts.host.system == "linux" and _error(facts):  # a ticket: by the tables
        pins = lookup.pins_of(release, made.backend if made else None)
    for package in facts.packages or ():
        pinned = pins.get(package.name)
        if pinned and package.version and package.version != pinned and not pinned.endswith(".*"):
            return package, pinned
    return None


def _two_families(facts: Facts) -> tuple[Package, Package] | None:
    """A library installed for two CUDA major versions: the package that is one too many, and the one to keep."""
    torch = installed(facts)
    wanted = torch.cuda.split(".")[0] if torch and torch.cuda else None
    parts: dict[str, dict[int, Package]] = {}
    for package in facts.packages or ():
        if found := FAMILY.match(package.name):
            parts.setdefault(found[1], {})[int(found[2])] = package
    for majors in parts.values():
        if len(majors) > 1:
            keep = int(wanted) if wanted and int(wanted) in majors else max(majors)
            stray = next(m for m in sorted(majors) if m != keep)
            return majors[stray], majors[keep]
    return None


def _found(
    facts: Facts, detail: str, evidence: tuple[Evidence, ...], remedies: tuple[Remedy, ...], error: ErrorText | None
) -> Finding:
    broken = imports_fail(facts) or (error is not None and error.pattern != "requires-other-nvidia-package")
    return check.found(
        facts,
        detail,
        evidence=(*evidence, "torch.version", quote(error) if error else None),
        remedies=remedies,
        severity=None if broken else "warning",
    )
