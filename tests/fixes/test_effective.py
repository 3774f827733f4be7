"""A law over every case and every example that there is: no fix and no alternative is printed that leaves what its
finding rests on as it was. The suite draws some cases a day, TORCHDOCTOR_TEST_ALL=1 takes all."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from doctor.accounting.judgement import judged
from doctor.checks import all_checks
from doctor.evidence.read import read
from doctor.fixes.effective import cannot_cure, facts_after
from doctor.fixes.plan import plan
from doctor.knowledge import lookup
from doctor.model.facts import ErrorText, Facts
from doctor.model.finding import Finding
from doctor.model.fix import Fix
from scripts.tickets import tickets_below
from tests.example_case import Case, facts_of
from tests.examples import linux, mac, with_nvidia, with_packages, with_torch
from tests.fixes.situations import finding
from tests.sample import drawn

CASES = Path(__file__).parent.parent / "cases"


def cases() -> Iterator[tuple[str, Facts]]:
    for ticket in drawn(250, list(tickets_below([CASES])), "effective"):
        facts = read((("input.txt", ticket.said),)).facts
        yield f"{ticket.collection.name}/{ticket.name}", replace(facts, live=False, as_of=ticket.label["date"])


def examples(layer: str) -> Iterator[tuple[str, Facts]]:
    for check in all_checks():
        if check.layer != layer:
            continue
        module = importlib.import_module(f"tests.checks.{layer}.{check.id.replace('-', '_')}")
        for name, given in module.BAD.items():
            case = given if isinstance(given, Case) else Case(given)
            yield f"{check.id}: {name}", facts_of(case.what, case.as_of)


def offers(facts: Facts) -> Iterator[tuple[Fix, Finding, Facts]]:
    """Every fix and alternative of the plan for these facts, with its finding and the facts that it starts from."""
    findings = judged(facts).account.findings
    by_id = {found.id: found for found in reversed(findings)}
    for fix in plan(findings, facts).fixes:
        for one in (fix, *fix.alternatives):
            yield one, by_id[fix.finding], facts
        facts = facts_after(fix, facts)


def breaches(machines: Iterator[tuple[str, Facts]]) -> list[str]:
    return [
        f"{name}: {fix.finding}: {fix.title} {why}"
        for name, facts in machines
        for fix, found, now in offers(facts)
        if (why := cannot_cure(fix, found, now) or no_wheel(fix, now))
    ]


def no_wheel(fix: Fix, facts: Facts) -> str | None:
    """The build must exist for the Python that it goes into."""
    release, backend, python = fix.details.get("torch", ""), fix.details.get("backend", ""), fix.details.get("python")
    version = python or ".".join((facts.interpreter.version or "").split(".")[:2]) or None
    platform = lookup.platform_of(facts.host.system, facts.interpreter.architecture or facts.host.architecture)
    if not release or not release[0].isdigit() or not platform or fix.action in ("use-other-build", "upgrade-driver"):
        return None
    if fix.details.get("arch"):  # another platform
        return None
    return None if lookup.published(release, backend, platform, version) != "no" else f"is not made for {version}"


def test_cases() -> None:
    assert breaches(cases()) == []


@pytest.mark.parametrize("layer", ["machine", "driver", "interpreter", "torch", "libraries", "install", "run"])
def test_every_example(layer: str) -> None:
    assert breaches(examples(layer)) == []


RTX = with_torch(with_nvidia(linux(), "NVIDIA GeForce RTX 3090", driver="550.54.14"), "2.6.0+cu124")
BLACKWELL = with_nvidia(linux(), "NVIDIA GeForce RTX 5070", driver="570.86.16")
SAME = {"torch": "2.6.0", "backend": "cu124"}
STARTED = ErrorText(pattern="container-run", text="docker run --gpus all x", groups=("--gpus all",))


def fix(action: str, details: dict[str, str], of: str = "some-id") -> Fix:
    return Fix(finding=of, action=action, title="", details=details)


@pytest.mark.parametrize(
    ("action", "details", "of", "facts", "why"),
    [
        ("reinstall-torch", SAME, "nvidia-driver-too-old", RTX, "installed already"),
        ("reinstall-torch", SAME, "torch-install-broken", RTX, None),
        ("reinstall-torch", {"torch": "2.6.0", "backend": "cu126"}, "nvidia-driver-too-old", RTX, None),
        ("upgrade-torch", {"torch": "2.5.1", "backend": "cu124"}, "x", RTX, "older than"),
        ("downgrade-torch", {"torch": "2.7.0", "backend": "cu126"}, "x", RTX, "newer than"),
        ("reinstall-torch", {"torch": "2.6.0", "backend": "cpu"}, "torch-cpu-only", RTX, "CPU build"),
        ("reinstall-torch", {"torch": "2.15.0", "backend": "cu130"}, "x", RTX, "cannot run CUDA 13.0"),
        ("install-torch", {"torch": "2.4.1", "backend": "cu121"}, "x", BLACKWELL, "no code"),
        ("install-torch", {"torch": "2.7.1", "backend": "cu128"}, "x", BLACKWELL, None),
        ("upgrade-driver", {"minimum": "525.60.13"}, "x", RTX, "550.54.14 is installed"),
        ("upgrade-driver", {"minimum": "580"}, "x", RTX, None),
        ("install-driver", {"minimum": "450", "last": "470"}, "x", RTX, None),
        ("set-env", {"name": "A", "value": "1"}, "x", replace(RTX, environ={"A": "1"}), "A is 1 already"),
        ("set-env", {"name": "A", "value": "2"}, "x", replace(RTX, environ={"A": "1"}), None),
        ("unset-env", {"name": "A"}, "x", replace(RTX, environ={}), "not set"),
        ("unset-env", {"name": "A"}, "x", replace(RTX, environ={}, live=False), None),
        ("container-flag", {"flag": "--gpus all"}, "x", replace(RTX, errors=(STARTED,)), "started with --gpus all"),
        ("container-flag", {"flag": "--shm-size=8g"}, "x", replace(RTX, errors=(STARTED,)), None),
        ("upgrade-os", {"minimum": "14.0"}, "x", mac(macos="15.2"), "installed already"),
        ("replace-interpreter", {"python": "3.12"}, "x", RTX, "is what is there"),
        ("replace-interpreter", {"python": "3.12", "arch": "arm64"}, "x", RTX, None),
        ("activate-environment", {"path": "/home/u/ml/.venv/bin/python"}, "x", RTX, "is what runs"),
        ("pin-package", {"package": "numpy", "spec": "<2"}, "x", with_packages(RTX, numpy="1.26.4"), "installed"),
        ("pin-package", {"package": "numpy", "spec": "<2"}, "x", with_packages(RTX, numpy="2.0.1"), None),
        ("reinstall-package", {"package": "numpy"}, "x", with_packages(RTX, numpy="2.0.1"), None),
    ],
)  # fmt: skip
def test_what_cannot_cure(action: str, details: dict[str, str], of: str, facts: Facts, why: str | None) -> None:
    reason = cannot_cure(fix(action, details, of), finding(of), facts)
    assert reason is None if why is None else why in (reason or "")


def test_the_gpu_that_the_finding_names_counts_where_the_facts_know_none() -> None:
    found = replace(finding("gpu-too-new-for-build"), values={"gpu": "RTX 5070", "capability": "12.0"})
    old = fix("reinstall-torch", {"torch": "2.4.1", "backend": "cu118"})
    assert "RTX 5070" in (cannot_cure(old, found, replace(linux(), gpus=None)) or "")


def test_a_plan_takes_the_build_behind_the_one_that_is_there() -> None:
    """The machine's best build is installed, and crashed its device: another one is the cure."""
    (made,) = plan([finding("device-crashes", "reinstall-torch")], RTX).fixes
    assert made.details["torch"] == "2.6.0"
    assert made.details["backend"] != "cu124"


