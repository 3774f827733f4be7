from doctor.model.facts import ImportFailure
from tests.examples import linux, with_error, with_torch

SYMBOL = "/opt/conda/lib/python3.8/site-packages/torch/lib/libtorch_cpu.so: undefined symbol: iJIT_NotifyEvent"

BAD = {
    "iJIT_NotifyEvent": with_error(linux(python="3.8.18"), "mkl-ijit-undefined-symbol", "undefined symbol: iJIT_NotifyEvent"),
    "live": with_torch(
        linux(python="3.8.18"), "2.0.1", imports=False,
        import_failure=ImportFailure(kind="exception", exception="ImportError", message=SYMBOL),
    ),
    "the threading layer": with_error(linux(), "mkl-threading-layer", "Error: mkl-service + Intel(R) MKL: MKL_THREADING_LAYER=INTEL is incompatible with libgomp"),
    'pasted: ImportError: /opt/conda/envs/x/lib/python3.10/site-packages/': (
        'ImportError: /opt/conda/envs/x/lib/python3.10/site-packages/torch/lib/libtorch_cpu.so: undefined symbol: iJIT_IsProfilingActive\n'
    ),
    'pasted: Error: mkl-service + Intel(R) MKL: MKL_THREADING_LAYER=INTEL': (
        'Error: mkl-service + Intel(R) MKL: MKL_THREADING_LAYER=INTEL is incompatible with libgomp-a34b3233.so.1 library.\n'
        '\tTry to import numpy first or set the threading layer accordingly. Set MKL_SERVICE_FORCE_INTEL to force it.\n'
    ),
    'pasted: Intel MKL FATAL ERROR: Cannot load libmkl_avx512.so.1 or lib': (
        'Intel MKL FATAL ERROR: Cannot load libmkl_avx512.so.1 or libmkl_def.so.1.\n'
    ),
    "pasted: INTEL MKL FATAL ERROR": (
        "INTEL MKL FATAL ERROR: Cannot load libmkl_avx512.so.2 or libmkl_def.so.2.\n"
    ),
}  # fmt: skip
GOOD = {
    "healthy": with_torch(linux(), "2.6.0+cpu"),
    "another symbol": with_error(linux(), "torch-abi-undefined-symbol", "undefined symbol: _ZN3c104cuda9SetDeviceEi"),
}
