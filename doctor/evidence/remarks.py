"""Lines that no reader understood, and that may say that something is wrong.

They become ErrorText "remark", or, where there is none, the first statement of a person becomes ErrorText "statement":
it may tell of a failure in any words. No check reads them and they cause no finding: they only keep a text from being
called healthy, for health is proven by what was understood. So the words below are many and broad; a line that is taken
for a complaint and is none costs a verdict, one that is missed makes the doctor lie.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from doctor.evidence.blocks import is_sentence
from doctor.evidence.notes import Notes
from doctor.evidence.text import Document
from doctor.model.facts import REMARK, STATEMENT, ErrorText
from doctor.regex import Regex

AT_MOST = 5
_READ = 400  # characters of a line
_AVAILABLE = ("torch.cuda_available", "torch.mps_available", "torch.xpu_available")

# What tells of a failure wherever it stands.
_FAILURES = (
    # how a process ends
    "segmentation", "segfault", "dumped", "kill", "crash", "stuck", "freez", "froze", "deadlock", "panic", "lockup",
    "terminat", "stopped", "worker", "canceled", "exitcode", "exit with", "exit code", "exit status", "exited with",
    "exited code", "exited status", "returncode", "return code",
    # what a message says
    "fail", "error", "exception", "traceback", "fatal", "violation", "corrupt", "invalid", "illegal", "bad_alloc",
    "out of memory", "timeout", "time-out", "timed out", "unexpected", "unhandled", "uncorr", "assert",
    "undefined", "unsupported", "incompatib", "too old", "too new", "refus", "denied", "reject", "status_not", "cuinit",
    "nvrm", "unknown", "mismatch", "!!", *"✗✘❌×⛔",
    # what is not so
    "unable", "cannot", "can not", "could not", "never", "nothing", "missing",
    # what a person says
    "wrong", "incorrect", "differ", "zeros", "garbage", "slow", "worse", "broken", "problem", "disconnect",
    "connection lost", "vanish", "disappear", "unresponsive", "not respon", "not able", "unusable", "not working",
    "only cpu", "only the cpu", "cpu device", "cpu only",
)  # fmt: skip
_FAILURE = Regex(
    r"exit(?:ed)?(?:with|code|status)|fault\b|time(?:d )?-out|"
    r"n['´]t\b(?<=\wn.t)|: no\b|stays? at 0|"
    r"(?:count|gpus?|devices?|available)(?:\(\))?\W{0,3}[=:>]\W{0,3}(?:0|false)\b|"
    r"is_available\W{0,4}(?:is |->|returns? )?\W{0,4}false|visible_devices ?= ?(?:-1|['\"]{0,2}$)|"
    r"blue ?screen|issues?\b|"
    r"halts?\b|closes\b|drops? (?:out|off)|restarts\b|re-?boot|shuts? ?down|black ?out|paus(?:e|ed|es)\b|"
    r"fall(?:s|ing)? ?back|device ?[:=] ?['\"]?cpu|"
    # the same at the start of a word: tried there alone, which keeps the expression fast
    r"\b(?:"
    r"sig[a-z]{3,4}\b|core\b.{0,4}\bdump|abort|trap\b|hang|hung\b|dead\b|died\b|dies?\b|quit\b|signal\b|exit \d|"
    r"returned\b|rc ?=|status ?:? ?\d|oom\b|err\b|errno|xid\b|reset|"
    r"(?:cant|dont|doesnt|isnt|wont|not|none|lost)\b|no (?:gpu|cuda|device)|0 ?(?:gpus?|devices?)\b|"
    r"(?:get|got|is|gives?|returns?|says?|prints?|shows?) \W?false\b|"
    r"(?:nan|inf|black|bug|why|instead)\b)"
)
_IN_OTHER_LANGUAGES = Regex(
    r"fehl|absturz|abgest|speicherzug|abgebroch|get[öo]tet|ung[üu]ltig|nicht|kein|erreur|[ée]chou|plant[ée]|\bpas\b|\btué\b|"
    r"errores|fallo|fall[óo]|violaci|\berro\b|falha|n[ãa]o\b|errore|memoria|\bnon\b|\bfout|\bniet\b|b[łl][ąa]d|\bnie\b|\bhata|\bfel\b"
)  # fmt: skip
_ALONE = Regex(r"\W*(?:false|none|null|no|-?\d{1,5})\W*\Z")  # all of a line: what a command answered
_DEVICE = Regex(r"torch|cuda|gpu|nvidia|driver|rocm|\bhip|\bmps\b|\bxpu\b|device|kernel image|cudnn|cublas|nccl")
_VIOLENT = Regex(
    r"segmentation fault|segfault|\bkill(?:s|ed)\b|\bdie[sd]\b|\bcrash|\bdumped|\bsignal \d|\bhangs?\b|\bfreez|"
    r"\bstuck\b"
)
_HEAD = Regex(r"\s*#{1,6} ")  # of an issue's form: «### Describe the bug»
_OF_A_HEAD = Regex(r"\b(?:bug|issue|problem|error)s?\b")
# the last line of a traceback
_RAISED = Regex(r"^[\w.]{0,80}(?:Error|Exception|Iteration|Interrupt|Exit|Timeout)(?::|$)", re.M)
_LATIN = ("LATIN", "MICRO", "GREEK SMALL LETTER MU", "FEMININE", "MASCULINE")  # first words of names of letters: µ, º
_LEVEL = Regex(r"warn(?:ing)?\b|\binfo\b|\bdebug\b")
# A question, what leads to a list, thanks, and what somebody only has: nothing happens in it.
_NO_STATEMENT = Regex(
    r"[?:]\W*$|\b(?:how|which|what|where|whether|thanks?|thank you|please)\b|"
    r"^\W*(?:hi|hello|(?:i|we) (?:have|use|am|are|run|want|would))\b"
)
# Words of a form, not of a statement: «Could not collect», the heads of an error report, types that a program raises.
_FORM = Regex(
    r"could not collect|not affected|\berror (?:report|details?)\b|\bexception (?:type|message)\b|\bn/a\b|"
    r"\b(?:eof|key|value|type|index|name)error\b"
)


def read(documents: Iterable[Document], notes: Notes) -> tuple[ErrorText, ...]:
    """The remarks of the texts, up to AT_MOST; where there are none, the first statement that nobody understood."""
    documents = tuple(documents)
    said = [ErrorText(pattern=REMARK, text=text, source="text") for text in _disputed(notes)]
    said += [replace(error, pattern=REMARK) for error in notes.errors if _is_more_than_it_seems(error, notes)]
    for one in documents:
        known = _lines_of_messages(one, notes)
        excused = _RAISED.search(one.text) is not None
        for i in one.new_lines:
            line = one.lines[i]
            if len(said) >= AT_MOST:
                return tuple(said[:AT_MOST])
            if (one.name, i) not in notes.understood:
                told = speaks(line, traceback=not excused)
            elif one.numbers[i] in known:
                told = False
            elif is_sentence(line):  # a version or a model in it was read; what is said of it was not
                told = _fails(_FORM.sub(" ", line[:_READ].casefold()))
            else:
                told = _VIOLENT.search(line[:_READ].casefold()) is not None
            if told:
                said.append(ErrorText(pattern=REMARK, text=line.strip()[:200], source=one.name, line=one.numbers[i]))
    return tuple(said[:AT_MOST]) or _statement(documents, notes)


def _statement(documents: Iterable[Document], notes: Notes) -> tuple[ErrorText, ...]:
    """The first sentence of a person that tells what happens, if there is one."""
    for one in documents:
        known = _lines_of_messages(one, notes)
        for i in one.new_lines if one.numbers else ():  # a text that is none has no numbers
            line, number = one.lines[i], one.numbers[i]
            output = line[:2].isspace() or _RAISED.match(line)
            if number in known or output or not is_sentence(line) or _NO_STATEMENT.search(line.casefold()):
                continue
            return (ErrorText(pattern=STATEMENT, text=line.strip()[:200], source=one.name, line=number),)
    return ()


def _lines_of_messages(document: Document, notes: Notes) -> set[int | None]:
    """The numbers of the lines of a text in which messages were recognised."""
    return {e.line for e in notes.errors if not notes.several or e.source.endswith(f" in {document.name}")}


def speaks(line: str, *, traceback: bool = True) -> bool:
    """Whether a line that nobody understood may say that something is wrong. What is not in Latin letters is not
    understood at all, so it may. `traceback`: whether the head of a traceback says so, too.

    >>> [speaks(line) for line in ("Segmentation fault (core dumped)", "Product name: Pi 5", "False", "段错误")]
    [True, False, True, True]
    """
    text = line[:_READ]
    if not text.isascii():
        import unicodedata  # most texts do not need it

        text = unicodedata.normalize("NFKC", text)
        names = (unicodedata.name(c, "") for c in text if c.isalpha())
        if not all(name.startswith(_LATIN) for name in names):
            return True
    raised = _RAISED.match(text)
    text = _FORM.sub(" ", text.casefold())
    if _HEAD.match(text):
        text = _OF_A_HEAD.sub(" ", text)
    if not traceback and text.strip().startswith("traceback (most recent call last"):
        return False
    if _ALONE.match(text):
        return True
    if raised:
        text = text.partition(":")[2]
    if raised or _LEVEL.search(text):  # a message that only warns or tells; of a device it may be what is wrong
        text = _LEVEL.sub(" ", text)
        return _VIOLENT.search(text) is not None or (_DEVICE.search(text) is not None and _fails(text))
    return _fails(text)


def _fails(text: str) -> bool:
    for word in _FAILURES:
        if word in text:
            return True
    return (_FAILURE.search(text) or _IN_OTHER_LANGUAGES.search(text)) is not None


def _is_more_than_it_seems(error: ErrorText, notes: Notes) -> bool:
    """Whether a warning that no row knows, or an exception that a program may raise, speaks of a device that fails."""
    text = error.text.casefold()
    if error.pattern not in ("line", "exception") or not (_LEVEL.search(text) or error.pattern == "exception"):
        return False
    rows = [e for e in notes.errors if e.pattern not in ("line", "exception")]
    if any(e.line == error.line or error.text in e.text or e.text in error.text for e in rows):
        return False
    said = text.partition(":")[2] if error.pattern == "exception" else text
    return (_DEVICE.search(said) is not None and speaks(said)) or _VIOLENT.search(said) is not None


def _disputed(notes: Notes) -> Iterable[str]:
    """What a text says of is_available() beside the answer that was believed."""
    for fact in _AVAILABLE:
        if notes.get(fact) is True and (origin := notes.denied.get(fact)):
            yield origin.quote or f"{fact} is False"
