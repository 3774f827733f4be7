"""The C++ runtime library is older than the one that torch, or a package beside it, was built with.

What it means
    A file was built with a newer GCC than the libstdc++.so.6 that the process loaded has symbols for (GLIBCXX_3.4.x,
    CXXABI_1.3.x). In conda environments often the system's copy is loaded before the environment's newer one.

How to see it yourself
    strings /usr/lib/x86_64-linux-gnu/libstdc++.so.6 | grep GLIBCXX | tail -1

What to do
    Where LD_LIBRARY_PATH leads to the old copy, take its folder out. In a conda environment: install libstdcxx-ng
    there. Else update the distribution's libstdc++.

References
    https://gcc.gnu.org/onlinedocs/libstdc++/manual/abi.html
"""

from doctor.checks import Check, Judgement
from doctor.checks._loader import without_folder
from doctor.checks._torch import quote, search
from doctor.fixes import tools
from doctor.model.facts import Facts
from doctor.model.finding import Remedy
from doctor.regex import Regex

check = Check(
    severity="fault",
    needs=("messages",),
    systems=("linux",),
    usual=(Remedy(action="install-system-package", details={"package": "libstdc++6"}),),
    explains=("torch-import-crashes",),
    instead_of=("torch-import-crashes", "extension-abi-mismatch", "companion-mismatch", "program-error"),
)

# The first GCC whose libstdc++ has a version of its symbols: https://gcc.gnu.org/onlinedocs/libstdc++/manual/abi.html
GCC = {
    "GLIBCXX_3.4.21": "5.1",
    "GLIBCXX_3.4.22": "6.1",
    "GLIBCXX_3.4.23": "7.1",
    "GLIBCXX_3.4.24": "7.2",
    "GLIBCXX_3.4.25": "8.1",
    "GLIBCXX_3.4.26": "9.1",
    "GLIBCXX_3.4.27": "9.2",
    "GLIBCXX_3.4.28": "9.3",
    "GLIBCXX_3.4.29": "11.1",
    "GLIBCXX_3.4.30": "12.1",
    "GLIBCXX_3.4.31": "13.1",
    "GLIBCXX_3.4.32": "13.2",
    "GLIBCXX_3.4.33": "14.1",
    "CXXABI_1.3.9": "5.1",
    "CXXABI_1.3.10": "6.1",
    "CXXABI_1.3.11": "7.1",
    "CXXABI_1.3.12": "9.1",
    "CXXABI_1.3.13": "11.1",
    "CXXABI_1.3.14": "13.1",
    "CXXABI_1.3.15": "14.1",
}


TOO_OLD = Regex(
    r"(?:(/[^\s:]{1,400})/libstdc\+\+\.so[.\d]*: )?version [`'](GLIBCXX_[\d.]+|CXXABI_[\d.]+)'? not found"
)


@check
def judge(facts: Facts) -> Judgement:
    found = search(facts, TOO_OLD)
    if found is None:
        return None
    error, match = found
    system = Remedy(action="install-system-package", details={"package": "libstdc++6", "minimum": match[2]})
    since = GCC.get(match[2])
    newer = {"spec": f">={since}"} if since else {}
    conda = Remedy(action="install-package", details={"package": "libstdcxx-ng", **newer})
    without = without_folder(facts, match[1]) if match[1] else ()  # the system's own may be new enough
    said, manager = (error.path or "") + error.text, facts.interpreter.manager
    in_conda = any(t.channel and (manager in t.programs or t.name in said) for t in tools.all_tools())
    return check.found(
        facts,
        f"The libstdc++.so.6 that was loaded does not have {match[2]}.",
        evidence=(quote(error), "host.os_name", "environ.LD_LIBRARY_PATH"),
        remedies=(*without, *((conda, system) if in_conda else (system,))),
        needed=match[2],
    )
