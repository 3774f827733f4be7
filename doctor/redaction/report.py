"""A report that may be passed on: who, which machine and which secrets are replaced by stand-ins, the same everywhere.

Two walks over the report's declared fields (fields.py). In the first, the recognisers find what must not leave; in the
second every place so found is replaced, and what was found in one place is replaced where it stands alone in another:
whole words only, and no name that is an ordinary word (a user may be called pip). In commands, the target's Python
becomes {python}.
"""

from __future__ import annotations

import dataclasses
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache, lru_cache
from operator import is_
from typing import Any

from doctor.model.bench import BenchReport
from doctor.model.compare import Comparison, Difference, Known
from doctor.model.fix import Step
from doctor.model.fleet import FleetReport
from doctor.model.report import Report
from doctor.model.values import dataclass
from doctor.redaction.fields import How, can_hold_text, declared
from doctor.redaction.identities import identities_in, is_public_host
from doctor.redaction.keys import is_secret_name
from doctor.redaction.secrets import closes_private_key, opens_private_key, secrets_in
from doctor.redaction.spans import Kind, Span, merged
from doctor.redaction.words import is_ordinary, is_plain, is_public_account, is_stand_in
from doctor.regex import Regex

LINES_AT_MOST = 100  # of those that nobody understood
LINE_LENGTH = 200
WORDS_BEFORE = 20  # of a command, with which a word of it is seen
NOT_DECLARED = "(not declared)"
LABELLED = (Difference, Known)  # their values are seen with their label before them, as those of variables are

_COMMIT_SHAPE = Regex(r"[0-9a-f]{7,40}\Z")
_OWN_SHAPE = Regex(r"[A-Za-z0-9][A-Za-z0-9_.:/+ -]{0,79}\Z")
_WORDS_OF = {
    "secret": "a secret", "user": "a user", "host": "a host", "ip": "an IP address", "mac": "a hardware address",
    "email": "a mail address", "serial": "a serial number", "uuid": "a UUID", "gpu": "a GPU's UUID",
    "id": "an id of a cloud or a system",
    "home": "a home folder",
}  # fmt: skip
_NAMED = {"gpu": "GPU-"}

Rewrite = Callable[[str, How, str, str], str]  # (text, how, what stands before it, the field's dotted name)


@dataclass(frozen=True)
class StandIn:
    """What stands for what: `text` is the original."""

    name: str
    kind: Kind
    text: str
    times: int
    first: str  # the dotted name of the field where it was first seen

    def described(self, *, show: bool) -> str:
        """One line: the stand-in, what it is, how often, where. The text itself only if `show`, and never a
        secret's."""
        shown = f": {self.text}" if show and self.kind != "secret" else ""
        times = "once" if self.times == 1 else f"{self.times} times"
        return f"{self.name} is {_WORDS_OF[self.kind]}, replaced {times}, first in {self.first}{shown}"


@dataclass(frozen=True)
class Redaction:
    """The redacted report and what was replaced in it."""

    report: Report
    stand_ins: tuple[StandIn, ...] = ()


def counted(stand_ins: Iterable[StandIn]) -> str:
    """ "2 users, 1 secret"; "" where nothing was replaced."""
    number = Counter(s.kind for s in stand_ins)
    words = {kind: text.partition(" ")[2] for kind, text in _WORDS_OF.items()}
    return ", ".join(f"{n} {words[k] if n == 1 else _plural(words[k])}" for k, n in sorted(number.items()))


def _plural(words: str) -> str:
    head, of, rest = words.partition(" of ")
    return f"{head}{'es' if head.endswith('s') else 's'}{of}{rest}"


def redact(report: Report, *, names: Iterable[tuple[str, str]] = ()) -> Report:
    """The report with stand-ins. `names` says what the report itself can't: ("user" | "host" | "home", text)."""
    return redaction(report, names=names).report


def redaction(report: Report, *, names: Iterable[tuple[str, str]] = ()) -> Redaction:
    """The same, with what was replaced."""
    if report.redacted:
        return Redaction(report)
    redacted, rewriter = _replaced(report, names)
    if report.target.python:
        python = rewriter.rewrite(report.target.python, How.TEXT, "", "target.python")
        fixes = tuple(_with_placeholder(f, python) for f in redacted.plan.fixes)
        redacted = dataclasses.replace(redacted, plan=dataclasses.replace(redacted.plan, fixes=fixes))
    return Redaction(dataclasses.replace(redacted, redacted=True), rewriter.stand_ins())


