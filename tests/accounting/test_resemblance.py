"""A text that decides nothing gets the causes of tickets like it as hypotheses; one that leads is told as a warning."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from doctor.accounting import judgement
from doctor.checks import all_checks, check_of
from doctor.knowledge import words
from doctor.knowledge.words import Resemblance
from doctor.model.facts import Facts
from doctor.model.finding import Finding
from doctor.model.report import Report
from doctor.model.request import Request
from doctor.pipeline import examine
from doctor.reports import json as json_report
from doctor.reports import markdown

VAGUE = """\
Hello, I use the project's image with docker compose up on my server. It has a GeForce RTX 3080.
The container starts and then the web page says that it could not select a device driver with these capabilities.
Is there something that I have to add to the compose file, some deploy reservations of devices maybe?
Inside of the container everything runs on the processor and takes ages."""


def examined(text: str) -> Report:
    return examine(Request(evidence=(("ticket.txt", text.encode()),)))


def by_words(report: Report) -> list[str]:
    return [h.id for h in report.hypotheses if any("tickets that read like this one" in why for why in h.speaks_for)]


@pytest.fixture(scope="module")
def unknown() -> Report:
    text = VAGUE.replace("could not select a device driver with these capabilities", "something failed in there")
    return examined(text)


def test_the_causes_of_tickets_like_it_are_hypotheses(unknown: Report) -> None:
    assert unknown.verdict == "unknown"
    assert by_words(unknown)[0] == "container-without-gpu"
    assert all(f.severity == "warning" and f.confidence == "likely" for f in unknown.findings)
    assert unknown.questions


def test_it_is_said_how_many_tickets_are_known(unknown: Report) -> None:
    said = next(h for h in unknown.hypotheses if h.id == by_words(unknown)[0]).speaks_for[0]
    assert re.search(r"\(\d+ are known\)", said)


def test_every_hypothesis_is_a_check_and_none_that_is_ruled_out(unknown: Report) -> None:
    passed = {o.id for o in unknown.outcomes if o.status == "passed"}
    assert set(by_words(unknown)) <= {c.id for c in all_checks()} - passed


@pytest.mark.parametrize(
    "text",
    [
        "torch 2.5.1+cpu\nCUDA available: False\nGPU 0: NVIDIA GeForce RTX 3080\ndocker compose container",  # faulty
        "a list of what I want to buy: apples, bread and a new lamp",
        "",
    ],
)
def test_nothing_is_compared_where_a_fault_is_found_or_nothing_is_said_of_a_machine(text: str) -> None:
    assert not by_words(examined(text))


def test_a_report_of_ours_is_read_back_without_comparing_its_words(unknown: Report) -> None:
    healthy = examined("torch 2.5.1\nCUDA available: True\nCUDA runtime 12.4\n>>> torch.zeros(1).cuda()\ntensor([0.])")
    for text in (markdown.render(healthy), json_report.render(healthy)):
        assert not by_words(examined(text))


def test_a_cause_that_leads_is_told_as_a_warning_and_is_no_verdict() -> None:
    report = examined(VAGUE)
    told = [f for f in report.findings if f.id == "container-without-gpu"]
    assert [f.severity for f in told] in (["warning"], ["fault"])
    if told[0].severity == "warning":
        assert (told[0].confidence, report.verdict) == ("likely", "unknown")
        assert "proves it" in told[0].detail


@pytest.mark.parametrize(
    ("share", "rest", "told"), [(0.19, 0.1, ()), (0.21, 0.1, ("gpu-hidden",)), (0.9, 0.0, ("gpu-hidden",))]
)
def test_only_a_clear_leader_is_told(
    share: float, rest: float, told: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    alike = (Resemblance(cause="gpu-hidden", share=share, tickets=9), Resemblance(cause="x", share=rest, tickets=1))
    monkeypatch.setattr(words, "resemblances", lambda text, terms, traits: alike)
    report = examined("On Ubuntu 22.04 with a GeForce RTX 3080 my program does odd things.")
    assert tuple(f.id for f in report.findings) == told
    assert report.verdict == "unknown"


@pytest.mark.parametrize(("share", "told"), [(0.19, False), (0.21, True)])
def test_a_text_that_reads_like_a_question_describes_no_fault(
    share: float, told: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    alike = (Resemblance(cause="healthy", share=share, tickets=9),)
    monkeypatch.setattr(words, "resemblances", lambda text, terms, traits: alike)
    report = examined("May there be packages for Ubuntu 24.04 on a GeForce RTX 3080 some day?")
    assert [f.id for f in report.findings] == ["no-fault-described"] * told
    assert report.verdict == "unknown"


def test_a_known_message_is_no_question(monkeypatch: pytest.MonkeyPatch) -> None:
    alike = (Resemblance(cause="healthy", share=0.9, tickets=9),)
    monkeypatch.setattr(words, "resemblances", lambda text, terms, traits: alike)
    report = examined("Will this be fixed?\nRuntimeError: CUDA error: an illegal memory access was encountered")
    assert "no-fault-described" not in [f.id for f in report.findings]


@pytest.mark.parametrize("text", [
    "The windows of our kitchen are dirty again, and I wonder who could clean them before Sunday.",
    "My washing machine stops in the middle of the program and shows error E21. What else can I do?",
    "npm ERR! code ERESOLVE\nnpm ERR! ERESOLVE unable to resolve dependency tree\nnpm ERR! Found: react@18.2.0",
    "ERROR 1045 (28000): Access denied for user 'root'@'localhost' (using password: YES)",
    "Le train de 8 h 12 est encore en retard, combien de temps faut-il attendre avant d'être remboursé ?",
])  # fmt: skip
def test_a_text_about_something_else_has_no_cause(text: str) -> None:
    report = examined(text)
    assert (report.findings, report.hypotheses) == ((), ())


@pytest.mark.parametrize(("text", "cause"), [
    ("Segmentation Fault\nI started your code with the default parameters and what I got is a segmentation fault.",
     "device-crashes"),
    ("Converting is stuck\n\nThe conversion has been stuck at 52% for an hour, nothing moves any more", "device-slow"),
])  # fmt: skip
def test_a_text_need_not_name_the_field(text: str, cause: str) -> None:
    assert [f.id for f in examined(text).findings] == [cause]


def test_a_question_takes_the_place_of_a_guess_at_the_program(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "Traceback (most recent call last):\n  File \"a.py\", line 1, in <module>\nKeyError: 'x' on the GPU"
    alike = (Resemblance(cause="healthy", share=0.9, tickets=9),)
    monkeypatch.setattr(words, "resemblances", lambda text, terms, traits: alike)
    assert [f.id for f in examined(text).findings] in (["no-fault-described"], ["program-error"])


def test_limits_that_are_not_known_do_not_speak_against_a_full_memory() -> None:
    report = examined("Colab uses all the RAM there is and crashes\n\nIt happens in the step that loads the model")
    assert [f.id for f in report.findings] == ["process-limits"]


@pytest.mark.parametrize("text", ["gpu?", "cuda", "windows slow", "printer says hello", ""])
def test_of_a_few_words_nothing_is_concluded(text: str) -> None:
    assert examined(text).findings == ()


def test_a_cause_that_is_told_takes_the_place_of_a_guess_at_the_program(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "Traceback (most recent call last):\n  File \"a.py\", line 1, in <module>\nKeyError: 'x' on the GPU"
    assert [f.id for f in examined(text).findings] == ["program-error"]
    alike = (Resemblance(cause="gpu-hidden", share=0.9, tickets=9),)
    monkeypatch.setattr(words, "resemblances", lambda text, terms, traits: alike)
    assert [f.id for f in examined(text).findings] == ["gpu-hidden"]


@pytest.mark.parametrize(
    ("own", "other", "doubted"), [(0.1, 0.8, True), (0.3, 0.8, False), (0.1, 0.7, False), (None, 0.9, False)]
)
def test_a_likely_fault_that_tickets_like_it_did_not_have_is_a_hypothesis(
    own: float | None, other: float, doubted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    odds = {"torch-cpu-only": own, "extension-abi-mismatch": other}
    alike = tuple(Resemblance(cause=c, share=o, tickets=9, odds=o) for c, o in odds.items() if o is not None)
    monkeypatch.setattr(words, "resemblances", lambda text, terms, traits: alike)
    monkeypatch.setattr(words, "says", lambda terms, traits: {"torch-cpu-only": -1.0})
    monkeypatch.setattr(judgement, "judge", lambda facts, only: ((), (likely_fault("torch-cpu-only", facts),)))
    report = examined("On Windows with a GeForce RTX 3080 the program runs on the processor.")
    assert report.verdict == ("unknown" if doubted else "faulty")
    assert report.findings[0].id == ("extension-abi-mismatch" if doubted else "torch-cpu-only")


def test_a_fault_that_its_words_make_likelier_than_not_is_not_doubted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(words, "resemblances", lambda text, terms, traits: pytest.fail("the phrases were asked"))
    monkeypatch.setattr(words, "says", lambda terms, traits: {"torch-cpu-only": 0.1})
    monkeypatch.setattr(judgement, "judge", lambda facts, only: ((), (likely_fault("torch-cpu-only", facts),)))
    report = examined("On Windows with a GeForce RTX 3080 the program runs on the processor.")
    assert (report.verdict, report.findings[0].id) == ("faulty", "torch-cpu-only")


def test_a_certain_fault_is_never_doubted(monkeypatch: pytest.MonkeyPatch) -> None:
    alike = (Resemblance(cause="program-error", share=0.9, tickets=9, odds=0.9),
             Resemblance(cause="torch-cpu-only", share=0.01, tickets=9, odds=0.01))  # fmt: skip
    monkeypatch.setattr(words, "resemblances", lambda text, terms, traits: alike)
    certain = replace(likely_fault("torch-cpu-only", Facts()), confidence="certain")
    monkeypatch.setattr(judgement, "judge", lambda facts, only: ((), (certain,)))
    report = examined("On Windows with a GeForce RTX 3080 the program runs on the processor.")
    assert (report.verdict, report.findings[0].id) == ("faulty", "torch-cpu-only")


def likely_fault(id: str, facts: Facts) -> Finding:
    check = check_of(id)
    assert check is not None
    return check.found(facts, "It seems so.", evidence=("torch.version",), remedies=check.usual, confidence="likely")
