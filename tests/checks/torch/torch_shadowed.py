from dataclasses import replace

from doctor.model.facts import ImportFailure
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
