"""Texts that try to be more than text where they are shown, and what finds out whether they succeeded."""

from __future__ import annotations

import random
import re
from typing import Any

from doctor.model.report import Report
from doctor.redaction.fields import How
from doctor.redaction.report import _walk
from tests.reports.samples import ALL, FAULTY

PIECES = (
    "::error::x", "::Set-Output name=a::b", "::ADD-MASK::x", ":::warning::", "::x", "##[error]x", "##[Add-Path]/x", "###[command]y", "##vso[task.setvariable a]b",
    "##VSO[x]y", "##teamcity[buildStatus text='x']", "section_start:1:a", "SECTION_END:1:a", "travis_fold:start:x", "\x1b[31m", "\x1b]0;t\x07", "\r", "\n", "\n\n", "\t",
    "\u2028", "\x85", "\u202e", "\u200b", "\ufeff", "\ufffe", "\x00", "\x7f", "\ud800",
    "@someone", "@org/team", "#1", "org/repo#5", "GH-12", "!7", "%1", "~label", "$x$", "$$y$$", "deadbeefcafe", ":smile:", ":+1:", "[^1]", "[!NOTE]", "[x]", "[ ]",
    "https://evil.example/x", "http://e.org", "www.evil.com", "evil.com", "a@b.example", "mailto:a@b.example", "javascript:alert(1)", "<https://e.org>", "ftp://e.org",
    "<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "</td>", "</details>", "<!--", "-->", "<b>", "&amp;", "&#64;you", "&lt;script&gt;", "&copy;",
    "*a*", "**b**", "_c_", "__d__", "~~e~~", "`f`", "``", "```", "~~~", "`", "\\", "\\`", "|", "\\|", "\\\\|", "# h", "## h", "> q", "- l", "1. l", "1) l", "+ l", "===", "---", "***",
    "[a](b)", "![a](b)", "[a]: b", "[a][b]", "    code", "/close", "/assign @x", "=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", "=HYPERLINK(\"x\")",
    "[[ATTACHMENT|/etc/passwd]]", "[[PROPERTY|a=b]]", "]]>", "<![CDATA[", "<?xml?>", "%0A::error::x", "%25", "%PATH%", "!x!",
    "'", '"', "$(id)", "`id`", "; id", "& calc", "| id", "&& id", "^", "%~x", "$env:x", "\u2019; calc", "#>", "<#", "#requires -Version 99", "@'", "'@", "\\n", "x^", "(", ")",
    "{{ 7*7 }}", "{% raw %}", "[bold]x[/bold]", ":", "word", "two words", "torch.cuda", "2.6.0+cu124",
)  # fmt: skip

# A runner trims what its language calls white space (.NET's, which knows more of it than ASCII), and takes any letter case.
_COMMANDS = (
    re.compile(r"^\s*::", re.MULTILINE),
    re.compile(r"##\[", re.IGNORECASE),
    re.compile(r"##[a-z]+\[", re.IGNORECASE),
    re.compile(r"section_(start|end):\d", re.IGNORECASE),
    re.compile(r"travis_(fold|time):", re.IGNORECASE),
)
_OURS = re.compile(
    r"^::(error|warning|notice) (?:file=[^:,\n]+,line=\d{1,9},)?title=torchdoctor[^:,\n]*::(?=.)", re.MULTILINE
)


def live_commands(output: str, *, ours: bool = False) -> list[str]:
    """What a CI would take for a command in a program's output; `ours`: annotations are wanted."""
    text = "\n".join(re.split(r"[\r\n\x0b\x0c\x1c-\x1e\x85\u2028\u2029]", output))
    text = _OURS.sub("", text) if ours else text
    found = [m[0] for pattern in _COMMANDS for m in pattern.finditer(text)]
    return found + [c for c in output if ord(c) < 32 and c != "\n"]


def hostile_text(r: random.Random) -> str:
    return "".join(r.choice(PIECES) + r.choice(("", " ", " ", "\n", "a")) for _ in range(r.randint(1, 6)))


def hostile_report(text: str, sample: Report = FAULTY) -> Report:
    """A report whose every foreign text is that."""

    def replaced(old: str, how: How, before: str, where: str) -> str:
        return old if how is How.OWN else text

    result: Any = _walk(sample, replaced)
    return result


def hostile_ticket(r: random.Random) -> str:
    """A ticket with hostile lines and hostile values where the readers look for facts."""
    lines = [
        f"PyTorch version: 2.6.0+cu124 {hostile_text(r)}", f"OS: {hostile_text(r)}", f"Python version: 3.12.4 {hostile_text(r)}", "Is CUDA available: False",
        f"GPU 0: NVIDIA GeForce RTX 4090 {hostile_text(r)}", f"GPU 0: {hostile_text(r)}", f"Nvidia driver version: {r.choice(('470.256.02', hostile_text(r)))}", f"[pip3] numpy=={hostile_text(r)}",
        f"[pip3] {hostile_text(r)}==1.0", "Traceback (most recent call last):", f'  File "{hostile_text(r)}", line 3, in {hostile_text(r)}', f"RuntimeError: {hostile_text(r)}",
        f"ImportError: {hostile_text(r)}: cannot open shared object file: No such file or directory", f"OSError: libcudnn.so.9: {hostile_text(r)}",
        f"$ pip install {hostile_text(r)}", f"ERROR: No matching distribution found for torch=={hostile_text(r)}", f"export CUDA_VISIBLE_DEVICES={hostile_text(r)}",
        f"ModuleNotFoundError: No module named '{hostile_text(r)}'", f"undefined symbol: {hostile_text(r)}", hostile_text(r), f"CUDA out of memory. Tried to allocate {hostile_text(r)}",
        f"/home/{hostile_text(r)}/venv/bin/python: No module named pip", f"CMake Error at {hostile_text(r)}", f"RuntimeError: CUDA error: no kernel image is available {hostile_text(r)}",
    ]  # fmt: skip
    r.shuffle(lines)
    return "\n".join(lines[: r.randint(3, len(lines))])


__all__ = ["ALL", "PIECES", "hostile_report", "hostile_text", "hostile_ticket", "live_commands"]
