"""What is said on a live machine becomes recognised messages, each once, and none where nothing is wrong."""

from __future__ import annotations

from dataclasses import replace

import pytest

from doctor.accounting.judgement import judged
from doctor.facts.said import CUDA_WORDS, with_messages
from doctor.knowledge import lookup
from doctor.model.facts import ErrorText, Facts, ImportFailure, ProbeResult, Source, Stage, StartFailure, Torch
from tests.examples import device, linux, proven, with_amd, with_nvidia, with_torch
from tests.table import table

GPU = with_nvidia(linux(), "NVIDIA GeForce RTX 4090", driver="550.54.15")
NO_GPUS = "No CUDA GPUs are available"
FILE = "/home/u/env/lib/python3.12/site-packages/torch/__init__.py"


def said(facts: Facts) -> list[tuple[str, str]]:
    """(pattern, source) of every message."""
    return [(e.pattern, e.source) for e in with_messages(facts).errors]


def failing(message: str, exception: str | None = "ImportError", **more: object) -> Facts:
    failure = ImportFailure(**{"kind": "exception", "message": message, "exception": exception, **more})  # type: ignore[arg-type]
    return replace(linux(), torch=Torch(version="2.6.0", imports=False, import_failure=failure))


def test_a_machine_that_says_nothing() -> None:
    assert said(with_torch(GPU, "2.6.0+cu124", cuda_available=True, warnings=())) == []
    assert said(linux()) == []
    assert said(Facts()) == []


@pytest.mark.parametrize(
    "warning",
    [
        "FutureWarning: The frobnicator package is deprecated. Please install another one instead.",
        "UserWarning: Failed to initialize NumPy: No module named 'numpy' (Triggered at tensor_numpy.cpp:84.)",
        "UserWarning: An error of rounding may occur: not found, failed, Permission denied",
    ],
)
def test_a_warning_that_no_row_knows_speaks_of_no_failure(warning: str) -> None:
    facts = with_torch(linux(), "2.6.0+cpu", cuda_available=False, warnings=(warning,))
    assert with_messages(facts).errors == (ErrorText(pattern="warning", text=warning, source="import torch"),)


def test_the_import_failure_is_one_exception_with_the_file_that_raised_it() -> None:
    message = "libcudnn.so.9: cannot open shared object file: No such file or directory"
    frames = f'File "<stdin>", line 160, in import_torch\nFile "{FILE}", line 367, in <module>\nImportError: {message}'
    errors = with_messages(failing(message, traceback=frames)).errors
    assert [(e.pattern, e.path, e.line) for e in errors] == [
        ("cuda-library-not-found", FILE, None),
        ("exception", FILE, None),
    ]
    assert errors[1].groups == ("ImportError", message)


def test_an_import_that_crashes_says_what_its_stderr_says() -> None:
    facts = failing(
        "Illegal instruction", None, kind="signal", signal=4,
        traceback=f'Fatal Python error: Illegal instruction\n\nCurrent thread:\n  File "{FILE}", line 367 in <module>',
    )  # fmt: skip
    assert ("illegal-instruction", "import torch") in said(facts)


def test_an_exception_whose_class_is_not_known() -> None:
    facts = with_torch(GPU, "2.6.0+cu124", cuda_available=False, cuda_error="the driver has gone away")
    assert with_messages(facts).errors == (
        ErrorText(
            pattern="exception",
            text="the driver has gone away",
            groups=("", "the driver has gone away"),
            source="torch.cuda.init()",
        ),
    )


def test_the_same_message_from_two_places_is_heard_once() -> None:
    facts = with_torch(
        GPU, "2.6.0+cu124", cuda_available=False, cuda_error=NO_GPUS, warnings=(f"UserWarning: {NO_GPUS}",)
    )
    facts = replace(
        facts,
        probes=(
            ProbeResult(
                id="cuda:0", device="cuda:0", status="failed", stage="open", reason=f"RuntimeError: {NO_GPUS}",
                stages=(Stage(name="open", ok=False, ms=1.0, data={"exception": "RuntimeError", "message": NO_GPUS}),),
                stderr_tail=f"Traceback (most recent call last):\nRuntimeError: {NO_GPUS}",
            ),
        ),
    )  # fmt: skip
    assert said(facts) == [("no-cuda-gpus", "torch.cuda.init()"), ("exception", "torch.cuda.init()")]
    assert with_messages(with_messages(facts)) == with_messages(facts)


