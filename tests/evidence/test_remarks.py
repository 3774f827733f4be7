"""A text is healthy by what was understood: a line that nobody understood, and that may say that something is wrong,
keeps it from being called so."""

from __future__ import annotations

import pytest

from doctor.evidence import read as reading
from doctor.evidence import remarks
from doctor.model.facts import REMARK
from doctor.model.report import Report
from doctor.pipeline import Request, examine
from tests.table import table

HEALTHY = """\
PyTorch version: 2.6.0+cu124
CUDA used to build PyTorch: 12.4
OS: Ubuntu 22.04.4 LTS (x86_64)
Python version: 3.12.4 (main) [GCC 11.4.0] (64-bit runtime)
Is CUDA available: True
GPU models and configuration: GPU 0: NVIDIA GeForce RTX 4090
Nvidia driver version: 550.54.15
[pip3] numpy==1.26.4
[pip3] torch==2.6.0
[conda] Could not collect
"""


def judged(text: str) -> Report:
    return examine(Request(evidence=(("ticket.txt", text.encode()),)))


@pytest.mark.parametrize("more", [
    "", "### Describe the bug 🐛", "How do I make the server use tool calls?", "N/A", "Tue Apr  1 09:12:33 2025",
    "Embedded Python: false", "MIG 1g.5gb Device  0: x", "ValueError: bad value", "INFO 02-18 loaded 3 files",
    "WARNING no labels found in detect set, can not compute metrics", "Température du processeur : 50 °C, 3 µs",
])  # fmt: skip
def test_what_says_nothing_bad(more: str) -> None:
    assert judged(f"{more}\n\n{HEALTHY}").verdict == "healthy"


@pytest.mark.parametrize("form", ["{more}\n\n{ticket}", "{ticket}\n{more}\n", "### Describe the bug\n{more}\n\n```\n{ticket}```\n"])
@table("more", [
    "Segmentation fault (core dumped)", "zsh: killed     python train.py", "Abort trap: 6",
    "Process finished with exit code -1073741819 (0xC0000005)", "exitcode  : -11 (pid: 123)", "$? = 139", "139", "False",
    "the training hangs at all_reduce for ever", "the loss is nan on the GPU", "Results differ between CPU and GPU",
    "free(): invalid pointer", "F0101 12:00:00.0 1 x.cc:1] Check failed", "CUDA out of memory", "device-side assert triggered",
    "I can't use my GPU", "my gpu isn't detected", "Using device: cpu", "torch.cuda.is_available() is False in the container",
    "cuInit(0) = 999", "The kernel has died", "❌ torch", "std::bad_alloc", "1 failed, 3 passed", "段错误 (核心已转储)",
    "ошибка сегментирования", "Speicherzugriffsfehler", "Erreur de segmentation", "Getötet", "RuntimeЕrror: CUDA",
    "Ｓｅｇｍｅｎｔａｔｉｏｎ ｆａｕｌｔ", "INFO: Segmentation fault", "DEBUG: process killed", "# Segmentation fault",
    "torch 2.6.0 crashes on my RTX 4090", "Python 3.12.4 segfaults here", "GPU 0: NVIDIA GeForce RTX 4090 crashed",
    "UserWarning: CUDA initialization: the driver cannot be asked", "AssertionError: GPU result wrong",
    "ValueError: CUDA driver failed",
    "[Bug]: vllm 0.6.3 can not serve a model on my RTX 4090", "the terminal shows PAUSE",
    "It begins normally, but when inference starts it is disconnected", "the window just closes",
    "the process is gone after loading the model", "the picture is empty with torch 2.6.0 on my RTX 4090",
    "it takes 20 minutes for one picture with torch 2.6.0 on an RTX 4090", "results on the RTX 4090 are random",
    "it keeps loading with torch 2.6.0", "the server goes offline when I send a picture",
])  # fmt: skip
def test_what_may_be_a_failure(more: str, form: str) -> None:
    report = judged(form.format(more=more, ticket=HEALTHY))
    assert report.verdict != "healthy"
    assert report.verdict == "faulty" or report.unproven


@pytest.mark.slow
def test_a_text_of_which_a_part_was_not_read() -> None:
    report = judged(HEALTHY + "step\n" * 90_000)
    assert report.verdict == "unknown"
    assert any("read were" in why for why in report.unproven)


def test_a_reader_that_crashed(monkeypatch: pytest.MonkeyPatch) -> None:
    def crash(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(reading.mps, "read", crash)
    assert judged(HEALTHY).verdict == "unknown"


def test_remarks_are_few() -> None:
    report = judged(HEALTHY + "it crashes\n" * 20 + "".join(f"crash {i}\n" for i in range(20)))
    assert sum(e.pattern == REMARK for e in report.facts.errors) == remarks.AT_MOST


def test_a_message_of_one_text_does_not_silence_the_same_line_of_another() -> None:
    message = b"torch 2.5.1\nRuntimeError: CUDA error: no kernel image is available for execution on the device\n"
    other = b"hello there\nWith torch 2.5.1 it is so that my RTX 3090 in the box fails on the second run\n"
    errors = reading.read((("a.txt", message), ("b.txt", other))).facts.errors
    assert [(e.source, e.line) for e in errors if e.pattern == REMARK] == [("b.txt", 2)]
