"""Planted secrets never leave, and what is none stays. `scripts/prove_redaction.py` plants everything; here is one of a kind."""

from __future__ import annotations

import dataclasses
import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import pairwise
from typing import Any, Literal, get_args, get_origin

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doctor.model.bench import BenchReport
from doctor.model.compare import Comparison
from doctor.model.facts import Declaration, Facts, Gap
from doctor.model.fleet import FleetReport
from doctor.model.report import Report, Target
from doctor.redaction import identities, secrets
from doctor.redaction import report as report_module
from doctor.redaction.fields import declared, hints_of, types_of_report, undeclared
from doctor.redaction.report import (
    LINES_AT_MOST,
    NOT_DECLARED,
    comparison_redaction,
    counted,
    find,
    redact,
    redact_bench,
    redact_fleet,
    redaction,
)
from doctor.redaction.spans import Span, merged
from doctor.redaction.words import ACCOUNTS, is_ordinary
from doctor.reports import json
from doctor.reports.bench import json as bench_json
from doctor.reports.compare import json as compare_json
from doctor.reports.fleet import json as fleet_json
from scripts import prove_redaction
from tests.redaction.planted import INNOCENT, KINDS, USERS, pasted, planted, spelled
from tests.reports.samples import FACTS, report
from tests.table import table

NOBODY = Target(python=None, reason="evidence")
ONE_OF_A_KIND = list(planted(seed=11, each=1))


def test_there_are_enough() -> None:
    assert len(KINDS) >= 40
    assert len(list(planted())) >= 300
    assert len(INNOCENT) >= 200
    assert len(USERS) >= 58


@table("one", ONE_OF_A_KIND, ids=lambda p: p.kind)
def test_nothing_planted_leaks(one) -> None:
    for sample in (prove_redaction.of_ticket(one), prove_redaction.live(one)):
        assert prove_redaction.leaks(one, prove_redaction.outputs(sample)) == [], one.line


@table("one", pasted, ids=lambda p: p.line[:40])
def test_nothing_pasted_leaks(one) -> None:
    assert len(one.value) >= 3
    shown = unread(one.line)[0]
    assert one.value.lower() not in shown.lower(), shown


def test_no_spelling_of_a_password_leaks() -> None:
    """Commands, code and sentences: on a line of its own, behind a prompt, and among other words."""
    spellings = list(spelled())
    assert len(spellings) >= 350
    for one in spellings:
        for line in (one.line, f"$ {one.line}", f"  {one.line}  "):
            assert one.value not in unread(line)[0], line


def test_what_is_planted_would_be_found_if_it_leaked() -> None:
    """The proof can fail: unredacted, every one of them is seen."""
    for one in ONE_OF_A_KIND:
        sample = replace(prove_redaction.live(one), redacted=True)  # «redacted already»: nothing is done
        assert prove_redaction.leaks(one, prove_redaction.outputs(sample)), one.line


def test_innocent_lines_stay() -> None:
    assert list(prove_redaction.changed_lines()) == []


@pytest.mark.slow
def test_users_with_ordinary_names_change_nothing_but_their_homes() -> None:
    assert list(prove_redaction.changed_by_users()) == []


# ---- every field


def test_every_field_is_declared() -> None:
    """In doctor/redaction/fields.py: whoever adds a field that can hold text says how it may leave."""
    assert list(undeclared()) == []


def test_an_undeclared_field_leaves_empty(monkeypatch) -> None:
    real = report_module.declared
    monkeypatch.setattr(
        report_module, "declared", lambda k: {n: h for n, h in real(k).items() if n not in ("detail", "unread")}
    )
    monkeypatch.setattr(report_module, "_ways", report_module._ways.__wrapped__)  # nothing remembered
    sample = replace(report(replace(FACTS, gaps=(Gap(fact="x", reason="crashed", detail="a"),))), unread=("b",))
    shown = redact(sample)
    assert shown.facts.gaps[0].detail == NOT_DECLARED
    assert shown.unread == ()


def planted_value(hint: Any, text: str) -> Any:
    """A value of that type with the text wherever text can be."""
    if hint in (str, object, Any):
        return text
    origin, args = get_origin(hint), get_args(hint)
    if origin is Literal:
        return args[0]
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        return planted_object(hint, text)
    if origin is tuple:
        parts = args[:1] if args[-1] is Ellipsis else args
        return tuple(planted_value(a, text) for a in parts)
    if origin is not None and isinstance(origin, type) and issubclass(origin, Mapping):
        return {"key": planted_value(args[1], text), text: planted_value(args[1], text)}
    if args:
        return planted_value(next(a for a in args if a is not type(None)), text)
    return {bool: True, int: 7, float: 1.5}.get(hint)


SEEN: set[str] = set()


def planted_object(kind: type, text: str) -> Any:
    hints = hints_of(kind)
    values = {}
    for field in dataclasses.fields(kind):
        if kind.__name__ == "Fix" and field.name == "alternatives":
            continue
        SEEN.add(f"{kind.__name__}.{field.name}")
        values[field.name] = planted_value(hints[field.name], text)
    return kind(**{**values, **({"redacted": False} if kind is Report else {})})


