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
from doctor.checks._torch import owner, quote, same_kind, search
from doctor.model.facts import ErrorText, Facts
from doctor.model.finding import Remedy

check = Check(
    severity="fault",
    explains=("torch-import-crashes", "torch-missing", "torch-too-old"),
    instead_of=("torch-import-crashes", "program-error"),
)

CANNOT_OPEN = r"^(?!.*Failed to load image).*?(lib[\w+.-]+?\.so[.\d]*): cannot open shared object file"
CANNOT_LOAD = r"Could not load library (lib\w+\.so[.\d]*)"
NOT_LOADED = r"Library not loaded: (\S+\.dylib)"
OWN = re.compile(r"^lib(?:torch|c10|shm\b|caffe2)")
DRIVER = re.compile(r"^lib(?:cuda|nvidia-ml|nvcuvid)\.so")
# libraries of the operating system: the package that holds them on Debian and Ubuntu, in Homebrew for .dylib
SYSTEM_PACKAGES = {
    "libgomp": "libgomp1",
    "libomp": "libomp",
    "libGL": "libgl1",
    "libopenblas": "libopenblas0",
    "libtinfo": "libtinfo6",
    "libmpi": "libopenmpi-dev",
    "libmpi_cxx": "libopenmpi-dev",
    "libsndfile": "libsndfile1",
    "libnuma": "libnuma1",
    "libgfortran": "libgfortran5",
    "libglib-2": "libglib2.0-0",
    "libavcodec": "ffmpeg",
    "libavformat": "ffmpeg",
    "libavutil": "ffmpeg",
    "libpython3": "libpython3-dev",
    "libjpeg": "libjpeg-turbo8",
    "libpng16": "libpng16-16",
    "libstdc++": "libstdc++6",
    "libatlas": "libatlas-base-dev",
    "libcblas": "libatlas-base-dev",
    "libf77blas": "libatlas-base-dev",
    "libopenmpi": "libopenmpi-dev",
}
# libraries that CUDA builds of torch take from pip's nvidia-* packages
NVIDIA = {
    "libcudnn": "cudnn",
    "libcublas": "cublas",
    "libcudart": "cuda-runtime",
    "libcufft": "cufft",
    "libcurand": "curand",
    "libcusolver": "cusolver",
    "libcusparseLt": "cusparselt",
    "libcusparse": "cusparse",
    "libnccl": "nccl",
    "libcupti": "cuda-cupti",
    "libnvrtc": "cuda-nvrtc",
    "libnvToolsExt": "nvtx",
    "libnvJitLink": "nvjitlink",
    "libcufile": "cufile",
    "libnvshmem": "nvshmem",
}


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


def nvidia_component(library: str) -> str | None:
    """The part of CUDA that a library belongs to, as pip's packages name it: "libcudnn_ops.so.9" -> "cudnn"."""
    return next((part for prefix, part in NVIDIA.items() if library.startswith(prefix)), None)


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
    return nvidia_component(library) is not None and who is not None and who not in ("torch", "nvidia")


def _remedies(facts: Facts, library: str) -> tuple[Remedy, ...]:
    part = nvidia_component(library)
    if part:
        return (
            Remedy(action="reinstall-torch", details=same_kind(facts)),
            Remedy(
                action="install-package",
                details={"package": f"nvidia-{part}"},
                text=f"Install the nvidia-{part} package that torch pins.",
            ),
        )
    stem = library.split(".so")[0].split(".dylib")[0].split(".")[0]
    package = SYSTEM_PACKAGES.get(stem) or SYSTEM_PACKAGES.get(re.sub(r"-?[\d.]+$", "", stem))
    install = Remedy(action="install-system-package", details={"package": package or library})
    return (install, Remedy(action="reinstall-torch", details=same_kind(facts)))
