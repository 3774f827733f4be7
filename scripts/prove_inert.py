"""Fuzzed tickets through all formats and scripts: is there a live command of a CI in any output?

python scripts/prove_inert.py [--count N] [--seed N] [--jobs N]
"""

from __future__ import annotations

import argparse
import multiprocessing
import random
import sys
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from doctor import pipeline
from doctor.comparison import compare
from doctor.fixes.plan import script
from doctor.fixes.quoting import SHELLS
from doctor.model.report import Report
from doctor.redaction.report import redact
from doctor.reports import env, github, junit, markdown, openmetrics, sarif, terminal
from doctor.reports import html as html_format
from doctor.reports import json as json_format
from doctor.reports.compare import markdown as compare_markdown
from doctor.reports.compare import text as compare_text
from doctor.triage.comment import answer_to
from tests.reports.hostile import hostile_ticket, live_commands
from tests.reports.samples import HEALTHY

FORMATS: dict[str, Callable[[Report], str]] = {
    "json": json_format.render,
    "markdown": markdown.render,
    "html": html_format.render,
    "junit": junit.render,
    "github": github.render,
    "job summary": github.job_summary,
    "sarif": sarif.render,
    "openmetrics": openmetrics.render,
    "terminal": terminal.render,
    "plan": lambda report: terminal.render_plan(report.plan),
    "comparison": lambda report: compare_text.render(compare([report, HEALTHY])),
    "comparison in Markdown": lambda report: compare_markdown.render(compare([report, HEALTHY])),
    "answer to an issue": lambda report: answer_to(report).body or "",
    **{f"ticket --as {name}": render for name, render in env.SHAPES.items()},
}


def live_of(ticket: str) -> Iterator[tuple[str, list[str]]]:
    """(format, what a CI would take for a command) of a ticket's outputs, redacted or not."""
    report = pipeline.examine(
        pipeline.Request(evidence=(("ticket\n::error::x##[a].txt", ticket.encode("utf-8", "replace")),))
    )
    for one in (report, redact(report)):
        for name, render in FORMATS.items():
            if found := live_commands(render(one), ours=name == "github"):
                yield name, found
    if found := live_commands(terminal.render(report, verbose=True)):
        yield "terminal --verbose", found
    for shell in SHELLS:
        if found := live_commands(script(report.plan, shell=shell)):
            yield f"script for {shell}", found


def said_of(seed: int) -> tuple[int, list[str]]:
    """What is to be said of the ticket of a seed: a line for each output with a live command, or an exception's."""
    try:
        return seed, [f"LIVE in {name}: {found[:3]}" for name, found in live_of(hostile_ticket(random.Random(seed)))]
    except Exception:
        return seed, [f"EXCEPTION {traceback.format_exc()}"]


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    options = parser.parse_args()
    live = 0
    seeds = range(options.seed, options.seed + options.count)
    with multiprocessing.Pool(options.jobs) as pool:
        for seed, found in pool.imap_unordered(said_of, seeds, chunksize=20):
            for words in found:
                live += 1
                print(f"ticket {seed}: {words}", flush=True)
    each = 2 * len(FORMATS) + 1 + len(SHELLS)
    print(f"tickets: {options.count}; outputs each: {each}; with live commands or exceptions: {live}")
    return 1 if live else 0


if __name__ == "__main__":
    sys.exit(main())
