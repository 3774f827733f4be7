"""The Python interface: its stable names, and that using it has no side effects."""

from __future__ import annotations

import inspect
import subprocess
import sys
import typing

import pytest

import doctor

STABLE = [
    "ABSENT", "Comparison", "Facts", "Finding", "Fix", "Plan", "Report", "Step", "__version__", "compare", "examine",
    "judge", "plan",
]  # fmt: skip


def test_the_stable_names() -> None:
    assert sorted(doctor.__all__) == sorted(STABLE)
    for name in doctor.__all__:
        assert getattr(doctor, name) is not None


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'exmaine'"):
        doctor.exmaine  # noqa: B018


@pytest.mark.parametrize("name", ["compare", "examine", "judge", "plan"])
def test_functions_are_typed_and_documented(name: str) -> None:
    function = getattr(doctor, name)
    assert inspect.getdoc(function)
    assert set(inspect.signature(function).parameters) <= set(typing.get_type_hints(function))


def test_importing_it_loads_next_to_nothing() -> None:
    code = "import doctor, sys; print(sorted(m for m in sys.modules if m.startswith(('doctor.', 'click', 'rich'))))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == "[]"


def test_a_text_is_examined_without_a_word(capfd: pytest.CaptureFixture[str]) -> None:
    text = "$ pip list\nnumpy 2.0.0\n$ python -c 'import torch'\nModuleNotFoundError: No module named 'torch'"
    report = doctor.examine(evidence=text)
    steps = [s.argv for fix in doctor.plan(report, tool="uv").fixes for s in fix.steps if s.argv]
    assert steps
    assert steps[0][0] == "uv"


@pytest.mark.parametrize(
    ("call", "why"),
    [
        (lambda: doctor.examine(only=("gpu-hiden",), evidence="x"), "gpu-hiden"),
        (lambda: doctor.examine(evidence="x", timeout_s=0), "timeout_s"),
        (lambda: doctor.examine(evidence="x", require=("torch",)), "torch>=2.5"),
        (lambda: doctor.examine(evidence="x", require="torch>=2"), "several texts"),
        (lambda: doctor.plan(doctor.examine(evidence="x"), tool="npm"), "npm"),
        (lambda: doctor.judge("{"), "JSON"),
    ],
)
def test_senseless_arguments_are_value_errors(call: typing.Callable[[], object], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        call()


@pytest.mark.slow
def test_this_python_is_the_patient() -> None:
    report = doctor.examine(probe=False)
    assert report.target.python == sys.executable
    assert report.limits == ("--no-probe",)


def test_machines_are_compared() -> None:
    from tests.cli.test_compare import HIS, MINE

    mine = doctor.examine(evidence=MINE)
    comparison = doctor.compare(HIS, mine, names=("his", "mine"))
    [cause] = [d for d in comparison.differences if d.rank == "explains"]
    assert cause.explains[0].finding == "nvidia-driver-too-old"
    with pytest.raises(ValueError, match="1 names for 2 machines"):
        doctor.compare(HIS, mine, names=("his",))
    with pytest.raises(ValueError, match='cannot compare machine 2: it is a report of schema "7"'):
        doctor.compare(HIS, '{"schema": "7", "tool": "torchdoctor 9"}')


@pytest.mark.parametrize("text", ["torch \ud800 failed", "\udcff", "a\udfffb\n" * 9])
def test_a_text_with_bytes_that_nobody_could_decode_is_evidence_like_any_other(text: str) -> None:
    from doctor import agents

    assert doctor.examine(evidence=text).verdict == "unknown"
    assert doctor.examine(evidence={text: text}).verdict == "unknown"
    assert doctor.judge({"schema": "facts-1", "messages": [text]}).verdict == "unknown"
    assert agents.check(text)["verdict"] == "unknown"
    assert agents.plan(text=text)["verdict"] == "unknown"
    assert "questions" in agents.explain(text)
