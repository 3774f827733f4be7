from tests.example_case import Case
from tests.examples import linux, windows, with_error, with_torch

BAD = {
    "cl.exe": with_error(with_torch(windows(), "2.6.0+cu124"), "e123", "Compiler: cl is not found"),
    "gcc": with_error(with_torch(linux(), "2.6.0+cpu"), "e124", "RuntimeError: Failed to find C compiler"),
    "Python.h": with_error(linux(), "e126", "fatal error: Python.h: No such file or directory"),
    "Ninja": with_error(linux(), "e127", "RuntimeError: Ninja is required to load C++ extensions"),
    "Triton, as the error": with_error(
        with_error(windows(), "exception", "ModuleNotFoundError: No module named 'triton'"),
        "e122",
        "No module named 'triton'",
    ),
    "Triton, mentioned by the way": Case(
        with_error(with_torch(windows(), "2.6.0+cu124", cuda_available=True), "e122", "No module named 'triton'"),
        severity="warning",
    ),
}
GOOD = {
    "nothing is being built": with_torch(linux(), "2.6.0+cpu"),
    "Triton of another version": with_error(
        linux(), "e112", "cannot import name 'triton_key' from 'triton.compiler.compiler'"
    ),
}
