from tests.example_case import Case
from tests.examples import linux, mac, windows, with_error, with_torch

ERROR = "OMP: Error #15: Initializing libiomp5md.dll, but found libiomp5md.dll already initialized."
MAC = "OMP: Error #15: Initializing libomp.dylib, but found libomp.dylib already initialized."

BAD = {
    "Windows": with_error(with_torch(windows(), "2.5.1+cpu"), "omp-error-15", ERROR),
    "two copies in the macOS wheel of 2.3": with_error(with_torch(mac(), "2.3.0"), "omp-error-15", MAC),
    "two are loaded, and nothing happened": Case(
        with_torch(linux(), "2.5.1+cpu", loaded_libraries=("/v/torch/lib/libiomp5.so", "/v/lib/libiomp5.so")),
        severity="warning",
    ),
    "pasted: OMP: Error #15: Initializing libiomp5md.dll, but found libio": (
        "OMP: Error #15: Initializing libiomp5md.dll, but found libiomp5md.dll already initialized.\n"
        "OMP: Hint This means that multiple copies of the OpenMP runtime have been linked into the program.\n"
    ),
    "pasted: OMP: Error #15: Initializing libomp.dylib, but found libiomp": (
        "OMP: Error #15: Initializing libomp.dylib, but found libiomp5.dylib already initialized.\n"
        "zsh: abort python train.py\n"
    ),
}
GOOD = {
    "one": with_torch(
        linux(), "2.5.1+cpu", loaded_libraries=("/v/torch/lib/libgomp-a34b3233.so.1", "/usr/lib/libgomp.so.1")
    ),
    "nothing is known of it": with_torch(linux(), "2.5.1+cpu"),
}