def redact_bench(report: BenchReport, *, names: Iterable[tuple[str, str]] = ()) -> BenchReport:
    """A benchmark's report with stand-ins. It has no place for a name of a person or a path; what a library said of an
    error may hold one."""
    redacted: BenchReport = _replaced(report, names)[0]
    return redacted


def comparison_redaction(
    comparison: Comparison, *, names: Iterable[tuple[str, str]] = ()
) -> tuple[Comparison, tuple[StandIn, ...]]:
    """A comparison with stand-ins, the same for all its machines, and what was replaced."""
    redacted, rewriter = _replaced(comparison, names)
    return dataclasses.replace(redacted, redacted=True), rewriter.stand_ins()


def redact_fleet(report: FleetReport, *, names: Iterable[tuple[str, str]] = ()) -> FleetReport:
    """A fleet's report with stand-ins: every host that it names becomes one wherever it stands, also one whose name is
    an ordinary word (node1); then whatever else is recognised."""
    hosts = [node.host for node in report.nodes] + [gpu.host for gpu in report.gpus]
    stand_ins: dict[str, str] = {}
    for host in dict.fromkeys(hosts):
        if " " not in host:  # a missing node that nobody could name
            stand_in = stand_ins.setdefault(host, f"host{len(stand_ins) + 1}")
            stand_ins.setdefault(host.partition(".")[0], stand_in)
    longest_first = sorted(map(re.escape, stand_ins), key=len, reverse=True)
    named = re.compile(rf"(?<![\w.-])(?:{'|'.join(longest_first)})(?![\w-])") if longest_first else None

    def rewrite(text: str, how: How, before: str, where: str) -> str:
        return named.sub(lambda match: stand_ins[match[0]], text) if named and how is How.TEXT else text

    replaced: FleetReport = _walk(report, rewrite)
    redacted: FleetReport = _replaced(replaced, names)[0]
    return redacted


def _replaced(
    report: Report | BenchReport | FleetReport | Comparison, names: Iterable[tuple[str, str]]
) -> tuple[Any, _Rewriter]:
    """The report with stand-ins, and what has put them there."""
    known = _Known(names)
    shown = _walk(report, known.learn)
    rewriter = _Rewriter(known)
    return _walk(report, rewriter.rewrite) if known.anything else shown, rewriter


_PART = Regex(r"[^/]+")
PARTS = 30  # of a path, of which each is seen by itself and with all before it


@lru_cache(maxsize=4096)
def find(text: str, how: How = How.TEXT, before: str = "") -> list[Span]:
    """What must not leave of a text. `before`: text that stands before it and says what it is, such as `NAME=`. Then
    the text is seen without it as well: it may be a line whose beginning tells. So is each part of a path,
    and all that stands before one."""
    places = [(before, 0, len(text))]
    if before.endswith("="):
        places.append(("", 0, len(text)))
    if how is How.PATH:
        parts = [m.span() for m in _PART.finditer(text)][:PARTS]
        places += [("", start, end) for start, end in parts] + [("", 0, end) for _, end in parts]
    spans = [
        Span(start + max(0, s.start - len(head)), start + s.end - len(head), s.kind)
        for head, start, end in places
        for seen in (head + text[start:end],)
        for s in merged([*secrets_in(seen), *identities_in(seen, version=how is How.VERSION)])
        if s.end > len(head)
    ]
    inside = merged(spans)
    return [s for s in inside if not is_stand_in(text[s.start : s.end]) and text[s.start : s.end] != "{python}"]


