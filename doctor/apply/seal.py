"""Whose journal it is. Snapshots lie inside environments, and an environment may come from anywhere: a journal counts
only with a keyed digest (HMAC-SHA256, RFC 2104) whose key never leaves the user's state folder."""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import json
import os
import secrets
import stat
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from doctor.apply.place import state_folder
from doctor.model.values import dataclass

if TYPE_CHECKING:
    from doctor.facts.system import System

KEY_FILE = "key"
_KEY_BYTES = 32


@dataclass(frozen=True)
class Seal:
    """The user's key. Without one (`key` is empty) nothing is genuine."""

    key: bytes = b""
    stored: bool = False  # False: a later process will not have it

    def mac(self, previous: str, line: Mapping[str, Any]) -> str:
        """The digest of a journal's line, which depends on that of the line before: none can be left out or moved."""
        text = json.dumps([previous, line], ensure_ascii=True, sort_keys=True)
        return hmac.new(self.key, text.encode(), hashlib.sha256).hexdigest()

    def accepts(self, previous: str, line: Mapping[str, Any], mac: object) -> bool:
        """Whether the digest matches the line."""
        return bool(self.key) and isinstance(mac, str) and hmac.compare_digest(self.mac(previous, line), mac)


def seal_of(system: System, *, make: bool = False) -> Seal:
    """The user's seal. `make`: where there is none yet, one is made; where it cannot be stored, it is good for this
    process alone."""
    folder = state_folder(system)
    path = os.path.join(folder, KEY_FILE)
    if key := _read(path):
        return Seal(key, stored=True)
    if not make:
        return Seal()
    fresh = secrets.token_bytes(_KEY_BYTES)
    with contextlib.suppress(OSError):
        os.makedirs(folder, mode=0o700, exist_ok=True)
        _store(path, fresh)
        if key := _read(path):  # another process may have been faster
            return Seal(key, stored=True)
    return Seal(fresh)


def _read(path: str) -> bytes:
    with contextlib.suppress(OSError):
        handle = open_regular(path, os.O_RDONLY)
        with os.fdopen(handle, "rb") as file:
            if hasattr(os, "geteuid") and os.fstat(handle).st_uid not in (os.geteuid(), 0):
                return b""
            key = file.read(_KEY_BYTES + 1)
            return key if len(key) == _KEY_BYTES else b""
    return b""


def _store(path: str, key: bytes) -> None:
    """Write the key as a whole, or not at all; what is there already stays."""
    temporary = f"{path}.{os.getpid()}"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
    handle = os.open(temporary, flags, 0o600)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(key)
            file.flush()
            os.fsync(handle)
        try:
            os.link(temporary, path)  # fails where one is there
        except FileExistsError:
            pass
        except OSError:  # a file system without hard links
            if not os.path.lexists(path):
                os.replace(temporary, path)
    finally:
        with contextlib.suppress(OSError):
            os.unlink(temporary)


def open_regular(path: str, flags: int, mode: int = 0o644) -> int:
    """A descriptor of a regular file. A link, a pipe or a device in its place is refused: OSError. Never blocks."""
    safe = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
    if not getattr(os, "O_NOFOLLOW", 0) and os.path.islink(path):
        raise OSError(f"{path} is a link")
    handle = os.open(path, flags | safe | getattr(os, "O_BINARY", 0), mode)
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError(f"{path} is no regular file")
    return handle
