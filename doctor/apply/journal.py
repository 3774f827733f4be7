"""What a run is about to do, line by line, each line on the disk before the deed: so that kill -9 leaves a record."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Mapping
from datetime import datetime, timezone
from typing import Any, Literal

NAME = "journal.jsonl"
State = Literal["incomplete", "interrupted", "applied", "undone"]


class Journal:
    """The journal of one snapshot folder. `lines` holds what it says."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self._path = os.path.join(folder, NAME)
        self.lines: list[Mapping[str, Any]] = list(_read(self._path))

    def write(self, event: str, **values: Any) -> None:
        """Append a line and force it to the disk. Raises OSError."""
        line = {"at": datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"), "event": event, **values}
        with open(self._path, "ab") as file:
            file.write((json.dumps(line, ensure_ascii=True) + "\n").encode())
            file.flush()
            os.fsync(file.fileno())
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


def _read(path: str) -> list[dict[str, Any]]:
    """The whole lines; the last may be torn."""
    try:
        with open(path, "rb") as file:
            content = file.read()
    except OSError:
        return []
    lines = []
    for raw in content.split(b"\n"):
        with contextlib.suppress(ValueError):
            line = json.loads(raw)
            if isinstance(line, dict) and isinstance(line.get("event"), str):
                lines.append(line)
    return lines
