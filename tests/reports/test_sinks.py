"""Foreign text is inert wherever it is shown: asked of real parsers and real shells."""

from __future__ import annotations

import json
import random
import re
import shutil
import subprocess
from xml.etree import ElementTree

import html5lib
import pytest
import tree_sitter_powershell
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from tree_sitter import Language, Parser

from doctor import pipeline
from doctor.fixes import quoting
from doctor.fixes.plan import script
from doctor.redaction.report import redact
from doctor.reports import github, html, junit, markdown, openmetrics, sarif, sinks, terminal
from doctor.reports import json as json_format
from doctor.reports.text import has_command, safe, without_commands
from tests.reports.hostile import PIECES, hostile_report, hostile_text, hostile_ticket, live_commands
from tests.reports.samples import ALL

HOSTILE = st.lists(st.sampled_from(PIECES) | st.text(max_size=4), min_size=1, max_size=7).map("".join)
FORMATS = {
    "json": json_format,
    "markdown": markdown,
    "html": html,
    "junit": junit,
    "github": github,
    "sarif": sarif,
    "openmetrics": openmetrics,
    "terminal": terminal,
}
MARKDOWN = MarkdownIt("gfm-like", {"linkify": True, "html": True})  # links also where nobody marked them
SPACED = st.sampled_from(("", " ", "\n", "  "))

# What nobody may find in text that is not code: people, issues, commits, emoji, formulas, addresses, strikes.
ALIVE = re.compile(
    r"@\w|#\d|\bGH-\d|(?<!\w)!\d|(?<!\w)[%~&]\w|://|\bwww\.|\b[0-9a-f]{7,40}\b|:[a-z+-][\w+-]*:|\$|\[\^|^\s*/\w|&#?\w+;",
    re.MULTILINE,
)
INLINE = {"text", "code_inline", "softbreak", "strong_open", "strong_close"}


def inline_tokens(document: str) -> list:
    return [child for token in MARKDOWN.parse(document) if token.type == "inline" for child in token.children or ()]


def test_the_parsers_can_find_something() -> None:
    """The tests below could fail: unescaped, the pieces are alive."""
    found = {t.type for p in PIECES for t in inline_tokens(f"x {p.encode('utf-8', 'replace').decode()} y")}
    assert {"link_open", "html_inline", "em_open", "strong_open", "s_open", "image", "code_inline"} <= found
    assert len([p for p in PIECES if ALIVE.search(p)]) >= 15
    assert len([p for p in PIECES if live_commands(p)]) >= 14


@pytest.mark.parametrize("sink", sinks.SINKS, ids=str)
@given(text=HOSTILE, spaced=SPACED)
@example(text="::error::x", spaced="\n")
def test_no_sink_lets_a_command_through(sink: str, text: str, spaced: str) -> None:
    shown = sinks.SINKS[sink](json.dumps({"a": spaced + text}) if sink == "json" else spaced + text)
    lines = shown.replace("\t", " ") if sink in ("html-lines",) else shown
    assert live_commands(lines) == []


@given(HOSTILE)
def test_prose_is_prose(text: str) -> None:
    shown = sinks.markdown(text)
    tokens = inline_tokens(f"Before {shown} after")
    assert {t.type for t in tokens} <= {"text", "code_inline"}
    for token in tokens:
        assert token.type == "code_inline" or not ALIVE.search(token.content), shown
    blocks = [t.type for t in MARKDOWN.parse(shown)]
    assert blocks in ([], ["paragraph_open", "inline", "paragraph_close"]), shown


@given(HOSTILE)
def test_prose_says_the_same(text: str) -> None:
    """Nothing is lost but marks of code, and what `safe` replaces."""
    said = "".join(t.content for t in inline_tokens(sinks.markdown(text)))
    assert said.split() == safe(text).replace("`", "'").split()


@given(HOSTILE, HOSTILE)
def test_a_cell_is_a_cell(one: str, other: str) -> None:
    document = "\n".join(markdown.table(("a", "b"), [(one, other)])) + "\n"
    kinds = [t.type for t in MARKDOWN.parse(document)]
    assert kinds.count("td_open") == 2
    assert kinds.count("tr_open") == 2
    tokens = inline_tokens(document)
    assert {t.type for t in tokens} <= {"text", "code_inline"}
    assert not any(t.type == "text" and ALIVE.search(t.content) for t in tokens)


@given(HOSTILE)
def test_code_is_code(text: str) -> None:
    kinds = [t.type for t in inline_tokens(f"x {sinks.markdown_code(text)} y")]
    assert kinds in (["text", "code_inline", "text"], ["text"])


@given(HOSTILE, st.sampled_from(sorted(ALL)))
@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow], deadline=None)
def test_a_whole_page_of_markdown(text: str, name: str) -> None:
    document = markdown.render(hostile_report(text, ALL[name]))
    clean = markdown.render(hostile_report("word", ALL[name]))
    ours = [t.type for t in MARKDOWN.parse(document) if t.type not in ("fence", "inline")]
    assert [k for k in ours if k == "html_block"] == [t.type for t in MARKDOWN.parse(clean) if t.type == "html_block"]
    assert {t.type for t in inline_tokens(document)} <= INLINE
    for token in inline_tokens(document):
        assert token.type != "text" or not ALIVE.search(token.content), token.content


