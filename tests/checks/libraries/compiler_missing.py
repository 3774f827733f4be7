from tests.example_case import Case
from tests.examples import linux, windows, with_error, with_torch
from tests.tickets import collect_env

BAD = {
    "cl.exe": with_error(with_torch(windows(), "2.6.0+cu124"), "msvc-cl-not-found", "Compiler: cl is not found"),
    "gcc": with_error(with_torch(linux(), "2.6.0+cpu"), "no-cpp-compiler", "RuntimeError: Failed to find C compiler"),
    "Python.h": with_error(linux(), "python-h-missing", "fatal error: Python.h: No such file or directory"),
    "Ninja": with_error(linux(), "ninja-missing", "RuntimeError: Ninja is required to load C++ extensions"),
    "Triton, as the error": with_error(
        with_error(windows(), "exception", "ModuleNotFoundError: No module named 'triton'"),
        "no-working-triton",
        "No module named 'triton'",
    ),
    "Triton, mentioned by the way": Case(
        with_error(
            with_torch(windows(), "2.6.0+cu124", cuda_available=True), "no-working-triton", "No module named 'triton'"
        ),
        severity="warning",
    ),
    "pasted: torch._inductor.exc.InductorError: RuntimeError: Failed to f": (
        "torch._inductor.exc.InductorError: RuntimeError: Failed to find C compiler. Please specify via CC environment variable or set triton.knobs.build.impl.\n"
    ),
    "pasted: error: Microsoft Visual C++ 14.0 or greater is required. Get": (
        'error: Microsoft Visual C++ 14.0 or greater is required. Get it with "Microsoft C++ Build Tools": https://visualstudio.microsoft.com/visual-cpp-build-tools/\n'
    ),
    "pasted: RuntimeError: Cannot find a working triton installation. Mor": (
        "torch._dynamo.exc.BackendCompilerFailed: backend='inductor' raised:\n"
        "RuntimeError: Cannot find a working triton installation. More information on installing Triton can be found at https://github.com/openai/triton\n"
        + collect_env("2.2.0+cu121", "windows")
    ),
    "pasted: /tmp/tmpx/main.c:4:10: fatal error: Python.h: No such file o": (
        "/tmp/tmpx/main.c:4:10: fatal error: Python.h: No such file or directory\n"
        "    4 | #include <Python.h>\n"
        "compilation terminated.\n"
    ),
    "pasted: RuntimeError: Ninja is required to load C++ extensions": (
        "RuntimeError: Ninja is required to load C++ extensions\n"
    ),
    "pasted: RuntimeError: Error checking compiler version for cl: [WinEr": (
        "RuntimeError: Error checking compiler version for cl: [WinError 2] The system cannot find the file specified\n"
    ),
    "pasted: torch._inductor.exc.InvalidCxxCompiler: No working C++ compi": (
        "torch._inductor.exc.InvalidCxxCompiler: No working C++ compiler found in torch._inductor.config.cpp.cxx: (None, 'g++')\n"
    ),
    "pasted: gcc without g++": (
        "gcc: fatal error: cannot execute 'cc1plus': execvp: No such file or directory\n"
    ),
    "pasted: a compiler that is too old": (
        "torch/include/ATen/ATen.h:4:2: error: #error C++17 or later compatible compiler is required to use ATen.\n"
    ),
}
GOOD = {
    "nothing is being built": with_torch(linux(), "2.6.0+cpu"),
    "Triton of another version": with_error(
        linux(), "triton-cannot-import-name", "cannot import name 'triton_key' from 'triton.compiler.compiler'"
    ),
}
