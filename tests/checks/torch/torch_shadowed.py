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
    "its message": with_error(replace(windows(), torch=None), "e080", CIRCULAR, path=r"C:\Users\u\project\torch.py"),
    "a source tree": with_error(
        linux(), "exception", "ModuleNotFoundError: No module named 'torch.version'", path="/pytorch/torch/torch_version.py"
    ),
}  # fmt: skip
GOOD = {
    "not shadowed": with_torch(linux(), "2.6.0+cpu"),
    "not known": linux(),
    "a broken installation": with_error(
        linux(), "e076", "No module named 'torch._C'", path="/usr/lib/python3/dist-packages/torch/__init__.py"
    ),
}
