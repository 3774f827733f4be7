"""What comes first for the dynamic loader: files of LD_PRELOAD, folders of LD_LIBRARY_PATH (ld.so(8)). Pure."""

from __future__ import annotations

import re

from doctor.checks._torch import search
from doctor.model.facts import ErrorText, Facts
from doctor.model.finding import Remedy
from doctor.regex import Regex

VARIABLE = "LD_LIBRARY_PATH"
PRELOAD = "LD_PRELOAD"
UNDEFINED = Regex(r"undefined symbol: _*(\w+)")


def preloaded(facts: Facts) -> tuple[str, ...]:
    """The files that LD_PRELOAD names: separated by colons or spaces (ld.so(8))."""
    return tuple((facts.environ or {}).get(PRELOAD, "").replace(":", " ").split())


def preloaded_without_symbol(facts: Facts) -> tuple[ErrorText, str] | None:
    """The message that names a symbol as undefined, and the file of LD_PRELOAD that is loaded in place of the library
    that has it: a libnccl.so.2 without ncclRecv."""
    files = preloaded(facts)
    found = search(facts, UNDEFINED) if files else None
    if found is None:
        return None
    symbol = found[1][1].lower()
    for file in files:
        name = re.match(r"lib([a-zA-Z]+)", file.rpartition("/")[2])
        if name and symbol.startswith(name[1].lower().replace("cudart", "cuda")):
            return found[0], file
    return None


def without_folder(facts: Facts, folder: str) -> tuple[Remedy, ...]:
    """LD_LIBRARY_PATH without that folder; () where it does not hold it."""
    entries = [entry for entry in (facts.environ or {}).get(VARIABLE, "").split(":") if entry]
    kept = [entry for entry in entries if entry.rstrip("/") != folder.rstrip("/")]
    if kept == entries:
        return ()
    unset = Remedy(action="unset-env", details={"name": VARIABLE})
    return (Remedy(action="set-env", details={"name": VARIABLE, "value": ":".join(kept)}), unset) if kept else (unset,)