class _Known:
    """What was found: texts and their stand-ins, and which of them are looked for where they stand alone."""

    def __init__(self, names: Iterable[tuple[str, str]]) -> None:
        self.name_of: dict[tuple[Kind, str], str] = {}
        self.text_of: dict[str, tuple[Kind, str]] = {}
        self.first: dict[str, str] = {}
        self.alone: dict[str, str] = {}  # the text as it is looked for (users and hosts in lower case) -> its stand-in
        self.secrets: dict[str, str] = {}
        self.homes: dict[str, str] = {}
        self.ordinary_users: list[str] = []
        self._counts: Counter[str] = Counter()
        self._learned: set[tuple[str, How, str]] = set()
        for kind, name in names:
            self._add_known(kind, name)

    def _add_known(self, kind: str, name: str) -> None:
        if kind == "home":
            home = name.rstrip("/\\")
            if home.count("/") + home.count("\\") > 1 and not find(home + "/x"):
                self.homes[home] = "/home/user1"
        elif kind == "user" and len(name) >= 2 and not is_public_account(name):
            self.stand_in("user", name, "this machine")
            if is_ordinary(name) or len(name) < 3:
                self.ordinary_users.append(name)
        elif (
            kind == "host"
            and len(name) >= 2
            and not (is_public_host(name) or is_public_account(name) or is_ordinary(name))
        ):
            self.stand_in("host", name, "this machine")

    @property
    def anything(self) -> bool:
        """Whether there is something to replace."""
        return bool(self.name_of or self.homes or self.ordinary_users)

    def stand_in(self, kind: Kind, text: str, field: str) -> str:
        """The stand-in of a text: the same for the same, in any letter case where it is a name."""
        same = text.casefold() if kind in ("user", "host", "email", "uuid", "gpu", "mac") else text
        if kind == "host" and (known := self.name_of.get((kind, same.partition(".")[0]))):
            self.name_of.setdefault((kind, same), known)
        if (kind, same) not in self.name_of:
            self._counts[kind] += 1
            name = f"{_NAMED.get(kind, kind)}{self._counts[kind]}"
            self.name_of[kind, same] = name
            self.text_of[name] = (kind, text)
            self.first[name] = field
            self._look_for(kind, text, name)
        return self.name_of[kind, same]

    def _look_for(self, kind: Kind, text: str, name: str) -> None:
        if kind == "secret":
            if len(text) >= 4 and not is_plain(text):
                self.secrets[text] = name
        elif kind in ("user", "host"):
            if len(text) >= 3 and not is_ordinary(text):
                self.alone.setdefault(text.casefold(), name)
            short = text.casefold().partition(".")[0]
            if kind == "host" and "." in text and len(short) >= 3 and not is_ordinary(short) and not short.isdigit():
                self.name_of.setdefault((kind, short), name)
                self.alone.setdefault(short, name)
        elif kind in ("serial", "id") and len(text) >= 8 and not is_ordinary(text):
            self.secrets[text] = name

    def learn(self, text: str, how: How, before: str, field: str) -> str:
        if (text, how, before) in self._learned:
            return text
        self._learned.add((text, how, before))
        if how is How.UUID:
            self.stand_in("gpu", text, field)
        elif not _is_own(text, how):
            for span in find(text, how, before):
                self.stand_in(span.kind, text[span.start : span.end], field)
        return text


@lru_cache(maxsize=4096)
def _is_own(text: str, how: How) -> bool:
    if how is How.COMMIT:
        return _COMMIT_SHAPE.match(text) is not None
    return how is How.OWN and _OWN_SHAPE.match(text) is not None and not any(secrets_in(text))


