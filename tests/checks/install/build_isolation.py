from dataclasses import replace

from doctor.model.facts import ABSENT
from tests.examples import linux, with_error, with_torch

BUILDING = "Getting requirements to build wheel did not run successfully. ModuleNotFoundError: No module named 'torch'"
PLAIN = "ModuleNotFoundError: No module named 'torch'"

BAD = {
    "pip": with_error(with_torch(linux(), "2.6.0+cu124"), "e151", BUILDING),
    "uv": with_error(linux(), "e152", "the package has an undeclared dependency on `torch`"),
    "by the path of pip's build": with_error(
        with_torch(linux(), "2.6.0+cu124"),
        "exception",
        PLAIN,
        "ModuleNotFoundError",
        path="/tmp/pip-install-x/flash-attn_1/setup.py",
    ),
}
GOOD = {
    "there is no torch anyway": replace(with_error(linux(), "e151", BUILDING), torch=ABSENT),
    "a program": with_error(linux(), "exception", PLAIN, "ModuleNotFoundError", path="/home/u/train.py"),
    "healthy": with_torch(linux(), "2.6.0+cu124"),
}
