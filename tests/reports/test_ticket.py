"""The ticket: its looks, its size, and that whoever reads it back finds the same."""

from __future__ import annotations

import json
import random
import re
from dataclasses import replace

import jsonschema
import pytest

from doctor.evidence import own_report
from doctor.model.facts import ErrorText, Facts, Gap, Package
from doctor.model.finding import Evidence
from doctor.model.fix import Plan
from doctor.model.report import Report
from doctor.model.request import Request
from doctor.pipeline import examine
from doctor.reports import block, markdown
from doctor.reports.json import schema
from tests.examples import linux, with_nvidia, with_packages, with_torch
from tests.reports.hostile import hostile_report, hostile_text, live_commands
from tests.reports.samples import ALL, CONSEQUENCE, FAULTY, FIX, HEALTHY, NOTE, TOO_OLD, UNEXPLAINED, WARNING
from tests.tickets import collect_env

OTHER = replace(TOO_OLD, id="companion-mismatch", layer="libraries", title="torchvision was made for another torch.")
LOOKS = {
    "healthy": HEALTHY,
    "one fault": replace(FAULTY, findings=(TOO_OLD,), plan=Plan(fixes=(FIX,))),
    "many": replace(FAULTY, findings=(TOO_OLD, OTHER, CONSEQUENCE, WARNING, NOTE)),
    "likely": replace(FAULTY, findings=(replace(TOO_OLD, confidence="likely"),)),
    "no verdict": UNEXPLAINED,
}


@pytest.mark.parametrize("name", LOOKS)
def test_looks(name: str, snapshot) -> None:
    assert markdown.render(LOOKS[name]) == snapshot


@pytest.mark.parametrize("name", ALL)
def test_shape(name: str) -> None:
    """Verdict in at most five lines, then findings, layers, folded parts, and one block between two marks."""
    text = markdown.render(ALL[name])
    head = text[: re.search(r"^(### |\| )", text, re.M).start()]  # type: ignore[union-attr]
    assert len([line for line in head.splitlines() if line]) <= 5
    assert len(text) <= markdown.LENGTH
    assert text.count(block.MARK) == 2
    assert text.count("```json") == 1
    _, json_block, _ = text.split(block.MARK)
    assert len(json_block) <= block.SIZE + 20
    assert json_block.strip().startswith("```json\n{")
    assert json_block.strip().endswith("}\n```")
    assert text.count("<details>") == text.count("</details>")


@pytest.mark.parametrize("name", ["faulty", "healthy", "mac", "crashed", "unexplained", "hostile"])
def test_facts_come_back(name: str) -> None:
    own = own_report.read(markdown.render(ALL[name]).encode())
    assert own
    assert own.facts == ALL[name].facts


def test_the_block_is_a_report_with_less() -> None:
    """What stands in it is valid by the schema; nothing is required there, and nothing else is added to the facts."""
    relaxed = json.loads(json.dumps(schema()), object_hook=lambda d: {k: v for k, v in d.items() if k != "required"})
    data = json.loads(block.made(FAULTY)[0])
    jsonschema.validate(data, relaxed, jsonschema.Draft202012Validator)
    assert {"verdict", "findings", "left_out", "facts"} <= data.keys()


def test_limits_come_back() -> None:
    facts = with_torch(with_nvidia(linux(), "NVIDIA GeForce RTX 4090"), "2.6.0+cu124", cuda_available=True)
    limits = ("--no-probe", "--device cuda:1", "--only gpu-hidden")
    limited = replace(HEALTHY, facts=facts, verdict="unknown", limits=limits)
    again = read(markdown.render(limited))
    assert again.limits == ("--no-probe", "--device cuda:1")
    assert again.facts.live
    assert not again.is_open


# ---- size


def huge() -> Report:
    """More of everything than fits."""
    packages = {f"nvidia-package-{n}": "1.2.3" for n in range(400)}
    facts = with_packages(FAULTY.facts, **packages, torchvision="0.21.0")
    facts = replace(
        facts,
        gaps=tuple(Gap(fact=f"host.x{n}", reason="unreadable", detail="because of this " * 6) for n in range(300)),
        interpreter=replace(facts.interpreter, sys_path=tuple(f"/a/long/folder/{n}" * 5 for n in range(100))),
        torch=replace(facts.torch, warnings=("w" * 9000,), loaded_libraries=tuple(f"lib{n}.so" for n in range(500))),
        errors=(ErrorText(pattern="line", text="e" * 400),),
        environ={f"CUDA_{n}": "x" * 100 for n in range(100)},
    )
    evidence = tuple(Evidence(fact="a", value="v" * 900) for _ in range(20))
    findings = tuple(
        replace(TOO_OLD, id=id, detail="d" * 3000, evidence=evidence)
        for id in ("nvidia-driver-too-old", "companion-mismatch", "gpu-hidden", "torch-cpu-only", "torch-missing")
    )
    return replace(FAULTY, facts=facts, findings=findings)


def test_what_does_not_fit_is_left_out_and_said() -> None:
    text = markdown.render(huge())
    assert len(text) <= markdown.LENGTH
    assert "left out" in text
    assert "### fault: `nvidia-driver-too-old`" in text
    own = own_report.read(text.encode())
    assert own
    assert own.facts.torch
    assert own.facts.torch.version == "2.6.0+cu124"
    left_out = json.loads(block.made(huge())[0])["left_out"]
    assert left_out[:2] == ["gaps.detail", "interpreter.sys_path"]
    assert "`interpreter.sys_path`" in text