@pytest.mark.parametrize("code", sorted(CUDA_WORDS))
def test_a_code_of_cuinit_is_put_into_words(code: int) -> None:
    errors = with_messages(replace(GPU, nvidia=replace(GPU.nvidia, cuinit=code))).errors
    assert errors
    assert all(f"Error {code}: {CUDA_WORDS[code]}" in e.text and e.source == "cuInit" for e in errors)


@pytest.mark.parametrize(
    ("code", "row"),
    [
        (46, "cuda-devices-busy"), (100, "no-cuda-device-detected"), (101, "cuda-error-101"),
        (214, "uncorrectable-ecc"), (304, "cuda-error-304"), (500, "cuda-error-500"), (802, "cuda-error-802"),
        (803, "cuda-error-803"), (804, "cuda-error-804"), (999, "cuda-error-999"),
    ],
)  # fmt: skip
def test_codes_that_a_row_knows(code: int, row: str) -> None:
    assert (row, "cuInit") in said(replace(GPU, nvidia=replace(GPU.nvidia, cuinit=code)))


def test_a_code_without_words_is_still_a_failure() -> None:
    assert said(replace(GPU, nvidia=replace(GPU.nvidia, cuinit=712))) == [("line", "cuInit")]


def test_no_device_is_no_failure_where_there_is_none() -> None:
    empty = linux()
    assert said(replace(empty, nvidia=replace(empty.nvidia, libcuda="/usr/lib/libcuda.so.1", cuinit=100))) == []


def test_nvidia_smi_and_a_line_of_it_that_no_row_knows() -> None:
    lost = replace(GPU, nvidia=replace(GPU.nvidia, smi_error="No devices were found"))
    assert said(lost) == [("smi-no-devices", "nvidia-smi")]
    new = replace(GPU, nvidia=replace(GPU.nvidia, smi_error="Failed to query the GPU: Wrong Phase of Moon"))
    assert said(new) == [("line", "nvidia-smi")]


@pytest.mark.parametrize(
    ("host", "heard"), [({}, False), ({"container": "docker"}, True), ({"wsl": 2}, True), ({"sandbox": "gvisor"}, True)]
)
def test_nvidia_smi_has_nothing_to_find_where_no_gpu_can_be(host: dict[str, object], heard: bool) -> None:
    facts = linux(**host)
    facts = replace(facts, nvidia=replace(facts.nvidia, smi_error="Failed to initialize NVML: Unknown Error"))
    assert bool(said(facts)) is heard
    assert said(replace(facts, gpus=None))
    assert said(replace(facts, nvidia=replace(facts.nvidia, kernel_module="550.54.15")))


def test_a_tool_is_heard_where_a_gpu_of_its_maker_may_be() -> None:
    error = Source(name="rocminfo", status="failed", message="Unable to open /dev/kfd read-write: Permission denied")
    missing = Source(name="rocminfo", status="absent", message="not found")
    amd = with_amd(linux(), "AMD Radeon RX 7900 XTX")
    assert ("kfd-permission-denied", "rocminfo") in said(replace(amd, amd=replace(amd.amd, sources=(error,))))
    assert said(replace(amd, amd=replace(amd.amd, sources=(missing,)))) == []
    assert said(replace(GPU, amd=replace(GPU.amd, sources=(error,)))) == []


def test_a_tool_that_is_not_there_says_nothing() -> None:
    facts = linux()
    absent = (
        Source(name="nvidia-smi", status="absent", message="nvidia-smi: not found"),
        Source(name="libcuda", status="absent", message="libcuda.so.1: cannot open shared object file"),
    )
    assert said(replace(facts, nvidia=replace(facts.nvidia, sources=absent))) == []


def test_a_probe_that_crashed_is_heard_by_its_stderr() -> None:
    tail = "CUDA error: no kernel image is available for execution on the device\nterminate called"
    crashed = ProbeResult(id="cuda:0", device="cuda:0", status="crashed", stage="kernel", signal=6, stderr_tail=tail)
    found = said(replace(GPU, probes=(crashed,)))
    assert found == [("no-kernel-image", "probe of cuda:0"), ("line", "probe of cuda:0")]
    assert said(replace(GPU, probes=(replace(crashed, status="ok"),))) == []


