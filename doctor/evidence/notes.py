"""What the readers note down, and how it becomes Facts: the best source of every fact wins, with its quote and line.

How far a source is believed is its Trust; of equal ones the first stands, or with `last` the last.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import field, fields, replace
from enum import IntEnum
from functools import cache
from typing import Any, NamedTuple

from doctor.evidence.text import Document
from doctor.fixes.tools import normalised
from doctor.knowledge.versions import taken_apart
from doctor.model.facts import (
    ABSENT,
    Amd,
    ErrorText,
    Facts,
    Gap,
    Gpu,
    Host,
    InstallAttempt,
    Intel,
    Interpreter,
    Metal,
    Nvidia,
    Origin,
    OtherEnvironment,
    Package,
    Torch,
    TorchCopy,
    TorchDevice,
)  # fmt: skip
from doctor.model.values import dataclass

QUOTE_LIMIT = 300
MESSAGE_LIMIT = 500
GPUS_AT_MOST = 256  # mentions; more are repetitions
ERRORS_AT_MOST = 1_000
_GROUPS: Mapping[str, type] = {
    "host": Host,
    "interpreter": Interpreter,
    "torch": Torch,
    "nvidia": Nvidia,
    "amd": Amd,
    "intel": Intel,
    "metal": Metal,
}


class Trust(IntEnum):
    """How far a source is believed. No other number ranks a fact."""

    SAID = 1  # a person, in a sentence
    LOOK = 2  # what the text looks like: prompts, words of one system
    NAMED = 3  # paths, names of files, images and wheels, the command that was typed
    PRINTED = 4  # a program, in words of its own
    LISTED = 5  # a list of packages; a tool, in passing
    TOOL = 6  # a tool of the system, of the maker or of Python that was asked
    COLLECTED = 7  # collect_env; a tool's own headline
    ANSWERED = 8  # asked exactly this, and conclusive

    def below(self) -> Trust:
        """The next lower one."""
        return Trust(max(self - 1, Trust.SAID))


class _Noted(NamedTuple):
    value: Any
    rank: Trust
    origin: Origin


@dataclass(frozen=True)
class Mention:
    """A GPU that a sentence names. `line`: its index; `maker_only`: «an AMD GPU», without a model; `fails`: it is the
    one that fails."""

    name: str
    line: int
    maker_only: bool = False
    fails: bool = False


@dataclass(frozen=True)
class ReleaseMention:
    """A release of torch that a sentence names. `fails`: what the sentence says of it; None: nothing."""

    release: str
    fails: bool | None

    def is_of(self, version: str) -> bool:
        """Whether a version is this release, or a patch or a build of it."""
        return version == self.release or version.startswith((f"{self.release}.", f"{self.release}+"))


class _Saying(NamedTuple):
    """A call of `put`, or of `gpu` (then `fact` is the list): what one line says, be it believed or not."""

    line: int | None
    fact: str
    value: Any
    rank: Trust


@dataclass
class Notes:
    """The notebook of one machine. A reader calls `put` for every fact that it sees."""

    several: bool = False  # more than one text: then the source of a fact names its text
    document: Document = field(default_factory=lambda: Document("", "", ()))
    noted: dict[str, _Noted] = field(default_factory=dict)
    gaps: dict[str, Gap] = field(default_factory=dict)
    gpus: list[tuple[Trust, str, Gpu]] = field(default_factory=list)  # rank, group of the list it stands in, GPU
    packages: dict[str, tuple[Trust, Package]] = field(default_factory=dict)
    wishes: dict[tuple[str, str], list[str]] = field(default_factory=dict)
    copies: list[TorchCopy] = field(default_factory=list)
    devices: list[TorchDevice] = field(default_factory=list)
    environ: dict[str, str] = field(default_factory=dict)
    errors: list[ErrorText] = field(default_factory=list)
    attempts: list[InstallAttempt] = field(default_factory=list)
    operations: list[str] = field(default_factory=list)
    signs: list[str] = field(default_factory=list)
    threads: list[str] = field(default_factory=list)
    others: list[OtherEnvironment] = field(default_factory=list)
    remarks: list[ErrorText] = field(default_factory=list)  # of lines that may say that something is wrong
    denied: dict[str, Origin] = field(default_factory=dict)  # facts that one line says are False, be it believed or not
    understood: set[tuple[str, int]] = field(default_factory=set)  # (document, line index)
    listed_packages: bool = False  # a package list was seen: what is not in it is not there
    mentions: list[Mention] = field(default_factory=list)  # GPUs of sentences
    releases: dict[ReleaseMention, Origin] = field(default_factory=dict)  # each where it is first said
    hints: list[Gpu] = field(default_factory=list)  # of which maker its GPU is, where nobody names it
    said_system: str | None = None  # the system that a sentence names first
    disputed: set[str] = field(default_factory=set)  # facts of which sentences say different things
    no_gpu: bool = False  # the PCI bus was listed, and none is on it
    linux_paths: bool = False  # paths that only a Linux has
    sayings: list[_Saying] = field(default_factory=list)

    def of_part(self, document: Document, first: int) -> Notes:
        """What the lines of a part of the text say of a machine, as if nothing else had been read: its messages,
        facts, and GPUs, but for what rests on no line. `first`: the part's first line in the whole."""
        lines = range(first, first + len(document.lines))
        numbers = {*document.numbers}
        part = Notes(
            document=document,
            errors=[one for one in self.errors if one.line in numbers],
            mentions=[one for one in self.mentions if one.line in lines],
        )
        for one in self.sayings:
            if one.line not in lines:
                continue
            if isinstance(one.value, Gpu):
                part.gpu(one.value, group=one.fact, rank=one.rank, source="")
            else:
                part.put(one.fact, one.value, source="", rank=one.rank)
        return part

    def origin(self, source: str, line: int | None, *, in_passing: bool = False) -> Origin:
        """The Origin of something read from line index `line` of the present document. The line is understood by it,
        unless it was only looked at in passing."""
        named = f"{source} in {self.document.name}" if self.several else source
        if line is None or line >= len(self.document.lines):
            return Origin(source=named)
        if not in_passing:
            self.understood.add((self.document.name, line))
        return Origin(
            source=named, quote=self.document.lines[line].strip()[:QUOTE_LIMIT], line=self.document.numbers[line]
        )

    def understand(self, first: int, last: int | None = None) -> None:
        """Mark lines as understood without a fact of their own."""
        self.understood.update((self.document.name, i) for i in range(first, (first if last is None else last) + 1))

    def put(
        self,
        fact: str,
        value: Any,
        *,
        source: str,
        rank: Trust,
        line: int | None = None,
        last: bool = False,
        in_passing: bool = False,
    ) -> None:
        """Note a fact, unless a better source has said it; of equal ones the first stands, or with `last` the last.
        None and "" are not noted, nor is a version of torch that is none: builds are chosen by it. `in_passing`: what
        else the line says is not understood by it."""
        if value is None or value == "" or (fact == "torch.version" and taken_apart(value) is None):
            return
        self.sayings.append(_Saying(line, fact, value, rank))
        before = self.noted.get(fact)
        wins = before is None or rank > before.rank or (rank == before.rank and last)
        if not wins and value is not False:
            if line is not None and not in_passing:
                self.understand(line)
            return
        origin = self.origin(source, line, in_passing=in_passing)
        if value is False:
            self.denied.setdefault(fact, origin)
        if wins:
            self.noted[fact] = _Noted(value, rank, origin)

    def get(self, fact: str) -> Any:
        """What is noted of a fact so far."""
        return self.noted[fact].value if fact in self.noted else None

    def rank_of(self, fact: str) -> int:
        return self.noted[fact].rank if fact in self.noted else -1

    def source_of(self, fact: str) -> str:
        """Who said it; "" where nobody did."""
        return self.noted[fact].origin.source if fact in self.noted else ""

    def speaks_of(self, group: str, *, but: str = "") -> bool:
        """Whether any fact of a group ("amd") is noted."""
        return any(fact.startswith(f"{group}.") and fact != but for fact in self.noted)

    def follow(self, fact: str, value: Any, cause: str) -> None:
        """Note what follows from another fact, with that one's origin, unless something says it."""
        if fact not in self.noted:
            self.noted[fact] = _Noted(value, Trust.LOOK, self.noted[cause].origin)

    def overrule(self, fact: str, value: Any, origin: Origin | None = None) -> None:
        """Another value in place of the one that was noted, from the same source or from another one."""
        before = self.noted.get(fact)
        self.noted[fact] = _Noted(value, before.rank if before else Trust.SAID, origin or self.noted[fact].origin)

    def forget(self, fact: str) -> None:
        """What was noted of a fact is not believed."""
        self.noted.pop(fact, None)

    def is_said(self, fact: str) -> bool:
        """Whether the best that is known of a fact is a person's sentence."""
        return self.rank_of(fact) == Trust.SAID

    def gap(self, fact: str, detail: str, *, reason: str = "unreadable", source: str = "") -> None:
        """Note why a fact is not known."""
        self.gaps.setdefault(fact, Gap(fact=fact, reason=reason, detail=detail, source=source))  # type: ignore[arg-type]

    def gpu(self, gpu: Gpu, *, group: str, rank: Trust, source: str, line: int | None = None) -> None:
        """Note a GPU as one of the list `group`."""
        if len(self.gpus) >= GPUS_AT_MOST:
            return
        self.sayings.append(_Saying(line, group, gpu, rank))
        origin = self.origin(source, line)
        if rank > self.rank_of("gpus"):
            self.noted["gpus"] = _Noted(None, rank, origin)
        self.gpus.append((rank, group, gpu))

    def package(
        self,
        name: str,
        version: str | None,
        *,
        installer: str | None,
        rank: Trust,
        source: str,
        line: int | None,
        path: str | None = None,
    ) -> None:
        """Note an installed distribution."""
        key = normalise(name)
        if not key:
            return
        origin = self.origin(source, line)
        before = self.packages.get(key)
        if before is None or rank > before[0]:
            self.packages[key] = (rank, Package(name=key, version=version, installer=installer, path=path))
            self.noted[f"packages.{key}"] = _Noted(version, rank, origin)

    def wish(self, name: str, version: str, requirement: str) -> None:
        """Note what that version of a distribution wants of another."""
        self.wishes.setdefault((normalise(name), version), []).append(requirement)

    @property
    def vendors(self) -> set[str]:
        """The makers of the GPUs that are noted."""
        return {gpu.vendor for _, _, gpu in self.gpus}

    def names_of_gpus(self, *, but: str = "") -> set[str]:
        """The names of the GPUs that are noted, but for those of one maker."""
        return {gpu.name for _, _, gpu in self.gpus if gpu.name and gpu.vendor != but}

    def message(
        self,
        pattern: str,
        text: str,
        source: str,
        line: int | None,
        *,
        groups: tuple[str, ...] = (),
        path: str | None = None,
    ) -> None:
        """Note a message, once: where it is said again with the file that raised it (a title has none), there."""
        origin = self.origin(source, line)
        text = text[:MESSAGE_LIMIT]
        made = ErrorText(pattern=pattern, text=text, groups=groups, source=origin.source, line=origin.line, path=path)
        place = next((i for i, e in enumerate(self.errors) if e.pattern == pattern and e.text == text), None)
        if place is not None:
            if path and not self.errors[place].path:
                self.errors[place] = made
        elif len(self.errors) < ERRORS_AT_MOST:
            self.errors.append(made)

    @property
    def recognised(self) -> int:
        """How many things were recognised."""
        return len(self.noted) + len(self.errors) + len(self.attempts) + len(self.environ) + len(self.others)

    def _with_wishes(self, package: Package) -> Package:
        wishes = self.wishes.get((package.name, package.version or ""))
        return replace(package, requires=tuple(wishes)) if wishes else package

    def facts(self) -> Facts:
        """All that was noted, as Facts."""
        values: dict[str, dict[str, Any]] = {group: {} for group in _GROUPS}
        for fact, noted in self.noted.items():
            group, _, name = fact.partition(".")
            if group in values and name in _names_of(_GROUPS[group]):
                values[group][name] = noted.value
        values["interpreter"]["others"] = tuple(self.others)
        made: dict[str, Any] = {group: kind(**values[group]) for group, kind in _GROUPS.items()}
        if self.get("torch") is ABSENT:
            made["torch"] = ABSENT
        elif not any(name.startswith("torch.") for name in self.noted):
            made["torch"] = None
        if self.get("metal.device") is None and not any(n.startswith("metal.") for n in self.noted):
            made["metal"] = Metal()
        packages = tuple(self._with_wishes(p) for _, (_, p) in sorted(self.packages.items()))
        origins = {name: noted.origin for name, noted in self.noted.items() if noted.origin.source}
        return Facts(
            live=False, **made, packages=packages if packages or self.listed_packages else None, gpus=self._gpus(),
            environ=dict(self.environ) if self.environ else None, errors=(*self.errors, *self.remarks),
            attempts=tuple(self.attempts), operations=tuple(dict.fromkeys(self.operations)),
            signs=tuple(dict.fromkeys(self.signs)), threads=tuple(dict.fromkeys(self.threads)),
            gaps=tuple(gap for fact, gap in self.gaps.items() if fact not in self.noted), origins=origins,
        )

    def _gpus(self) -> tuple[Gpu, ...] | None:
        """Of each vendor the best list (rank, then length), completed with what the other lists know of the same
        GPUs."""
        if not self.gpus:
            return () if self.no_gpu else None
        chosen: list[Gpu] = []
        for vendor in dict.fromkeys(g.vendor for _, _, g in self.gpus):
            lists: dict[tuple[Trust, str], list[Gpu]] = {}
            for rank, group, gpu in self.gpus:
                if gpu.vendor == vendor:
                    lists.setdefault((rank, group), []).append(gpu)
            best = max(lists, key=lambda k: (any(g.name for g in lists[k]), k[0], len(lists[k])))
            rest = [g for key, found in lists.items() if key != best for g in found]
            chosen += [_completed(gpu, rest, alone=len(lists[best]) == 1) for gpu in lists[best]]
        return tuple(chosen)


@cache
def _names_of(kind: type) -> frozenset[str]:
    return frozenset(f.name for f in fields(kind))


def _completed(gpu: Gpu, rest: list[Gpu], *, alone: bool) -> Gpu:
    """A GPU with what other mentions of it add. Mentions match by name; if there is one GPU only, also without."""
    for other in rest:
        same = gpu.name and other.name and _key(gpu.name) == _key(other.name)
        if not (same or (alone and (not other.name or not gpu.name))):
            continue
        more = {f.name: getattr(other, f.name) for f in fields(Gpu) if getattr(gpu, f.name) is None}
        gpu = replace(gpu, **{k: v for k, v in more.items() if v is not None})
    return gpu


def _key(name: str) -> str:
    return re.sub(r"nvidia|amd|ati|intel|\(r\)|\(tm\)|graphics|[^a-z0-9]", "", name.lower())


def normalise(name: str) -> str:
    """A distribution's name as PEP 503 has it."""
    return normalised(name).strip("-")