def test_what_was_left_out_is_not_known_and_never_absent() -> None:
    own = own_report.read(markdown.render(huge()).encode())
    assert own
    gone = json.loads(block.made(huge())[0])["left_out"]
    gaps = {gap.fact for gap in own.facts.gaps}
    assert own.facts.interpreter.sys_path is None
    assert own.facts.packages is None or len(own.facts.packages) == 401
    assert {name for name in gone if name in ("packages", "environ", "torch.warnings", "interpreter.sys_path")} <= gaps


@pytest.mark.parametrize("seed", range(40))
def test_a_hostile_report_stays_one_ticket(seed: int) -> None:
    r = random.Random(seed)
    report = hostile_report(hostile_text(r) * r.choice((1, 50, 2000)), r.choice(list(ALL.values())))
    text = markdown.render(report)
    assert len(text) <= markdown.LENGTH
    assert text.count(block.MARK) == 2
    assert live_commands(text) == []
    assert len(block.made(report)[0]) <= block.SIZE


def test_ten_megabytes_in_a_field() -> None:
    facts = replace(FAULTY.facts, errors=(ErrorText(pattern="line", text="x" * 10_000_000),))
    text = markdown.render(replace(FAULTY, facts=facts, target=replace(FAULTY.target, python="p" * 10_000_000)))
    assert len(text) <= markdown.LENGTH


# ---- read back


def read(text: str, name: str = "issue.md") -> Report:
    return examine(Request(evidence=((name, text.encode()),)))


def outcome(report: Report) -> tuple[object, ...]:
    return report.verdict, [(f.id, f.severity, f.root, f.confidence, f.detail) for f in report.findings]


def broken() -> Report:
    """A report as the pipeline makes it, live."""
    from doctor.accounting.judgement import judged

    facts = with_packages(
        with_torch(
            with_nvidia(linux(), "NVIDIA GeForce RTX 4090", driver="470.256.02", driver_cuda="11.4"), "2.6.0+cu124",
            cuda_available=False,
        ),
        torchvision="0.20.0", numpy="2.1.3",
    )  # fmt: skip
    made = judged(facts)
    return replace(FAULTY, facts=facts, findings=made.account.findings, verdict=made.verdict.value)


def quoted(text: str) -> str:
    return "\n".join(f"> {line}" if line else ">" for line in text.splitlines())


CHANGES = {
    "as it is": lambda t: t,
    "quoted": quoted,
    "quoted twice, with an answer": lambda t: "On Monday somebody wrote:\n" + quoted(quoted(t)) + "\n\nThanks!",
    "CRLF": lambda t: t.replace("\n", "\r\n"),
    "quoted, CRLF": lambda t: quoted(t).replace("\n", "\r\n"),
    "edited around": lambda t: "### Describe the bug\nIt is slow.\n\n" + t[t.index("<details>") :] + "\nAny idea?",
    "without the marks": lambda t: t.replace(block.MARK, ""),
    "indented": lambda t: "\n".join("    " + line for line in t.splitlines()),
    "in a form's code block": lambda t: "### Environment\n\n```shell\n" + t + "\n```\n",
    "only the block": lambda t: t[t.index("```json") :],
    "with a BOM": lambda t: "\ufeff" + t,
    "twice": lambda t: t + "\n" + t,
    "after a block that was cut": lambda t: t[: t.index('"gpus"')] + "\n```\n" + t,
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_ticket_is_read_back(name: str) -> None:
    report = broken()
    assert report.verdict == "faulty"
    again = read(CHANGES[name](markdown.render(report)))
    assert outcome(again) == outcome(report)


def test_in_the_encoding_of_powershell() -> None:
    report = broken()
    again = examine(Request(evidence=(("issue.md", markdown.render(report).encode("utf-16")),)))
    assert outcome(again) == outcome(report)


@pytest.mark.parametrize("share", [0.3, 0.6, 0.9, 0.999])
def test_a_block_that_was_cut_is_said_and_the_text_is_read(share: float) -> None:
    text = markdown.render(broken())
    begin = text.index('"facts"')
    cut = text[: begin + int((text.rindex("```") - 4 - begin) * share)]
    again = read(cut)
    assert any(gap.detail == own_report.CUT for gap in again.facts.gaps)
    assert again.unread[0] == own_report.CUT
    assert again.verdict != "healthy"
    assert again.facts.torch
    assert again.facts.torch.version == "2.6.0+cu124"
    assert again.facts.nvidia.driver == "470.256.02"


def test_a_healthy_ticket_that_was_cut_is_not_healthy() -> None:
    text = markdown.render(read(collect_env("2.6.0+cu124")))
    assert read(text).verdict == "healthy"
    assert read(text[: text.index('"packages"')]).verdict == "unknown"


def test_a_changed_block_is_taken_without_what_cannot_be() -> None:
    text = markdown.render(broken()).replace('"driver":"470.256.02"', '"driver":"<script>"')
    again = read(text)
    assert any(gap.fact == "nvidia" and gap.reason == "unreadable" for gap in again.facts.gaps)
    assert again.verdict != "healthy"


def test_a_text_without_a_block_is_no_report() -> None:
    head = '{"schema": "1", "tool": "torchdoctor 1.0"'
    for text in ("", "{", head, head + ', "facts": {}}', head + ', "facts": 5}'):
        assert own_report.read(text.encode()) is None


def test_packages_without_a_path_are_the_same_packages() -> None:
    facts = replace(FAULTY.facts, packages=(Package(name="numpy", version="2.1.3", path="/x" * 12_000),))
    own = own_report.read(markdown.render(replace(FAULTY, facts=facts)).encode())
    assert own
    assert own.facts.packages == (Package(name="numpy", version="2.1.3"),)
    assert isinstance(own.facts, Facts)
