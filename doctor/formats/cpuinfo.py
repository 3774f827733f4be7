"""/proc/cpuinfo, lscpu, wmic, and what sysctl says of a Mac's CPU. Pure."""

from __future__ import annotations

import re

from doctor.model.values import dataclass
from doctor.regex import Regex

# Lines of these tools in a text
MODEL = Regex(r"^[ \t]*Model name[ \t]*:[ \t]*(.+)$|^Name(?:=|:[ ])(.+(?:CPU|Processor|Core).*)$", re.M)
FLAGS = Regex(r"^[ \t]*(?:Flags|flags|Features)[ \t]*:[ \t]*([a-z0-9_.-][a-z0-9_. -]{39,})$", re.M)

# The ISA extensions that matter to torch's kernels or to whether it starts at all, in the kernel's spelling.
MATTER = (
    "sse4_1", "sse4_2", "avx", "f16c", "fma", "avx2", "avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512_vnni",
    "avx512_bf16", "avx512_fp16", "avx_vnni", "amx_tile", "amx_bf16", "amx_int8", "neon", "asimd", "asimddp", "fphp",
    "sve", "sve2", "bf16", "i8mm", "vsx",
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Cpu:
    """Name, the extensions that matter (None: not said) and the number of logical CPUs listed."""

    model: str | None = None
    flags: tuple[str, ...] | None = None
    count: int | None = None


def parse(text: str) -> Cpu:
    """The first processor's words: x86 has «model name» and «flags», Arm «Features» and often no name."""
    said: dict[str, str] = {}
    count = 0
    for line in text.splitlines():
        key, colon, value = line.partition(":")
        if not colon:
            continue
        key = key.strip().lower()
        count += key == "processor"
        said.setdefault(key, value.strip())
    flags = said.get("flags", said.get("features"))
    return Cpu(
        model=said.get("model name") or said.get("cpu") or said.get("hardware"),
        flags=None if flags is None else flags_that_matter(flags),
        count=count or None,
    )


def flags_that_matter(text: str) -> tuple[str, ...]:
    """Those of MATTER among the words; Apple's «AVX1.0» is avx, «SSE4.2» sse4_2."""
    words = {word.lower().replace("avx1.0", "avx").replace(".", "_") for word in text.split()}
    return tuple(flag for flag in MATTER if flag in words)
