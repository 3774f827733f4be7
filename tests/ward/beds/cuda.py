"""The CUDA build: its nvidia-* packages missing, empty, cut short, of another release; libraries from elsewhere.

The machine has no GPU, which is no fault: the CUDA build computes on the CPU there. The fixes need a GPU build from
PyTorch's own index, which cannot be reached from every machine, or hundreds of megabytes: they run where the
package index has the one nvidia-* package that is at fault.
"""

from __future__ import annotations

from tests.ward.bed import bed
from tests.ward.place import Place

BROKEN = "torch-install-broken"
PACKAGE, AGAIN = "reinstall-package", "reinstall-torch"


@bed(None, base="cuda")
def healthy_cuda_build(place: Place) -> None:
    """Nothing is broken: the CUDA build on a machine without a GPU."""


@bed(BROKEN, base="cuda", action=PACKAGE, details={"package": "nvidia-cudnn-cu13"}, cure="run")
def cudnn_empty(place: Place) -> None:
    """libcudnn.so.9 has no bytes."""
    place.write(place.library("libcudnn.so.9"), b"")


@bed(BROKEN, base="cuda", action=PACKAGE, details={"package": "nvidia-cublas"}, cure="run")
def cublas_lt_truncated(place: Place) -> None:
    """The first half of libcublasLt.so.13."""
    place.truncate(place.library("libcublasLt.so.13"))


@bed(BROKEN, base="cuda", action=PACKAGE, details={"package": "nvidia-nccl-cu13"}, cure="run")
def nccl_empty(place: Place) -> None:
    """libnccl.so.2 has no bytes."""
    place.write(place.library("libnccl.so.2"), b"")


@bed(
    BROKEN, base="cuda", action=PACKAGE, details={"package": "nvidia-cuda-runtime"}, cure="run", needs=("unshare",),
)  # fmt: skip
def cuda_runtime_missing(place: Place) -> None:
    """libcudart.so.13 is gone, and no toolkit of the machine has one; the metadata of its package is there."""
    place.remove(place.library("libcudart.so.13"))
    place.hide("/usr/local/cuda*")


@bed(
    BROKEN, base="cuda", action=PACKAGE, details={"package": "nvidia-cuda-runtime"}, code=0, cure="run",
    needs=("unshare",),
)  # fmt: skip
def toolkit_in_place_of_the_runtime(place: Place) -> None:
    """libcudart.so.13 is gone, and torch finds that of a toolkit by LD_LIBRARY_PATH: it works."""
    library = place.library("libcudart.so.13")
    place.write(place.root / "toolkit" / "lib64" / library.name, library.read_bytes())
    place.remove(library)
    place.hide("/usr/local/cuda*")
    place.environ["LD_LIBRARY_PATH"] = str(place.root / "toolkit" / "lib64")


@bed(BROKEN, base="cuda", action=PACKAGE, details={"package": "nvidia-cuda-nvrtc"}, cure="run")
def nvrtc_empty(place: Place) -> None:
    """libnvrtc.so.13 has no bytes, and torch's own libraries need it."""
    place.write(place.library("libnvrtc.so.13"), b"")


@bed(
    "dependency-broken", base="cuda", action="install-package", details={"package": "nvidia-cudnn-cu13"},
    cure="run",
)  # fmt: skip
def cudnn_not_installed(place: Place) -> None:
    """nvidia-cudnn-cu13, which torch requires, was removed."""
    place.uninstall("nvidia_cudnn_cu13")


@bed(
    "dependency-broken", base="cuda", action="install-package", details={"package": "nvidia-nvjitlink"},
    cure="run",
)  # fmt: skip
def nvjitlink_not_installed(place: Place) -> None:
    """nvidia-nvjitlink, which only other nvidia-* packages require, was removed."""
    place.uninstall("nvidia_nvjitlink")


@bed(
    "nvidia-packages-mixed", base="cuda", action=PACKAGE, details={"package": "nvidia-nccl-cu13"}, code=0,
    cure="run",
)  # fmt: skip
def nccl_of_another_release(place: Place) -> None:
    """The metadata says an older nvidia-nccl-cu13 than torch pins; it still loads."""
    info = place.info("nvidia_nccl_cu13")
    version = info.name.removesuffix(".dist-info").split("-")[1]
    place.replace_text(info / "METADATA", f"Version: {version}", "Version: 2.27.3")
    place.replace_text(info / "RECORD", info.name, "nvidia_nccl_cu13-2.27.3.dist-info")
    info.rename(info.with_name("nvidia_nccl_cu13-2.27.3.dist-info"))