class _Rewriter:
    """The second walk."""

    def __init__(self, known: _Known) -> None:
        self._known = known
        self._times: Counter[str] = Counter()
        self._kept: set[tuple[str, How, str]] = set()  # in which nothing is replaced
        self._names = _any_of(
            known.alone, r"(?<![A-Za-z0-9_])(?<![A-Za-z0-9][-.+])", r"(?![A-Za-z0-9_])(?![-.+][A-Za-z0-9])", re.I
        )
        long = [name for name in known.alone if len(name) >= 4]
        self._in_paths = _any_of(long, r"(?<![A-Za-z0-9])", r"(?![A-Za-z0-9])", re.I)
        self._secrets = _any_of(known.secrets, r"(?<![A-Za-z0-9])", r"(?![A-Za-z0-9])", 0)
        self._homes = _any_of(known.homes, "", r"(?![A-Za-z0-9_-])", 0)
        mine = "|".join(map(re.escape, sorted(known.ordinary_users, key=len, reverse=True)))
        self._mine = (
            re.compile(
                rf"/(?:nfs|scratch|work|data|gpfs|lustre|home|users|u)\d?/(?:home/|users/)?({mine})(?=[/\s:'\"]|\Z)",
                re.I,
            )
            if mine
            else None
        )

    def rewrite(self, text: str, how: How, before: str, field: str) -> str:
        if not text or (text, how, before) in self._kept or _is_own(text, how):
            return text
        if how is How.UUID:
            return self._counted(self._known.stand_in("gpu", text, field))
        spans = find(text, how, before)
        taken = [(s.start, s.end, self._known.stand_in(s.kind, text[s.start : s.end], field)) for s in spans]
        taken += [m for m in self._learned(text, how) if all(m[1] <= t[0] or m[0] >= t[1] for t in taken)]
        if not taken:
            self._kept.add((text, how, before))
            return text
        parts, place = [], 0
        for start, end, name in sorted(taken):
            parts += [text[place:start], self._counted(name)]
            place = end
        return "".join([*parts, text[place:]])

    def _learned(self, text: str, how: How) -> Iterator[tuple[int, int, str]]:
        taken: list[tuple[int, int]] = []

        def free(match: re.Match[str], group: int = 0) -> bool:
            start, end = match.span(group)
            if any(start < e and end > s for s, e in taken):
                return False
            taken.append((start, end))
            return True

        for pattern, names in ((self._secrets, self._known.secrets), (self._homes, self._known.homes)):
            for match in pattern.finditer(text) if pattern else ():
                if free(match):
                    yield *match.span(), names[match[0]]
        if self._mine:
            for match in self._mine.finditer(text):
                if free(match, 1):
                    yield *match.span(1), self._known.stand_in("user", match[1], "")
        if how in (How.NAME, How.VERSION, How.OWN):
            return
        for match in self._names.finditer(text) if self._names else ():
            if free(match):
                yield *match.span(), self._known.alone[match[0].casefold()]
        for match in self._in_paths.finditer(text) if self._in_paths else ():
            if _is_in_path(text, match.start()) and free(match):
                yield *match.span(), self._known.alone[match[0].casefold()]

    def _counted(self, name: str) -> str:
        self._times[name] += 1
        return name

    def stand_ins(self) -> tuple[StandIn, ...]:
        found = []
        for name, (kind, text) in self._known.text_of.items():
            if self._times[name]:
                found.append(StandIn(name, kind, text, self._times[name], self._known.first[name] or "this machine"))
        return tuple(found)


def _any_of(texts: Iterable[str], before: str, after: str, flags: int) -> re.Pattern[str] | None:
    """Longest first: a name may be part of a longer one."""
    parts = [re.escape(text) for text in sorted(texts, key=len, reverse=True)]
    return re.compile(f"{before}(?:{'|'.join(parts)}){after}", flags) if parts else None


def _is_in_path(text: str, place: int) -> bool:
    """Whether a folder's separator stands before it in the same word."""
    start = max(text.rfind(c, 0, place) for c in " \t\n\"'=")
    return any(c in text[start + 1 : place] for c in "/\\")


# ---- the walk


def _walk(report: Report | BenchReport | FleetReport | Comparison, rewrite: Rewrite) -> Any:
    return _dataclass(report, rewrite, "")


@cache
def _ways(kind: type) -> tuple[tuple[str, How | None, bool], ...]:
    """The fields of a type that are gone through: (name, how it leaves, whether it is emptied). Numbers and booleans
    stay as they are."""
    how_of = declared(kind)
    names = [f.name for f in dataclasses.fields(kind) if not _NUMBER.fullmatch(str(f.type))]
    return tuple((n, how_of.get(n), n not in how_of and can_hold_text(kind, n)) for n in names)


_NUMBER = Regex(r"(?:(?:bool|int|float|None)(?: \| )?)+")


