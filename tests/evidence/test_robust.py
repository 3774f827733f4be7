"""No text makes a reader raise, and none makes it slow."""

import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from doctor.evidence import read as read_module
from doctor.evidence.read import Seen
from doctor.pipeline import Request, examine
from doctor.reports import json as json_report
from tests.evidence.tickets import COLLECT_ENV, MAC, OLD_DRIVER

BANK = sorted((Path(__file__).parent.parent / "cases" / "bank").glob("*/*/input.txt"))
LINES = sorted({line for path in BANK for line in path.read_text(encoding="utf-8").splitlines() if line.strip()})
SETTINGS = settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)


def read(texts: list[tuple[str, bytes]]) -> Seen:
    """What is read; a reader that raised, which a user sees as a gap, fails the test."""
    seen = read_module.read(texts)
    assert not [gap for gap in seen.facts.gaps if gap.fact.startswith("evidence.")]
    return seen


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


def test_no_text_at_all_is_read_without_a_gap() -> None:
    assert read([]).facts.gaps == ()


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
        "cpu and mps: max abs diff 0.5.\n",
        "torch.version.cuda: ' '\n",
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


def test_a_reader_that_fails_is_a_gap_and_the_others_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise ValueError("no such row")

    monkeypatch.setattr(read_module.nvidia, "read", fail)
    monkeypatch.setattr(read_module.machines, "may_be_several", fail)
    monkeypatch.setattr(read_module.settling, "STEPS", (fail, *read_module.settling.STEPS))
    seen = read_module.read([("ticket", COLLECT_ENV.encode())])
    gaps = {gap.fact: gap for gap in seen.facts.gaps}
    assert gaps["evidence.nvidia"].reason == "crashed"
    assert "ticket" in gaps["evidence.nvidia"].detail
    assert "ValueError: no such row" in gaps["evidence.nvidia"].detail
    assert {"evidence.fail", "evidence.machines"} <= gaps.keys()
    assert seen.facts.host.os_id == "ubuntu"
    assert seen.unread[0] == gaps["evidence.nvidia"].detail


@pytest.mark.parametrize(
    "text",
    [
        "$ pip install torch\nERROR: no\n",
        "PyTorch version: 2.1.0\nCUDA used to build PyTorch: 11.8\nOS: Ubuntu 22.04\n\nhello\n",
        "| NVIDIA-SMI 550.54   Driver Version: 550.54   CUDA Version: 12.4 |\n|   0  NVIDIA A100  On | 00000000:01:00.0 |\n",
        "tensor([1.0, 2.0], device='mps:0')\ntensor([1.0,3.0])\ncpu\n",
        "docker run --gpus all x \\\n",
        "CUDA error: no kernel image is available for execution on the device, ab\n",
        "GPU #1: /._" + " " * 3870 + "!\n",
        "> > > > CUDA error: foo\r\n\r",
    ],
)
def test_many_repetitions_take_time_in_proportion(text: str) -> None:
    """Texts that made the work of a reader grow with the square of their lines."""
    short, long = text * (40_000 // len(text)), text * (160_000 // len(text))

    def best(text: str) -> float:
        times = []
        for _ in range(2):
            started = time.process_time()
            read([("x", text.encode())])
            times.append(time.process_time() - started)
        return min(times)

    assert best(long) < 9 * best(short) + 0.05


def test_what_is_left_out_of_a_long_text_is_said() -> None:
    log = b"".join(b"some line %d of a log\n" % i for i in range(60_000))
    seen = read([("job.log", log + b"NVRM: Xid (PCI:0000:01:00): 79, pid=1\n" + log)])
    assert [gap.reason for gap in seen.facts.gaps if gap.fact == "evidence"] == ["not-looked"]
    assert seen.unread[0].startswith("job.log has 2,9")
    assert seen.facts.nvidia.xids == (79,)
    assert seen.facts.origins["nvidia.xids"].line == 60_001
    assert not read([("job.log", b"some line of a log\n")]).unread[0].startswith("job.log has")


def test_more_environments_than_are_told_apart_are_named() -> None:
    seen = read([("x", "".join(f"{COLLECT_ENV}\n\nAnd number {i}:\n" for i in range(15)).encode())])
    assert "3 more environments are not told apart" in seen.others[-1].summary