def test_what_follows_a_driver_starts_from_it() -> None:
    driver = fix("upgrade-driver", {"minimum": "580"})
    assert facts_after(driver, RTX).nvidia.driver == "580"
    assert facts_after(driver, replace(RTX, nvidia=replace(RTX.nvidia, driver=None))).nvidia.driver is None


def test_where_nothing_can_cure_the_reason_is_said() -> None:
    made = plan([finding("library-path-conflict", "reinstall-torch")], RTX)
    assert made.unfixed == (("library-path-conflict", "torch 2.6.0 (cu124) is installed already"),)


PYTHON_314 = """\
$ python --version
Python 3.14.0
$ pip install torch==1.13.1+cu117 --extra-index-url https://download.pytorch.org/whl/cu117
ERROR: Could not find a version that satisfies the requirement torch==1.13.1+cu117 (from versions: 2.9.0, 2.9.1)
ERROR: No matching distribution found for torch==1.13.1+cu117
"""


def planned(text: str) -> list[Fix]:
    facts = facts_of(text)
    return list(plan(judged(facts).account.findings, facts).fixes)


def test_the_python_for_a_release_gets_that_release() -> None:
    (made,) = planned(PYTHON_314)
    assert (made.details["torch"], made.details["backend"]) == ("1.13.1", "cu117")
    assert made.steps[2].argv is not None
    assert "torch==1.13.1" in made.steps[2].argv
    (other,) = made.alternatives
    assert other.details["torch"] != "1.13.1"
    assert other.assumes[0] == "another torch than 1.13.1, which was asked for, will do"


