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
    "CXXABI, by pattern": with_error(linux(), "e101", "version `CXXABI_1.3.15' not found", "CXXABI_1.3.15"),
}
GOOD = {
    "healthy": with_torch(linux(), "2.6.0+cpu"),
    "glibc": with_error(linux(), "e007", "version `GLIBC_2.28' not found", "28"),
}
