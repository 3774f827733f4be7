"""What others than pytorch.org publish, and where: AMD's and NVIDIA's own wheels, conda-forge; uv's names of backends.

The rows are in tables/vendors.json, each group with its sources and status.
"""

from __future__ import annotations

from typing import Any

from doctor.knowledge.load import table


def therock() -> dict[str, Any]:
    """AMD's own index: `index`, the day it was `seen` so, and the gfx it has torch for on `linux` and on `windows`."""
    found: dict[str, Any] = table("vendors")["therock"]
    return found


def rocm_blas_until(gfx: str | None) -> str | None:
    """The last ROCm whose BLAS has kernels for that gfx, where the arch lists claim more."""
    return next((r["until"] for r in table("vendors")["rocm_blas"] if r["gfx"] == gfx), None)


def xpu_since(architecture: str | None) -> str | None:
    """The first torch that supports that Intel architecture, where that is later than the first xpu build."""
    return next((r["torch"] for r in table("vendors")["xpu_since"] if r["architecture"] == architecture), None)


def jetpack(l4t: str | None) -> dict[str, Any] | None:
    """The JetPack of an L4T release ("36.4.0"): `jetpack`, `cuda`, `python`, and `index` or `page` where it has
    own wheels."""
    if not l4t:
        return None
    major = l4t.lstrip("Rr").split(".")[0]
    return next((r for r in table("vendors")["jetson"] if str(r["l4t"]) == major), None)


def conda_forge() -> dict[str, Any]:
    """`platforms` -> `cuda` versions built, `archs` by CUDA major, `packages` by kind, the day they were `seen`."""
    found: dict[str, Any] = table("vendors")["conda_forge"]
    return found


def uv_knows(backend: str) -> bool:
    """Whether `uv pip install --torch-backend=` takes that name."""
    return backend in table("vendors")["uv_backends"]["names"]
