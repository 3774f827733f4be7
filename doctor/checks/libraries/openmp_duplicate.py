"""Two OpenMP runtimes are loaded into one process.

What it means
    torch, NumPy with MKL, and others each bring a copy of libiomp5 or libomp. Intel's runtime stops the program
    when it finds another copy («OMP: Error #15»); where it does not, threads may be slow or results wrong.

How to see it yourself
    find the copies: python -c "import sys; print(sys.prefix)" and search that folder for libiomp5 and libomp

What to do
    Have one of them: take torch and NumPy from one source. KMP_DUPLICATE_LIB_OK=TRUE lets the program run with
    both; it is a stopgap.

References
    https://github.com/pytorch/pytorch/issues/78490
    https://openmp.llvm.org/
"""

import re

from doctor.checks import Check, Judgement
from doctor.checks._machine import heard
from doctor.checks._torch import installed, numbers, quote, release_of
from doctor.model.facts import Facts
from doctor.model.finding import Evidence, Remedy
from doctor.regex import Regex

STOPGAP = Remedy(
    action="set-env",
    details={"name": "KMP_DUPLICATE_LIB_OK", "value": "TRUE"},
    text="Let the program run with both runtimes: a stopgap, until torch and NumPy come from one source.",
)

check = Check(
    severity="fault",
    needs=("torch.loaded_libraries", "messages"),
    usual=(STOPGAP,),
    explains=("torch-import-crashes",),
    instead_of=("torch-import-crashes", "program-error"),
)

RUNTIME = Regex(r"(?:^|[/\\])(?:lib)?(iomp5|omp)[\w.-]*\.(?:so|dylib|dll)", re.IGNORECASE)


@check
def judge(facts: Facts) -> Judgement:
    torch, error = installed(facts), heard(facts, "omp-error-15")
    loaded = {f for f in (torch.loaded_libraries if torch else None) or () if RUNTIME.search(f)}
    if error is None and len(loaded) < 2:
        return None
    release = release_of(facts)
    remedies: tuple[Remedy, ...] = (STOPGAP, Remedy(action="reinstall-package", details={"package": "numpy"}))
    if (
        release
        and facts.host.system in ("darwin", None)
        and (2, 3) <= numbers(release) < (2, 4)
        and error
        and "libomp.dylib" in error.text
    ):
        remedies = (Remedy(action="upgrade-torch", details={"torch": ">=2.4"}), STOPGAP)
    return check.found(
        facts,
        "Two copies of the OpenMP runtime are loaded" + (": " + " and ".join(sorted(loaded)) if loaded else "") + ".",
        evidence=(
            quote(error) if error else None,
            Evidence(fact="loaded", value=", ".join(sorted(loaded))) if loaded else None,
            "torch.version",
        ),
        remedies=remedies,
        severity=None if error else "warning",
    )
