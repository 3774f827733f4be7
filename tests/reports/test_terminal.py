"""The look of docs/design.md section 8, and what no input may do to a terminal."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doctor.model.finding import Evidence
from doctor.model.fix import Fix, Plan, Step
from doctor.model.report import Target
from doctor.reports import layers, remedies, terminal, verdict
from tests.reports.samples import (
    ALL,
    CPU_ONLY,
    CRASHED,
    FAULTY,
    FIX,
    HEALTHY,
    HOSTILE,
    LIMITED,
    LONG_COMMAND,
    MAC,
    OWN_ERROR,
    UNEXPLAINED,
    UNKNOWN,
    report,
)


@pytest.mark.parametrize("name", ALL)
def test_looks(name: str, snapshot) -> None:
    assert terminal.render(ALL[name]) == snapshot


def test_verbose_adds_what_was_not_looked_at() -> None:
    text = terminal.render(FAULTY, verbose=True)
    assert "Not judged" in text
    assert "nvidia.sources is not known: not looked" in text


def test_quiet_is_the_verdict() -> None:
    said = terminal.render(FAULTY, quiet=True)
    assert said.startswith("1 fault: nvidia-driver-too-old; 1 warning: companion-mismatch.")


def test_one_line_per_layer_with_its_mark() -> None:
    marks = {row.layer: row.mark for row in layers.rows(FAULTY)}
    assert marks == {
        "machine": "ok",
        "driver": "!!",
        "interpreter": "ok",
        "torch": "^",
        "libraries": "!",
        "device": "-",
    }


@pytest.mark.parametrize(
    ("sample", "sentence"),
    [
        (HEALTHY, "Nothing is wrong: torch can use the RTX 4090."),
        (MAC, "Nothing is wrong: torch can use the Apple M1 Pro."),
        (CPU_ONLY, "Nothing is wrong: torch works on the CPU; this machine has no GPU that it could use."),
        (UNKNOWN, "No verdict: nothing in this text was recognised."),
        (OWN_ERROR, "Nothing is wrong: torch can use the RTX 4090. The error «KeyError: 'x'» (line 3) is the program's "
         "own, not the environment's."),
        (LIMITED, "No fault in what was asked for (--no-probe); the rest was not judged."),
        (UNEXPLAINED, "No verdict: why torch does not use NVIDIA A100-SXM4-80GB is not known."),
        (FAULTY, "1 fault: nvidia-driver-too-old; 1 warning: companion-mismatch."),
    ],
)
def test_verdict(sample, sentence: str) -> None:
    assert verdict.sentence(sample) == sentence


def test_unknown_gpus_are_not_called_absent() -> None:
    sample = report(replace(CPU_ONLY.facts, gpus=None))
    assert "whether there is a GPU is not known" in verdict.sentence(sample)


def test_a_crashed_probe_names_stage_and_signal() -> None:
    assert "cuda:0 crashed in stage allocate (signal 11)" in terminal.render(CRASHED)


def test_commands_are_never_wrapped_or_cut() -> None:
    assert " ".join(LONG_COMMAND) in terminal.render(FAULTY, width=60)


def test_prose_keeps_to_the_width() -> None:
    commands = {remedies.step_command(s) for f in (FIX, *FIX.alternatives) for s in f.steps}
    for width in (60, 80, 100):
        for line in terminal.render(FAULTY, width=width).splitlines():
            assert len(line) <= width or line.strip() in commands


def test_the_time_stands_at_the_right() -> None:
    seconds = f"{HEALTHY.duration_ms / 1000:.1f} s"
    for width in (42, 44, 46, 48, 60, 80):  # beside the verdict, and below it where that leaves no room
        lines = terminal.render(HEALTHY, width=width).splitlines()
        assert [line for line in lines if line.endswith(seconds) and len(line) == width], width


def test_colour_only_adds() -> None:
    import re

    coloured = terminal.render(FAULTY, color=True)
    assert "\x1b[" in coloured
    plain = terminal.render(FAULTY)
    assert "\x1b" not in plain
    stripped = "\n".join(line.rstrip() for line in re.sub(r"\x1b\[[0-9;]*m", "", coloured).splitlines())
    assert stripped == plain.rstrip("\n")


def test_own_words_are_ascii() -> None:
    assert terminal.render(FAULTY).isascii()


def test_foreign_text_is_shown_but_harmless() -> None:
    text = terminal.render(HOSTILE, verbose=True)
    assert "[bold]x[/bold]" in text
    assert not set(text) & {"\x1b", "\r", "\u202e", "\x07"}


@given(st.text(max_size=200))
def test_no_text_controls_the_terminal(foreign: str) -> None:
    finding = replace(
        FAULTY.findings[0], detail=foreign, evidence=(Evidence(fact=foreign, value=foreign, source=foreign),)
    )
    step = Step(text=foreign, shell=foreign)
    sample = replace(FAULTY, findings=(finding,), plan=Plan(fixes=(replace(FIX, steps=(step,)),)), unread=(foreign,))
    shown = terminal.render(sample, verbose=True).replace("\n", "")
    assert shown.isprintable() or not any(ord(c) < 32 or 127 <= ord(c) < 160 for c in shown)


def test_plan() -> None:
    text = terminal.render_plan(FAULTY.plan)
    assert "Update the driver to 525.60.13 or newer" in text
    assert " ".join(LONG_COMMAND) in text
    assert "companion-mismatch: no fix is known: no matching wheel is known" in text
    assert terminal.render_plan(Plan()) == "Nothing to fix.\n"


@pytest.mark.parametrize(
    ("target", "options"),
    [
        (Target(python="/a b/python", reason="--python"), " --python '/a b/python'"),
        (Target(python=None, reason="evidence", evidence=("a.txt", "stdin")), " --from a.txt --from -"),
        (Target(python="/x/python", reason="active environment"), ""),
    ],
)
def test_the_hint_names_the_same_target(target: Target, options: str) -> None:
    hint = next(
        line for line in terminal.render(replace(FAULTY, target=target)).splitlines() if "Commands only" in line
    )
    assert hint.endswith(f"torchdoctor fix --print-commands{options}")


def test_what_the_only_step_says_is_not_said_before_it() -> None:
    fix = Fix(finding="stdlib-shadowed", action="rename-file", title="Rename x.py.", steps=(Step(text="Rename x.py"),))
    assert terminal.render_plan(Plan(fixes=(fix,))).count("Rename x.py") == 1
    assert terminal.render_plan(Plan(fixes=(replace(fix, title="Call it by another name."),))).count("\n  Call it") == 1