def _dataclass(value: Any, rewrite: Rewrite, where: str, label: str = "") -> Any:
    """`label`: what the `text` in it, or in what it holds, is the value of."""
    kind = type(value)
    label = value.label if kind in LABELLED else label
    changed = {}
    new: Any
    for field, how, emptied in _ways(kind):  # type: ignore[arg-type]
        old = getattr(value, field)
        if old is None or old == ():
            continue
        name = f"{where}.{field}" if where else field
        if emptied:
            new = _emptied(old)
        elif label and field == "text":
            new = _entry(label, old, how, rewrite, where)
        elif label and field == "values":
            new = tuple(_dataclass(v, rewrite, name, label) for v in old)
        else:
            new = _value(old, how, rewrite, name, "")
        if new is not old:
            changed[field] = new
    return dataclasses.replace(value, **changed) if changed else value


def _emptied(value: Any) -> Any:
    """What is not declared leaves with its shape only."""
    if isinstance(value, str):
        return NOT_DECLARED
    if isinstance(value, (tuple, list)):
        return type(value)()
    return (
        {} if isinstance(value, Mapping) else value if value is None or isinstance(value, (bool, int, float)) else None
    )


def _value(value: Any, how: How | None, rewrite: Rewrite, where: str, before: str) -> Any:
    """What is not changed comes back as the same object."""
    if isinstance(value, str):
        return value if how is None else rewrite(value, how, before, where)  # None: a word of a closed vocabulary
    if isinstance(value, (tuple, list)):
        if how is How.LINES:
            return type(value)(_lines(value, rewrite, where))
        if how is How.WORDS:
            heads = [" ".join(value[max(0, at - WORDS_BEFORE) : at]) for at in range(len(value))]
            new = [
                rewrite(word, How.TEXT, f"{seen} " if seen else "", where)
                for word, seen in zip(value, heads, strict=True)
            ]
        else:
            new = [_value(v, how, rewrite, where, before) for v in value]
        return value if all(map(is_, new, value)) else type(value)(new)
    if isinstance(value, Mapping):
        return {_key(k, rewrite, where): _entry(k, v, how, rewrite, where) for k, v in value.items()}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return _dataclass(value, rewrite, where)
    return value


def _key(key: Any, rewrite: Rewrite, where: str) -> Any:
    """Keys are names of facts, variables and values; what has another shape is text."""
    return rewrite(key, How.OWN, "", where) if isinstance(key, str) else key


def _entry(key: Any, value: Any, how: How | None, rewrite: Rewrite, where: str) -> Any:
    """A value is seen with its key before it: `HF_TOKEN=…`. That of a secret's key is one, whatever it looks like."""
    dotted = f"{where}.{key}"
    if isinstance(value, str) and is_secret_name(str(key)) and value:
        return rewrite(f"'{value}'", How.TEXT, f"{key}=", dotted).strip("'")
    return _value(value, how, rewrite, dotted, f"{key}=" if isinstance(value, str) else "")


def _lines(lines: Iterable[str], rewrite: Rewrite, where: str) -> Iterator[str]:
    """Each line is seen after the one before it. A private key is left out to its end, and a word that was cut off."""
    previous, inside = "", False
    for number, line in enumerate(lines):
        if number >= LINES_AT_MOST:
            return
        if inside:
            inside = not closes_private_key(line)
            continue
        inside = opens_private_key(line)
        shown = line if len(line) < LINE_LENGTH else line[:LINE_LENGTH].rpartition(" ")[0] + " …"
        yield rewrite(shown, How.TEXT, f"{previous}\n" if previous else "", where)
        previous = "" if inside else line[-LINE_LENGTH:]


def _with_placeholder(fix: Any, python: str) -> Any:
    """Commands that say {python} for the target's Python."""
    whole = re.compile(rf"(?<![A-Za-z0-9_./\\-]){re.escape(python)}(?![A-Za-z0-9_/\\.-])")

    def rewrite(value: Any) -> Any:
        if isinstance(value, str):
            return whole.sub("{python}", value)
        return tuple(map(rewrite, value)) if isinstance(value, tuple) else value

    def commands(step: Step) -> Step:
        changed = {name: rewrite(getattr(step, name)) for name in ("argv", "shell", "text", "undo", "verify")}
        return dataclasses.replace(step, **changed)

    return dataclasses.replace(
        fix,
        steps=tuple(commands(s) for s in fix.steps),
        alternatives=tuple(_with_placeholder(a, python) for a in fix.alternatives),
    )
