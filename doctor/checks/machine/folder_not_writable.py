"""A folder that torch writes to can't be written.

What it means
    torch.compile keeps what it compiles in a cache (TORCHINDUCTOR_CACHE_DIR, TRITON_CACHE_DIR, by default a folder
    inside the one for temporary files), and worker processes, checkpoints and downloads need the folder for temporary
    files (TMPDIR, else /tmp). Where such a folder is read-only, belongs to someone else, is full or is not there, they
    fail. The full probe wrote to them as your programs do.

How to see it yourself
    python -c "import tempfile; print(tempfile.gettempdir())"; df -h /tmp; touch /tmp/a-file

What to do
    Free space, name a folder that you may write to, or unset the variable that names the wrong one.

References
    https://docs.python.org/3/library/tempfile.html#tempfile.gettempdir
    https://docs.pytorch.org/docs/stable/torch.compiler_inductor_provenance.html
    https://man7.org/linux/man-pages/man3/errno.3.html
"""

from __future__ import annotations

from doctor.checks import Check, Judgement, Unknown
from doctor.checks._features import FEATURES, Failure, ended, failures, tried
from doctor.model.facts import Facts, ProbeResult
from doctor.model.finding import Finding, Remedy
from doctor.model.values import dataclass
from doctor.regex import Regex

FREE = Remedy(action="free-disk-space")

check = Check(
    severity="fault",
    needs=("probes",),
    usual=(FREE,),
)

REASONS = {
    1: "may not be written by this user",
    2: "is not there",
    13: "may not be written by this user",
    17: "is a file, not a folder",
    20: "is a file, not a folder",
    28: "is full",
    30: "is read-only",
    122: "is over this user's quota",
}
FULL = (28, 122)
ERROR = Regex(r"\[Errno (?P<number>\d+)\] [^:\[\]]{1,80}: '(?P<path>[^']{1,400})'")
NO_FOLDER = Regex(r"No usable temporary directory found in \[(?P<paths>[^\]]{1,800})\]")
VARIABLES = ("TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR", "TMPDIR", "TEMP", "TMP")
OWN = Regex(r"[/\\]torchdoctor-[^/\\]*$")  # the name of the probe's own file in that folder
STAGES = ("io", "workers", "compile")
ELSEWHERE = tuple(name for name in FEATURES if name not in STAGES)  # what is said there names other files


@dataclass(frozen=True)
class Folder:
    """A folder that can't be written, why, and the variable that names it."""

    path: str
    number: int
    variable: str | None


def unwritable(facts: Facts, failure: Failure) -> Folder | None:
    """What a failure says of a folder; None where it says something else."""
    if failure.stage in ELSEWHERE:
        return None
    if found := NO_FOLDER.search(failure.text):
        first = found["paths"].split(",")[0].strip(" '\"")
        return Folder(first, 13, _variable(facts, first))
    found = ERROR.search(failure.text)
    if found is None or int(found["number"]) not in REASONS:
        return None
    path = OWN.sub("", found["path"])
    variable = _variable(facts, path)
    if failure.stage not in STAGES and variable is None:
        return None  # of a file that the device's driver or torch itself misses
    return Folder(path, int(found["number"]), variable)


def ended_by(facts: Facts, probe: ProbeResult) -> Folder | None:
    """The folder whose lack ended the probe of a device: torch makes the compiler's cache when it imports its parts."""
    failure = ended(probe)
    return unwritable(facts, failure) if failure else None


def _variable(facts: Facts, path: str) -> str | None:
    environ = facts.environ or {}
    return next((n for n in VARIABLES if environ.get(n) and path.startswith(environ[n].rstrip("/"))), None)


@check
def judge(facts: Facts) -> Judgement:
    found: dict[Folder, list[Failure]] = {}
    for failure in (*filter(None, map(ended, facts.probes or ())), *failures(facts)):
        if folder := unwritable(facts, failure):
            found.setdefault(folder, []).append(failure)
    if not found and not tried(facts):
        return Unknown("writing to the folders for caches and temporary files was not tried: probe --full does")
    return [_found(facts, folder, failed) for folder, failed in found.items()] or None


def _found(facts: Facts, folder: Folder, failed: list[Failure]) -> Finding:
    named = f" ({folder.variable})" if folder.variable else ""
    hurt = ", ".join(dict.fromkeys(f.what for f in failed))
    # Where only the user's own choice of a folder can't be written, Python takes another one.
    grave = any(f.stage != "compile" and not f.what.startswith("the folder of") for f in failed)
    return check.found(
        facts,
        f"{folder.path}{named} {REASONS[folder.number]}. What failed: {hurt}.",
        evidence=(*(f.evidence for f in failed[:3]), f"environ.{folder.variable}" if folder.variable else None),
        remedies=_remedies(folder),
        severity="fault" if grave else "warning",
        path=folder.path,
        variable=folder.variable,
    )


def _remedies(folder: Folder) -> tuple[Remedy, ...]:
    other = Remedy(
        action="system-setting",
        details={"setting": "temporary-folder", "value": "a folder that this user may write to"},
        text=f"Make {folder.path} a folder that this user may write to (its mount, owner and mode), or name another "
        f"one in {folder.variable or 'TMPDIR (of torch.compile alone: TORCHINDUCTOR_CACHE_DIR)'}.",
    )
    unset = (Remedy(action="unset-env", details={"name": folder.variable}),) if folder.variable else ()
    return (FREE, *unset, other) if folder.number in FULL else (*unset, other)
