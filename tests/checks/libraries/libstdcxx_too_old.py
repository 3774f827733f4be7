from doctor.model.facts import ImportFailure
from tests.examples import linux, with_error, with_torch

RISCV = "/lib/libstdc++.so.6: version `GLIBCXX_3.4.32' not found (required by /usr/lib64/python3.11/site-packages/torch/lib/libtorch.so)"

BAD = {
    "RISC-V": with_error(linux(architecture="riscv64"), "exception", f"ImportError: {RISCV}", "ImportError", RISCV),
    "live": with_torch(
        linux(),
        "2.6.0+cpu",
        imports=False,
        import_failure=ImportFailure(kind="exception", exception="ImportError", message=RISCV),
    ),
    "CXXABI, by pattern": with_error(
        linux(), "glibcxx-not-found", "version `CXXABI_1.3.15' not found", "CXXABI_1.3.15"
    ),
    "pasted: ImportError: /lib/x86_64-linux-gnu/libstdc++.so.6: version `": (
        "ImportError: /lib/x86_64-linux-gnu/libstdc++.so.6: version `GLIBCXX_3.4.29' not found (required by /home/user/miniconda3/envs/a/lib/python3.9/site-packages/torch_sparse/_spmm_cuda.so)\n"
    ),
    "pasted: OSError: /usr/lib64/libstdc++.so.6: version `CXXABI_1.3.9' n": (
        "OSError: /usr/lib64/libstdc++.so.6: version `CXXABI_1.3.9' not found (required by /home/u/.local/lib/python3.8/site-packages/torch/lib/libtorch_python.so)\n"
    ),
}
GOOD = {
    "healthy": with_torch(linux(), "2.6.0+cpu"),
    "glibc": with_error(linux(), "glibc-version-not-found", "version `GLIBC_2.28' not found", "28"),
}
