"""Exit codes, the same for every command (docs/design.md, section 6)."""

from __future__ import annotations

FAULT, USAGE, NO_VERDICT, BUG, INTERRUPTED, CLOSED_PIPE = 1, 2, 3, 70, 130, 141
