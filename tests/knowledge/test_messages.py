"""The message patterns: each prefilter lets every match of its regular expression through."""

from __future__ import annotations

import json
import random
import re

import pytest

from doctor.knowledge import load, lookup
from doctor.knowledge.literals import flags_of, parser, sre
from doctor.knowledge.messages import harmless_ids, vocabulary_of_messages
from doctor.model.symptom import KINDS, SUBJECTS
from doctor.regex import Text
from tests.table import table

PATTERNS = lookup.error_patterns()
ALPHABET = "abzAZ019 _-./:'\"[]()`+\t"
CATEGORIES = {
    sre.CATEGORY_DIGIT: "0123456789", sre.CATEGORY_SPACE: " \t", sre.CATEGORY_WORD: "abzAZ09_",
    sre.CATEGORY_NOT_SPACE: "abzAZ09-./", sre.CATEGORY_NOT_DIGIT: "abz -", sre.CATEGORY_NOT_WORD: " -./",
}  # fmt: skip


def matching(items, chance: random.Random, groups: dict | None = None) -> str:
    """A text that a parsed regular expression matches (if no look-around or anchor forbids it)."""
    groups = {} if groups is None else groups
    text = ""
    for operator, argument in items:
        if operator is sre.LITERAL:
            text += chr(argument)
        elif operator is sre.NOT_LITERAL:
            text += chance.choice([c for c in ALPHABET if ord(c) != argument])
        elif operator is sre.ANY:
            text += chance.choice(ALPHABET)
        elif operator is sre.IN:
            text += one_of(argument, chance)
        elif operator is sre.BRANCH:
            text += matching(chance.choice(argument[1]), chance, groups)
        elif operator is sre.SUBPATTERN:
            said = matching(argument[-1], chance, groups)
            groups[argument[0]] = said
            text += said
        elif operator is sre.GROUPREF:
            text += groups.get(argument, "")
        elif operator in (sre.MAX_REPEAT, sre.MIN_REPEAT):
            least, most, inner = argument
            for _ in range(chance.randint(least, min(int(most), least + 2))):
                text += matching(inner, chance, groups)
        else:
            assert operator in (sre.AT, sre.ASSERT, sre.ASSERT_NOT), operator
    return text


def one_of(choices, chance: random.Random) -> str:
    if choices[0][0] is sre.NEGATE:
        banned = {chr(code) for op, code in choices[1:] if op is sre.LITERAL}
        return chance.choice([c for c in ALPHABET if c not in banned and not c.isspace()])
    operator, argument = chance.choice(choices)
    if operator is sre.LITERAL:
        return chr(argument)
    if operator is sre.RANGE:
        return chr(chance.randint(*argument))
    return chance.choice(CATEGORIES[argument])


@table("pattern", PATTERNS, ids=lambda p: p.id)
def test_prefilter_lets_every_match_through(pattern: lookup.ErrorPattern) -> None:
    chance = random.Random(pattern.id)
    flags = flags_of(pattern.flags)
    parsed, compiled = parser.parse(pattern.regex, flags), re.compile(pattern.regex, flags)
    matches = 0
    for _ in range(60):
        text = matching(parsed, chance)
        if flags & re.IGNORECASE:
            text = "".join(chance.choice((c.lower(), c.upper())) if c.isascii() else c for c in text)
        if compiled.search(text):
            matches += 1
            assert any(literal in text.lower() for literal in pattern.literals), text
    assert matches, "no text was made that the pattern matches"


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("RuntimeError: The NVIDIA driver on your system is too old (found version 11040).", "nvidia-driver-too-old"),
        ("AssertionError: Torch not compiled with CUDA enabled", "torch-cpu-only"),
        ("RuntimeError: operator torchvision::nms does not exist", "companion-mismatch"),
        ("Failed to initialize NVML: Driver/library version mismatch", "nvidia-driver-library-mismatch"),
        ("ERROR: No matching distribution found for torch", "python-unsupported"),
        ("OSError: libcudnn.so.9: cannot open shared object file: No such file or directory", "shared-library-missing"),
        ("The MPS backend is supported on MacOS 12.3+. Current OS version can be queried", "macos-too-old"),
        ("ImportError: numpy.core.multiarray failed to import, _ARRAY_API not found", "numpy-abi-mismatch"),
        ("Unable to open /dev/kfd read-write: Permission denied", "gpu-permission-denied"),
    ],
)
def test_known_messages(text: str, cause: str) -> None:
    causes = [
        p.causes[0]
        for p in PATTERNS
        if any(literal in text.lower() for literal in p.literals) and re.search(p.regex, text, flags_of(p.flags))
    ]
    assert cause in causes


@table("pattern", PATTERNS, ids=lambda p: p.id)
def test_a_row_matches_its_own_example(pattern: lookup.ErrorPattern) -> None:
    assert re.search(pattern.regex, pattern.example, flags_of(pattern.flags))
    assert any(literal in pattern.example.lower() for literal in pattern.literals)
    assert len(pattern.example) <= 400, "one message, not a log"


def test_kinds_and_subjects_are_those_of_symptoms() -> None:
    assert {p.kind for p in PATTERNS} <= set(KINDS)
    assert {p.subject for p in PATTERNS} <= set(SUBJECTS)


def test_every_row_names_causes_and_they_are_checks() -> None:
    from doctor.checks import all_checks

    ids = {check.id for check in all_checks()}
    assert not {p.id: cause for p in PATTERNS for cause in p.causes if cause not in ids}
    assert not [p.id for p in PATTERNS if not p.causes or len(set(p.causes)) < len(p.causes)]


def test_the_program_is_the_first_cause_of_its_own_errors() -> None:
    assert not [p.id for p in PATTERNS if (p.kind == "program") != (p.causes[0] == "program-error")]


def test_rows_that_are_read_alone_are_those_of_the_table() -> None:
    rows = load.table("messages")["rows"]
    assert [json.loads(line.rstrip(b",")) for line in load.row_lines("messages")] == rows
    literals = {literal for row in rows for literal in row["literals"]}
    assert vocabulary_of_messages().within(Text("\n".join(literals))).keys() == literals
    assert [row.id for row in PATTERNS] == [row["id"] for row in rows]
    assert harmless_ids() == {row["id"] for row in rows if row.get("means")}
