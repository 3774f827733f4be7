from dataclasses import replace

from doctor.model.facts import ImportFailure
from tests.example_case import Case
from tests.examples import linux, mac, windows, with_error, with_torch

CIRCULAR = "AttributeError: partially initialized module 'torch' has no attribute 'cuda' (most likely due to a circular import)"

BAD = {
    "a torch.py in the working folder": with_torch(linux(), "2.6.0+cpu", imports=True, shadowed_by="/home/u/project/torch.py"),
    "and it breaks the import": with_torch(
        mac(), "2.6.0", shadowed_by="/Users/u/project/torch.py", imports=False,
        import_failure=ImportFailure(kind="exception", exception="AttributeError", message=CIRCULAR),
    ),
    "its message": with_error(replace(windows(), torch=None), "torch-partially-initialized", CIRCULAR, path=r"C:\Users\u\project\torch.py"),
    "a source tree": with_error(
        linux(), "exception", "ModuleNotFoundError: No module named 'torch.version'", path="/pytorch/torch/torch_version.py"
    ),
    "pasted: AttributeError: partially initialized module 'torch' has no ": (
        'Traceback (most recent call last):\n'
        '  File "/home/user/proj/torch.py", line 1, in <module>\n'
        '    import torch\n'
        '  File "/home/user/proj/torch.py", line 2, in <module>\n'
        '    x = torch.tensor([1])\n'
        "AttributeError: partially initialized module 'torch' has no attribute 'tensor' (most likely due to a circular import)\n"
    ),
    "pasted: AttributeError: module 'torch' has no attribute 'tensor'": (
        '>>> import torch\n'
        '>>> torch.__file__\n'
        "'/home/user/project/torch.py'\n"
        '>>> torch.tensor\n'
        "AttributeError: module 'torch' has no attribute 'tensor'\n"
    ),
    "pasted: ModuleNotFoundError: No module named 'torch.version'": (
        '$ pwd\n'
        '/home/user/pytorch\n'
        "$ python -c 'import torch'\n"
        'Traceback (most recent call last):\n'
        '  File "<string>", line 1, in <module>\n'
        '  File "/home/user/pytorch/torch/__init__.py", line 34, in <module>\n'
        '    from .torch_version import __version__ as __version__\n'
        "ModuleNotFoundError: No module named 'torch.version'\n"
    ),
    "pasted: ImportError: cannot import name 'nn' from partially initiali": (
        "ImportError: cannot import name 'nn' from partially initialized module 'torch' (most likely due to a circular import) (C:\\Users\\user\\Desktop\\torch.py)\n"
    ),
}  # fmt: skip
GOOD = {
    "not shadowed": with_torch(linux(), "2.6.0+cpu"),
    "not known": linux(),
    "a broken installation": with_error(
        linux(),
        "no-torch-c-extension",
        "No module named 'torch._C'",
        path="/usr/lib/python3/dist-packages/torch/__init__.py",
    ),
}


def hiding(module: str, file: str, **torch: object):
    facts = with_torch(linux(), "2.6.0+cpu", **torch)
    return replace(facts, interpreter=replace(facts.interpreter, shadowed_packages=((module, file),)))


def failure(message: str, exception: str = "ImportError") -> ImportFailure:
    return ImportFailure(kind="exception", exception=exception, message=message)


BAD |= {
    "typing_extensions.py beside the user breaks the import": hiding(
        "typing_extensions", "/home/u/project/typing_extensions.py", imports=False,
        import_failure=failure(
            "cannot import name 'ParamSpec' from 'typing_extensions' (/home/u/project/typing_extensions.py)"
        ),
    ),
    "numpy/ beside the user, and torch works without NumPy": Case(
        hiding("numpy", "/home/u/project/numpy/__init__.py", imports=True, numpy_works=False), severity="warning"
    ),
    "the file that a message names": (
        '  File "/home/u/e/lib/python3.11/site-packages/torch/__init__.py", line 37, in <module>\n'
        "    from typing_extensions import ParamSpec as _ParamSpec\n"
        "ImportError: cannot import name 'ParamSpec' from 'typing_extensions' (/home/u/project/typing_extensions.py)\n"
    ),
    "Python 3.13 names the file": (
        "AttributeError: module 'numpy' has no attribute 'ndarray' (consider renaming '/home/u/project/numpy.py' if it "
        "has the same name as a library you intended to import)\n"
    ),
    "a traceback that leads through it": (
        "Traceback (most recent call last):\n"
        '  File "/home/u/e/lib/python3.11/site-packages/torch/fx/passes/shape_prop.py", line 2, in <module>\n'
        "    import sympy\n"
        '  File "/home/u/project/sympy/__init__.py", line 3, in <module>\n'
        "    raise RuntimeError('my own')\n"
        "RuntimeError: my own\n"
    ),
}  # fmt: skip
GOOD |= {
    "an installed package lacks a name": (
        "ImportError: cannot import name 'ParamSpec' from 'typing_extensions' "
        "(/home/u/e/lib/python3.11/site-packages/typing_extensions.py)\n"
    ),
    "the program imports its own file of such a name": (
        "Traceback (most recent call last):\n"
        '  File "/home/u/project/main.py", line 3, in <module>\n'
        "    import networkx\n"
        '  File "/home/u/project/networkx.py", line 9, in <module>\n'
        "    raise ValueError('no graph')\n"
        "ValueError: no graph\n"
    ),
    "a module of Python's own": (
        "ImportError: cannot import name 'Random' from 'random' (/home/u/project/random.py)\n"
    ),
}  # fmt: skip
