"""Reads what --from names: a file or standard input («-»), of a long one the first and the last 8 MB
and the telling lines between them."""

from __future__ import annotations

import os
import stat
import sys
from typing import IO

import click

from doctor.cli.output import complain
from doctor.evidence.text import Shortened

KEPT_BYTES = 8 << 20  # of each end
KEPT_IN_ALL = 64 << 20  # of each end of all files of one machine, but _KEPT_AT_LEAST of each
_KEPT_AT_LEAST = 1 << 18
_CHUNK = 1 << 20
_ENDLESS_BYTES = 1 << 30  # of a pipe or a device: no ticket is that long, but /dev/zero is


def read_source(name: str, among: int = 1) -> tuple[str, bytes]:
    """(name, content) of one of so many files. What was left out of a long text is said on stderr. Wrong usage: a file
    that cannot be read."""
    keep = min(KEPT_BYTES, max(_KEPT_AT_LEAST, KEPT_IN_ALL // among // 2 * 2))
    try:
        if name == "-":
            content, left_out = _bounded(sys.stdin.buffer, keep)
            name = "stdin"
        else:
            if not stat.S_ISREG(os.stat(name).st_mode) and os.path.isdir(name):
                raise IsADirectoryError(21, "is a folder", name)
            with open(name, "rb") as file:
                content, left_out = _bounded(file, keep)
    except OSError as error:
        raise click.UsageError(f"cannot read '{name}': {error.strerror or error}.") from None
    if left_out:
        size = _megabytes(left_out)
        complain(
            f"torchdoctor: {name} is long: of what lies between its first and last {_megabytes(keep)}, {size} were "
            "not read; only lines with words such as error, torch, CUDA or driver."
        )
    return name, content


def _megabytes(size: int) -> str:
    return f"{size / (1 << 20):.{0 if size >= 1 << 20 else 2}f} MB"


def _bounded(stream: IO[bytes], keep: int = KEPT_BYTES) -> tuple[bytes, int]:
    """The first and the last `keep` bytes of a stream, between them the telling lines of the rest, and how many bytes
    were left out. OSError where it seems to have no end."""
    head = _read(stream, keep)
    tail, total, middle = bytearray(), 0, Shortened()
    while chunk := stream.read(_CHUNK):
        total += len(chunk)
        if total > _ENDLESS_BYTES and not _is_file(stream):
            raise OSError(f"after {_ENDLESS_BYTES >> 30} GB it has not ended")
        tail += chunk
        if len(tail) > keep + _CHUNK:
            more = (len(tail) - keep) & ~1  # even, so that UTF-16 stays aligned
            middle.feed(bytes(tail[:more]))
            del tail[:more]
    if total > keep and len(tail) > keep:
        more = (len(tail) - keep) & ~1
        middle.feed(bytes(tail[:more]))
        del tail[:more]
    return head + (middle.text() if middle.left_out else b"") + bytes(tail), middle.left_out


def _read(stream: IO[bytes], limit: int) -> bytes:
    """Up to `limit` bytes, also from a pipe, which delivers them in smaller pieces."""
    parts = bytearray()
    while len(parts) < limit and (chunk := stream.read(min(_CHUNK, limit - len(parts)))):
        parts += chunk
    return bytes(parts)


def _is_file(stream: IO[bytes]) -> bool:
    """Whether it is a regular file, not a pipe or a device."""
    try:
        return stat.S_ISREG(os.fstat(stream.fileno()).st_mode)
    except (OSError, AttributeError, ValueError):
        return False
