"""What an installation of torch fetches. The rows are in tables/downloads.json: measured on the package index
(scripts/measure_downloads.py), and what pip said of other indexes where a source has it."""

from __future__ import annotations

from doctor.knowledge.load import of_tables, table
from doctor.knowledge.releases import cuda_of_backend
from doctor.knowledge.versions import release_of


def download_mb(release: str, backend: str, platform: str) -> int | None:
    """Megabytes of that build with all that it needs, into an environment that has nothing of it; None where nothing is
    known. A CUDA build that was not measured is taken to be about as large as that of the same release, platform and
    CUDA major version.

    >>> download_mb("2.6.0", "cu126", "linux_x86_64"), download_mb("2.6.0", "cu118", "linux_x86_64")
    (3061, None)
    """
    known = _sizes().get((release_of(release), platform), {})
    if backend in known:
        return known[backend]
    major = _cuda_major(backend)
    alike = [mb for other, mb in known.items() if major and _cuda_major(other) == major]
    return alike[0] if alike else None


@of_tables
def _sizes() -> dict[tuple[str, str], dict[str, int]]:
    sizes: dict[tuple[str, str], dict[str, int]] = {}
    for row in table("downloads")["rows"]:
        for platform, found in row["mb"].items():
            sizes.setdefault((row["torch"], platform), {}).update(found)
    return sizes


def _cuda_major(backend: str) -> str | None:
    cuda = cuda_of_backend(backend)
    return cuda.split(".")[0] if cuda else None
