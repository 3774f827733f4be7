from dataclasses import replace

from doctor.model.facts import InstallAttempt
from tests.examples import linux, with_error, with_torch

FULL = "ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device"
attempt = InstallAttempt(tool="pip", command="pip install torch", requirements=("torch",), failed=True)

BAD = {
    "a full disk": with_error(
        with_error(linux(python="3.8.10"), "exception", FULL), "e135", "[Errno 28] No space left on device"
    ),
    "killed": replace(with_error(linux(), "e134", "Killed"), attempts=(attempt,)),
}
GOOD = {
    "a full disk while training": with_error(
        with_torch(linux(), "2.6.0+cpu"), "e135", "[Errno 28] No space left on device"
    ),
    "a program that is killed": with_error(with_torch(linux(), "2.6.0+cpu"), "e134", "Killed"),
}
