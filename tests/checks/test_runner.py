"""How outcomes, borders, roots and order are settled, on checks made for the purpose."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

from doctor.checks import Check, Rule, Unknown, gap_of, look_up
from doctor.checks.runner import run_check, settle
from doctor.model.facts import ABSENT, ErrorText, Facts, Gap, Gpu, Host, Nvidia, Torch
from doctor.model.finding import Finding


def made(id: str, layer: str = "torch", **more: object) -> Check:
    check = Check(**{"severity": "fault", **more})
    check.id, check.layer, check.title = id, layer, f"The title of {id}."
    return check


def settled(findings: list[Finding], *checks: Check) -> tuple[Finding, ...]:
    return settle(findings, {check.id: check for check in checks}.get)


def finding(check: Check, severity: str = "fault") -> Finding:
    return Finding(id=check.id, layer=check.layer, severity=severity, title=check.title, detail="")


def test_nothing_found_over_an_unknown_need_is_not_passed() -> None:
    check = made("a", needs=("nvidia.driver",))
    check(lambda facts: None)
    facts = Facts(gaps=(Gap(fact="nvidia", reason="timed-out", detail="no answer after 5 s"),))
    outcome, found = run_check(check, facts)
    assert (outcome.status, found) == ("skipped", ())
    assert outcome.reason == "nvidia.driver is not known: no answer after 5 s"


def test_absent_is_known() -> None:
    check = made("a", needs=("nvidia.driver", "torch.version"))
    check(lambda facts: None)
    outcome, _ = run_check(check, Facts(nvidia=Nvidia(driver=ABSENT), torch=ABSENT))
    assert outcome.status == "passed"


def test_the_four_outcomes() -> None:
    for judge, status in (
        (lambda f: None, "passed"),
        (lambda f: Unknown("no idea"), "skipped"),
        (lambda f: finding(made("a")), "found"),
        (lambda f: 1 / 0, "crashed"),
    ):
        check = made("a", needs=("torch",))
        check(judge)
        outcome, _ = run_check(check, Facts(torch=ABSENT))
        assert outcome.status == status
    assert "ZeroDivisionError" in outcome.reason


def test_a_rule_needs_its_message_and_its_facts() -> None:
    rule = Rule(
        errors=("e1",),
        detail="{0} is too old: {text}",
        when=lambda f, e: f.torch is ABSENT,
        unless=lambda f, e: not f.live,
    )
    check = made("a", rule=rule, needs=("torch",))
    error = ErrorText(pattern="e1", text="the words", groups=("4.2",), source="ticket", line=7)
    _, found = run_check(check, Facts(errors=(error,), torch=ABSENT))
    assert found[0].detail == "4.2 is too old: the words"
    assert found[0].evidence[0].source == "ticket, line 7"
    assert run_check(check, Facts(errors=(error,), torch=Torch()))[0].status == "passed"
    assert run_check(check, Facts(errors=(error,), torch=ABSENT, live=False))[0].status == "passed"
    assert run_check(check, Facts(torch=ABSENT))[0].status == "passed"
    assert run_check(check, Facts())[0].status == "skipped"


def test_what_cannot_occur_on_this_system_is_ruled_out() -> None:
    check = made("a", needs=("messages",), systems=("windows",))
    check(lambda facts: None)
    assert run_check(check, Facts(host=Host(system="linux")))[0].status == "passed"
    assert run_check(check, Facts(host=Host(system="windows")))[0].status == "skipped"


def test_wsl_is_a_linux_even_where_the_text_names_windows() -> None:
    check = made("a", needs=("messages",), systems=("linux",))
    check(lambda facts: None)
    assert run_check(check, Facts(host=Host(system="windows")))[0].status == "passed"
    assert run_check(check, Facts(host=Host(system="windows", wsl=2)))[0].status == "skipped"


def test_a_check_is_loaded_only_where_its_diagnosis_can_occur() -> None:
    """Asked in a fresh process. What is not loaded is ruled out all the same."""
    code = (
        "import sys; from doctor.checks.runner import judge; from doctor.model.facts import Facts, Host;"
        "said = judge(Facts(host=Host(system='linux'), live=False))[0];"
        "print([o.status for o in said if o.id == 'mps-op-missing'],"
        "*('doctor.checks.run.' + name in sys.modules for name in ('mps_op_missing', 'device_slow')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == "['passed'] False True"


def test_a_gpu_in_use_rules_out_what_would_keep_torch_from_it() -> None:
    check = made("a", needs=("nvidia.cuinit",), keeps_from=("nvidia",))
    check(lambda facts: None)
    seen = Facts(gpus=(Gpu(vendor="nvidia", name="RTX 4090"),))
    assert run_check(check, seen)[0].status == "skipped"
    assert run_check(check, replace(seen, torch=Torch(cuda="12.4", cuda_available=True)))[0].status == "passed"


def test_a_border_replaces() -> None:
    a, b = made("a", instead_of=("b",)), made("b", "driver")
    assert [f.id for f in settled([finding(a), finding(b)], a, b)] == ["a"]


def test_a_note_replaces_no_fault() -> None:
    a, b = made("a", instead_of=("b",), explains=("b",)), made("b")
    said = settled([finding(a, "note"), finding(b)], a, b)
    assert [(f.id, f.root) for f in said] == [("b", True), ("a", True)]


def test_consequences_name_their_root_and_come_after_it() -> None:
    a, b, c = made("a", "run", explains=("b",)), made("b", "machine", explains=("c",)), made("c", "machine")
    said = settled([finding(c), finding(b), finding(a)], a, b, c)
    assert [(f.id, f.explained_by) for f in said] == [("a", None), ("c", "b"), ("b", "a")]


def test_two_that_explain_each_other_both_stay_roots() -> None:
    a, b = made("a", explains=("b",)), made("b", explains=("a",))
    assert all(f.root for f in settled([finding(a), finding(b)], a, b))


def test_faults_come_before_warnings_and_layers_in_causal_order() -> None:
    run, driver, note = made("r", "run"), made("d", "driver"), made("n", "machine")
    findings = [finding(note, "note"), finding(run), finding(driver), finding(note, "warning")]
    said = [(f.id, f.severity) for f in settled(findings, run, driver, note)]
    assert said == [("d", "fault"), ("r", "fault"), ("n", "warning"), ("n", "note")]


def test_look_up_and_gap_of() -> None:
    assert look_up(Facts(torch=ABSENT), "torch.cuda") is ABSENT
    assert look_up(Facts(environ={"A": "1"}), "environ.A") == "1"
    assert gap_of(Facts(live=False), "host.macos").reason == "not-in-evidence"
