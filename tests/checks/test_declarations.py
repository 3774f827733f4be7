"""What every check declares of itself: true of its own examples, and of use where only a hypothesis is asked for."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest

from doctor import pipeline
from doctor.checks import Check, Fit, all_checks
from doctor.checks._accelerators import VENDORS, accelerators
from doctor.checks.runner import judge, run_check
from doctor.fixes.plan import ONLY_TOLD, plan
from doctor.model.facts import Facts, Host, ProbeResult
from doctor.model.finding import Finding
from tests.example_case import Case, facts_of
from tests.examples import device, linux, mac, windows, with_amd, with_nvidia, with_packages, with_torch
from tests.table import table
from tests.test_examples import examples_of

CHECKS = all_checks()
SYSTEMS = ("linux", "darwin", "windows")
MACHINES = Path(__file__).parents[1] / "machines"
HEALTHY = (
    "linux-rocm-7900xtx",
    "linux-rtx5090-driver-610",
    "linux-two-gpus",
    "macos-arm64",
    "macos-intel",
    "wsl2-rtx3080",
)
SPARSE = {
    "nothing known": Facts(live=False),
    **{system: Facts(live=False, host=Host(system=system)) for system in SYSTEMS},
    "a live Linux": linux(),
    "a live Mac": mac(),
    "a live Windows": windows(),
    "a GPU that torch does not use": with_torch(
        with_nvidia(linux(), "NVIDIA A100-SXM4-80GB", driver="550.54.15"), "2.6.0+cu124", cuda_available=False
    ),
}


@cache
def bad_examples(id: str) -> tuple[tuple[str, Case], ...]:
    cases = ((name, c if isinstance(c, Case) else Case(c)) for name, c in examples_of(id).BAD.items())
    return tuple(cases)


def found_examples(check: Check) -> Iterator[tuple[str, Facts, tuple[Finding, ...], bool]]:
    """The examples in which it is found: name, facts, findings, and whether it was made of facts, not of a text."""
    for name, case in bad_examples(check.id):
        facts = facts_of(case.what, case.as_of)
        outcome, findings = run_check(check, facts)
        if outcome.status == "found":
            yield name, facts, findings, isinstance(case.what, Facts)


# ---- what is declared exists


@table("check", CHECKS, ids=lambda c: c.id)
def test_declares_what_rules_it_out_and_what_is_usual(check: Check) -> None:
    assert check.needs
    assert check.usual
    assert set(check.systems) < set(SYSTEMS)
    assert set(check.keeps_from) <= set(VENDORS)
    assert check.keeps_from or not check.even_if_listed
    if check.severity == "note":
        assert [r.details.get("reason") for r in check.usual if r.action == "none"] != [None]


def field_exists(name: str) -> bool:
    kind: Any = Facts
    for part in name.split("."):
        if not dataclasses.is_dataclass(kind):
            return False
        hints = get_type_hints(kind)
        if part not in hints:
            return False
        kind = next((t for t in (hints[part], *get_args(hints[part])) if dataclasses.is_dataclass(t)), None)
    return True


@table("check", CHECKS, ids=lambda c: c.id)
def test_needs_are_facts_of_the_model(check: Check) -> None:
    names = [name for need in check.needs for name in need.split("|") if name != "messages"]
    assert [name for name in names if not field_exists(name)] == []


def test_a_misspelt_fact_is_none_of_the_model() -> None:
    assert field_exists("nvidia.driver")
    assert field_exists("torch")
    assert not field_exists("nvidia.drivers")
    assert not field_exists("host.system.name")


# ---- nothing is ruled out that is not known


@pytest.mark.parametrize("live", [True, False])
def test_of_nothing_nothing_is_ruled_out(live: bool) -> None:
    outcomes, _ = judge(Facts(live=live))
    assert {o.id: o.status for o in outcomes if o.status != "skipped"} == {}


def blanked(facts: Any, name: str) -> Any:
    """The facts without that one: not known. The names of variables stand for all of them."""
    head, _, rest = name.partition(".")
    if not dataclasses.is_dataclass(facts) or head not in {f.name for f in dataclasses.fields(facts)}:
        return facts
    value = getattr(facts, head)
    if rest and dataclasses.is_dataclass(value):
        return replace(facts, **{head: blanked(value, rest)})
    return replace(facts, **{head: None})


def without(facts: Facts, evidence: str) -> Facts:
    if evidence == "message":
        return replace(facts, errors=())
    return blanked(facts, evidence)


@table("check", CHECKS, ids=lambda c: c.id)
def test_without_what_a_finding_rests_on_it_is_not_ruled_out(check: Check) -> None:
    passed = []
    for name, facts, findings, of_facts in found_examples(check):
        for evidence in {e.fact for f in findings for e in f.evidence} if of_facts else ():
            outcome, _ = run_check(check, without(facts, evidence))
            if outcome.status == "passed":
                passed.append(f"{name}: without {evidence}")
    assert passed == []


def test_blanking_changes_the_facts() -> None:
    facts = with_nvidia(linux(), "NVIDIA GeForce RTX 4090")
    assert without(facts, "nvidia.driver").nvidia.driver is None
    assert without(facts, "gpus").gpus is None
    assert without(facts, "environ.LD_LIBRARY_PATH").environ is None
    assert without(facts, "a label") == facts


@table("check", CHECKS, ids=lambda c: c.id)
def test_its_own_examples_do_not_refute_it(check: Check) -> None:
    """Neither the system, nor a GPU in use, nor the fit can make impossible what was found."""
    for name, facts, findings, _ in found_examples(check):
        assert not check.systems or facts.host.system in (None, *check.systems), name
        enough = ("proven",) if check.even_if_listed else ("proven", "used")
        kept = [a for a in accelerators(facts) if a.vendor in check.keeps_from]
        in_use = bool(kept) and all(a.state in enough for a in kept)
        assert not in_use or all(f.severity != "fault" for f in findings), name
        fit = check.fits(facts) if check.fits else None
        assert fit is None or fit.factor > 0, f"{name}: {fit}"


@table("check", [c for c in CHECKS if c.fits], ids=lambda c: c.id)
def test_a_fit_has_an_opinion_on_something_and_says_why(check: Check) -> None:
    assert check.fits
    examples = [facts_of(c.what, c.as_of) for _, c in bad_examples(check.id)]
    good = [c if isinstance(c, Case) else Case(c) for c in examples_of(check.id).GOOD.values()]
    examples += [facts_of(c.what, c.as_of) for c in good]
    fits = [fit for facts in (*examples, *SPARSE.values()) if (fit := check.fits(facts))]
    assert fits
    for fit in fits:
        assert 0 <= fit.factor <= 10
        assert fit.why
        assert not fit.why.endswith(".")


# ---- a healthy machine rules nearly everything out


@pytest.mark.skipif(sys.platform == "win32", reason="the recorded tools are shell scripts")
@pytest.mark.parametrize("name", HEALTHY)
def test_a_recorded_healthy_machine_rules_nearly_everything_out(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TORCHDOCTOR_ROOT", str(MACHINES / name))
    _, facts, _ = pipeline.look_at_machine(pipeline.Request(), lambda stage: None)
    assert share_passed(facts) >= 0.9


def share_passed(facts: Facts) -> float:
    outcomes, _ = judge(facts)
    return sum(o.status == "passed" for o in outcomes) / len(outcomes)


def looked_at(facts: Facts, version: str, *devices: str, **torch: object) -> Facts:
    """A live machine of which all is known, its torch imported and its devices probed."""
    facts = with_torch(
        with_packages(facts, numpy="2.1.3"), version,
        **{
            "copies": (), "requires": (), "loaded_libraries": (), "numpy_works": True, "mps_available": False,
            "xpu_available": False, "arch_list": (), "devices": (), "cuda_available": False, **torch,
        },
    )  # fmt: skip
    return replace(
        facts,
        host=replace(facts.host, shm_bytes=8 << 30, cpu_model=facts.host.cpu_model or "AMD EPYC 7763"),
        interpreter=replace(facts.interpreter, platform_tag=facts.interpreter.platform_tag or "linux-x86_64"),
        intel=replace(facts.intel, level_zero=False),
        probes=tuple(ProbeResult(id=d, device=d, status="ok") for d in ("cpu", *devices)),
    )


BUILT = {
    "no GPU": looked_at(linux(), "2.6.0+cpu"),
    "RTX 4090": looked_at(
        with_nvidia(linux(), "NVIDIA GeForce RTX 4090"), "2.6.0+cu124", "cuda:0", cuda_available=True,
        arch_list=("sm_80", "sm_90"), devices=(device("cuda", "NVIDIA GeForce RTX 4090", capability="8.9"),),
    ),
    "RX 7900 XTX": looked_at(
        with_amd(linux(), "Radeon RX 7900 XTX", gfx="gfx1100"), "2.6.0+rocm6.2.4", "cuda:0", cuda_available=True,
        arch_list=("gfx1100",), devices=(device("cuda", "Radeon RX 7900 XTX", gfx="gfx1100"),),
    ),
    "RTX 3060 on Windows": looked_at(
        with_nvidia(windows(), "NVIDIA GeForce RTX 3060"), "2.6.0+cu124", "cuda:0", cuda_available=True,
        arch_list=("sm_80", "sm_86"), devices=(device("cuda", "NVIDIA GeForce RTX 3060", capability="8.6"),),
    ),
    "M1 Pro": looked_at(
        mac(), "2.6.0", "mps", mps_available=True, mps_built=True,
        devices=(device("mps", "Apple M1 Pro"),),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BUILT)
def test_a_healthy_machine_rules_nearly_everything_out(name: str) -> None:
    assert share_passed(BUILT[name]) >= 0.9


def test_a_machine_that_was_not_probed_rules_out_no_message() -> None:
    outcomes, _ = judge(replace(BUILT["RTX 4090"], probes=None))
    passed = {o.id for o in outcomes if o.status == "passed"}
    assert not passed & {"shared-library-missing", "extension-abi-mismatch", "cuda-out-of-memory", "device-crashes"}


def test_a_gpu_that_torch_only_lists_does_not_refute_what_lists_it_too() -> None:
    """A ROCm build lists a GPU that it has no code for: only the passed probe says otherwise."""
    facts = with_torch(
        with_amd(linux(), "AMD Radeon Graphics"), "2.6.0+rocm6.2.4", cuda_available=True,
        devices=(device("cuda", "AMD Radeon Graphics"),),
    )  # fmt: skip
    unsupported = next(c for c in CHECKS if c.id == "amd-gpu-unsupported")
    missing = next(c for c in CHECKS if c.id == "amd-driver-missing")
    assert run_check(unsupported, replace(facts, live=False))[0].status == "skipped"
    assert run_check(missing, replace(facts, gpus=facts.gpus, live=False))[0].status == "passed"
    proven = replace(facts, probes=(ProbeResult(id="cuda:0", device="cuda:0", status="ok"),))
    assert run_check(unsupported, proven)[0].status == "passed"


# ---- the usual remedies


def usual_plan(check: Check, facts: Facts):
    finding = Finding(
        id=check.id, layer=check.layer, severity=check.severity, title=check.title, detail="", remedies=check.usual
    )
    return plan([finding], facts)


@pytest.mark.parametrize("machine", SPARSE)
@table("check", CHECKS, ids=lambda c: c.id)
def test_the_usual_remedies_make_a_fix_or_say_why_not(check: Check, machine: str) -> None:
    facts = SPARSE[machine]
    if check.systems and facts.host.system and facts.host.system not in check.systems:
        return
    if check.id in ONLY_TOLD:
        assert usual_plan(check, facts).fixes == ()
        return
    made = usual_plan(check, facts)
    assert made.fixes or [reason for _, reason in made.unfixed if reason]
    for fix in made.fixes:
        assert fix.steps or fix.action == "none", fix.title


@pytest.mark.parametrize("machine", ["windows", "a live Windows", "darwin", "a live Mac"])
@table("check", CHECKS, ids=lambda c: c.id)
def test_no_command_of_linux_elsewhere(check: Check, machine: str) -> None:
    system = SPARSE[machine].host.system
    if check.systems and system not in check.systems:
        return
    made = usual_plan(check, SPARSE[machine])
    steps = [step for fix in made.fixes for one in (fix, *fix.alternatives) for step in one.steps]
    words = {word for step in steps for word in (step.argv or (step.shell or "").split())[:2]}
    linux_only = {"modprobe", "systemctl", "apt", "dnf"} | (
        {"sudo", "unset", "export"} if system == "windows" else set()
    )
    assert words & linux_only == set()


def test_the_fits_are_fits() -> None:
    facts = with_torch(with_nvidia(linux(), "NVIDIA A100-SXM4-80GB"), "2.6.0+cpu", cuda_available=False)
    fits: Mapping[str, Fit | None] = {c.id: c.fits(facts) for c in CHECKS if c.fits}

    def factor(id: str) -> float:
        fit = fits[id]
        return fit.factor if fit else 1.0

    assert factor("torch-cpu-only") > 3
    assert factor("nvidia-driver-missing") == 0
    assert factor("jetson-needs-vendor-wheel") == 0
    assert factor("wsl-driver-misconfigured") == 0
    assert factor("gpu-too-new-for-build") == 0
    assert factor("container-without-gpu") < 0.1


@pytest.mark.parametrize(
    ("gpu", "torch", "newer", "older"),
    [
        ("NVIDIA GeForce RTX 5070 Ti", None, 6, 0.1),
        ("NVIDIA GeForce RTX 5070 Ti", "2.6.0+cu124", 6, 0.02),
        ("NVIDIA GeForce RTX 5070 Ti", "2.8.0+cu128", 0.02, 0.02),
        ("NVIDIA GeForce RTX 4090", "2.6.0+cu124", 0.02, 0.02),
        ("NVIDIA GeForce RTX 4090", None, 0.1, 0.1),
        ("Tesla V100-SXM2-16GB", None, 0.1, 6),
        ("NVIDIA GeForce GTX 1080", "2.11.0+cu130", 0.02, 6),
    ],
)
def test_age_of_the_gpu(gpu: str, torch: str | None, newer: float, older: float) -> None:
    facts = with_nvidia(linux(), gpu)
    facts = replace(with_torch(facts, torch, cuda_available=True) if torch else facts, live=False)
    by_id = {c.id: c for c in CHECKS}
    for id, factor in (("gpu-too-new-for-build", newer), ("gpu-too-old-for-build", older)):
        fits = by_id[id].fits
        fit = fits(facts) if fits else None
        assert fit
        assert fit.factor == factor, fit.why


@pytest.mark.parametrize(
    ("gpu", "factor"),
    [
        ("NVIDIA A100-SXM4-80GB", 4), ("NVIDIA H100 80GB HBM3", 4), ("NVIDIA H200", 4), ("NVIDIA A100 80GB PCIe", 0.05),
        ("NVIDIA H100 PCIe", 0.05), ("NVIDIA H200 NVL", 0.05), ("NVIDIA GeForce RTX 4090", 0.05),
        ("Tesla V100-SXM2-16GB", 0.05), ("NVIDIA A100", 1),
    ],
)  # fmt: skip
def test_only_boards_with_nvswitch_need_the_fabric_manager(gpu: str, factor: float) -> None:
    fits = next(c.fits for c in CHECKS if c.id == "nvidia-fabric-manager-down")
    assert fits
    fit = fits(with_nvidia(linux(), gpu, cuinit=None))
    assert (fit.factor if fit else 1) == factor
