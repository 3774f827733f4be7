from dataclasses import replace

from doctor.model.facts import ImportFailure
from tests.examples import linux, mac, with_error, with_torch
from tests.tickets import collect_env

MPI = "libmpi_cxx.so.40: cannot open shared object file: No such file or directory"
CUDNN = "libcudnn.so.9: cannot open shared object file: No such file or directory"
OMP = "dlopen(torch/_C.cpython-36m-darwin.so, 9): Library not loaded: /usr/local/opt/libomp/lib/libomp.dylib"

BAD = {
    "cuDNN, on importing": with_torch(
        linux(),
        "2.6.0+cu124",
        imports=False,
        import_failure=ImportFailure(kind="exception", exception="ImportError", message=CUDNN),
    ),
    "OpenMPI on a Raspberry Pi": with_error(
        replace(linux(python="3.7.3"), torch=None), "exception", f"OSError: {MPI}", "OSError", MPI
    ),
    "libomp on a Mac": with_error(
        mac(macos="10.14.4", chip="Intel(R) Core(TM) i7"), "exception", f"ImportError: {OMP}", "ImportError"
    ),
    "as recognised by pattern": with_error(
        linux(), "runtime-library-not-found", "libGL.so.1: cannot open shared object file"
    ),
    "pasted: cuBLAS, that CTranslate2 loads itself": (
        "PyTorch 2.2.1+cu118\nRuntimeError: Library libcublas.so.12 is not found or cannot be loaded\n"
    ),
    "pasted: ImportError: libcudnn.so.9: cannot open shared object file: ": (
        "ImportError: libcudnn.so.9: cannot open shared object file: No such file or directory\n"
        + collect_env("2.5.1+cu124")
    ),
    "pasted: OSError: libopenblas.so.0: cannot open shared object file: N": (
        '  File "/home/user/env/lib/python3.9/site-packages/torch/__init__.py", line 191, in _load_global_deps\n'
        "    ctypes.CDLL(lib_path, mode=ctypes.RTLD_GLOBAL)\n"
        "OSError: libopenblas.so.0: cannot open shared object file: No such file or directory\n"
    ),
    "pasted: ImportError: libGL.so.1: cannot open shared object file: No ": (
        "ImportError: libGL.so.1: cannot open shared object file: No such file or directory\n"
    ),
    "pasted: ImportError: dlopen(/opt/miniconda3/lib/python3.9/site-packa": (
        "ImportError: dlopen(/opt/miniconda3/lib/python3.9/site-packages/torch/_C.cpython-39-darwin.so, 0x0002): Library not loaded: @rpath/libopenblas.0.dylib\n"
        "  Referenced from: /opt/miniconda3/lib/python3.9/site-packages/torch/lib/libtorch_cpu.dylib\n"
    ),
    "pasted: Could not load library libcudnn_ops_infer.so.8. Error: libcu": (
        "Could not load library libcudnn_ops_infer.so.8. Error: libcudnn_ops_infer.so.8: cannot open shared object file: No such file or directory\n"
        "Please make sure libcudnn_ops_infer.so.8 is in your library path!\n"
        "Aborted (core dumped)\n"
    ),
    "pasted: OSError: libcusparseLt.so.0: cannot open shared object file:": (
        "OSError: libcusparseLt.so.0: cannot open shared object file: No such file or directory\n"
        + collect_env("2.7.0+cu126", available="False")
    ),
    "pasted: ImportError: libcupti.so.12: cannot open shared object file:": (
        "ImportError: libcupti.so.12: cannot open shared object file: No such file or directory\n"
    ),
    "pasted: ImportError: libcudart.so.12: cannot open shared object file": (
        "ImportError: libcudart.so.12: cannot open shared object file: No such file or directory\n"
        ">>> torch 2.1.0+cu121\n"
    ),
    "pasted: NVRTC's own library": (
        "RuntimeError: nvrtc: error: failed to open libnvrtc-builtins.so.11.1.\n"
    ),
    "pasted: Triton's linker": (
        "/usr/bin/ld: cannot find -lcuda: No such file or directory\n"
    ),
    "pasted: torchcodec without FFmpeg": (
        "RuntimeError: Could not load libtorchcodec. Likely causes:\n"
    ),
}
GOOD = {
    "pasted: NCCL without its network plugin": (
        "host:1:1 [0] NCCL INFO NET/Plugin : Plugin load (libnccl-net.so) returned 2 : "
        "libnccl-net.so: cannot open shared object file: No such file or directory\n"
    ),
    "pasted: DGL without the adapter to torch": (
        "tensordispatch.cc:43: TensorDispatcher: dlopen failed: /opt/env/lib/python3.9/site-packages/dgl/"
        "libtensoradapter_pytorch_1.13.1.so: cannot open shared object file: No such file or directory\n"
    ),
    "pasted: a DLL of cuDNN": (
        "Could not locate cudnn_ops64_9.dll. Please make sure it is in your library path!\n"
    ),
    "torch's own library": with_error(linux(), "exception", "ImportError: libtorch_cpu.so: cannot open shared object file"),
    "the driver's library": with_error(linux(), "exception", "OSError: libcuda.so.1: cannot open shared object file"),
    "a library made for a newer macOS": with_error(
        with_error(mac(macos="10.14.6"), "exception", "ImportError: Library not loaded: @loader_path/../.dylibs/libomp.dylib"),
        "exception", "cannot load 'libomp.dylib' (load command 0x80000034 is unknown)",
    ),
    "an extension that was built for another CUDA": with_error(
        with_torch(linux(), "2.6.0+cu124"), "exception", "ImportError: libcudart.so.11.0: cannot open shared object file",
        path="/v/lib/python3.12/site-packages/flash_attn/flash_attn_interface.py",
    ),
    "nothing was said": with_torch(linux(), "2.6.0+cpu"),
}  # fmt: skip
BAD["a program that is linked to libtorch"] = """\
./plugin: error while loading shared libraries: libtorch_cpu.so: cannot open shared object file: No such file or directory
"""
BAD["on Android"] = """\
Traceback (most recent call last):
  File "/data/usr/lib/python3.12/site-packages/torch/__init__.py", line 405, in <module>
    from torch._C import *
ImportError: dlopen failed: library "libabsl_log.so" not found
"""
