"""Two machines in one text (a reporter's and a commenter's): which one the error belongs to. The others are only
listed.

A text is cut at its collect_env blocks. Blocks that contradict each other are different machines; the text around
them goes
to the machine that it fits best: same system, driver, GPU, torch, Python, else the block that stands nearest.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cached_property
from itertools import pairwise
from typing import Any

from doctor.evidence import inference, makers
from doctor.evidence.blocks import reports
from doctor.evidence.notes import Notes, Trust
from doctor.evidence.text import Document
from doctor.model.facts import ABSENT
from doctor.model.report import Other
from doctor.model.values import dataclass
from doctor.regex import Regex

Take = Callable[[list[Document]], Notes]
Settle = Callable[[Notes], object]

_ANOTHER_PYTHON = 2
# (fact, how much it says that two texts agree, how much that they don't)
_IDENTITY: tuple[tuple[str, int, int], ...] = (
    ("host.system", 0, 4), ("host.macos", 2, 4), ("host.os_name", 2, 4), ("host.kernel", 3, 4), ("nvidia.driver", 3, 0),
    ("host.cpu_model", 2, 4), ("torch.version", 2, 2), ("interpreter.version", 1, _ANOTHER_PYTHON),
)  # fmt: skip
_SAID_OF_ANOTHER = Regex(
    r"\b(?:(?<!not )(?<!n't )(?<!never )(?<!to )(?<!nothing )(?<!longer )(?<!hardly )"
    r"works? (?:fine |well )?(?:for me|here|on my)|for comparison|"
    r"(?:an)?other (?:machine|computer|pc|server|laptop|system|box)|"
    r"(?:can(?:no|')t|could(?:n't| not)|unable to) reproduce|no (?:problems?|issues?|errors?) (?:here|on my)|"
    r"(?:colleague|coworker|friend)'s)",
    re.I,
)
OF_THE_WHOLE = (inference, makers)  # what they note rests on no line
BLOCKS_AT_MOST = 12  # of a text; a thirteenth is read with the text that follows the twelfth
_MESSAGE = 4  # weight of a message in what speaks of an error on a machine
_OTHER_MACHINE = 4  # one strong contradiction, or two weak ones


@dataclass(eq=False)
class _Part:
    """A run of lines: a collect_env block or what stands between two."""

    document: Document
    first: int
    block: bool
    take: Callable[[_Part], Notes]
    of_another: bool = False  # the words before the block say that it is of another machine, where all is well

    @cached_property
    def notes(self) -> Notes:
        """What it says; read when somebody asks."""
        return self.take(self)

    @cached_property
    def identity(self) -> dict[str, Any]:
        return _identity(self.notes)

    @property
    def is_silent(self) -> bool:
        """Whether it says nothing of a machine."""
        return not (self.notes.noted or self.notes.gpus)


def may_be_several(documents: list[Document], notes: Notes, settle: Settle) -> bool:
    """Whether the text may be of more than one machine, by what `notes` has of the lines of its parts: a look that
    costs little, where `choose` reads each part for itself. `settle` adds what follows from the notes of a part."""
    if len(documents) != 1 or not documents[0].text:
        return False
    document = documents[0]

    def noted(part: _Part) -> Notes:
        found, brief = notes.of_part(part.document, part.first), part.document.brief
        for reader in OF_THE_WHOLE:
            reader.read(brief, found)
        settle(found)
        return found

    parts = _cut(document, noted)
    blocks = [part for part in parts if part.block]
    if len(blocks) != 1:
        return bool(blocks)
    block = blocks[0]
    return block.of_another or any(_distance(part, block)[1] for part in parts if part is not block)


def choose(documents: list[Document], take: Take) -> tuple[list[Document], tuple[Other, ...]]:
    """The text of the machine to judge, and the others. `take` notes what a text says. Several documents are one
    machine."""
    if len(documents) != 1 or not documents[0].text:
        return documents, ()
    chosen, others = _choose(documents, take)
    if more := reports(documents[0])[BLOCKS_AT_MOST:]:
        where = f"line {documents[0].numbers[more[0].line]}"
        others += (Other(name=where, summary=f"from here on {len(more)} more environments are not told apart"),)
    return chosen, others


def _choose(documents: list[Document], take: Take) -> tuple[list[Document], tuple[Other, ...]]:
    parts = _cut(documents[0], lambda part: take([part.document]))
    blocks = [p for p in parts if p.block]
    if not blocks:
        return documents, ()
    machines: list[list[_Part]] = []
    for block in blocks:
        home = next((m for m in machines if all(_distance(block, p)[1] < 2 for p in m)), None)
        if home is None:
            machines.append([block])
        else:
            home.append(block)
    strangers = [p for p in parts if not p.block and all(_is_another(p, b) for b in blocks)]
    if strangers:
        machines.append(strangers)
    if len(machines) == 1:
        return documents, ()
    for part in parts:
        if not part.block and part not in strangers:
            _home_of(part, parts, machines, blocks).append(part)
    judged = max(machines, key=lambda m: (_trouble(m), -machines.index(m)))
    kept = sorted(judged, key=lambda p: p.first)
    others = tuple(
        Other(name=f"line {documents[0].numbers[min(p.first for p in m)]}", summary=_summary(m))
        for m in machines
        if m is not judged
    )
    lines = [line for p in kept for line in (*p.document.lines, "")]
    numbers = [number for p in kept for number in (*p.document.numbers, p.document.numbers[-1])]
    return [Document(documents[0].name, "\n".join(lines), tuple(numbers))], others


def _is_another(text: _Part, block: _Part) -> bool:
    """Whether a text is not of a block's machine: it contradicts the block, or the block is said to be of another one.
    A machine on which torch works is not the one that a failure tells of as soon as something contradicts."""
    if text.is_silent or block.of_another:  # what says nothing contradicts nothing
        return block.of_another
    contradiction = _distance(text, block)[1]
    if contradiction >= _OTHER_MACHINE:
        return True
    versions = [part.identity.get("interpreter.version") for part in (text, block)]
    if all(versions) and versions[0] != versions[1]:
        contradiction -= _ANOTHER_PYTHON  # many a machine has several
    return bool(contradiction and _works(block) and _trouble([text]) >= _MESSAGE)


def _cut(document: Document, take: Callable[[_Part], Notes]) -> list[_Part]:
    found_reports = reports(document)[:BLOCKS_AT_MOST]
    if not found_reports:
        return []
    cuts: list[tuple[int, bool]] = []
    end = 0
    for report in found_reports:
        if report.line > end:
            cuts.append((end, False))
        cuts.append((report.line, True))
        end = report.last
    if end < len(document.lines):
        cuts.append((end, False))
    pieces = [(document.part(a, b), a, block) for (a, block), (b, _) in pairwise([*cuts, (len(document.lines), False)])]
    pieces = [piece for piece in pieces if piece[0].text.strip()]
    if len(pieces) == 1:  # one report and nothing else: one machine
        return []
    found = []
    for part, first, block in pieces:
        said = [line for line in document.lines[max(0, first - 4) : first] if line.strip()][-2:] if block else []
        another = any(_SAID_OF_ANOTHER.search(line) for line in said)
        found.append(_Part(part, first, block, take, another))
    return found


def _identity(notes: Notes) -> dict[str, Any]:
    found = {fact: notes.get(fact) for fact, _, _ in _IDENTITY if notes.get(fact) and notes.rank_of(fact) >= Trust.LOOK}
    if version := found.get("interpreter.version"):
        found["interpreter.version"] = ".".join(str(version).split(".")[:2])
    if version := found.get("torch.version"):
        found["torch.version"] = str(version).partition("+")[0]
    parts = [notes.get(f"nvidia.{part}") for part in ("driver", "kernel_module", "library", "smi_version")]
    if drivers := {part for part in parts if isinstance(part, str)}:
        found["drivers"] = drivers
    if names := {re.sub(r"nvidia|geforce|\W", "", n.lower()) for n in notes.names_of_gpus(but="apple")}:
        found["gpus"] = names
    vendors = notes.vendors - {"apple"}
    vendors |= {"nvidia"} if found.get("nvidia.driver") else set()
    vendors |= {"amd"} if notes.speaks_of("amd", but="amd.groups") else set()
    if vendors:
        found["vendors"] = vendors
    return found


def _distance(one: _Part, two: _Part) -> tuple[int, int]:
    """(agreement, contradiction) of two parts."""
    agree = contradict = 0
    for fact, yes, no in _IDENTITY:
        a, b = one.identity.get(fact), two.identity.get(fact)
        if a is None or b is None:
            continue
        if a == b:
            agree += yes
        else:
            contradict += no
    mine, its = one.identity.get("drivers"), two.identity.get("drivers")
    if mine and its and not mine & its:
        contradict += 4
    mine, its = one.identity.get("gpus"), two.identity.get("gpus")
    if mine and its:
        if any(x in y or y in x for x in mine for y in its):
            agree += 3
        else:
            contradict += 4
    for a, b in ((one, two), (two, one)):
        foreign = b.identity.get("vendors", set())
        if (
            a.identity.get("host.system") == "darwin"
            and foreign & {"nvidia", "amd"}
            and b.identity.get("host.system") != "darwin"
        ):
            contradict += 4
        if b.notes.get("nvidia.kernel_module") is ABSENT and a.identity.get("nvidia.driver"):
            contradict += 4
        if b.notes.get("nvidia.smi_error") and a.notes.get("torch.cuda_available"):
            contradict += 4
        if a.notes.get("torch.imports") and (b.notes.get("torch.imports") is False or b.notes.get("torch") is ABSENT):
            contradict += 2
    vendors = one.identity.get("vendors"), two.identity.get("vendors")
    if vendors[0] and vendors[1] and not vendors[0] & vendors[1]:
        contradict += 4
    return agree, contradict


def _home_of(part: _Part, parts: list[_Part], machines: list[list[_Part]], blocks: list[_Part]) -> list[_Part]:
    """The machine that a text between blocks fits best; of equals the nearest, and of two neighbours the one
    that follows: people paste the error first, then the environment."""
    at = parts.index(part)

    def rank(block: _Part) -> tuple[int, int]:
        agree, contradict = _distance(part, block)
        where = parts.index(block)
        near = -abs(where - at) * 2 + (1 if where > at else 0)
        return agree - contradict, near

    best = max(blocks, key=rank)
    return next(m for m in machines if best in m)


def _trouble(machine: list[_Part]) -> int:
    """How much speaks of an error on a machine: messages first, then a GPU that torch does not use. A machine of
    which only is
    known that torch works there is the last to be judged."""
    messages = sum(
        len({e.pattern for e in p.notes.errors}) + sum(1 for a in p.notes.attempts if a.failed) for p in machine
    )
    unused = any(
        "nvidia" in p.identity.get("vendors", ()) and p.notes.get("torch.cuda_available") is False for p in machine
    )
    unimported = any(p.notes.get("torch.imports") is False for p in machine)
    return _MESSAGE * min(messages, 50) + 2 * unused + unimported - any(_works(p) for p in machine)


def _works(part: _Part) -> bool:
    """Whether it is a block of a machine on which torch can use its device."""
    return bool(
        part.block
        and part.notes.get("torch.imports")
        and (
            part.notes.get("torch.cuda_available")
            or part.notes.get("torch.xpu_available")
            or part.identity.get("host.system") == "darwin"
        )
    )


def _summary(machine: list[_Part]) -> str:
    """One line that says which machine it is."""
    words: list[str] = []
    for fact, label in (
        ("host.os_name", ""),
        ("host.kernel", "kernel "),
        ("torch.version", "torch "),
        ("nvidia.driver", "driver "),
    ):
        value = next((p.notes.get(fact) for p in machine if isinstance(p.notes.get(fact), str)), None)
        if value and not (fact == "host.kernel" and words):
            words.append(f"{label}{value}")
    names = next((sorted(p.notes.names_of_gpus()) for p in machine if p.notes.gpus), [])
    return ", ".join([*words, *names[:2]]) or "another environment"
