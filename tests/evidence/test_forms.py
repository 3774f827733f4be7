"""The form of a text does not change what is read from it, nor the verdict. The forms are those of scripts/prove_forms.py,
which tries them on every case; here it is every third (TORCHDOCTOR_TEST_ALL=1: all)."""

import importlib.util
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from doctor.evidence.read import read
from doctor.evidence.text import document
from doctor.knowledge.lookup import error_patterns
from doctor.model.facts import Facts
from tests.sample import every

ROOT = Path(__file__).parent.parent.parent
SPEC = importlib.util.spec_from_file_location("prove_forms", ROOT / "scripts" / "prove_forms.py")
assert SPEC is not None
assert SPEC.loader is not None
prove_forms = importlib.util.module_from_spec(SPEC)
sys.modules["prove_forms"] = prove_forms
SPEC.loader.exec_module(prove_forms)

BANK = list(prove_forms.cases([ROOT / "tests" / "cases" / "bank"]))
SOME = every(3, BANK)
OTHER_FACTS = {"wrapped", "wrapped at 80", "blocks reordered"}  # may lose a fact of less weight, never the verdict


def essence(facts: Facts) -> Facts:
    """Facts without what depends on lines and layout."""
    errors = tuple(sorted({e.pattern for e in facts.errors} & {p.id for p in error_patterns()}))
    attempts = tuple(replace(a, message="", command=None) for a in facts.attempts)
    return replace(facts, origins={}, gaps=(), errors=errors, attempts=attempts)  # type: ignore[arg-type]


@pytest.mark.parametrize("form", [f for f in prove_forms.FORMS if f not in OTHER_FACTS])
def test_no_form_changes_a_fact(form: str) -> None:
    different = []
    for name, text, _ in SOME:
        if form == "cp1252" and not text.isascii():
            continue
        plain, changed = (read([("x", data)]).facts for data in (text.encode(), prove_forms.FORMS[form](text)))
        if essence(plain) != essence(changed):
            different.append(name)
    assert not different


@pytest.mark.parametrize("form", sorted(OTHER_FACTS))
def test_no_form_changes_a_verdict(form: str) -> None:
    different = []
    for name, text, date in SOME:
        plain, changed = (prove_forms.judged(data, date) for data in (text.encode(), prove_forms.FORMS[form](text)))
        if prove_forms.essence(plain) != prove_forms.essence(changed):
            different.append(name)
    assert not different


WRAPS = {
    "at a space": ("ERROR: Could not install packages due to an OSError: [Errno 28] No space left on", "device"),
    "after a long word": ("ImportError:", "/usr/local/lib/python3.10/dist-packages/exllama_kernels.cpython-310-x86_64-linux-gnu.so:",
                          "undefined symbol: _ZN3c104cuda9SetDeviceEi"),
    "before a bracket": ("ImportError:", "dlopen(/Users/user/venv/lib/python3.8/site-packages/torch/_C.cpython-38-darwin.so,",
                         "0x0002): tried: (mach-o file, but is an incompatible architecture (have"),
    "of the last column": ("|   0  NVIDIA GeForce RTX 4090        Off | 00000000:01:00.0 Off |", "Off |"),
}  # fmt: skip
APART = (
    ("OSError                                   Traceback (most recent call last)", "File ~/venv/lib/a.py:27, in <module>"),
    ("Tried to allocate 518.00 MiB is what the error message of this program said now.", "GPU 0: NVIDIA L4"),
    ("Successfully installed filelock-3.18.0 torch-2.7.0+cpu typing-extensions-4.13.2", "root@5d1c:/# python x.py"),
    ("  Referenced from: /Users/user/lib/python3.7/site-packages/_torch_sox.cpython-37.so", "  Expected in: flat namespace"),
)  # fmt: skip


@pytest.mark.parametrize("lines", WRAPS.values(), ids=WRAPS)
def test_a_wrapped_line_is_put_together(lines: tuple[str, ...]) -> None:
    assert document("x", "\n".join(lines).encode()).text == " ".join(lines)


@pytest.mark.parametrize("lines", APART)
def test_what_begins_anew_stays_apart(lines: tuple[str, str]) -> None:
    assert document("x", "\n".join(("Here:", *lines)).encode()).lines == ("Here:", *lines)


def test_a_word_cut_at_the_width_is_put_together() -> None:
    said = "ERROR: Could not find a version that satisfies the requirement torch==2.4.1 (from versions: 2.2.0, 2.2.2)"
    assert document("x", prove_forms.folded(said).encode()).text == said


SHORT = [case for case in BANK if len(case[1]) < 1_500][::6]


@pytest.mark.parametrize("form", prove_forms.PREFIXES)
def test_no_prefix_changes_a_verdict(form: str) -> None:
    different = []
    for name, text, date in SHORT:
        plain, changed = (prove_forms.judged(data, date) for data in (text.encode(), prove_forms.PREFIXES[form](text)))
        before, after = (prove_forms.essence(made)[:2] for made in (plain, changed))
        complains = "greeting" in form and plain.verdict == "healthy"  # who says that it fails is not called healthy
        if before != after and not complains:
            different.append(name)
    assert len(SHORT) > 5
    assert not different


@pytest.mark.parametrize("share", range(4))
def test_no_two_prefixes_change_a_line(share: int) -> None:
    text = "Traceback (most recent call last):\n  File \"a.py\", line 3, in <module>\n    main()\n\n| a | b |\nKeyError: 'x'"
    for form in list(prove_forms.PAIRS.values())[share::4]:
        assert document("x", form(text)).lines == document("x", text.encode()).lines


def test_a_line_keeps_its_number_behind_a_prefix() -> None:
    text = "[rank0]: a\n12 | b\n[rank0]: \n[rank0]: 2025-03-04 12:00:00,1 - app - ERROR - RuntimeError: c"
    made = document("x", text.encode())
    assert made.lines == ("a", "12 | b", "", "RuntimeError: c")
    assert made.numbers == (1, 2, 3, 4)


NO_PREFIX = (
    "| a | b |\n|---|---|\n| 1 | 2 |",
    "GPU   | VRAM\n3090  | 24\n4090  | 24\nP40   | 24",
    "Total time: 3\n1: x\n2: y",
    "Sat Nov 22 11:45:12 2025\n12:00:00 up 3 days",
    "[W socket.cpp:464] [c10d] The server socket has failed\n[Rank 0] Watchdog caught collective operation timeout",
)


@pytest.mark.parametrize("text", NO_PREFIX)
def test_what_is_no_prefix_stays(text: str) -> None:
    assert document("x", text.encode()).lines == tuple(text.split("\n"))
