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
from doctor.checks._machine import heard
from doctor.checks._torch import build, installed, owner, quote, same_kind, search
from doctor.knowledge import lookup
from doctor.model.facts import ErrorText, Facts, Torch
from doctor.model.finding import Remedy
from doctor.regex import Regex

check = Check(
    severity="fault",
    needs=("messages",),
    usual=(Remedy(action="reinstall-torch"),),
    explains=("torch-import-crashes", "torch-missing", "torch-too-old"),
    instead_of=("torch-import-crashes", "program-error"),
)

# left out: a part that torchvision, NCCL (its network plugin) and DGL do without, and only say so
CANNOT_OPEN = Regex(
    r"^(?!.*(?:Failed to load image|NCCL INFO|TensorDispatcher:)).*?"
    r"(lib[\w+.-]+?\.so[.\d]*): cannot open shared object file"
)
CANNOT_LOAD = Regex(
    r"(?:Could not load library |Unable to load any of \{|Library (?=\S+ is not found))(lib\w+\.so[.\d]*)"
)
OF_ANDROID = Regex(r"dlopen failed: library \"(lib[\w+.-]+?\.so[.\d]*)\" not found")
NOT_LOCATED = Regex(r"failed to open ((?:lib)?nvrtc-builtins[\w.-]*\w)")
NOT_LOADED = Regex(r"Library not loaded: (\S+\.dylib)")
OF_NEWER_MACOS = Regex(r"load command 0x\w+ is unknown|built for macOS [\d.]+ which is newer")
OWN = Regex(r"^lib(?:torch|c10|shm\b|caffe2)")
DRIVER = Regex(r"^lib(?:cuda|nvidia-ml|nvcuvid)\.so")


@check
def judge(facts: Facts) -> Judgement:
    regexes = (CANNOT_OPEN, NOT_LOADED, CANNOT_LOAD, OF_ANDROID, NOT_LOCATED)
    found = next((f for regex in regexes if (f := search(facts, regex))), None)
    if found is None:
        return _link_of_the_driver(facts) or _ffmpeg(facts) or _of_others(facts)
    error, match = found
    library = next(g for g in match.groups() if g).rsplit("/", 1)[-1]
    if OWN.match(library) and "error while loading" in error.text:
        return _of_torch_elsewhere(facts, error, library)
    if OWN.match(library) or DRIVER.match(library):
        return None  # torch-install-broken; the driver's own checks
    if library.endswith(".dll"):
        return None  # windows-dll-missing
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


def _of_torch_elsewhere(facts: Facts, error: ErrorText, library: str) -> Judgement:
    """A program, no Python, that is linked to torch's libraries: the loader is not told where they lie."""
    return check.found(
        facts,
        f"The program is linked to {library} of libtorch, and the loader does not look where that lies.",
        evidence=(quote(error), "environ.LD_LIBRARY_PATH"),
        remedies=(
            Remedy(
                action="set-env",
                details={"name": "LD_LIBRARY_PATH", "value": "the folder libtorch/lib"},
                text="Name the folder that holds the libraries of libtorch in LD_LIBRARY_PATH.",
            ),
        ),
        confidence="likely",
        library=library,
    )


def _link_of_the_driver(facts: Facts) -> Judgement:
    """The linker looks for libcuda.so; the driver brings libcuda.so.1 only."""
    error = heard(facts, "libcuda-link-missing")
    if error is None:
        return None
    return check.found(
        facts,
        "The linker can't find libcuda.so, the driver's library: Triton links its launcher against it.",
        evidence=(quote(error), "nvidia.driver", "torch.version"),
        remedies=(
            Remedy(
                action="set-env",
                details={"name": "LIBRARY_PATH", "value": "/usr/local/cuda/lib64/stubs"},
                text="Name the folder that holds libcuda.so: the toolkit's stubs, or /usr/lib/wsl/lib on WSL.",
            ),
            Remedy(action="install-system-package", details={"package": "libnvidia-compute"}),
        ),
        library="libcuda.so",
    )


def _ffmpeg(facts: Facts) -> Judgement:
    """torchcodec loads FFmpeg's libraries of the system; it names all the reasons that it can think of."""
    error = heard(facts, "libtorchcodec-not-loaded")
    if error is None:
        return None
    return check.found(
        facts,
        "torchcodec can't load its library: FFmpeg's shared libraries are missing, or it was built for another torch.",
        evidence=(quote(error), "torch.version"),
        remedies=(
            Remedy(action="install-system-package", details={"package": "ffmpeg"}),
            Remedy(action="reinstall-package", details={"package": "torchcodec"}),
        ),
        confidence="likely",
        library="ffmpeg",
    )


def _of_others(facts: Facts) -> Judgement:
    """What a package beside torch says of a library of the system that it does not find."""
    if error := heard(facts, "audio-library-not-found"):
        name = {"sndfile": "libsndfile1", "PortAudio": "libportaudio2"}[error.groups[0]]
        detail = f"The library {error.groups[0]} is not on this machine."
        remedies = (Remedy(action="install-system-package", details={"package": name}),)
    elif facts.host.system == "linux" and (error := heard(facts, "onnxruntime-cuda-not-created")):
        detail = "onnxruntime can't load the libraries of CUDA and cuDNN that it was built for."
        remedies = (Remedy(action="install-system-package", details={"package": "cudnn"}),)
    else:
        return None
    return check.found(facts, detail, evidence=(quote(error),), remedies=remedies, confidence="likely", library="")


def _made_for_newer_macos(facts: Facts) -> bool:
    """A library that is there, but that an older macOS can't read: macos-too-old."""
    return search(facts, OF_NEWER_MACOS) is not None


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
    if part and (_torch_is_fine(facts) or search(facts, Regex(rf"Unable to load any of \{{{re.escape(library)}"))):
        return _for_another_program(facts, library, part)
    if part:
        return (Remedy(action="reinstall-torch", details=same_kind(facts)), *_pinned(facts, part))
    known = lookup.system_package(library)
    install = Remedy(action="install-system-package", details={"package": known or library})
    if known and lookup.what_is(known):  # a library of its own, which no build of torch would bring
        return (install,)
    return (install, Remedy(action="reinstall-torch", details=same_kind(facts)))


def _pinned(facts: Facts, part: str) -> tuple[Remedy, ...]:
    """The nvidia-* package of that part: the installed one again, else the one that torch pins; in words where neither
    torch nor the tables say which that is."""
    torch, made = installed(facts), build(facts)
    there = next((p for p in facts.packages or () if re.match(rf"nvidia-{part}(-cu\d+)?$", p.name)), None)
    if there and there.version:
        return (Remedy(action="reinstall-package", details={"package": there.name, "spec": f"=={there.version}"}),)
    texts = list((torch.requires if torch else None) or ())
    if not texts and made and made.release:
        texts = [f"{name}=={version}" for name, version in lookup.pins_of(made.release, made.backend).items()]
    found = next((m for text in texts if (m := re.match(rf"(nvidia-{part}(?:-cu\d+)?) ?(==[\d.]+)?$", text))), None)
    if found is None:
        text = f"Install the nvidia-{part} package that torch pins: python -m pip show torch names it."
        return (Remedy(action="install-package", text=text),)
    details = {"package": found[1], **({"spec": found[2]} if found[2] else {})}
    text = f"Install the {found[1]} that torch pins."
    return (Remedy(action="install-package", details=details, text=text),)
