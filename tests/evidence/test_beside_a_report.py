"""What somebody writes beside a report of ours counts, and the report's own words around its block do not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from doctor import pipeline
from doctor.model.facts import Stage
from doctor.model.report import Report
from doctor.model.request import Request
from doctor.reports import json, markdown
from doctor.reports.block import BEGIN, MARK, made
from tests.reports.samples import HEALTHY

PROVEN = replace(
    HEALTHY.facts,
    probes=tuple(
        replace(probe, stages=(Stage(name="correct", ok=True, ms=1.0), *probe.stages))
        for probe in HEALTHY.facts.probes or ()
    ),
)
TICKET = markdown.render(replace(HEALTHY, facts=PROVEN))
BLOCK = f"{MARK}\n```json\n{made(replace(HEALTHY, facts=PROVEN))[0]}\n```\n{MARK}\n"
FAILS = """\
It fails when I train:
Traceback (most recent call last):
  File "train.py", line 3, in <module>
    y = model(x)
RuntimeError: CUDA error: no kernel image is available for execution on the device
"""


def examined(text: str, **more: str) -> Report:
    texts = (("issue.md", text.encode()), *((name, content.encode()) for name, content in more.items()))
    return pipeline.examine(Request(evidence=texts))


def quoted(text: str) -> str:
    return "".join(f"> {line}\n" for line in text.splitlines())


@pytest.mark.parametrize(
    "text", [TICKET, BLOCK, quoted(TICKET), f"Hi all,\n\n{TICKET}\nThanks!\n", TICKET.replace(BEGIN, ""),
             TICKET.replace("\n", "\r\n")],
    ids=["ticket", "block", "quoted", "polite", "first line cut off", "Windows"],
)  # fmt: skip
def test_a_healthy_report_stays_healthy(text: str) -> None:
    report = examined(text)
    assert (report.verdict, report.unproven, report.symptoms) == ("healthy", (), ())


@pytest.mark.parametrize("report", [TICKET, BLOCK, quoted(TICKET)], ids=["ticket", "block", "quoted"])
@pytest.mark.parametrize("first", [True, False], ids=["before", "after"])
def test_a_traceback_beside_it_is_accounted_for(report: str, first: bool) -> None:
    text = FAILS + report if first else report + FAILS
    found = examined(text)
    line = text.splitlines().index(FAILS.splitlines()[-1]) + 1
    assert found.verdict == "faulty"
    assert [(s.text, s.line) for s in found.symptoms] == [(FAILS.splitlines()[-1], line)]
    assert found.symptoms[0].explained_by == found.findings[0].id
    assert found.facts.torch == PROVEN.torch  # the facts are those of the report


def test_a_traceback_in_another_file_counts_too() -> None:
    assert examined(TICKET, **{"log.txt": FAILS}).verdict == "faulty"
    assert examined(json.render(replace(HEALTHY, facts=PROVEN)), **{"log.txt": FAILS}).verdict == "faulty"
    assert examined(json.render(replace(HEALTHY, facts=PROVEN))).verdict == "healthy"


def test_words_that_nobody_understands_keep_it_from_being_healthy() -> None:
    report = examined(TICKET + "\nBut my training still hangs on the GPU after a minute.\n")
    assert (report.verdict, "hangs" in " ".join(report.unproven)) == ("unknown", True)


def test_an_error_of_the_program_does_not() -> None:
    failed = 'Traceback (most recent call last):\n  File "a.py", line 1, in <module>\nKeyError: \'x\'\n'
    assert examined(f"{TICKET}\n{failed}").verdict == "healthy"
