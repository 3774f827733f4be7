"""Where foreign text is shown, and what makes it inert there: one escaper for each place. SINKS is the table of all.

Every renderer puts foreign text through the escaper of the place where it puts it, and through no other.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial

from doctor.fixes import quoting
from doctor.regex import Regex
from doctor.reports.text import safe

# ---- Markdown, as GitHub and GitLab read it
#
# Nothing but plain words stays bare; every other word becomes code, where nothing is markup, a link, a mention of a
# person, a reference to an issue or a commit, an emoji, a formula or an entity. (Escapes would not do: both look for
# mentions and references in what they have already rendered.)

_PLAIN = Regex(r"[(«\"'“‘]*[^\W_](?:[^\W_]|[-+.,/=:'’](?=[^\W_]))*[.,;:!?)»\"'”’%…]*\Z")
_MARKS = Regex(r"[.,;–—…«»%]{1,3}\Z")
_NOT_PLAIN = Regex(
    r"\.[^\W\d_]{2}|(?i:www)\."  # example.com, torch.cuda, www.a1
    r"|:.*:"  # :smile:
    # in any part of a word, for marks part words there, too: a commit; GH-1, ABC-12; an advisory
    r"|(?<![^\W_])(?:[0-9a-fA-F]{7,64}(?![^\W_])|[A-Z][A-Z0-9_]+-\d+(?![^\W_])|(?i:g[hl]-\d|ghsa-))",
)
_LIST = Regex(r"(?:\d{1,9}[.)]|[-+*])\Z")  # first in a line


def markdown(text: str) -> str:
    """Prose: one line with no active markup."""
    parts: list[str] = []
    before = piece = ""  # of the last part: what stands before its code, and the code if another word may be added
    for number, word in enumerate(safe(text).split()):
        plain = (_PLAIN.match(word) and not _NOT_PLAIN.search(word)) or _MARKS.match(word)
        if plain and not (number == 0 and _LIST.match(word)):
            parts.append(word)
            piece = ""
            continue
        start, code, after = _punctuated(word)
        if piece and (not start or _is_open(piece)):  # one piece of code, not two
            parts.pop()
            code = f"{piece} {start}{code}"
        else:
            before = start
        if _is_open(code):  # x[a, b]
            code, after = code + after, ""
        parts.append(f"{before}`{_without_ticks(code)}`{after}")
        piece = "" if after else code
    return " ".join(parts)


def _is_open(code: str) -> bool:
    """Whether a bracket is open at its end."""
    return any(code.count(begin) > code.count(end) for begin, end in ("()", "[]", "{}"))


_PUNCTUATED = re.compile(r"([(«\"“‘]*)(.*?)([.,;:!?)»\"”’…]*)\Z", re.DOTALL)


def _punctuated(word: str) -> tuple[str, str, str]:
    """The sentence's punctuation before a word, the word, and what stands after it: ("(", "torch.cuda", ").")."""
    match = _PUNCTUATED.match(word)
    before, code, after = match.groups() if match else ("", word, "")
    while code.count("(") > code.count(")") and ")" in after:  # is_available().
        end = after.index(")") + 1
        code, after = code + after[:end], after[end:]
    if code.count(")") > code.count("(") and before.endswith("("):  # (a)b
        before, code = before[:-1], "(" + code
    return (before, code, after) if code else ("", word, "")


def markdown_cell(text: str) -> str:
    """The same in a table: a pipe is written \\|, and a backslash before it is moved away from it."""
    return markdown(text).replace("\\|", "\\ |").replace("|", "\\|")


def markdown_code(text: str) -> str:
    """A piece of code."""
    shown = " ".join(safe(text).split())
    return f"`{_without_ticks(shown)}`" if shown else ""


def markdown_line(text: str) -> str:
    """A line of a fenced block whose fence is longer than any in it."""
    return safe(text)


