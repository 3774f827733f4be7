"""What of an issue is alive in the comment on it: everything that is neither ours nor a value of a closed shape."""

from __future__ import annotations

import re
from functools import cache

from doctor.accounting.questions import ASKS, CHECK
from doctor.checks import all_checks
from doctor.hidden import has_command, is_visible
from doctor.reports.sinks import markdown
from doctor.triage import comment

_VALUE = re.compile(
    r"torch \d[\w.+]*|built for CUDA \d+\.\d|driver [\d.]+|Python [\d.]+|Linux|macOS|Windows|" + comment._MODEL.pattern
)
_ALIVE = re.compile(r"@|https?:|www\.|#\d|<(?!!-- torchdoctor:triage -->|/?sub>)|!\[|\]\(|::|&[#a-z]", re.I)


@cache
def _own_lines() -> frozenset[str]:
    questions = [f"What would settle it: {ask.text}" for ask in (*ASKS, CHECK)]
    commands = [ask.command for ask in (*ASKS, CHECK) if ask.command]
    titles = [f"- `{c.id}`{likely}: {markdown(c.title)}" for c in all_checks() for likely in ("", " (likely)")]
    tail = "; the commands for the machine: `torchdoctor fix`."
    more = [f"More: `torchdoctor explain {c.id}`{tail}" for c in all_checks()]
    return frozenset((*questions, *commands, *titles, *more, *(f"  {text}" for text in comment._TODO.values())))


def survivors(body: str, issue: str) -> list[str]:
    """Lines of a comment that are neither a line of ours nor made of values of a closed shape."""
    found = [] if is_visible(body.replace("\n", "")) and not has_command(body) else ["a character or a command"]
    for line in body.splitlines():
        if line in _own_lines() or line in _FIXED or not line:
            continue
        if line.startswith("Read from the issue: "):
            left = _VALUE.sub("", line.removeprefix("Read from the issue: "))
            found += [line] if left.strip(", .") else []
        elif not _SHAPES.fullmatch(line):
            found.append(line)
    ours = {ask.command for ask in (*ASKS, CHECK)}
    return found + [line for line in body.splitlines() if line not in ours and _ALIVE.search(line)]


_FIXED = {
    "<!-- torchdoctor:triage -->", "```sh", "```",
    "<sub>Made by a program from the text of this issue alone; nothing in it was run or opened.",
    "`torchdoctor ticket` on the machine itself says more.</sub>",
    "**torchdoctor: the environment is in order: the error is the program's own**",
    "**torchdoctor: the environment is in order, as far as the issue shows it**",
    "**torchdoctor: no verdict, the issue does not say enough**",
}  # fmt: skip
_SHAPES = re.compile(
    r"\*\*torchdoctor: \d faults? of the environment\*\*"
    r"|  Install torch [\w.+]{1,30}( \([\w.]{1,12}\))?\."
    r"|  (Update|Install) the GPU's driver: [\d.]{3,12} or newer\."
)