@given(HOSTILE, st.sampled_from(sorted(ALL)))
@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow], deadline=None)
def test_a_whole_page_of_html(text: str, name: str) -> None:
    """The same elements and attributes as with a harmless word."""

    def shape(document: str) -> list:
        parser = html5lib.HTMLParser(strict=False, namespaceHTMLElements=False)
        tree = parser.parse(document)
        assert [e for e in parser.errors if e[1] not in ("control-character-in-input-stream",)] == []
        return [(str(e.tag), sorted(k for k in e.attrib)) for e in tree.iter()]

    sample = hostile_report(text, ALL[name])
    words = hostile_report("word", ALL[name])
    assert set(map(str, shape(html.render(sample)))) <= set(map(str, shape(html.render(words)))) | {
        "('pre', [])",
        "('p', ['class'])",
    }


def test_cells_of_html_are_no_formulas() -> None:
    assert [sinks.html_cell(t) for t in ("=1+1", "@SUM(A1)", "+cmd|x", "-x", "-2", "+1", "a=b")] == [
        "'=1+1", "'@SUM(A1)", "'+cmd|x", "'-x", "-2", "+1", "a=b",
    ]  # fmt: skip


@pytest.mark.parametrize("text", [
    "-2+3+cmd|' /C calc'!A0", "+1+cmd|'x'!A", "-.5+cmd|x", "\uff1d1+1", "\uff0d1+cmd|x", "\uff20SUM(A1)", "-1-1",
    "+1 (x)",
])  # fmt: skip
def test_a_number_in_front_makes_no_formula_harmless(text: str) -> None:
    assert sinks.html_cell(text) == f"'{text}"


@pytest.mark.parametrize("text", ["-1.5 GB", "-40°C", "+12.5%", "- a word", "-1,024"])
def test_quantities_stay(text: str) -> None:
    assert sinks.html_cell(text) == text


@pytest.mark.parametrize("word", [
    "www.a1", "WWW.7", "GH-1,GH-2", "see:GH-1", "gh-12", "a/GH-1", "deadbeef1,deadbeef2", "commit:deadbeef1",
    "DEADBEEF1", "x=deadbeef123", "ABC-1/ABC-2", "v1:ABC-12", "GHSA-abcd-efgh-ijkl", "ghsa-abcd",
])  # fmt: skip
def test_what_a_tracker_makes_a_link_of_is_code(word: str) -> None:
    """In any part of a word: marks part words for a tracker, too."""
    assert sinks.markdown(f"see {word} there") == f"see `{word}` there"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("see (deadbeef1), or (https://e.org).", "see (`deadbeef1`), or (`https://e.org`)."),
        ("torch.cuda.is_available() is False", "`torch.cuda.is_available()` is False"),
        ("why (torch.cuda.is_available())?", "why (`torch.cuda.is_available()`)?"),
        ("/proc/a, /proc/b, and c", "`/proc/a`, `/proc/b`, and c"),
        ("/bin/a --c_d; b_c", "`/bin/a --c_d`; `b_c`"),
        ("is «cuda>=1»:", "is «`cuda>=1`»:"),
        ("as x[index[:, 0], :1].", "as `x[index[:, 0], :1]`."),
        ("(a_b c_d), f(x_y, z_y)", "(`a_b c_d`), `f(x_y, z_y)`"),
        ("?:", "`?:`"), ("x (", "x `(`"), ("(a_)b", "`(a_)b`"),
    ],
)  # fmt: skip
def test_punctuation_of_the_sentence_is_no_code(text: str, shown: str) -> None:
    assert sinks.markdown(text) == shown


@pytest.mark.parametrize("word", ["A100-SXM4-80GB", "cp-311", "x86-64", "torch/lib", "2024-01-01", "1,024,000", "face"])
def test_plain_words_stay_plain(word: str) -> None:
    assert sinks.markdown(word) == word


@given(HOSTILE, st.sampled_from(sorted(ALL)))
@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow], deadline=None)
def test_a_whole_page_of_xml(text: str, name: str) -> None:
    document = junit.render(hostile_report(text, ALL[name]))
    tree = ElementTree.fromstring(document)
    assert {e.tag for e in tree.iter()} <= {
        "testsuites",
        "testsuite",
        "testcase",
        "skipped",
        "error",
        "failure",
        "system-out",
    }
    assert not any("[[" in str(value) for e in tree.iter() for value in (e.text, *e.attrib.values()))


@given(HOSTILE)
@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow], deadline=None)
def test_json_keeps_its_values(text: str) -> None:
    sample = hostile_report(text)
    document = json_format.render(sample)
    assert json.loads(document) == json_format.encode(sample)
    assert document.isascii()
    assert "\x7f" not in document


