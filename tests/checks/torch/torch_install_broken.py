from dataclasses import replace

from doctor.model.facts import DamagedFile, Facts, ImportFailure, TorchCopy
from tests.example_case import Case
from tests.examples import linux, mac, windows, with_error, with_torch

SITE = "/home/u/ml/.venv/lib/python3.12/site-packages"
NO_CPU = ImportFailure(
    kind="exception",
    exception="ImportError",
    message="libtorch_cpu.so: cannot open shared object file: No such file or directory",
)



def damaged(facts: Facts, distribution: str, path: str, what: str, detail: str = "") -> Facts:
    file = DamagedFile(distribution=distribution, version="1.2", file=path, what=what, detail=detail)  # type: ignore[arg-type]
    return replace(facts, damaged=(file,))


NVRTC = "nvidia/cu13/lib/libnvrtc.so.13"
SHORT = ImportFailure(kind="exception", exception="ImportError", message="libtorch_python.so: file too short")
GARBAGE = ImportFailure(
    kind="exception", exception="SyntaxError", message="source code string cannot contain null bytes (functional.py)"
)

BAD = {
    "pasted: its compiled part misses a symbol of its own libraries": (
        "Traceback (most recent call last):\n"
        '  File "/opt/conda/lib/python3.5/site-packages/torch/__init__.py", line 53, in <module>\n'
        "    from torch._C import *\n"
        "ImportError: /opt/conda/lib/python3.5/site-packages/torch/_C.cpython-35m-x86_64-linux-gnu.so: undefined symbol: "
        "_ZN4thpp10THCSTensorIlEC1EP8THCStateP14THCSLongTensor\n"
    ),
    "pasted: it misses a name of its own": (
        "Traceback (most recent call last):\n"
        '  File "/opt/lib/python3.7/site-packages/torch/__init__.py", line 228, in <module>\n'
        "    class BFloat16Storage(_C.BFloat16StorageBase, _StorageBase):\n"
        "AttributeError: module 'torch._C' has no attribute 'BFloat16StorageBase'\n"
    ),
    "an empty libnvrtc, which nothing has loaded yet": Case(
        damaged(with_torch(linux(), "2.14.1+cu130"), "nvidia-cuda-nvrtc", NVRTC, "empty"), severity="fault"
    ),
    "a library of torch that is cut off": damaged(
        with_torch(linux(), "2.6.0+cpu", imports=False, import_failure=SHORT),
        "torch", "torch/lib/libtorch_python.so", "truncated", "1048576 bytes, of 34353281",
    ),
    "a library of torch that belongs to another user": damaged(
        with_torch(linux(), "2.6.0+cpu", imports=False, import_failure=NO_CPU),
        "torch", "torch/lib/libtorch_cpu.so", "unreadable", "permission denied",
    ),
    "garbage in a module of torch": damaged(
        with_torch(linux(), "2.6.0+cpu", imports=False, import_failure=GARBAGE), "torch", "torch/functional.py", "changed"
    ),
    "a library that was taken away, and nobody missed": Case(
        damaged(with_torch(linux(), "2.14.1+cu130"), "nvidia-cudnn-cu13", "nvidia/cudnn/lib/libcudnn_adv.so.9", "missing"),
        severity="warning",
    ),
    "a library that was taken away, and a toolkit's is loaded": Case(
        damaged(
            with_torch(linux(), "2.14.1+cu130", loaded_libraries=("/usr/local/cuda/lib64/libcudart.so.13",)),
            "nvidia-cuda-runtime", "nvidia/cu13/lib/libcudart.so.13", "missing",
        ),
        severity="warning",
    ),
    "libtorch_cpu.so deleted": with_torch(
        linux(), "2.6.0+cpu", imports=False, import_failure=NO_CPU, missing_files=("torch/lib/libtorch_cpu.so",)
    ),
    "the error alone": with_error(
        linux(),
        "exception",
        "ImportError: libc10.so: cannot open shared object file: No such file or directory",
        "ImportError",
        path="/home/u/v/lib/python3.12/site-packages/torch/__init__.py",
    ),
    "metadata without files": with_torch(
        linux(), "2.6.0", imports=False, copies=(TorchCopy(path=SITE, version="2.6.0", has_files=False),)
    ),
    "no C extensions, in an environment": with_error(
        linux(),
        "no-torch-c-extension",
        "ImportError: Failed to load PyTorch C extensions:",
        path=f"{SITE}/torch/__init__.py",
    ),
    "an empty folder on Windows": with_error(
        replace(windows(), torch=None),
        "torch-is-hollow",
        "ImportError: cannot import name 'Tensor' from 'torch' (unknown location)",
    ),
    "a leftover is a warning": Case(with_torch(linux(), "2.6.0+cpu", leftovers=("~orch",)), severity="warning"),
    "pasted: ImportError: libtorch_cuda.so: cannot open shared object fil": (
        "Traceback (most recent call last):\n"
        '  File "<stdin>", line 1, in <module>\n'
        '  File "/home/user/.venv/lib/python3.10/site-packages/torch/__init__.py", line 367, in <module>\n'
        "    from torch._C import *  # noqa: F403\n"
        "ImportError: libtorch_cuda.so: cannot open shared object file: No such file or directory\n"
    ),
    "pasted: AttributeError: module 'torch' has no attribute '__version__": (
        "AttributeError: module 'torch' has no attribute '__version__'\n"
        ">>> torch.__path__\n"
        "_NamespacePath(['/home/user/miniconda3/lib/python3.9/site-packages/torch'])\n"
    ),
    "pasted: ModuleNotFoundError: No module named 'torch._C'": (
        "WARNING: Ignoring invalid distribution ~orch (C:\\app\\venv\\Lib\\site-packages)\n"
        "Traceback (most recent call last):\n"
        '  File "C:\\app\\venv\\Lib\\site-packages\\torch\\__init__.py", line 2, in <module>\n'
        "ModuleNotFoundError: No module named 'torch._C'\n"
    ),
    "pasted: ModuleNotFoundError: No module named 'torch.functional'": (
        "Traceback (most recent call last):\n"
        '  File "/opt/conda/lib/python3.11/site-packages/torch/__init__.py", line 1477, in <module>\n'
        "    from .functional import *  # noqa: F403\n"
        "ModuleNotFoundError: No module named 'torch.functional'\n"
    ),
    "pasted: OSError: /home/u/e/lib/python3.10/site-packages/torch/lib/li": (
        "OSError: /home/u/e/lib/python3.10/site-packages/torch/lib/libtorch_global_deps.so: cannot open shared object file: No such file or directory\n"
    ),
    "pasted: ImportError: cannot import name 'nn' from 'torch' (unknown l": (
        "ImportError: cannot import name 'nn' from 'torch' (unknown location)\n"
    ),
    "pasted: ModuleNotFoundError: No module named 'torch._C', 2": (
        "Traceback (most recent call last):\n"
        '  File "main.py", line 1, in <module>\n'
        "    import torch\n"
        '  File "/opt/venv/lib/python3.11/site-packages/torch/__init__.py", line 405, in <module>\n'
        "    from torch._C import *  # noqa: F403\n"
        "ModuleNotFoundError: No module named 'torch._C'\n"
    ),
    "pasted: Got 5f1a": (
        "ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE.\n"
        "    torch from https://files/torch-2.0.1-cp310-cp310-manylinux1_x86_64.whl:\n"
        "        Expected sha256 8ced\n"
        "             Got        5f1a\n"
    ),
}
GOOD = {
    "healthy": with_torch(linux(), "2.6.0+cpu"),
    "all files are there": replace(with_torch(linux(), "2.6.0+cpu"), damaged=()),
    "a module that its user changed, and torch imports": damaged(
        with_torch(linux(), "2.6.0+cpu"), "torch", "torch/functional.py", "changed"
    ),
    "header files left out on purpose": with_torch(linux(), "2.6.0+cpu", missing_files=("torch/include/ATen/ATen.h",)),
    "a library of the system": with_error(
        with_torch(mac(), "2.6.0"),
        "exception",
        "ImportError: libmpi_cxx.so.40: cannot open shared object file",
        "ImportError",
    ),
    "a source tree": with_error(
        linux(),
        "exception",
        "ModuleNotFoundError: No module named 'torch.version'",
        path="/pytorch/torch/torch_version.py",
    ),
}
GOOD["the hashes of a lock file"] = """\
$ pipenv sync
THESE PACKAGES DO NOT MATCH THE HASHES FROM Pipfile.lock! If you have updated the package versions, please update the hashes.
    a-package==1.4.7
"""
GOOD["a program that is linked to libtorch"] = """\
./plugin: error while loading shared libraries: libtorch_cpu.so: cannot open shared object file: No such file or directory
"""
GOOD["an extension that is linked to libtorch"] = """\
ImportError: libtorch_cuda.so: cannot open shared object file: No such file or directory
"""
