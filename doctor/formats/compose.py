"""A compose file that stands in a text: which services it starts, and whether one of them is given a GPU. Pure.

Files are read line by line, by their indentation: a text holds pieces of them, and a parser of YAML would refuse these.
Keys: https://docs.docker.com/reference/compose-file/services/ and .../deploy/#devices
"""

from __future__ import annotations

from collections.abc import Iterator

from doctor.model.values import dataclass
from doctor.regex import Regex

LINES_AT_MOST = 400  # of one file
_BEGIN = Regex(r"([ \t]*)services:[ \t]*(?:#.*)?$")
_IMAGE = Regex(r"[ \t]*(?:image|build|container_name):")
# A service's GPUs: a reservation of devices, the older runtime, and the short key of today
_GPU = Regex(
    r"[ \t]*(?:-[ \t]*)?(?:capabilities:[ \t]*\[[^\]#]*\bgpu\b|runtime:[ \t]*[\"']?nvidia\b|gpus:[ \t]*\S|"
    r"driver:[ \t]*[\"']?(?:nvidia|cdi)\b|[\"']?nvidia\.com/gpu=|-[ \t]*[\"']?/dev/(?:nvidia|kfd|dri))"
)
_GPU_ITEM = Regex(r"[ \t]*-[ \t]*[\"']?(?:gpu\b|nvidia\.com/gpu=|/dev/(?:nvidia|kfd|dri))")


@dataclass(frozen=True)
class Compose:
    """One file: the index of its first line, and whether a service asks for a GPU."""

    line: int
    gpus: bool


def find(lines: tuple[str, ...]) -> Iterator[Compose]:
    """The compose files that stand in these lines: `services:` with an image or a build below it."""
    end = -1
    for first, line in enumerate(lines):
        if first <= end or (m := _BEGIN.match(line)) is None:
            continue
        margin = len(m[1])
        body = []
        for end in range(first + 1, min(first + LINES_AT_MOST, len(lines))):
            text = lines[end]
            if text.strip() and len(text) - len(text.lstrip()) <= margin:
                break
            if not text.lstrip().startswith("#"):
                body.append(text)
        if any(map(_IMAGE.match, body)):
            yield Compose(first, any(_GPU.match(text) or _GPU_ITEM.match(text) for text in body))