@given(HOSTILE, st.sampled_from(sorted(ALL)), st.sampled_from(sorted(FORMATS)))
@settings(max_examples=120, suppress_health_check=[HealthCheck.too_slow], deadline=None)
def test_no_document_has_a_live_command(text: str, name: str, format: str) -> None:
    sample = hostile_report(text, ALL[name])
    for one in (sample, redact(sample)):
        assert live_commands(FORMATS[format].render(one), ours=format == "github") == []


@pytest.mark.parametrize("seed", range(12))
def test_no_ticket_gets_a_command_through(seed: int) -> None:
    """Fuzzed tickets, all formats and scripts. `scripts/prove_inert.py` has more of them."""
    from scripts import prove_inert

    assert list(prove_inert.live_of(hostile_ticket(random.Random(seed)))) == []


# ---- comments and commands of the shells


def comment_of(text: str, shell: quoting.Shell) -> str:
    return "".join(f"{line}\n" for line in quoting.comment(text, shell))


POSIX = [(name, found) for name in ("sh", "dash", "bash", "zsh", "ksh", "fish") if (found := shutil.which(name))]


@pytest.mark.parametrize(("name", "program"), POSIX, ids=[n for n, _ in POSIX])
def test_shells_run_nothing_of_a_comment(name: str, program: str) -> None:
    """A file of comments, and the same typed into a shell that knows no comments: nothing but «# is no command»."""
    shell: quoting.Shell = "fish" if name == "fish" else "sh"
    r = random.Random(3)
    texts = [*PIECES, *(hostile_text(r) for _ in range(150))]
    text = "".join(comment_of(t, shell) for t in texts).encode("utf-8", "replace").decode()
    done = subprocess.run(
        [program, "-c", text + "\nprintf end"], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.stdout, done.stderr, done.returncode) == ("end", "", 0)


POWERSHELL = Parser(Language(tree_sitter_powershell.language()))


@given(HOSTILE)
def test_powershell_reads_comments_only(text: str) -> None:
    lines = comment_of(text, "powershell").encode("utf-8", "replace")
    kinds = {node.type for node in POWERSHELL.parse(lines + b"Get-Date\n").root_node.children}
    assert kinds <= {"comment", "statement_list"}
    assert not re.search(rb"(?i)^\s*#requires", lines, re.MULTILINE)
    statements = [n for n in POWERSHELL.parse(lines + b"Get-Date\n").root_node.children if n.type == "statement_list"]
    assert [s.text for s in statements] == [b"Get-Date"]


@given(HOSTILE)
def test_cmd_reads_only_our_word_of_a_comment(text: str) -> None:
    """REM reads one word, in which operators count; the second and all that follow are left alone (`cmd /?`, and SS64
    on REM)."""
    for line in quoting.comment(text, "cmd"):
        assert line.startswith("REM -")
        assert line[5:6] in ("", " ")
        assert "%" not in line.replace("%%", "")
        assert line.isprintable()


@given(
    st.lists(st.sampled_from([p for p in PIECES if quoting.is_printable(p)]), min_size=1, max_size=4),
    st.sampled_from(quoting.SHELLS),
)
@example(["/tmp/##[error]x/python"], "sh")
@example(["::set-output name=x::y"], "fish")
@example(["/tmp/##[error]x/python"], "powershell")
def test_no_command_line_is_a_command_of_the_ci(words: list[str], shell: quoting.Shell) -> None:
    line = quoting.command(words, shell)
    assert line is None or live_commands(line) == []


@pytest.mark.parametrize(("name", "program"), POSIX, ids=[n for n, _ in POSIX])
def test_what_was_broken_up_is_still_the_same_word(name: str, program: str) -> None:
    words = ["a##[x]y", "::b", "##vso[c]", "section_start:1:x", "###[d]", "x::y"]
    line = quoting.command(("printf", "%s\\n", *words), "fish" if name == "fish" else "sh")
    assert line is not None
    assert not has_command(line)
    done = subprocess.run([program, "-c", line], capture_output=True, text=True, timeout=30, check=True)
    assert done.stdout.splitlines() == words


@given(HOSTILE)
def test_without_commands_is_settled(text: str) -> None:
    once = without_commands(text)
    assert without_commands(once) == once
    assert not has_command(once)


@given(HOSTILE, st.sampled_from(quoting.SHELLS))
@settings(max_examples=60, deadline=None)
def test_scripts_are_inert(text: str, shell: quoting.Shell) -> None:
    plan = hostile_report(text).plan
    assert live_commands(script(plan, shell=shell)) == []


def test_tickets_are_judged() -> None:
    """The fuzzed tickets are not so broken that nothing is read from them."""
    verdicts = [
        pipeline.examine(
            pipeline.Request(evidence=(("t", hostile_ticket(random.Random(s)).encode("utf-8", "replace")),))
        ).verdict
        for s in range(8)
    ]
    assert "faulty" in verdicts
