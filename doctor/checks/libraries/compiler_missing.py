"""torch.compile, or an extension, needs a compiler or Triton that is not there.

What it means
    torch.compile writes C++ for CPUs and Triton kernels for GPUs; extensions are compiled when they are installed.
    That takes a C++ compiler (on Windows cl.exe on the PATH), Python's header files, Ninja, or Triton. torch itself
    works without them.

How to see it yourself
    c++ --version (Windows: where cl); python -c "import triton"

What to do
    Install what is missing. On Windows: the Visual Studio Build Tools with the C++ workload, and run in its x64
    prompt.

References
    https://docs.pytorch.org/docs/stable/torch.compiler_troubleshooting.html
    https://visualstudio.microsoft.com/visual-cpp-build-tools/
"""

from doctor.checks import Check, Judgement
from doctor.checks._features import only_tried
from doctor.checks._machine import heard, on_mac
from doctor.checks._torch import quote, search
from doctor.model.facts import ErrorText, Facts
from doctor.model.finding import Remedy
from doctor.regex import Regex

check = Check(
    severity="fault",
    needs=("messages",),
    usual=(Remedy(action="install-system-package", details={"package": "g++"}),),
    instead_of=("program-error",),
)

PATTERNS = (
    "msvc-cl-not-found",
    "no-cpp-compiler",
    "msvc-14-required",
    "python-h-missing",
    "ninja-missing",
    "no-working-triton",
    "triton-cannot-compile",
    "import-library-missing",
    "standard-header-missing",
    "triton-not-offered",
)
NO_COMPILER = Regex(
    r"(?:unable to execute '|command ')(gcc|g\+\+|cc|c\+\+|x86_64-linux-gnu-gcc|"
    r"clang\+?\+?)'? ?(?:failed: No such file|: No such file)|Compiler: (g\+\+|clang\+\+|cl|"
    r"icx) is not found"
)
DISABLED = Regex(r"some optimizations will not be enabled")
NO_TRITON = Regex(r"^(?:ModuleNotFoundError|ImportError): No module named '?triton'?")
TOOLS = Remedy(
    action="install-system-package",
    details={"package": "vs_buildtools"},
    text="Install the Visual Studio Build Tools with the C++ workload.",
)


@check
def judge(facts: Facts) -> Judgement:
    found = search(facts, NO_COMPILER)
    error = found[0] if found else heard(facts, *PATTERNS)
    if error is None or (error.pattern == "triton-not-offered" and on_mac(facts)):
        return None
    windows = (
        facts.host.system == "windows"
        or "cl is not found" in error.text
        or error.pattern in ("msvc-cl-not-found", "msvc-14-required", "triton-cannot-compile", "import-library-missing")
    )
    what, remedies = _missing(error, windows)
    mentioned = error.pattern == "no-working-triton" and not _stopped(facts, error)
    return check.found(
        facts,
        f"{what} is needed here, and is not there.",
        evidence=(quote(error), "host.os_name", "torch.version"),
        remedies=remedies,
        severity="warning" if mentioned or only_tried(error) else None,
        missing=what,
    )


def _stopped(facts: Facts, error: ErrorText) -> bool:
    """Whether the program ended for want of Triton; xformers and others only mention it, with a traceback of theirs."""
    if search(facts, DISABLED):
        return False
    wanted = "TritonMissing" in error.text or "Cannot find a working triton" in error.text
    return wanted or search(facts, NO_TRITON) is not None


def _missing(error: ErrorText, windows: bool) -> tuple[str, tuple[Remedy, ...]]:
    """What is missing, in words, and how to get it."""
    if error.pattern == "triton-cannot-compile":
        return "A header file or library of Python, with which Triton compiles its launcher,", (
            Remedy(
                action="replace-interpreter",
                text="Use a full Python: an embedded one lacks the folders Include and libs (or copy them from the "
                "same release).",
            ),
        )
    if error.pattern == "import-library-missing":
        return "A library for the linker", (
            Remedy(
                action="use-other-build",
                details={"build": "a wheel of it that is compiled already, for Windows"},
                text="Use a wheel of it that is compiled already, for Windows.",
            ),
        )
    if error.pattern == "standard-header-missing":
        if windows or "C1083" in error.text:
            return "A compiler that finds C++'s own header files", (TOOLS,)
        return "A C++ compiler with the standard library of C++17", (
            Remedy(action="install-system-package", details={"package": "g++"}),
        )
    if error.pattern in ("no-working-triton", "triton-not-offered"):
        name = "triton-windows" if windows else "triton"
        return "Triton", (Remedy(action="install-package", details={"package": name}), Remedy(action="reinstall-torch"))
    if error.pattern == "ninja-missing":
        return "Ninja", (Remedy(action="install-package", details={"package": "ninja"}),)
    if error.pattern == "python-h-missing":
        return "Python's C header file Python.h", (
            Remedy(action="install-system-package", details={"package": "python3-dev"}),
        )
    if windows:
        path = Remedy(
            action="set-env",
            details={"name": "PATH", "value": "with the folder of cl.exe (vcvarsall.bat x64)"},
            text="Start from the «x64 Native Tools Command Prompt for VS»: there cl.exe is on the PATH.",
        )
        return "Microsoft's C++ compiler", (TOOLS, path)
    return "A C++ compiler", (Remedy(action="install-system-package", details={"package": "g++"}),)
