"""What a child reads on its stdin: the pieces of inside/ that its mode needs, and inside/probe.py."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from doctor.probes.triggers import triggers

# The pieces that a mode needs, in the order of their stages: files of inside/stages/, with a "/" of inside/ itself.
QUICK = ("monitor", "layouts", "draws", "speed")
FEATURES = ("apart", "tries", "attention", "io", "workers", "distributed", "extensions", "compile")
PIECES = {
    "facts": (),
    "quick": (*QUICK, "ahead"),
    "cpu-only": QUICK,
    "full": (*QUICK, "cores", "silent", "training", "memory", "endurance", *FEATURES),
    "soak": ("monitor", "speed", "endurance"),
    "peers": ("apart", "tries", "peers", "distributed"),
    "fleet": (*QUICK, "memory", "endurance", "node"),
    "errata": ("errata/stage",),  # and the piece that holds the trigger
}


@cache
def script(mode: str, limit_s: float | None = None, *, ahead: bool = False) -> str:
    """What a child reads on its stdin: the pieces that the mode needs, as a table, the limit of a stage where it is not
    our own, whether its device is opened beside the import, and the text of inside/probe.py."""
    inside = Path(__file__).parent.parent / "inside"
    files = {name: inside / f"{name if '/' in name else f'stages/{name}'}.py" for name in pieces_of(mode)}
    pieces = [(name, path.read_text(encoding="utf-8")) for name, path in files.items()]
    limit = f"STAGE_LIMIT_S = {limit_s!r}\n" if limit_s is not None else ""
    limit += "AHEAD = True\n" if ahead else ""
    return f"PIECES = {pieces!r}\n{limit}" + (inside / "probe.py").read_text(encoding="utf-8")


def pieces_of(mode: str) -> tuple[str, ...]:
    """The names of the pieces that a child of that mode is sent.

    >>> pieces_of("soak:30"), pieces_of("errata:sort_of_nothing"), pieces_of("errata:clamp_twice")
    (('monitor', 'speed', 'endurance'), ('errata/stage', 'errata/mps'), ('errata/stage', 'silent'))
    """
    kind, _, trigger = mode.partition(":")
    home = triggers().get(trigger) if kind == "errata" else None
    return (*PIECES[kind], home) if home else PIECES[kind]