def test_a_release_that_no_python_can_have_here_is_said_to_be_left_aside() -> None:
    blackwell = PYTHON_314 + "$ nvidia-smi -L\nGPU 0: NVIDIA GeForce RTX 5070 (UUID: GPU-1)\n"
    (made,) = planned(blackwell)
    assert made.details["torch"] != "1.13.1"
    assert made.assumes[0].startswith("torch==1.13.1 (cu117), which was asked for, serves this machine in no Python")


def test_the_build_of_a_gpu_that_only_a_message_names_has_code_for_it() -> None:
    ticket = "Python 3.8.10\n>>> torch.__version__\n'2.4.1+cu121'\n" + (
        "NVIDIA GeForce RTX 5070 with CUDA capability sm_120 is not compatible with the current PyTorch installation.\n"
        "The current PyTorch install supports CUDA capabilities sm_50 sm_60 sm_70 sm_75 sm_80 sm_86 sm_90.\n"
    )
    (made,) = planned(ticket)
    assert made.action == "replace-interpreter"
    archs = lookup.arch_list_of(made.details["torch"], made.details["backend"], "linux_x86_64")
    assert lookup.runs_on("12.0", archs or (), lookup.cuda_of_backend(made.details["backend"])) != "no"


def test_a_release_from_before_the_tables_is_told_in_words() -> None:
    (made,) = planned((CASES / "blind/nvidia-linux/pytorch-31319/input.txt").read_text(encoding="utf-8"))
    assert made.action == "downgrade-torch"
    assert [step.argv for step in made.steps] == [None]
    assert "torch 1.2.0 or older" in made.steps[0].text


def test_a_python_that_only_pips_offer_tells_gets_no_torch_that_it_cannot_have() -> None:
    ticket = (
        "An RTX 5080.\n"
        "ERROR: Could not find a version that satisfies the requirement torch==2.7.0 (from versions: 1.4.0, 2.4.1)\n"
        "ERROR: No matching distribution found for torch==2.7.0\n"
    )
    (made,) = planned(ticket)
    assert made.details["torch"] == "2.7.0"
    assert not [other for other in made.alternatives if other.details["torch"] == "2.15.0"]


CONFLICT = """\
$ python --version
Python 3.10.12
xformers 0.0.27 requires torch==2.3.1, but you have torch 2.4.0 which is incompatible.
$ python -c "import torch; print(torch.__version__, torch.cuda.is_available())"
2.4.0+cpu False
$ nvidia-smi -L
GPU 0: NVIDIA GeForce RTX 3090 (UUID: GPU-1234)
"""


def test_what_pip_says_that_another_package_requires_is_kept_to() -> None:
    (package,) = [p for p in facts_of(CONFLICT).packages or () if p.name == "xformers"]
    assert package.requires == ("torch==2.3.1",)
    (made,) = planned(CONFLICT)
    assert made.details["torch"] == "2.3.1"
