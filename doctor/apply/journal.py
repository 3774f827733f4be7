"""What a run is about to do, line by line, each line on the disk before the deed: so that kill -9 leaves a record."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Mapping
from datetime import datetime, timezone
from typing import Any, Literal

from doctor.apply.seal import Seal, open_regular

NAME = "journal.jsonl"
LIMIT_BYTES = 32 << 20
State = Literal["incomplete", "interrupted", "applied", "undone"]


class Journal:
    """The journal of one snapshot folder. `lines`: what it says; with a seal, `genuine` says whether it is ours."""

    def __init__(self, folder: str, seal: Seal | None = None) -> None:
        self.folder = folder
        self._path = os.path.join(folder, NAME)
        self._seal = seal
        self._mac = ""
        self.lines: list[Mapping[str, Any]] = []
        self.genuine = seal is not None
        content = _content(self._path)
        self._torn = bool(content) and not content.endswith(b"\n")
        for line in _lines(content):
            mac = line.pop("mac", None)
            self.genuine = self.genuine and seal is not None and seal.accepts(self._mac, line, mac)
            self._mac = str(mac)
            self.lines.append(line)

    def write(self, event: str, **values: Any) -> None:
        """Append a line and force it to the disk. Raises OSError."""
        now = datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
        line = json.loads(json.dumps({"at": now, "event": event, **values}))  # as it will be read
        sealed = dict(line)
        if self._seal is not None and self._seal.key:
            sealed["mac"] = self._seal.mac(self._mac, line)
        text = ("\n" if self._torn else "") + json.dumps(sealed, ensure_ascii=True) + "\n"
        handle = open_regular(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        with os.fdopen(handle, "ab") as file:
            size = os.fstat(handle).st_size
            try:
                file.write(text.encode())
                file.flush()
                os.fsync(handle)
            except OSError:
                with contextlib.suppress(OSError):
                    os.ftruncate(handle, size)  # a partial line would corrupt the next one
                raise
        self._mac, self._torn = str(sealed.get("mac")), False
        self.lines.append(line)

    def note(self, event: str, **values: Any) -> None:
        """The same where the disk may be full: going back does not depend on this line."""
        with contextlib.suppress(OSError):
            self.write(event, **values)

    @property
    def state(self) -> State:
        """`incomplete`: killed before the snapshot was whole, so before anything was changed. `interrupted`: some of
        the steps may have been done. `applied`: all were, and the result is recorded. `undone`: all is put back."""
        events = {line["event"] for line in self.lines}
        if "restored" in events:
            return "undone"
        if "ready" not in events:
            return "incomplete"
        return "applied" if "finished" in events and "restoring" not in events else "interrupted"

    def last(self, event: str) -> Mapping[str, Any]:
        """The last line of that kind; empty where there is none."""
        return next((line for line in reversed(self.lines) if line["event"] == event), {})


def _content(path: str) -> bytes:
    try:
        with os.fdopen(open_regular(path, os.O_RDONLY), "rb") as file:
            return file.read(LIMIT_BYTES)
    except OSError:
        return b""


def _lines(content: bytes) -> list[dict[str, Any]]:
    """The whole lines; one may be torn."""
    lines = []
    for raw in content.split(b"\n"):
        with contextlib.suppress(ValueError, RecursionError):
            line = json.loads(raw)
            if isinstance(line, dict) and isinstance(line.get("event"), str):
                lines.append(line)
    return lines
