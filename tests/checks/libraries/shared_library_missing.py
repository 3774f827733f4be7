from dataclasses import replace

from doctor.model.facts import ImportFailure
from tests.examples import linux, mac, with_error, with_torch

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
    "as recognised by pattern": with_error(linux(), "e086", "libGL.so.1: cannot open shared object file"),
}
GOOD = {
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
