from dataclasses import replace

from doctor.model.facts import ABSENT, Kernel
from tests.example_case import Case
from tests.examples import linux, with_torch

ADVICE = "Note: you may need to restart the kernel to use updated packages.\n"
SIZE = "ValueError: numpy.dtype size changed, may indicate binary incompatibility. Expected 96 from C header, got 88 from PyObject\n"


def in_kernel(started: str | None, installed: str | None):
    facts = with_torch(linux(), "2.9.1+cpu", installed_at=installed)
    kernel = Kernel(started_at=started) if started else ABSENT
    return replace(facts, interpreter=replace(facts.interpreter, kernel=kernel))


BAD = {
    "torch is younger than the kernel": Case(
        in_kernel("2026-11-22T08:00:00Z", "2026-11-22T09:30:00Z"), severity="warning"
    ),
    "pasted: torch was imported twice": (
        '  File "/v/lib/python3.10/site-packages/torch/overrides.py", line 1565, in <module>\n'
        "    has_torch_function = _add_docstr(\n"
        "RuntimeError: function '_has_torch_function' already has a docstring\n"
    ),
    "pasted: Colab asks for it": (
        "Successfully installed torch-2.4.0 torchvision-0.19.0\n"
        "WARNING: The following packages were previously imported in this runtime:\n  [torch,torchvision]\n"
        "You must restart the runtime in order to use newly installed versions.\n"
    ),
    "pasted: an installation in a cell, and then an error": (
        "%pip install -U numpy torch\nSuccessfully installed numpy-2.1.3 torch-2.5.1\n" + ADVICE + SIZE
    ),
}
GOOD = {
    "the kernel is younger": in_kernel("2026-11-22T10:00:00Z", "2026-11-22T09:30:00Z"),
    "no kernel": in_kernel(None, "2026-11-22T09:30:00Z"),
    "an installation in a cell, and all is well": "%pip install torch\n" + ADVICE + "import torch\ntorch 2.5.1\n",
    "the error came before": SIZE + "%pip install -U numpy\n" + ADVICE,
}
