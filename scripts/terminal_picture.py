"""docs/terminal.svg: what `torchdoctor check` prints on a machine whose NVIDIA driver is too old, as a picture.

The facts are of such a machine; judgement, plan and text are the doctor's own.
"""

from __future__ import annotations

import io
import re
from dataclasses import replace

from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text

from doctor.accounting.judgement import judged
from doctor.fixes.plan import plan
from doctor.model.report import Report, Target
from doctor.reports import terminal
from tests.reports.samples import FACTS

WIDTH = 80
THEME = TerminalTheme(
    (24, 26, 31), (222, 225, 230),
    [(24, 26, 31), (255, 107, 107), (126, 211, 135), (235, 200, 100), (110, 170, 255), (215, 140, 255), (95, 215, 215),
     (222, 225, 230)],
    [(140, 146, 158), (255, 140, 140), (150, 230, 160), (250, 220, 130), (140, 190, 255), (230, 170, 255),
     (130, 235, 235), (255, 255, 255)],
)  # fmt: skip


def report() -> Report:
    """The examination of that machine."""
    dated = replace(FACTS, as_of="2026-01-02")  # the picture does not change with the tables of tomorrow
    judgement = judged(dated)
    return Report(
        tool="torchdoctor", taken_at="2026-01-02T03:04:05Z", duration_ms=1300.0,
        target=Target(python="~/ml/.venv/bin/python", reason="active environment"), verdict=judgement.verdict.value,
        facts=FACTS, outcomes=judgement.outcomes, findings=judgement.account.findings,
        symptoms=judgement.account.symptoms, plan=plan(judgement.account.findings, dated),
    )  # fmt: skip


def svg() -> str:
    """The picture: no font or script is fetched by whoever shows it."""
    shown = terminal.render(report(), color=True, width=WIDTH)
    console = Console(record=True, width=WIDTH + 2, file=io.StringIO(), force_terminal=True, legacy_windows=False)
    console.print(Text("$ torchdoctor check", style="bold"))
    console.print(Text.from_ansi(shown.rstrip("\n")))
    made = console.export_svg(title="torchdoctor check", theme=THEME, unique_id="torchdoctor")
    made = re.sub(r"\s*@font-face \{.*?\}", "", made, flags=re.DOTALL)
    made = made.replace("font-family: Fira Code, monospace", "font-family: ui-monospace, Menlo, Consolas, monospace")
    alternative = "<title>torchdoctor check: the root cause, what it rests on, and the commands that fix it</title>"
    head, _, rest = made.partition(">")
    return f"{head} role=\"img\">{alternative}{rest}" if head.startswith("<svg") else made
