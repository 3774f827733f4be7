"""Error codes by number and name: complete against lists that were read in another way, and sound in themselves.

codes/NAME.txt: "NUMBER NAME" a line, "-" where there is no number; the source and the day stand at its head.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doctor.checks import all_checks
from doctor.cli.main import run
from doctor.knowledge import codes
from doctor.knowledge.load import table
from scripts import refresh_codes

LISTS = sorted((Path(__file__).parent / "codes").glob("*.txt"))


def listed(path: Path) -> list[tuple[int, str]]:
    lines = [line.split() for line in path.read_text("utf-8").splitlines() if not line.startswith("#")]
    return [(int(number), name) for number, name in lines]


def vocabularies() -> list[dict]:
    return table("codes")["vocabularies"]


@pytest.mark.parametrize("path", LISTS, ids=lambda path: path.stem)
def test_every_vocabulary_is_answered(path: Path) -> None:
    rows = listed(path)
    assert len(rows) >= 9
    answered = 0
    for number, name in rows:
        by_number = any(r.vocabulary == path.stem for r in codes.readings(str(number)))
        by_name = name == "XID" or any((r.vocabulary, r.number) == (path.stem, number) for r in codes.readings(name))
        answered += by_number and by_name
    assert answered >= 0.98 * len(rows), f"{answered} of {len(rows)}"


def test_every_code_of_the_table_is_answered_by_name_and_number() -> None:
    for reading in codes.all_readings():
        assert reading in codes.readings(reading.name)
        if reading.number is not None:
            assert reading in codes.readings(str(reading.number))
            assert reading in codes.readings(hex(reading.number))


def test_all_causes_are_checks_and_every_class_says_what_to_do() -> None:
    ids = {check.id for check in all_checks()}
    for row in table("codes")["classes"]:
        assert set(row["causes"]) <= ids, row["id"]
        assert row["means"].endswith("."), row["id"]
        assert row["next"], row["id"]
        silent = row["id"] in ("success", "state", "unclassified")
        assert bool(row["causes"]) != silent, row["id"]


def test_every_code_has_a_class_and_every_sentence_a_code() -> None:
    classes = [row["id"] for row in table("codes")["classes"]]
    assert len(classes) == len(set(classes))
    used = set()
    for vocabulary in vocabularies():
        names = [(number, name) for number, name, _ in vocabulary["codes"]]
        assert len(names) == len(set(names)), vocabulary["id"]
        used |= {group for _, _, group in vocabulary["codes"]}
        assert {*vocabulary["said"], *vocabulary["words"]} <= {name for _, name in names}, vocabulary["id"]
        assert all(words == words.lower() for words in vocabulary["words"].values())
    assert used | {"unclassified"} == set(classes)
    assert "unclassified" not in used


@pytest.mark.parametrize(
    ("text", "vocabulary", "name"),
    [
        ("209", "cudaError_t", "cudaErrorNoKernelImageForDevice"),
        ("-9", "signal", "SIGKILL"),
        ("137", "exit-code", "128+9 SIGKILL"),
        ("0xC000001D", "ntstatus", "STATUS_ILLEGAL_INSTRUCTION"),
        ("-1073741819", "ntstatus", "STATUS_ACCESS_VIOLATION"),
        ("3221225477", "ntstatus", "STATUS_ACCESS_VIOLATION"),
        ("NVMLError_GpuIsLost", "nvmlReturn_t", "NVML_ERROR_GPU_IS_LOST"),
        ("oomkilled", "kubernetes", "OOMKilled"),
        ("Xid 79", "xid", "ROBUST_CHANNEL_GPU_HAS_FALLEN_OFF_THE_BUS"),
        ("NVRM: Xid (PCI:0000:01:00): 31, pid=77", "xid", "ROBUST_CHANNEL_FIFO_ERROR_MMU_ERR_FLT"),
        ("device-side assert triggered", "cudaError_t", "cudaErrorAssert"),
        ("CUDA error 700 at kernel.cu:12", "cudaError_t", "cudaErrorIllegalAddress"),
        ("cuInit() returned 803", "CUresult", "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH"),
        ("Process finished with exit code -1073740791 (0xC0000409)", "ntstatus", "STATUS_STACK_BUFFER_OVERRUN"),
        ("exitcode: -11", "signal", "SIGSEGV"),
        ("container exited with code 137", "exit-code", "128+9 SIGKILL"),
        ("OSError: [WinError 1455] The paging file is too small", "winerror", "ERROR_COMMITMENT_LIMIT"),
        ("OSError: [Errno 28] No space left on device", "errno", "ENOSPC"),
        ("Reason:       OOMKilled", "kubernetes", "OOMKilled"),
        ("JobState=OUT_OF_MEMORY Reason=OutOfMemory", "slurm", "OUT_OF_MEMORY"),
        ("RuntimeError: cuDNN error: CUDNN_STATUS_EXECUTION_FAILED", "cudnnStatus_t", "CUDNN_STATUS_EXECUTION_FAILED"),
        ("(00000008:kIOGPUCommandBufferCallbackErrorOutOfMemory)", "metal",
         "kIOGPUCommandBufferCallbackErrorOutOfMemory"),
        ("Windows has stopped this device because it has reported problems. (Code 43)", "device-manager",
         "CM_PROB_FAILED_POST_START"),
    ],
)  # fmt: skip
def test_the_likeliest_reading_comes_first(text: str, vocabulary: str, name: str) -> None:
    first = codes.readings(text)[0]
    assert (first.vocabulary, first.name) == (vocabulary, name)


@pytest.mark.parametrize(
    "text",
    ["the cat sat on the mat", "", "epoch 209 of 300", "It aborted with a timeout, then failed.", "loss 0.137",
     "torch 2.13.0", "Error: Completed Failed Running"],
)  # fmt: skip
def test_no_code_is_read_into_other_text(text: str) -> None:
    assert codes.readings(text) == ()


@given(st.text(max_size=300))
def test_any_text_is_read(text: str) -> None:
    for reading in codes.readings(text):
        assert reading.name


@pytest.mark.parametrize("number", ["9" * 10, "-" + "9" * 10, "0xFFFFFFFF", "9" * 40, "-0"])
def test_numbers_out_of_range_mean_nothing(number: str) -> None:
    assert all(r.number == 0 for r in codes.readings(number))


def test_explain_answers_a_number_in_every_format(capsys) -> None:
    assert run(["explain", "209"]) == 0
    out = capsys.readouterr().out
    assert "cudaErrorNoKernelImageForDevice" in out
    assert "gpu-too-new-for-build" in out
    assert "amd-gpu-unsupported" in out
    assert run(["explain", "-9", "--json"]) == 0
    (first, *_) = json.loads(capsys.readouterr().out)
    assert (first["code"], first["number"], first["vocabulary"]) == ("SIGKILL", 9, "signal")
    assert run(["explain", "0xC000001D", "--format", "markdown"]) == 0
    assert "cpu-instructions-missing" in capsys.readouterr().out


def test_explain_shows_commands_for_a_state_as_well(capsys) -> None:
    assert run(["explain", "cudaErrorNotReady"]) == 0
    assert "A state, not a failure" in capsys.readouterr().out


@pytest.mark.parametrize("text", ["torch.cuda.is_available() False", "Xid 79", "device-side assert triggered"])
def test_explain_answers_a_line(capsys, text: str) -> None:
    assert run(["explain", text]) == 0
    assert "can come from" in (out := capsys.readouterr().out) or "It can mean" in out


@pytest.mark.parametrize("words", [["--jsn", "x"], ["-x"], ["209", "--colour"]])
def test_a_wrong_option_is_still_refused(capsys, words: list[str]) -> None:
    assert run(["explain", *words]) == 2
    assert "No such option" in capsys.readouterr().err


def test_refreshing_finds_new_codes_and_keeps_classes(tmp_path: Path) -> None:
    header = "enum cudaError\n{\n    cudaSuccess = 0,\n    /** x = 5 */\n    cudaErrorBrandNew = 0x4E20\n} cudaError_t;\n"
    (tmp_path / "driver_types.h").write_text(header)
    content = json.loads(refresh_codes.TABLE.read_text("utf-8"))
    before = {v["id"]: len(v["codes"]) for v in content["vocabularies"]}
    found = {"cudaError_t": refresh_codes.of_files(tmp_path)["cudaError_t"]}
    content, said = refresh_codes.merged(content, found)
    assert "cudaError_t: 20000 cudaErrorBrandNew is new" in said
    after = {v["id"]: v["codes"] for v in content["vocabularies"]}
    assert after["cudaError_t"][-1] == [20000, "cudaErrorBrandNew", refresh_codes.NEW]
    assert len(after["cudaError_t"]) == before["cudaError_t"] + 1
    assert [0, "cudaSuccess", "success"] in after["cudaError_t"]


def test_the_table_is_written_as_the_script_writes_it() -> None:
    text = refresh_codes.TABLE.read_text("utf-8")
    assert refresh_codes.as_text(json.loads(text)) == text
    assert max(len(line) for line in text.splitlines() if re.match(r" {4}\[", line)) <= 125
