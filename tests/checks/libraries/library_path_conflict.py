from dataclasses import replace

from doctor.model.facts import DamagedFile, ImportFailure
from tests.example_case import Case
from tests.examples import linux, with_error, with_nvidia, with_packages, with_torch

SYMBOL = "libcusparse.so.12: undefined symbol: __nvJitLinkComplete_12_4, version libnvJitLink.so.12"
machine = with_nvidia(linux(), "NVIDIA H200", driver="570.124.06")
STUBS = "/usr/local/cuda/lib64/stubs"


def path(facts, value):
    return replace(facts, environ={"LD_LIBRARY_PATH": value})


BAD = {
    "nvJitLink of another CUDA": with_error(
        path(linux(), "/opt/conda/lib:"), "exception", f"ImportError: {SYMBOL}", "ImportError", SYMBOL
    ),
    "live": with_torch(
        path(machine, "/usr/local/cuda-12.1/lib64"), "2.6.0+cu124", imports=False,
        import_failure=ImportFailure(kind="exception", exception="ImportError", message=SYMBOL),
    ),
    "a stub of libcuda first on the path": with_torch(
        path(machine, STUBS), "2.13.0+cu130", cuda_available=False, loaded_libraries=(f"{STUBS}/libcuda.so.1",),
    ),
    "the stub's own error": with_torch(
        machine, "2.13.0+cu130", cuda_available=False, cuda_error="CUDA driver is a stub library",
    ),
    "another cuDNN, but it works": Case(
        with_torch(
            with_packages(path(machine, "/opt/cudnn/lib"), nvidia_cudnn_cu12="9.1.0.70"), "2.6.0+cu124", cuda_available=True,
            path="/home/u/ml/.venv/lib/python3.12/site-packages/torch", loaded_libraries=("/opt/cudnn/lib/libcudnn.so.9",),
        ),
        severity="warning",
    ),
    'pasted: RuntimeError: cuDNN version incompatibility: PyTorch was com': (
        'RuntimeError: cuDNN version incompatibility: PyTorch was compiled  against (8, 9, 2) but found runtime version (8, 5, 0). PyTorch already comes bundled with cuDNN. One option to resolving this error is to ensure PyTorch can find the bundled cuDNN. Looks like your LD_LIBRARY_PATH contains incompatible version of cudnn. Please either remove it from the path or install cudnn (8, 9, 2)\n'
    ),
    'pasted: symbol lookup error: /usr/local/cuda/lib64/libcublas.so.12: ': (
        'RuntimeError: CUDA error: CUBLAS_STATUS_INVALID_VALUE when calling `cublasGemmEx`\n'
        'symbol lookup error: /usr/local/cuda/lib64/libcublas.so.12: undefined symbol: cublasLtGetEnvironmentMode, version libcublasLt.so.12\n'
    ),
    'pasted: ImportError: /home/u/e/lib/python3.12/site-packages/torch/li': (
        'ImportError: /home/u/e/lib/python3.12/site-packages/torch/lib/libc10_cuda.so: undefined symbol: cudaGetDriverEntryPointByVersion, version libcudart.so.12\n'
        '$ echo $LD_LIBRARY_PATH\n'
        '/usr/local/cuda-12.2/lib64\n'
    ),
    'pasted: ImportError: /usr/local/cuda/lib64/libcublas.so.11: symbol f': (
        'symbol free_gemm_select version libcublasLt.so.11 not defined in file libcublasLt.so.11 with link time reference\n'
        'ImportError: /usr/local/cuda/lib64/libcublas.so.11: symbol free_gemm_select, version libcublasLt.so.11 not defined in file libcublasLt.so.11 with link time reference'
    ),
    'pasted: Could not load library libcudnn_cnn_train.so.8. Error: /usr/': (
        'Could not load library libcudnn_cnn_train.so.8. Error: /usr/local/cuda-12.1/lib64/libcudnn_cnn_train.so.8: undefined symbol: _ZTIN10cask_cudnn14BaseKernelInfoE, version libcudnn_cnn_infer.so.8\n'
    ),
    'pasted: RuntimeError: CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH': (
        'RuntimeError: CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH\n'
        '$ env | grep LD_LIB\n'
        'LD_LIBRARY_PATH=/usr/lib/x86_64-linux-gnu:/usr/local/cuda/lib64\n'
    ),
    "pasted: cuBLAS refuses what torch passes": (
        "RuntimeError: CUDA error: CUBLAS_STATUS_INVALID_VALUE when calling `cublasSgemm( handle, opa, opb, m, n, k, &alpha, a, lda, b, ldb, &beta, c, ldc)`\n"
    ),
}  # fmt: skip
GOOD = {
    "LD_PRELOAD brings the other copy": with_torch(
        replace(machine, environ={"LD_PRELOAD": "/opt/old/libnvJitLink.so.12"}), "2.6.0+cu124", imports=False,
        import_failure=ImportFailure(kind="exception", exception="ImportError", message=SYMBOL),
    ),
    "torch's own copy is gone, and the system's stands in": replace(
        with_torch(
            with_packages(machine, nvidia_cudnn_cu12="9.1.0.70"), "2.6.0+cu124", cuda_available=True,
            path="/home/u/ml/.venv/lib/python3.12/site-packages/torch", loaded_libraries=("/opt/cudnn/lib/libcudnn.so.9",),
        ),
        damaged=(
            DamagedFile(distribution="nvidia-cudnn-cu12", file="nvidia/cudnn/lib/libcudnn.so.9", what="missing"),
        ),
    ),
    "torch's own copy": with_torch(
        with_packages(machine, nvidia_cudnn_cu12="9.1.0.70"), "2.6.0+cu124", cuda_available=True,
        path="/home/u/ml/.venv/lib/python3.12/site-packages/torch",
        loaded_libraries=("/home/u/ml/.venv/lib/python3.12/site-packages/nvidia/cudnn/lib/libcudnn.so.9",),
    ),
    "a toolkit on the path that nothing takes": with_torch(
        path(machine, "/usr/local/cuda/lib64"), "2.6.0+cu124", cuda_available=True, loaded_libraries=("/usr/lib/libcuda.so.1",)
    ),
    "a stub on a machine without a driver or a GPU": with_torch(
        path(linux(), STUBS), "2.13.0+cu130", cuda_available=False, loaded_libraries=(f"{STUBS}/libcuda.so.1",),
    ),
    "the library is not there at all": with_error(
        linux(), "exception", "ImportError: libcudnn.so.9: cannot open shared object file: No such file or directory"
    ),
}  # fmt: skip


