"""The folder in which all ranks leave their records: one file a rank, replaced as a whole after each stage, so that a
reader never sees half of one, and what a rank had to say is there whatever becomes of it."""

from __future__ import annotations

import contextlib
import os
import re
import tempfile
from dataclasses import dataclass, field

from doctor.decode import Refused
from doctor.facts.system import read_regular
from doctor.fleet import records
from doctor.model.fleet import RankRecord

_NAME = re.compile(r"rank-(\d{5,7})\.json\Z")


def name_of(rank: int) -> str:
    """The file of a rank.

    >>> name_of(3)
    'rank-00003.json'
    """
    return f"rank-{rank:05d}.json"


def is_record(name: str) -> bool:
    """Whether a file's name is that of a record."""
    return _NAME.match(name) is not None


def write(folder: str, record: RankRecord) -> str | None:
    """Write a rank's record; why that was not possible, in one line, or None."""
    try:
        os.makedirs(folder, exist_ok=True)
        replace(os.path.join(folder, name_of(record.rank)), records.render(record))
    except OSError as error:
        return f"cannot write to {folder}: {error.strerror or error}"
    return None


def replace(path: str, text: str) -> None:
    """Write a file as a whole."""
    handle, temporary = tempfile.mkstemp(dir=os.path.dirname(path) or ".", prefix=".torchdoctor-")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


@dataclass
class Found:
    """What is in a folder: the records, and of each file that is none why."""

    records: list[RankRecord] = field(default_factory=list)
    unreadable: dict[int, str] = field(default_factory=dict)  # by the rank that the file's name says


def read(folder: str) -> Found:
    """All records. OSError where the folder cannot be listed; a file that cannot be read is a reason, no exception."""
    found = Found()
    for name in sorted(os.listdir(folder)):
        match = _NAME.match(name)
        if match is None:
            continue
        rank = int(match[1])
        if rank >= records.RANKS:
            continue
        try:
            record = records.parse(read_regular(os.path.join(folder, name), records.SIZE + 1))
            if record.rank != rank:
                raise Refused(f"it says that it is of rank {record.rank}")
            found.records.append(record)
        except Refused as error:
            found.unreadable[rank] = str(error)
        except OSError as error:
            found.unreadable[rank] = error.strerror or "it cannot be read"
    return found
