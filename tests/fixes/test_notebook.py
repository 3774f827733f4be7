"""Plans for a Jupyter kernel's Python."""

from __future__ import annotations

from dataclasses import replace

import pytest

from doctor.checks.runner import judge
from doctor.fixes.notebook import RESTART
from doctor.fixes.plan import plan, script
from doctor.model.facts import ABSENT, Absent, Facts, Kernel, OtherEnvironment
from doctor.model.fix import Plan
from tests.examples import linux, with_nvidia, with_torch
from tests.fixes.situations import Wish, finding

FILE = "/usr/share/jupyter/kernels/ml/kernel.json"
NUMPY = ("install-package", {"package": "numpy", "spec": "<1.27"})
HIDDEN = ("unset-env", {"name": "CUDA_VISIBLE_DEVICES"})


def planned(kernel: Kernel | Absent | None, *remedies: Wish) -> Plan:
    facts: Facts = with_torch(with_nvidia(linux(), "NVIDIA GeForce RTX 4090"), "2.13.0+cpu")
    environ = {"CUDA_VISIBLE_DEVICES": "", "LD_LIBRARY_PATH": "/opt/lib"}
    facts = replace(facts, environ=environ, interpreter=replace(facts.interpreter, kernel=kernel))
    return plan([finding(f"finding-{n}", remedy) for n, remedy in enumerate(remedies)], facts)


def restarts(made: Plan) -> list[str]:
    return [fix.finding for fix in made.fixes if RESTART in fix.steps]


def test_a_kernel_is_restarted_once_and_at_the_end() -> None:
    made = planned(Kernel(), "reinstall-torch", NUMPY, "reboot")
    assert restarts(made) == ["finding-1"]
    assert script(made).count("Restart the kernel") == 1
    assert made.fixes[1].steps[-1] == RESTART


@pytest.mark.parametrize("kernel", [None, ABSENT])
def test_no_kernel_is_not_restarted(kernel: Absent | None) -> None:
    assert restarts(planned(kernel, "reinstall-torch", NUMPY)) == []


@pytest.mark.parametrize(
    ("details", "words"),
    [
        ({"path": "/e/bin/python", "kernel": "ML"}, 'Choose the kernel "ML" in the notebook'),
        ({"path": "/e/bin/python"}, "Make /e/bin/python a kernel"),
    ],
)
def test_another_environment_is_another_kernel(details: dict[str, str], words: str) -> None:
    (fix,) = planned(Kernel(), ("activate-environment", details)).fixes
    assert [(step.text.startswith(words), step.shell) for step in fix.steps] == [(True, None)]
    (fix,) = planned(ABSENT, ("activate-environment", details)).fixes
    assert fix.steps[0].shell is not None, "a terminal activates it"


def test_a_new_environment_is_a_new_kernel() -> None:
    wish: Wish = ("replace-interpreter", {"python": "3.11"})
    steps = planned(Kernel(), wish).fixes[0].steps
    assert steps[-1].text.startswith("Make its Python a kernel (by -m ipykernel install --user")
    assert not any(step.shell for step in steps)
    assert RESTART not in steps
    assert planned(ABSENT, wish).fixes[0].steps[-1].shell is not None


def test_the_check_says_which_kernel_has_torch() -> None:
    other = OtherEnvironment(python="/e/bin/python", torch="2.7.0", how='the Jupyter kernel "ML"', kernel="ML")
    facts = replace(linux(), torch=ABSENT)
    facts = replace(facts, interpreter=replace(facts.interpreter, others=(other,), kernel=Kernel()))
    _, found = judge(facts, ("wrong-environment",))
    assert '/e/bin/python has torch 2.7.0 (the Jupyter kernel "ML").' in found[0].detail
    (fix,) = plan(found, facts).fixes
    assert fix.steps[0].text.startswith('Choose the kernel "ML"')


def test_what_the_system_needs_does_not_restart_the_kernel() -> None:
    assert restarts(planned(Kernel(), "upgrade-driver")) == []


@pytest.mark.parametrize(
    ("kernel", "remedy", "words"),
    [
        (Kernel(name="ml", file=FILE, environ=("CUDA_VISIBLE_DEVICES",)), HIDDEN,
         f'Remove CUDA_VISIBLE_DEVICES in "env" of {FILE}'),
        (Kernel(name="ml", file=FILE), ("set-env", {"name": "A", "value": "1"}), f"Set A to '1' in \"env\" of {FILE}"),
        (Kernel(name="ml", file=FILE), HIDDEN, "import os; os.environ.pop('CUDA_VISIBLE_DEVICES', None)"),
        (Kernel(), ("set-env", {"name": "A", "value": "1"}), "import os; os.environ['A'] = '1'"),
        (Kernel(), ("unset-env", {"name": "LD_LIBRARY_PATH"}),
         'in the shell that starts Jupyter, or in "env" of its kernel.json'),
    ],
)  # fmt: skip
def test_variables_are_set_where_the_kernel_gets_them(kernel: Kernel, remedy: Wish, words: str) -> None:
    (fix,) = planned(kernel, remedy).fixes
    assert [step.shell for step in fix.steps] == [None, None], "no line for a terminal"
    assert fix.steps[0].text.endswith(words)
    assert fix.steps[-1] == RESTART
