"""The diagnoses that can be behind a symptom that no row of the messages table names, the likeliest first."""

from __future__ import annotations

from doctor.checks import checks_for
from doctor.checks._memo import once_for_facts
from doctor.model.facts import Facts

PYTHON_DOES_NOT_START = ("interpreter-broken", "python-unsupported", "process-limits")
OUT_OF_HOST_MEMORY = ("pip-out-of-resources", "program-error")
_CRASH = ("device-crashes", "cuda-out-of-memory", "gpu-too-new-for-build", "gpu-too-old-for-build")
PROBE_DID_NOT_RUN = ("process-limits",)
PROBE_WRONG_RESULTS = ("device-wrong-results", "mps-wrong-results", "peer-copy-broken")
PROBE_HUNG = ("driver-hangs", "device-crashes")
PROBE_CRASHED = ("process-limits", "amd-gpu-unsupported", *_CRASH)
PROBE_FAILED = ("process-limits", "folder-not-writable", "amd-gpu-unsupported", *_CRASH)


@once_for_facts
def import_fails(facts: Facts) -> tuple[str, ...]:
    """`import torch` fails: the diagnoses that replace or explain torch-import-crashes, then it."""
    last = "torch-import-crashes"
    causes = tuple(c.id for c in checks_for(facts) if last in (*c.explains, *c.instead_of))
    return (*causes, "torch-missing", last)


@once_for_facts
def install_fails(facts: Facts) -> tuple[str, ...]:
    """An installation fails: the diagnoses of the layer `install`, after those that replace one of them."""
    own = tuple(c.id for c in checks_for(facts) if c.layer == "install")
    deeper = tuple(c.id for c in checks_for(facts) if {"no-matching-wheel", "index-misconfigured"} & {*c.instead_of})
    return tuple(dict.fromkeys((*deeper, *own, "pip-missing", "cuda-toolkit-mismatch", "compiler-missing")))
