"""Importing torch crashes, exits or hangs.

What it means
    A child process that only imports torch did not come to its end, and nothing that is known explains it. Usual
    causes are a broken installation, a library of another package that does not get on with torch's, or a driver
    that does not answer.

How to see it yourself
    python -X faulthandler -c "import torch"

What to do
    Install torch afresh in a new environment with nothing else in it. If it starts there, add the other packages
    one by one.

References
    https://docs.python.org/3/library/faulthandler.html
"""

from doctor.checks import Check, Fit, Judgement
from doctor.checks._machine import imported
from doctor.checks._torch import import_failure, same_kind
from doctor.model.facts import Facts, ImportFailure
from doctor.model.finding import Evidence, Remedy
from doctor.regex import Regex

check = Check(
    severity="fault",
    needs=("torch.import_failure|torch.cuda_available|torch.mps_available|torch.xpu_available",),
    keeps_from=("nvidia", "amd", "intel", "apple"),
    usual=(Remedy(action="reinstall-torch"),),
    explains=("device-crashes",),
)

LOADER = Regex(r"^dlopen|cannot open shared object|Could not find module")


@check
def judge(facts: Facts) -> Judgement:
    failure = import_failure(facts)
    if failure is None or (
        failure.kind == "exception" and failure.exception in ("ModuleNotFoundError",) and facts.torch is None
    ):
        return None
    if not facts.live and _names_a_library(failure):
        return None  # what the text says of it, and which library it is, tells more than that the import fails
    return check.found(
        facts,
        f"import torch {_how(failure)}{f' in stage «{failure.stage}»' if failure.stage else ''}"
        + (f": {failure.message}" if failure.message else "."),
        evidence=(
            "torch.version",
            "torch.path",
            Evidence(fact="import", value=_how(failure), source="a child process", quote=failure.message),
        ),
        remedies=(Remedy(action="reinstall-torch", details=same_kind(facts)),),
        confidence="likely",
        kind=failure.kind,
        stage=failure.stage,
        signal=failure.signal,
    )


@check.fit
def fits(facts: Facts) -> Fit | None:
    return Fit(0, "torch imports") if imported(facts) else None


def _names_a_library(failure: ImportFailure) -> bool:
    """Whether the loader found no library, or no symbol in one. The place for thread-local data runs out otherwise."""
    of_loader = failure.kind == "exception" and failure.exception in ("ImportError", "OSError", "FileNotFoundError")
    said = failure.message
    return of_loader and (not said or bool(LOADER.search(said))) and "static TLS" not in said


def _how(failure: ImportFailure) -> str:
    """ "is ended by signal 11 (SIGSEGV)", "does not return", ..."""
    if failure.kind == "signal":
        return f"is ended by signal {failure.signal} ({_name(failure.signal)})"
    if failure.kind == "timed-out":
        return "does not return"
    if failure.kind == "exit":
        return f"ends the process with code {failure.exit_code}"
    return f"raises {failure.exception or 'an exception'}"


def _name(number: int | None) -> str:
    names = {4: "SIGILL", 6: "SIGABRT", 7: "SIGBUS", 8: "SIGFPE", 9: "SIGKILL", 10: "SIGBUS", 11: "SIGSEGV"}
    return names.get(number or 0, "unknown")
