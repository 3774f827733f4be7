"""A shared library that torch, or a package on top of it, needs is not there.

What it means
    The dynamic loader can't find a .so or .dylib by name: a package of the operating system is not installed, or
    one of pip's nvidia-* packages that torch's CUDA builds bring along is gone.

How to see it yourself
    ldd (macOS: otool -L) on the file that can't be loaded; python -m pip check

What to do
    Install the package that holds the library; where it is one of torch's own nvidia-* packages, install torch
    again.

References
    https://man7.org/linux/man-pages/man8/ld.so.8.html
"""

import re

from doctor.checks import Check, Judgement
from doctor.checks._torch import installed, owner, quote, same_kind, search
from doctor.knowledge import lookup
from doctor.model.facts import ErrorText, Facts, Torch
from doctor.model.finding import Remedy

check = Check(
    severity="fault",
    explains=("torch-import-crashes", "torch-missing", "torch-too-old"),
    instead_of=("torch-import-crashes", "program-error"),
)

CANNOT_OPEN = r"^(?!.*Failed to load image).*?(lib[\w+.-]+?\.so[.\d]*): cannot open shared object file"
CANNOT_LOAD = r"(?:Could not load library |Unable to load any of \{)(lib\w+\.so[.\d]*)"
NOT_LOADED = r"Library not loaded: (\S+\.dylib)"
OWN = re.compile(r"^lib(?:torch|c10|shm\b|caffe2)")
DRIVER = re.compile(r"^lib(?:cuda|nvidia-ml|nvcuvid)\.so")


@check
def judge(facts: Facts) -> Judgement:
    found = search(facts, CANNOT_OPEN) or search(facts, NOT_LOADED) or search(facts, CANNOT_LOAD)
    if found is None:
        return None
    error, match = found
    library = match[1].rsplit("/", 1)[-1]
    if OWN.match(library) or DRIVER.match(library):
        return None  # torch-install-broken; the driver's own checks
    if library.endswith(".dylib") and _made_for_newer_macos(facts):
        return None
    if facts.host.jetson or _built_for_another(facts, library, error):
        return None
    remedies = _remedies(facts, library)
    return check.found(
        facts,
        f"{library} can't be found.",
        evidence=(quote(error), "torch.version", "environ.LD_LIBRARY_PATH"),
        remedies=remedies,
        library=library,
    )


def _made_for_newer_macos(facts: Facts) -> bool:
    """A library that is there, but that an older macOS can't read: macos-too-old."""
    return search(facts, r"load command 0x\w+ is unknown|built for macOS [\d.]+ which is newer") is not None


def _built_for_another(facts: Facts, library: str, error: ErrorText) -> bool:
    """Whether a package that was built for another CUDA or torch asks for it: others' finding."""
    torch = facts.torch
    cuda = torch.cuda if torch else None
    asked = re.search(r"\.so\.(\d+)", library)
    if library.startswith("libcudart") and cuda and asked and asked[1] != cuda.split(".")[0]:
        return True
    who = owner(error.path)
    return lookup.nvidia_component(library) is not None and who is not None and who not in ("torch", "nvidia")


def _torch_is_fine(facts: Facts) -> bool:
    """Whether torch itself has all that it needs: then another package misses the library."""
    return isinstance(facts.torch, Torch) and bool(facts.torch.cuda_available)


def _for_another_program(facts: Facts, library: str, part: str) -> tuple[Remedy, ...]:
    """torch finds the libraries of pip's nvidia-* packages by itself, other programs don't: they need to be told."""
    torch, site = installed(facts), facts.interpreter.prefix
    folder = torch.path.rsplit("torch", 1)[0].rstrip("/\\") if torch and torch.path else None
    where = f"{folder or (f'{site}/lib/python3.*/site-packages' if site else 'site-packages')}/nvidia/{part}/lib"
    return (
        Remedy(
            action="set-env",
            details={"name": "LD_LIBRARY_PATH", "value": where},
            text=f"Let the loader look in the folder of the nvidia-{part} package, where it holds {library}.",
        ),
        Remedy(action="install-system-package", details={"package": part}),
    )


def _remedies(facts: Facts, library: str) -> tuple[Remedy, ...]:
    part = lookup.nvidia_component(library)
    if part and (_torch_is_fine(facts) or search(facts, rf"Unable to load any of \{{{re.escape(library)}")):
        return _for_another_program(facts, library, part)
    if part:
        return (
            Remedy(action="reinstall-torch", details=same_kind(facts)),
            Remedy(
                action="install-package",
                details={"package": f"nvidia-{part}"},
                text=f"Install the nvidia-{part} package that torch pins.",
            ),
        )
    install = Remedy(action="install-system-package", details={"package": lookup.system_package(library) or library})
    return (install, Remedy(action="reinstall-torch", details=same_kind(facts)))