def _without_ticks(text: str) -> str:
    return text.replace("`", "'")


# ---- the others


def json_text(document: str) -> str:
    """A whole JSON document: the same values, with escapes in what a CI's runner would take for a command.

    >>> json_text('{"a": "##[error]x"}')
    '{"a": "\\\\u0023#[error]x"}'
    """
    if "##" in document:
        document = _AZURE.sub(r"\\u0023", document)
    for before in ('"', " ", "\n"):  # no other blank stands in JSON as it is
        document = document.replace(f"{before}::", rf"{before}\u003a:")
    low = document.lower()
    if "section_" in low or "travis_" in low:
        document = _FOLDS.sub(r"\1\\u003a", document)
    return document.replace("\x7f", "\\u007f")


_AZURE = Regex(r"#(?=#[A-Za-z]{0,40}\[)")
_FOLDS = Regex(r"((?:section_(?:start|end)|travis_(?:fold|time))):", re.IGNORECASE)


def html(text: str) -> str:
    """Text for the template, which escapes it."""
    return safe(text)


def html_cell(text: str) -> str:
    """The same in a table's cell: copied into a spreadsheet, it is no formula."""
    shown = safe(text)
    return f"'{shown}" if _FORMULA.match(shown) and not _QUANTITY.match(shown) else shown


_FORMULA = Regex(r"\s*[=@+\-\uff1d\uff20\uff0b\uff0d]")  # a spreadsheet takes the wide ones for the same
_QUANTITY = Regex(r"\s*[+-]?\d[\d.,]*(?:\s?[A-Za-z%°]{0,8})?\Z|\s*-\s[\w\s]*\Z")  # -1.5 GB; - a


def csv_cell(text: str) -> str:
    """A field of a CSV file, which the csv module quotes: no formula either, one line."""
    return html_cell(text)


def html_lines(text: str) -> str:
    """Several lines of foreign text."""
    return safe(text, keep_lines=True)


def junit(text: str) -> str:
    """Text of an element or attribute, which ElementTree escapes. Jenkins and GitLab attach the files that
    [[ATTACHMENT|…]] names, others read properties so."""
    return re.sub(r"\[(?=\[)", "[ ", safe(text))


def openmetrics_label(text: str) -> str:
    """A label's value: backslash, quote and newline are escaped (OpenMetrics 1.0); there is no other special one."""
    return safe(text).replace("\\", "\\\\").replace('"', '\\"')


SARIF_LENGTH = 4000  # characters of a message


def sarif_message(text: str, *, keep_lines: bool = False) -> str:
    """A message of SARIF, in which [text](target) would be a link (SARIF 2.1.0, 3.11.6)."""
    shown = re.sub(r"\](?=[(\[])", "] ", safe(text, keep_lines=keep_lines)).strip()
    return shown if len(shown) <= SARIF_LENGTH else shown[: SARIF_LENGTH - 2] + " …"


def github_data(text: str) -> str:
    """The message of a workflow command."""
    return safe(text).replace("%", "%25")


def github_property(text: str) -> str:
    """A property of a workflow command, as the runner expects it."""
    return github_data(text).replace(":", "%3A").replace(",", "%2C")


def _comment(shell: quoting.Shell, text: str) -> str:
    return "\n".join(quoting.comment(text, shell))


SINKS: dict[str, Callable[[str], str]] = {
    "terminal": safe,
    "json": json_text,
    "markdown": markdown,
    "markdown-cell": markdown_cell,
    "markdown-code": markdown_code,
    "markdown-line": markdown_line,
    "html": html,
    "html-cell": html_cell,
    "html-lines": html_lines,
    "csv-cell": csv_cell,
    "junit": junit,
    "openmetrics-label": openmetrics_label,
    "sarif-message": sarif_message,
    "github-data": github_data,
    "github-property": github_property,
    **{f"{shell}-comment": partial(_comment, shell) for shell in quoting.SHELLS},
}