SECRET = "ghp_4fT9kQ2mZx7Lw3Rb8Yc5Nd1Vs6Hj0Pa2Ge4K"


@pytest.mark.parametrize("text", [SECRET, f"x {SECRET} y", f"HF_TOKEN={SECRET}", "https://u:Xk3v9w8z@h.example.net/x"])
def test_no_field_of_any_type_leaks(text: str) -> None:
    sample, measured = planted_object(Report, text), planted_object(BenchReport, text)
    fleet, compared = planted_object(FleetReport, text), planted_object(Comparison, text)
    assert {f"{k.__name__}.{f.name}" for k in types_of_report() for f in dataclasses.fields(k)} - SEEN == {
        "Fix.alternatives"
    }
    shown = json.render(redact(sample)) + bench_json.render(redact_bench(measured))
    shown += fleet_json.render(redact_fleet(fleet)) + compare_json.render(comparison_redaction(compared)[0])
    assert SECRET[:12] not in shown
    assert "Xk3v9w8z" not in shown


def test_the_values_of_the_types_are_of_their_declared_names() -> None:
    for kind in types_of_report():
        assert set(declared(kind)) <= {f.name for f in dataclasses.fields(kind)}


# ---- lines, keys, words


def unread(*lines: str) -> tuple[str, ...]:
    return redact(replace(report(Facts()), target=NOBODY, unread=lines)).unread


def test_lines_are_few_and_short() -> None:
    shown = unread(*(f"line number {i} of it" for i in range(500)), "word " * 60)
    assert len(shown) == LINES_AT_MOST
    assert unread("word " * 30 + "ghp_abc1234")[0].endswith("ghp_abc1234")
    (cut,) = unread(("word " * 39 + "ghp_abc1234567890")[:200])
    assert cut.endswith("word …")


def test_a_private_key_is_left_out_to_its_end() -> None:
    lines = ("before", "-----BEGIN RSA PRIVATE KEY-----", "MIIEow", "short==", "-----END RSA PRIVATE KEY-----", "after")
    assert unread(*lines) == ("before", "secret1", "after")


def test_a_value_on_the_next_line() -> None:
    assert unread("- name: HF_TOKEN", '  value: "abcd1234"')[1] == '  value: "secret1"'


@pytest.mark.parametrize("lines", [
    ("DB_PASSWORD:", "  Tr0ub4dor"), ("machine x", "  login bob", "  password Tr0ub4dor"), ("--password", "Tr0ub4dor"),
])  # fmt: skip
def test_a_password_on_a_line_of_its_own(lines: tuple[str, ...]) -> None:
    assert "Tr0ub4dor" not in "\n".join(unread(*lines))


def test_the_key_of_a_mapping_says_what_its_value_is() -> None:
    sample = report(
        replace(FACTS, environ={"MY_PASSWORD": "correct horse", "MASTER_ADDR": "qnode7", "CUDA_VISIBLE_DEVICES": "0"})
    )
    environ = redact(sample).facts.environ
    assert environ == {"MY_PASSWORD": "secret1", "MASTER_ADDR": "host1", "CUDA_VISIBLE_DEVICES": "0"}


@pytest.mark.parametrize("path", [
    "secret rW1I1Qrwg7vl5XaRbhlMCN/xjjx/eNRehXQvVCw+/requirements.txt",
    "AWS_SECRET_ACCESS_KEY=poRG0fKJ0sG3UcTXNGdEUQlY/Bb1GUyFkmooLxX0/requirements.txt",
    "app/PIN: 834911/requirements.txt",
])  # fmt: skip
def test_a_secret_in_a_path_with_slashes_of_its_own(path: str) -> None:
    sample = report(replace(FACTS, declared=(Declaration(file=path, line=3, what="torch"),)))
    (shown,) = redact(sample).facts.declared
    assert not any(part in shown.file for part in ("rW1I", "xjjx", "eNRe", "poRG", "Bb1G", "834911"))


@pytest.mark.parametrize("line", [
    "Jan 12 10:11:12 hgxlab11 kernel: NVRM: Xid", "drwxr-xr-x 2 hschmidt93 users 4096 Jan 1 12:00 x",
    "Host Name:                 QBERT-PC7", "qbert7% python",
])  # fmt: skip
def test_a_value_under_a_key_is_also_seen_as_a_line(line: str) -> None:
    shown = redact(report(replace(FACTS, environ={"CFLAGS": line}))).facts.environ["CFLAGS"].lower()
    assert not any(name in shown for name in ("hgxlab11", "hschmidt93", "qbert"))


def test_the_words_of_a_command() -> None:
    from doctor.model.fix import Fix, Plan, Step

    step = Step(text="", argv=("prog", "--token", "abcd1234", "https://u:p4ssw0rd@h.corp.example/x"))
    sample = replace(report(FACTS), plan=Plan(fixes=(Fix(finding="x", action="none", title="", steps=(step,)),)))
    assert redact(sample).plan.fixes[0].steps[0].argv == ("prog", "--token", "secret1", "https://user2:secret2@host1/x")