@bed(
    "dependency-broken", base="cuda", action="install-package", details={"package": "nvidia-cuda-runtime"},
    cure="run", needs=("gcc", "unshare"),
)  # fmt: skip
def cuda_runtime_of_another_major(place: Place) -> None:
    """nvidia-cuda-runtime-cu12 took the place of the nvidia-cuda-runtime that torch requires."""
    place.uninstall("nvidia_cuda_runtime")
    library = "nvidia/cuda_runtime/lib/libcudart.so.12"
    place.compile("int cudaRuntimeGetVersion(int *v) { *v = 12080; return 0; }", place.site / library)
    info = place.site / "nvidia_cuda_runtime_cu12-12.8.90.dist-info"
    place.write(info / "METADATA", "Metadata-Version: 2.1\nName: nvidia-cuda-runtime-cu12\nVersion: 12.8.90\n")
    place.write(info / "RECORD", f"{library},,\n{info.name}/METADATA,,\n")
    place.hide("/usr/local/cuda*")


@bed(None, base="cuda", needs=("gcc",))
def foreign_nccl_on_the_path(place: Place) -> None:
    """LD_LIBRARY_PATH leads to a foreign libnccl.so.2: torch's wheels have an RPATH, which the loader asks first."""
    place.compile("int ncclGetVersion(int *v) { *v = 1; return 0; }", place.root / "old" / "libnccl.so.2")
    place.environ["LD_LIBRARY_PATH"] = str(place.root / "old")


@bed(None, base="cuda")
def empty_cudart_on_the_path(place: Place) -> None:
    """LD_LIBRARY_PATH leads to a libcudart.so.13 without a byte, which the loader never comes to."""
    place.write(place.root / "old" / "libcudart.so.13", b"")
    place.environ["LD_LIBRARY_PATH"] = str(place.root / "old")


@bed("harmful-variable", base="cuda", action="unset-env", details={"name": "LD_PRELOAD"}, cure="hand", needs=("gcc",))
def foreign_nccl_preloaded(place: Place) -> None:
    """LD_PRELOAD brings a libnccl.so.2 that lacks what torch needs."""
    library = place.root / "old" / "libnccl.so.2"
    place.compile("int ncclGetVersion(int *v) { *v = 1; return 0; }", library, "-Wl,-soname,libnccl.so.2")
    place.environ["LD_PRELOAD"] = str(library)


@bed(None, base="cuda", needs=("gcc",))
def stub_of_libcuda_without_gpu(place: Place) -> None:
    """A toolkit's stub of libcuda is on LD_LIBRARY_PATH of a machine without a GPU, which can't be harmed by it."""
    place.compile("int cuInit(unsigned f) { return 34; }", place.root / "cuda" / "lib64" / "stubs" / "libcuda.so.1")
    place.environ["LD_LIBRARY_PATH"] = str(place.root / "cuda" / "lib64" / "stubs")


@bed("companion-mismatch", base="cuda", cure="none", why_not="PyTorch's own index is needed")
def torchvision_of_an_older_torch(place: Place) -> None:
    """torchvision 0.23.0, which belongs to torch 2.8, was installed without its requirements."""
    place.uninstall("torchvision")
    place.unpack("torchvision-0.23.0")


@bed("companion-mismatch", base="cuda", cure="none", why_not="PyTorch's own index is needed")
def torchaudio_of_an_older_torch(place: Place) -> None:
    """torchaudio 2.8.0 beside torch 2.14.1."""
    place.unpack("torchaudio-2.8.0")


@bed("companion-mismatch", base="cuda", code=0, cure="run", details={"package": "triton"})
def triton_of_an_older_torch(place: Place) -> None:
    """triton 3.6.0 instead of the 3.8.0 that torch 2.14.1 pins."""
    place.uninstall("triton")
    place.unpack("triton-3.6.0")


@bed(None, base="cuda")  # first written down as dependency-broken: but no GPU is here, and for CPUs it compiles C++
def triton_not_installed(place: Place) -> None:
    """triton, which torch.compile needs for GPUs alone, was removed, on a machine without a GPU."""
    place.uninstall("triton")


@bed(BROKEN, base="cuda", action=AGAIN, details={"torch": "2.14.1", "backend": "cu130"}, cure="run")
def cuda_build_without_its_core(place: Place) -> None:
    """torch/_C.*.so of a CUDA build is gone, on a machine without a GPU: the same build is wanted again."""
    place.remove(*place.torch.glob("_C.*.so"))


@bed(BROKEN, base="cuda", action=AGAIN, details={"torch": "2.14.1", "backend": "cu130"}, cure="run")
def torch_and_cudnn_damaged(place: Place) -> None:
    """A full disk: libtorch_cuda.so and libcudnn.so.9 are cut short, files of two packages."""
    place.truncate(place.torch / "lib" / "libtorch_cuda.so")
    place.truncate(place.library("libcudnn.so.9"))
