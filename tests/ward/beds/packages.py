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