def test_the_words_of_a_command_say_what_the_last_one_is() -> None:
    from doctor.model.fix import Fix, Plan, Step

    step = Step(text="", argv=("zip", "-r", "-P", "hunter22x!", "out.zip"))
    sample = replace(report(FACTS), plan=Plan(fixes=(Fix(finding="x", action="none", title="", steps=(step,)),)))
    assert redact(sample).plan.fixes[0].steps[0].argv == ("zip", "-r", "-P", "secret1", "out.zip")


def test_the_same_secret_is_the_same_everywhere() -> None:
    shown = unread("export DB_PASSWORD=abcd12345", "then abcd12345 again", "password=abcd12345")
    assert shown == ("export DB_PASSWORD=secret1", "then secret1 again", "password=secret1")


def test_names_are_the_same_in_any_case() -> None:
    assert unread("/home/tgarcia/x", r"C:\Users\TGARCIA\y", "by Tgarcia, for tgarcia-x") == (
        "/home/user1/x", r"C:\Users\user1\y", "by user1, for tgarcia-x",
    )  # fmt: skip


def test_what_was_replaced_is_counted_and_told_without_secrets() -> None:
    sample = replace(
        report(Facts()), target=NOBODY, unread=("/home/tgarcia/x", "export DB_PASSWORD=abcd12345", "/home/tgarcia/y")
    )
    done = redaction(sample)
    told = {s.name: s for s in done.stand_ins}
    assert told["user1"].described(show=True).endswith(": tgarcia")
    assert "abcd12345" not in told["secret1"].described(show=True)
    assert "secret" in counted(done.stand_ins)


@pytest.mark.parametrize("name", ["pip", "RTX", "gpu-node", "python3", "node01", "cu124", "GeForce"])
def test_ordinary_words(name: str) -> None:
    assert is_ordinary(name)


@pytest.mark.parametrize("name", ["tgarcia", "akowalski", "a0ac", "qnode7", "x7"])
def test_names(name: str) -> None:
    assert not is_ordinary(name)


# ---- properties


@given(st.text(max_size=300))
def test_any_text_can_be_looked_at(text: str) -> None:
    spans = find(text)
    assert spans == sorted(spans)
    assert all(0 <= s.start < s.end <= len(text) for s in spans)
    assert all(a.end <= b.start for a, b in pairwise(spans))


@given(
    st.lists(st.tuples(st.integers(0, 30), st.integers(1, 9), st.sampled_from(["secret", "user", "email"])), max_size=8)
)
def test_merged_spans_cover_the_same(raw: list[tuple[int, int, Any]]) -> None:
    spans = [Span(start, start + length, kind) for start, length, kind in raw]
    done = merged(spans)
    assert {i for s in spans for i in range(s.start, s.end)} == {i for s in done for i in range(s.start, s.end)}
    assert sum(s.end - s.start for s in done) == len({i for s in done for i in range(s.start, s.end)})


@given(st.sampled_from(ONE_OF_A_KIND), st.text(st.sampled_from(" \n.,:;()[]'\"|>-"), max_size=4), st.text(max_size=6))
def test_twice_is_once(one, before: str, after: str) -> None:
    shown = unread(f"{one.line} {before} {after}")
    again = redact(replace(report(Facts()), target=NOBODY, unread=shown)).unread
    assert again == shown


def adversaries() -> Iterator[str]:
    for piece in (
        "a", "A", "0", "a1", "aA1", "/", "//", "a/", "a.", ".", "-", "a-", "_", "a_", ":", "::", "=", "a=", "a:", "@", "a@", "://", "a://", "x://u:p@",
        " ", "\t", "\n", "a ", "a\n", "'", '"', "\\", "\\\\", "(", "[", "{", "?a=", "&a=", "key=", "token ", "password: ", "--token ", "pass", "/home/",
        "/home/a", "C:\\Users\\", "10.1.", "1.2.3.4 ", "ab:", "0:", "ey", "eyJ.", "-----BEGIN ", "PRIVATE KEY", "host ", "Linux ", "-rw-r--r-- 1 ", "user=",
        "ssh -p ", "login ", "GPU-", "serial ", "a@b.", "12345678-", "/t/", "/a/b", "~a", "drwxr-xr-x ", "is ", "auth is ", "sig", "<key>", "é", "a.b.c.",
    ):  # fmt: skip
        yield piece * (20_000 // len(piece))


def test_every_recogniser_is_linear() -> None:
    """20 kB of any repetition takes no longer than a fraction of a second; quadratic ones take minutes."""
    for text in adversaries():
        started = time.process_time()
        list(secrets.secrets_in(text))
        list(identities.identities_in(text))
        assert time.process_time() - started < 3, repr(text[:20])


def test_stand_ins_are_no_names() -> None:
    assert find("/home/user1/x bob1 user2@host1:~$ secret1 ip1 GPU-1 token=secret2 https://user1:secret1@host1/x") == []
    assert re.fullmatch(r"[a-z0-9.-]+", "".join(sorted(ACCOUNTS)).replace(" ", "")) is not None
