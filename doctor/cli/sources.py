"""Reads what --from names: a file or standard input («-»), of a long one only the first and the last 8 MB."""

from __future__ import annotations

import os
import stat
import sys
from typing import IO

import click

from doctor.evidence.text import cut_mark

KEPT_BYTES = 8 << 20  # of each end
_CHUNK = 1 << 20
_ENDLESS_BYTES = 1 << 30  # of a pipe or a device: no ticket is as long, /dev/zero is


def read_source(name: str) -> tuple[str, bytes]:
    """(name, content). What was left out of a long text is said on stderr. Wrong usage: a file that cannot be read."""
    try:
        if name == "-":
            content, left_out = _bounded(sys.stdin.buffer)
            name = "stdin"
        else:
            if not stat.S_ISREG(os.stat(name).st_mode) and os.path.isdir(name):
                raise IsADirectoryError(21, "is a folder", name)
            with open(name, "rb") as file:
                content, left_out = _bounded(file)
    except OSError as error:
        raise click.UsageError(f"cannot read '{name}': {error.strerror or error}.") from None
    if left_out:
        size = f"{left_out / (1 << 20):.0f} MB"
        click.echo(
            f"torchdoctor: {name} is long: {size} between its first and last {KEPT_BYTES >> 20} MB were not read.",
            err=True,
        )
    return name, content


def _bounded(stream: IO[bytes]) -> tuple[bytes, int]:
    """The first and the last KEPT_BYTES of a stream (between them a line that says so), and how many bytes lie between.
    OSError where it seems to have no end."""
    head = _read(stream, KEPT_BYTES)
    if len(head) < KEPT_BYTES:
        return head, 0
    size = _size(stream)
    if size is not None:
        if size <= 2 * KEPT_BYTES:
            return head + _read(stream, KEPT_BYTES), 0
        stream.seek(size - KEPT_BYTES)
        left_out = size - 2 * KEPT_BYTES
        return head + cut_mark(left_out) + _read(stream, KEPT_BYTES), left_out
    tail, total = bytearray(), 0
    while chunk := stream.read(_CHUNK):
        total += len(chunk)
        if total > _ENDLESS_BYTES:
            raise OSError(f"after {_ENDLESS_BYTES >> 30} GB it has not ended")
        tail += chunk
        if len(tail) > 2 * KEPT_BYTES:
            del tail[:-KEPT_BYTES]
    left_out = max(0, total - KEPT_BYTES)
    return head + (cut_mark(left_out) if left_out else b"") + bytes(tail[-KEPT_BYTES:]), left_out


def _read(stream: IO[bytes], limit: int) -> bytes:
    """Up to `limit` bytes, also from a pipe, which gives less at a time."""
    parts = bytearray()
    while len(parts) < limit and (chunk := stream.read(min(_CHUNK, limit - len(parts)))):
        parts += chunk
    return bytes(parts)


def _size(stream: IO[bytes]) -> int | None:
    """Size of a regular file; None for pipes and devices."""
    try:
        said = os.fstat(stream.fileno())
    except (OSError, AttributeError, ValueError):
        return None
    return said.st_size if stat.S_ISREG(said.st_mode) else None