def test_wrong_results_are_measured_and_not_said() -> None:
    wrong = ProbeResult(
        id="cpu", device="cpu", status="failed", stage="correct", reason="wrong results: error 0.3 in matmul",
        data={"wrong": ["error 0.3 in matmul"]},
    )  # fmt: skip
    assert said(replace(linux(), probes=(wrong,))) == []


def test_a_python_that_does_not_start() -> None:
    message = "Fatal Python error: init_fs_encoding: failed to get the Python codec of the filesystem encoding"
    broken = replace(linux().interpreter, start_failure=StartFailure(kind="crashed", message=message))
    assert said(replace(linux(), interpreter=broken)) == [("python-fatal-at-start", "the target's Python")]
    gone = replace(broken, start_failure=StartFailure(kind="not-found", message="/x/python was not found"))
    assert said(replace(linux(), interpreter=gone)) == []


def test_what_was_recognised_before_stays_first() -> None:
    before = ErrorText(pattern="no-cuda-gpus", text=f"RuntimeError: {NO_GPUS}", source="message", line=3)
    facts = with_torch(replace(GPU, errors=(before,)), "2.6.0+cu124", cuda_error=NO_GPUS)
    assert with_messages(facts).errors[0] is before
    assert {e.pattern for e in with_messages(facts).errors} == {"no-cuda-gpus", "exception"}


@table("row", lookup.error_patterns, ids=lambda row: row.id)
def test_every_row_is_recognised_live_by_its_example(row: lookup.ErrorPattern) -> None:
    tail = ProbeResult(id="cpu", device="cpu", status="crashed", stage="kernel", stderr_tail=row.example, signal=6)
    assert row.id in {e.pattern for e in with_messages(replace(linux(), probes=(tail,))).errors}


def warning(facts: Facts, text: str) -> Facts:
    assert isinstance(facts.torch, Torch)
    return replace(facts, torch=replace(facts.torch, warnings=(text,)))


MISMATCH = "Failed to initialize NVML: Driver/library version mismatch"
NO_HIP = "No HIP GPUs are available"
FOUND_NONE = "Found no NVIDIA driver on your system. Please check that you have an NVIDIA GPU and installed a driver"
CPU = with_torch(linux(), "2.6.0+cpu", cuda_available=False, devices=())
CUDA = with_torch(GPU, "2.6.0+cu124", cuda_available=True, devices=(device("cuda", "NVIDIA GeForce RTX 4090"),))


@pytest.mark.parametrize(
    "facts",
    [
        proven(with_torch(linux(), "2.6.0+cu124", cuda_available=False, devices=(), cuda_error=FOUND_NONE)),
        proven(with_torch(linux(), "2.6.0+rocm6.2", cuda_available=False, devices=(), cuda_error=NO_HIP)),
        proven(replace(CPU, nvidia=replace(CPU.nvidia, libcuda="/usr/lib/libcuda.so.1", cuinit=100))),
        proven(replace(CPU, nvidia=replace(CPU.nvidia, smi_error="NVIDIA-SMI has failed because it couldn't"))),
        proven(replace(CUDA, nvidia=replace(CUDA.nvidia, smi_error=MISMATCH)), "cuda:0"),
        proven(warning(CUDA, "FutureWarning: The pynvml package is deprecated."), "cuda:0"),
        proven(warning(CUDA, "UserWarning: Failed to initialize NumPy: No module named 'numpy'"), "cuda:0"),
        proven(warning(CUDA, "[W NNPACK.cpp:64] Could not initialize NNPACK! Reason: Unsupported hardware."), "cuda:0"),
        proven(warning(CUDA, "UserWarning: NVIDIA GeForce RTX 4090 with CUDA capability sm_89 is not compatible with "
                             "the current PyTorch installation."), "cuda:0"),
    ],
    ids=["CUDA build, no GPU", "ROCm build, no GPU", "libcuda, no GPU", "nvidia-smi, no GPU", "a stray nvidia-smi",
         "a future warning", "no NumPy", "NNPACK", "a warning that is wrong"],
)  # fmt: skip
def test_what_is_said_on_a_healthy_machine_is_no_fault(facts: Facts) -> None:
    made = judged(with_messages(facts))
    assert made.verdict.value == "healthy", made.verdict.unproven
    assert not [f for f in made.account.findings if f.severity == "fault"]
