from dataclasses import replace

from doctor.model.facts import ABSENT
from tests.examples import linux, mac, windows, with_error, with_nvidia, with_torch

NO_TORCH = "ModuleNotFoundError: No module named 'torch'"

BAD = {
    "a Linux server": replace(linux(), torch=ABSENT),
    "beside an NVIDIA GPU": replace(with_nvidia(linux(), "NVIDIA GeForce RTX 3090"), torch=ABSENT),
    "a Mac": replace(mac(), torch=ABSENT),
    "Windows, by the message alone": with_error(windows(), "module-not-found-torch", NO_TORCH),
    "pasted: ModuleNotFoundError: No module named 'torch'": (
        "$ python3 app.py\n"
        "Traceback (most recent call last):\n"
        '  File "/home/user/app/app.py", line 3, in <module>\n'
        "    import torch\n"
        "ModuleNotFoundError: No module named 'torch'\n"
        "$ pip list\n"
        "Package Version\n"
        "------- -------\n"
        "numpy   1.26.4\n"
        "pip     24.0\n"
    ),
    "pasted: ModuleNotFoundError: No module named 'torch' (2)": (
        "(venv) C:\\app>python main.py\n"
        "Traceback (most recent call last):\n"
        '  File "C:\\app\\main.py", line 1, in <module>\n'
        "    import torch\n"
        "ModuleNotFoundError: No module named 'torch'\n"
    ),
    "pasted: ModuleNotFoundError: No module named 'torch', 2": (
        "collect_env output\n"
        "PyTorch version: N/A\n"
        "Is debug build: N/A\n"
        "OS: Ubuntu 22.04 (x86_64)\n"
        "Python version: 3.10.12 (64-bit runtime)\n"
        "Versions of relevant libraries:\n"
        "[pip3] numpy==1.26.0\n"
        "\n"
        "ModuleNotFoundError: No module named 'torch'\n"
    ),
}
GOOD = {
    "installed": with_torch(linux(), "2.6.0+cpu"),
    "installed, and a message from elsewhere": with_error(
        with_torch(linux(), "2.6.0+cpu"), "module-not-found-torch", NO_TORCH
    ),
    "not known": linux(),
    "the build environment of pip has none": with_error(
        with_error(linux(), "module-not-found-torch", NO_TORCH),
        "build-without-torch",
        "Getting requirements to build wheel: No module named 'torch'",
    ),
}
