from dataclasses import replace

from doctor.model.facts import DamagedFile, Facts, ImportFailure, Package
from tests.example_case import Case
from tests.examples import linux, windows, with_packages, with_torch

CUDA = with_packages(linux(), numpy="2.4.6", typing_extensions="4.16.0", sympy="1.14.0")


def file(distribution: str, version: str, path: str, what: str, detail: str = "") -> DamagedFile:
    return DamagedFile(distribution=distribution, version=version, file=path, what=what, detail=detail)  # type: ignore[arg-type]


def fails(facts: Facts, exception: str, message: str, **more: object) -> Facts:
    failure = ImportFailure(kind="exception", exception=exception, message=message)
    return with_torch(facts, "2.14.1+cu130", imports=False, import_failure=failure, **more)


def broken(facts: Facts, *files: DamagedFile) -> Facts:
    return replace(facts, damaged=files)


UMATH = "numpy/_core/_multiarray_umath.cpython-312-x86_64-linux-gnu.so"
ANOTHER = "it is made for cpython-310, this Python is another"
EXTENSIONS = "typing_extensions.py"

OVER = replace(linux(), packages=(Package(name="numpy", version="1.26.4", copies=2, beside=1),))
APART = replace(linux(), packages=(Package(name="numpy", version="1.26.4", copies=2),))

BAD = {
    "NumPy over NumPy": Case(with_torch(OVER, "2.13.0+cpu", numpy_works=False), severity="fault"),
    "typing_extensions was uninstalled": Case(
        fails(
            linux(), "ModuleNotFoundError", "No module named 'typing_extensions'",
            missing_requirements=("typing-extensions>=4.10.0",),
        ),
        severity="fault",
    ),
    "half of typing_extensions.py": Case(
        broken(
            fails(CUDA, "SyntaxError", "'(' was never closed (typing_extensions.py, line 2051)"),
            file("typing-extensions", "4.16.0", EXTENSIONS, "changed", "82506 bytes, 165012 were installed"),
        ),
        severity="fault",
    ),
    "the core of NumPy was deleted": Case(
        broken(with_torch(CUDA, "2.14.1+cu130", numpy_works=False), file("numpy", "2.4.6", UMATH, "missing")),
        severity="fault",
    ),
    "a NumPy that is cut off, on Windows": Case(
        broken(with_torch(windows(), "2.6.0+cpu"), file("numpy", "2.2.0", "numpy/_core/a.pyd", "truncated", "5 bytes, of 9")),
        severity="warning",
    ),
    "a NumPy for another Python": Case(
        broken(
            with_torch(CUDA, "2.14.1+cu130", numpy_works=False), file("numpy", "2.4.6", UMATH, "foreign", ANOTHER)
        ),
        severity="fault",
    ),
    "garbage in sympy, with -v": Case(
        broken(
            fails(CUDA, "SyntaxError", "source code string cannot contain null bytes (__init__.py)"),
            file("sympy", "1.14.0", "sympy/__init__.py", "changed"),
        ),
        severity="fault",
    ),
    "NCCL was uninstalled": Case(
        fails(
            linux(), "ImportError", "libnccl.so.2: cannot open shared object file: No such file or directory",
            missing_requirements=("nvidia-nccl-cu13==2.30.7",),
        ),
        severity="fault",
    ),
    "torch imports, but not for long": Case(
        with_torch(linux(), "2.6.0+cpu", missing_requirements=("networkx", "jinja2")), severity="warning"
    ),
}

GOOD = {
    "NumPy on record twice that works": with_torch(OVER, "2.13.0+cpu", numpy_works=True),
    "NumPy in two folders": with_torch(APART, "2.13.0+cpu", numpy_works=False),
    "the whole folder is another Python's: torch-install-broken": broken(
        fails(CUDA, "ImportError", "cannot import name '_C' from 'torch'"),
        *(file(name, "1.0", f"{name}/a.cpython-310-x86_64-linux-gnu.so", "foreign", ANOTHER) for name in ("numpy", "torch")),
    ),
    "healthy": broken(with_torch(CUDA, "2.14.1+cu130", missing_requirements=())),
    "not looked at": with_torch(CUDA, "2.14.1+cu130"),
    "torch does without setuptools and triton": with_torch(
        CUDA, "2.14.1+cu130", missing_requirements=("setuptools<82", "triton==3.8.0")
    ),
    "the libraries come from elsewhere": with_torch(
        CUDA, "2.14.1+cu130", missing_requirements=("nvidia-nccl-cu13==2.30.7",)
    ),
    "a module that its user changed": broken(
        fails(CUDA, "ImportError", "libcudnn.so.9: cannot open shared object file"),
        file("sympy", "1.14.0", "sympy/core/numbers.py", "changed"),
    ),
    "a library of torch itself": broken(
        with_torch(CUDA, "2.14.1+cu130"), file("nvidia-nccl-cu13", "2.30.7", "nvidia/nccl/lib/libnccl.so.2", "empty")
    ),
}