L4 = "NVIDIA L4"
NO_DRIVER = "RuntimeError: Found no NVIDIA driver on your system. Please check that you have an NVIDIA GPU"


def with_file(why: str, path: str = "/opt/x/libcuda.so.1", **environ: str):
    facts = with_nvidia(linux(), L4, libcuda=path, libcuda_broken=f"{path}{why}", library="580.65.06", cuinit=None)
    return replace(with_torch(facts, "2.6.0+cu124", cuda_available=False, cuda_error=NO_DRIVER), environ=environ)


BAD["an empty libcuda comes first"] = with_file(": file too short", LD_LIBRARY_PATH="/opt/x:/usr/local/lib")
BAD["another library of that name"] = with_file(" has no cuInit: it is not the driver's library", LD_LIBRARY_PATH="/opt/x")
BAD["an empty libcuda in a folder of the loader"] = with_file(": file too short", "/usr/lib64/libcuda.so.1")
BAD["pasted: an empty libcuda"] = (
    "$ echo $LD_LIBRARY_PATH\n/opt/x\nOSError: /opt/x/libcuda.so.1: file too short\n" + NO_DRIVER + "\n"
)
GOOD["a libcuda that could not be mapped is another matter"] = with_file(": failed to map segment from shared object")
GOOD["an empty libcuda on a machine without a GPU"] = replace(
    with_torch(linux(), "2.6.0+cpu", cuda_available=False),
    nvidia=replace(linux().nvidia, libcuda="/opt/x/libcuda.so.1", libcuda_broken="/opt/x/libcuda.so.1: file too short"),
)
