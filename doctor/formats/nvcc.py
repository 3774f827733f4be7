"""nvcc --version. Pure."""

from __future__ import annotations

import re

from doctor.regex import Regex

_RELEASE = Regex(
    r"Cuda compilation tools, release (\d+\.\d+)(?:, V(\d+\.\d+\.\d+))?|^[ \t]*cuda_(\d+\.\d+)\.r", re.M
)


def releases(text: str) -> tuple[tuple[int, str], ...]:
    """(where it stands, the toolkit's version) of every answer in the text, as exactly as it is said.

    >>> releases("Cuda compilation tools, release 12.4, V12.4.131")
    ((0, '12.4.131'),)
    """
    return tuple((m.start(), m[2] or m[1] or m[3]) for m in _RELEASE.finditer(text))
