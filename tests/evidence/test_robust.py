"""No text makes a reader raise, and none makes it slow."""

import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from doctor.evidence.read import read
from doctor.pipeline import Request, examine
from doctor.reports import json as json_report
from tests.evidence.tickets import COLLECT_ENV, MAC, OLD_DRIVER

BANK = sorted((Path(__file__).parent.parent / "cases" / "bank").glob("*/*/input.txt"))
LINES = sorted({line for path in BANK for line in path.read_text(encoding="utf-8").splitlines() if line.strip()})
SETTINGS = settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)


@SETTINGS
@given(st.binary(max_size=2000))
def test_any_bytes(data: bytes) -> None:
    read([("x", data)])


@SETTINGS
@given(st.lists(st.one_of(st.sampled_from(LINES), st.text(max_size=80)), max_size=30))
def test_any_mixture_of_lines(lines: list[str]) -> None:
    read([("x", "\n".join(lines).encode("utf-8", "replace"))])


@SETTINGS
@given(st.sampled_from(LINES), st.integers(0, 200), st.integers(0, 200), st.text(max_size=5))
def test_any_damaged_line(line: str, first: int, last: int, inserted: str) -> None:
    read([("x", (line[:first] + inserted + line[last:]).encode("utf-8", "replace"))])


@pytest.mark.parametrize(
    "text",
    [
        "/",
        "/a",
        "a:",
        "=A",
        "> ",
        ">>> ",
        "GPU 0: ",
        "x\n",
        "\n",
        "C:\\",
        "gfx9;",
        "site-packages/",
        "Could not find a version ",
        "CUDA_A=1 ",
        "os.environ['",
        "-e CUDA_A=",
        "print(",
        "/python3.1",
        "before 1234567 after ",
        "nvidia controller: ",
    ],
)
def test_strange_long_texts_take_no_time(text: str) -> None:
    started = time.process_time()
    read([("x", (text * (200_000 // len(text))).encode())])
    assert time.process_time() - started < 5


def test_a_long_line_and_a_long_log() -> None:
    started = time.process_time()
    assert read([("x", b"cuda error " * 1_500_000)]).recognised == 0
    seen = read([("x", b"Hello\n" + b"some line of a log\n" * 800_000 + COLLECT_ENV.encode())])
    assert seen.facts.host.os_id == "ubuntu"
    assert time.process_time() - started < 8


@pytest.mark.parametrize("text", [COLLECT_ENV, MAC, OLD_DRIVER])
def test_our_own_report_is_evidence(text: str) -> None:
    report = examine(Request(evidence=(("x", text.encode()),)))
    again = read([("report.json", json_report.render(report).encode())])
    assert again.facts == report.facts
    assert again.recognised
