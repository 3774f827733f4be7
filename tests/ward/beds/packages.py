"""Packages beside torch: companions, NumPy, extensions, OpenMP."""

from __future__ import annotations

from tests.ward.bed import bed
from tests.ward.place import Place


@bed("companion-mismatch", cure="none", why_not="PyTorch's own index is needed")
def torchvision_for_cuda_beside_cpu(place: Place) -> None:
    """torchvision's CUDA build of the same release beside the CPU build of torch."""
    place.unpack("torchvision-0.28.0")


@bed("companion-mismatch", cure="none", why_not="PyTorch's own index is needed")
def torchvision_of_2_8(place: Place) -> None:
    """torchvision 0.23.0, of torch 2.8, beside torch 2.13.0."""
    place.unpack("torchvision-0.23.0")


@bed("companion-mismatch", cure="none", why_not="torchtext has no release for this torch")
def torchtext_of_2_3(place: Place) -> None:
    """torchtext 0.18.0, the last one there is, beside torch 2.13.0."""
    place.unpack("torchtext-0.18.0")


@bed("numpy-abi-mismatch", base="old", action="pin-package", details={"package": "numpy", "spec": "<2"}, cure="run")
def numpy_2_with_an_old_torch(place: Place) -> None:
    """torch 1.12.1, built for NumPy 1, with NumPy 2.2.6."""
    place.install("numpy-2.2.6-cp310")


@bed(None, base="old")
def healthy_old_torch(place: Place) -> None:
    """torch 1.12.1 with CUDA 10.2 inside, Python 3.10 and NumPy 1.26: old, and whole."""


@bed(None)
def numpy_1_with_a_new_torch(place: Place) -> None:
    """torch 2.13.0 with NumPy 1.26.4, which it still works with."""
    place.install("numpy-1.26.4-cp311")


@bed("dependency-broken", action="reinstall-package", details={"package": "numpy"}, cure="run")
def numpy_over_numpy(place: Place) -> None:
    """NumPy 1.26.4 was unpacked over 2.4.6, and both have their metadata: the files are mixed."""
    place.unpack("numpy-1.26.4-cp311")
    for folder in (place.site / "numpy").rglob("__pycache__"):
        place.remove(folder)


SCATTER = """import os
import torch
torch.ops.load_library(os.path.join(os.path.dirname(__file__), "_scatter_cpu.so"))
def scatter(src, index, dim=-1):
    return src
"""


@bed(
    "extension-abi-mismatch", action="reinstall-package", details={"package": "torch-scatter"}, needs=("gcc",),
    command=("probe", "--full", "--device", "cpu"), limit_s=600,
    cure="none", why_not="the cache has no wheel of torch-scatter",
)  # fmt: skip
def extension_of_another_torch(place: Place) -> None:
    """torch-scatter's library was built for another torch: it asks for a function of C++ that this one lacks."""
    lacking = "_ZN3c106detail14torchCheckFailEPKcS2_jRKSsOfOld"
    source = f"extern int {lacking}(void); int scatter(void) {{ return {lacking}(); }}"
    place.compile(source, place.site / "torch_scatter" / "_scatter_cpu.so")
    place.write(place.site / "torch_scatter" / "__init__.py", SCATTER)
    info = place.site / "torch_scatter-2.1.2.dist-info"
    place.write(info / "METADATA", "Metadata-Version: 2.1\nName: torch-scatter\nVersion: 2.1.2\n")
    place.write(info / "RECORD", "torch_scatter/__init__.py,,\ntorch_scatter/_scatter_cpu.so,,\n")


@bed("openmp-duplicate", code=0, cure="none", why_not="a warning: torch works")
def two_intel_openmp_runtimes(place: Place) -> None:
    """Two copies of libiomp5.so are preloaded, as two packages bring them."""
    place.install("intel_openmp")
    found = next(place.env.rglob("libiomp5.so"))
    copy = place.root / "conda" / "lib" / "libiomp5.so"
    copy.parent.mkdir(parents=True)
    place.write(copy, found.read_bytes())
    place.environ["LD_PRELOAD"] = f"{found}:{copy}"


@bed(None, fast=True)
def preload_of_nothing(place: Place) -> None:
    """LD_PRELOAD names a library that is not there: the loader says so and goes on."""
    place.environ["LD_PRELOAD"] = "/usr/lib/libtcmalloc_minimal.so.4"


@bed("harmful-variable", action="unset-env", details={"name": "LD_PRELOAD"}, cure="hand", needs=("gcc",))
def preload_that_kills(place: Place) -> None:
    """LD_PRELOAD names a profiler that stands in for OpenMP, and aborts when torch asks it."""
    functions = ("omp_get_max_threads", "omp_get_num_threads")
    source = "#include <stdlib.h>\n" + "".join(f"int {name}(void) {{ abort(); }}\n" for name in functions)
    place.compile(source, place.root / "libprofiler.so")
    place.environ["LD_PRELOAD"] = str(place.root / "libprofiler.so")


@bed("harmful-variable", action="unset-env", details={"name": "TORCH_LOGS"}, cure="hand")
def logs_variable_misspelled(place: Place) -> None:
    """TORCH_LOGS names something that torch does not know: import torch raises."""
    place.environ["TORCH_LOGS"] = "dynamoo"


@bed("libstdcxx-too-old", action="unset-env", details={"name": "LD_LIBRARY_PATH"}, cure="hand", needs=("gcc",))
def libstdcxx_of_an_old_toolchain(place: Place) -> None:
    """LD_LIBRARY_PATH leads to a libstdc++.so.6 from before GCC 5, as old toolchains and closed programs bring one."""
    folder = place.root / "opt" / "lib64"
    script = place.write(place.root / "old.map", "GLIBCXX_3.4 { *; }; GLIBCXX_3.4.20 { } GLIBCXX_3.4;\n")
    options = ("-Wl,-soname,libstdc++.so.6", f"-Wl,--version-script={script}")
    place.compile("int old(void) { return 0; }", folder / "libstdc++.so.6", *options)
    place.environ["LD_LIBRARY_PATH"] = str(folder)


@bed(None)
def path_file_that_raises(place: Place) -> None:
    """A .pth file of a package that is gone: every start of this Python writes a traceback, and goes on."""
    place.write(place.site / "gone.pth", "import gone_package; gone_package.install()\n")


@bed(None)
def warnings_are_errors(place: Place) -> None:
    """PYTHONWARNINGS=error, as a test run has it."""
    place.environ["PYTHONWARNINGS"] = "error"


@bed(None)
def optimised_python(place: Place) -> None:
    """PYTHONOPTIMIZE=2: no assertions, no docstrings."""
    place.environ["PYTHONOPTIMIZE"] = "2"


@bed(None)
def openmp_settings_of_no_sense(place: Place) -> None:
    """OMP_NUM_THREADS is no number: OpenMP says so and goes on."""
    place.environ |= {"OMP_NUM_THREADS": "all", "OMP_PROC_BIND": "maybe"}
