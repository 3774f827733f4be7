"""The C++ runtime library is older than the one that torch, or a package beside it, was built with.

What it means
    A file was built with a newer GCC than the libstdc++.so.6 that the process loaded has symbols for (GLIBCXX_3.4.x,
    CXXABI_1.3.x). In conda environments often the system's copy is loaded before the environment's newer one.

How to see it yourself
    strings /usr/lib/x86_64-linux-gnu/libstdc++.so.6 | grep GLIBCXX | tail -1

What to do
    In a conda environment: install libstdcxx-ng there. Else update the distribution's libstdc++.

References
    https://gcc.gnu.org/onlinedocs/libstdc++/manual/abi.html
"""

from doctor.checks import Check, Judgement
from doctor.checks._torch import quote, search
from doctor.model.facts import Facts
from doctor.model.finding import Remedy

check = Check(
    severity="fault",
    needs=("messages",),
    systems=("linux",),
    usual=(Remedy(action="install-system-package", details={"package": "libstdc++6"}),),
    explains=("torch-import-crashes",),
    instead_of=("torch-import-crashes", "extension-abi-mismatch", "companion-mismatch", "program-error"),
)


@check
def judge(facts: Facts) -> Judgement:
    found = search(facts, r"version [`'](GLIBCXX_[\d.]+|CXXABI_[\d.]+)'? not found")
    if found is None:
        return None
    error, match = found
    system = Remedy(action="install-system-package", details={"package": "libstdc++6", "minimum": match[1]})
    conda = Remedy(action="install-package", details={"package": "libstdcxx-ng"})
    in_conda = facts.interpreter.manager == "conda" or "conda" in (error.path or "") + error.text
    return check.found(
        facts,
        f"The libstdc++.so.6 that was loaded does not have {match[1]}.",
        evidence=(quote(error), "host.os_name", "environ.LD_LIBRARY_PATH"),
        remedies=(conda, system) if in_conda else (system,),
        needed=match[1],
    )
