"""The installation ran out of memory or disk space.

What it means
    A CUDA build of torch with its libraries is a download of some 3 GB and takes 7 GB on disk, and pip keeps the
    files in its cache and a temporary folder as well.

How to see it yourself
    df -h . /tmp ~/.cache; free -h

What to do
    Make room, or let TMPDIR point to a larger disk; install with --no-cache-dir where memory is short. The CPU
    build is far smaller.

References
    https://pip.pypa.io/en/stable/topics/caching/
"""

from doctor.checks import Check, Fit, Judgement
from doctor.checks._machine import heard
from doctor.checks._torch import quote, search
from doctor.model.facts import ErrorText, Facts
from doctor.model.finding import Remedy
from doctor.regex import Regex

SMALLER = Remedy(
    action="install-torch", details={"backend": "cpu"}, text="Install the CPU build, which is far smaller."
)

FEWER = Remedy(action="set-env", details={"name": "MAX_JOBS", "value": "2"}, text="Compile fewer files at once.")

check = Check(
    severity="fault",
    needs=("messages",),
    usual=(Remedy(action="free-disk-space"), SMALLER),
    explains=("torch-missing", "no-matching-wheel", "torch-install-broken"),
    instead_of=("torch-missing", "shared-memory-too-small", "process-limits"),
)

INSTALLING = Regex(
    r"Could not install packages due to an (?:OSError|EnvironmentError)|Failed to (?:download|"
    r"extract|install|fetch)|pip\S* install|Downloading torch"
)


@check.fit
def fits(facts: Facts) -> Fit | None:
    error = heard(facts, "memory-error-or-killed")
    return None if error is None or _installing(facts, error) else Fit(0, "no installer is at work")


@check
def judge(facts: Facts) -> Judgement:
    error = heard(facts, "no-space-left", "memory-error-or-killed", "compiler-killed")
    of_compiler = error is not None and error.pattern == "compiler-killed" and "Killed" in error.text
    if error is None or not (of_compiler or _installing(facts, error)):
        return None
    if of_compiler:
        detail = "The system killed the compiler because memory ran out."
        remedies: tuple[Remedy, ...] = (FEWER,)
    elif error.pattern == "no-space-left":
        detail = "The disk is full: torch, its libraries and the temporary copies do not fit."
        remedies = (Remedy(action="free-disk-space"), SMALLER)
    else:
        detail = "The installer ran out of memory."
        remedies = (
            Remedy(
                action="reduce-memory",
                details={"flag": "--no-cache-dir"},
                text="Install with --no-cache-dir, which needs less memory.",
            ),
            SMALLER,
        )
    return check.found(
        facts, detail, evidence=(quote(error), "host.disk_free_bytes", "host.memory_bytes"), remedies=remedies
    )


def _installing(facts: Facts, error: ErrorText) -> bool:
    """A full disk while a program runs is another matter."""
    return any(a.failed is not False for a in facts.attempts) or search(facts, INSTALLING) is not None
