import pytest

from doctor.evidence.installs import parse_command
from doctor.model.facts import ABSENT
from tests.evidence.tickets import facts, patterns

CU124 = "https://download.pytorch.org/whl/cu124"


@pytest.mark.parametrize(("command", "expected"), [
    ("pip install torch==2.5.1 --index-url " + CU124, ("pip", ("torch==2.5.1",), (CU124,))),
    ("python -m pip install -U 'torch>=2' torchvision --extra-index-url=" + CU124, ("pip", ("torch>=2", "torchvision"), (CU124,))),
    ("uv pip install torch --torch-backend cu124", ("uv", ("torch",), ("cu124",))),
    ("conda install pytorch pytorch-cuda=12.1 -c pytorch -c nvidia", ("conda", ("pytorch", "pytorch-cuda=12.1"), ("pytorch", "nvidia"))),
    ("venv\\Scripts\\pip.exe install -U torch==2.5.1", ("pip", ("torch==2.5.1",), ())),
    ("pip3 install -r requirements.txt && echo done", ("pip", (), ())),
    ("echo pip is nice", None),
])  # fmt: skip
def test_commands(command: str, expected: object) -> None:
    assert parse_command(command) == expected


def test_what_pip_offers() -> None:
    (attempt,) = facts(
        f"$ pip install torch==2.7.0 --index-url {CU124}\nLooking in indexes: {CU124}\n"
        "ERROR: Could not find a version that satisfies the requirement torch==2.7.0 (from versions: 2.5.1+cu124, 2.6"
        ".0+cu124)\n"
        "ERROR: No matching distribution found for torch==2.7.0\n"
    ).attempts
    assert (attempt.failed, attempt.offered, attempt.indexes) == (True, ("2.5.1+cu124", "2.6.0+cu124"), (CU124,))


def test_none_offered_is_known_to_be_none() -> None:
    (attempt,) = facts(
        "ERROR: Could not find a version that satisfies the requirement torch (from versions: none)\nERROR: No matchi"
        "ng distribution found for torch\n"
    ).attempts
    assert (attempt.requirements, attempt.offered) == (("torch",), ())


def test_the_wheel_names_the_python() -> None:
    seen = facts(
        "$ pip install torch\nCollecting torch\n  Downloading torch-2.0.1-cp38-cp38-manylinux1_x86_64.whl (619.9 MB)"
        "\nERROR: Could not install packages due to an OSError: [Errno 28] No space left on device\n"
    )
    assert (seen.attempts[0].wheel, seen.attempts[0].failed) == ("torch-2.0.1-cp38-cp38-manylinux1_x86_64.whl", True)
    assert (seen.interpreter.version, seen.host.system, seen.host.architecture) == ("3.8", "linux", "x86_64")


def test_no_torch_in_a_build_is_not_no_torch() -> None:
    text = (
        "$ pip install flash-attn\n  × Getting requirements to build wheel did not run successfully.\n"
        "      File \"<string>\", line 14, in <module>\n  ModuleNotFoundError: No module named 'torch'\n$ pip list | "
        "grep torch\ntorch   2.6.0\n"
    )
    assert facts(text).torch.version == "2.6.0"
    assert (
        facts(
            'Traceback (most recent call last):\n  File "/home/u/a.py", line 1, in <module>\nModuleNotFoundError: N'
            "o module named 'torch'\n"
        ).torch
        is ABSENT
    )


def test_torchvision_is_not_torch() -> None:
    assert facts("ModuleNotFoundError: No module named 'torchvision.ops.nms'\n").torch is None


def test_two_pythons() -> None:
    seen = facts(
        "In [1]: import torch\nModuleNotFoundError: No module named 'torch'\n\n$ python3 -c \"import torch; print('ok"
        "')\"\nok\n"
    )
    assert seen.torch is ABSENT
    assert [o.python for o in seen.interpreter.others] == ["python3"]


def test_the_message_of_uv() -> None:
    assert "uv-no-solution" in patterns(
        "  × No solution found when resolving dependencies:\n  ╰─▶ Because torch has no wheels with a matching Python"
        " ABI tag\n"
    )
