from dataclasses import replace

from doctor.model.facts import ABSENT
from tests.examples import linux, with_error, with_torch

BUILDING = "Getting requirements to build wheel did not run successfully. ModuleNotFoundError: No module named 'torch'"
PLAIN = "ModuleNotFoundError: No module named 'torch'"

BAD = {
    "pasted: in a sentence about another package's installation": (
        "Hello, `pip install scgpt` gave me an error. It says \"No module named 'torch'\", but torch is installed.\n"
    ),
    "pasted: in a title": "ModuleNotFoundError: No module named 'torch' when I try to install xformers\n",
    "uv's hint": (
        "ModuleNotFoundError: No module named 'torch'\n\n"
        "hint: This error likely indicates that `flash-attn@2.8.1` depends on `torch`, but doesn't declare it as a build "
        "dependency.\n"
    ),
    "pip's note on a subprocess": (
        "pip install -e . ends with\n      ModuleNotFoundError: No module named 'torch'\n      [end of output]\n"
        "  note: This error originates from a subprocess, and is likely not a problem with pip.\n"
    ),
    "pip": with_error(with_torch(linux(), "2.6.0+cu124"), "build-without-torch", BUILDING),
    "uv": with_error(linux(), "undeclared-build-dependency", "the package has an undeclared dependency on `torch`"),
    "by the path of pip's build": with_error(
        with_torch(linux(), "2.6.0+cu124"),
        "exception",
        PLAIN,
        "ModuleNotFoundError",
        path="/tmp/pip-install-x/flash-attn_1/setup.py",
    ),
    "pasted: ModuleNotFoundError: No module named 'torch'": (
        "$ pip install flash-attn\n"
        "Collecting flash-attn\n"
        "  Getting requirements to build wheel: finished with status 'error'\n"
        "  error: subprocess-exited-with-error\n"
        '      File "<string>", line 22, in <module>\n'
        "  ModuleNotFoundError: No module named 'torch'\n"
        "$ pip show torch\n"
        "Name: torch\n"
        "Version: 2.4.0\n"
    ),
    "pasted: hint: This error likely indicates that `flash-attn@2.6.3` de": (
        "  × Failed to build `flash-attn==2.6.3`\n"
        "  ├─▶ The build backend returned an error\n"
        "  ╰─▶ Call to `setuptools.build_meta:__legacy__.build_wheel` failed (exit status: 1)\n"
        "\n"
        "      [stderr]\n"
        "      ModuleNotFoundError: No module named 'torch'\n"
        "\n"
        "      hint: This error likely indicates that `flash-attn@2.6.3` depends on `torch`, but doesn't declare it as a build dependency.\n"
    ),
    "pasted: error: metadata-generation-failed": (
        "pip install -e .\n"
        "  Preparing metadata (setup.py) ... error\n"
        '  File "<string>", line 34, in <module>\n'
        '  File "/tmp/pip-req-build-2bfp/setup.py", line 9, in <module>\n'
        "    import torch\n"
        "ModuleNotFoundError: No module named 'torch'\n"
        "error: metadata-generation-failed\n"
        "$ python -c 'import torch; print(torch.__version__)'\n"
        "2.1.0+cu118\n"
    ),
}
GOOD = {
    "there is no torch anyway": replace(with_error(linux(), "build-without-torch", BUILDING), torch=ABSENT),
    "a program": with_error(linux(), "exception", PLAIN, "ModuleNotFoundError", path="/home/u/train.py"),
    "healthy": with_torch(linux(), "2.6.0+cu124"),
}
