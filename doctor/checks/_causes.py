"""The diagnoses that can be behind a symptom that no row of the messages table names, the likeliest first."""

from __future__ import annotations

from functools import lru_cache

from doctor.checks import checks_on

PYTHON_DOES_NOT_START = ("interpreter-broken", "python-unsupported", "process-limits")
OUT_OF_HOST_MEMORY = ("pip-out-of-resources", "program-error")
_CRASH = ("device-crashes", "cuda-out-of-memory", "gpu-too-new-for-build", "gpu-too-old-for-build")
PROBE_DID_NOT_RUN = ("process-limits",)
PROBE_WRONG_RESULTS = ("device-wrong-results", "mps-wrong-results", "peer-copy-broken")
PROBE_HUNG = ("driver-hangs", "device-crashes")
PROBE_CRASHED = ("process-limits", "amd-gpu-unsupported", *_CRASH)
PROBE_FAILED = ("process-limits", "folder-not-writable", "amd-gpu-unsupported", *_CRASH)


@lru_cache(maxsize=16)
def import_fails(there: tuple[str, ...]) -> tuple[str, ...]:
    """`import torch` fails: the diagnoses that replace or explain torch-import-crashes, then it."""
    last = "torch-import-crashes"
    causes = tuple(c.id for c in checks_on(there) if last in (*c.explains, *c.instead_of))
    return (*causes, "torch-missing", last)


@lru_cache(maxsize=16)
def install_fails(there: tuple[str, ...]) -> tuple[str, ...]:
    """An installation fails: the diagnoses of the layer `install`, after those that replace one of them."""
    checks, replaced = checks_on(there), {"no-matching-wheel", "index-misconfigured"}
    own = tuple(c.id for c in checks if c.layer == "install")
    deeper = tuple(c.id for c in checks if replaced & {*c.instead_of})
    return tuple(dict.fromkeys((*deeper, *own, "pip-missing", "cuda-toolkit-mismatch", "compiler-missing")))


@lru_cache(maxsize=64)
def keep_from(vendor: str, there: tuple[str, ...], *, imported: bool) -> tuple[str, ...]:
    """The diagnoses that keep torch from that vendor's GPUs, in causal order. Where torch imports, those are left out
    that do it by making the import fail."""
    ruled_out = import_fails(there) if imported else ()
    return tuple(
        c.id for c in checks_on(there)
        if vendor in c.keeps_from and not c.concluded and (c.even_if_imported or c.id not in ruled_out)
    )  # fmt: skip
