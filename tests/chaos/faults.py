"""The ways in which a command goes wrong, each by the run's own random numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from random import Random

from tests.chaos.played import Answer

# What the C library and the shells of other languages say where ours says «permission denied», «no such file»,
# «killed»: a tool that fails on such a machine fails with these words.
FOREIGN = (
    "nvidia-smi: Keine Berechtigung", "bash: rocminfo: Kommando nicht gefunden.", "Speicherzugriffsfehler",
    "权限不够", "没有那个文件或目录", "段错误 (核心已转储)",
    "Erişim engellendi", "Böyle bir dosya ya da dizin yok", "Parçalama arızası",
    "FEHLER: Das Gerät ist nicht verfügbar; 3,5 GB belegt",
)  # fmt: skip
NOISE = (
    "\x00\x01\x02\xff\xfe", "{" * 200, '{"event": "done"}', "null", "[]", "%s%n%x", "\x1b[31mERROR\x1b[0m",
    "<html><body>502</body></html>",
    "NVIDIA-SMI", "Driver Version: ", "CUDA Version: N/A", "9" * 400, "0000:00:00.0", "﻿", "İıŞşĞğ", "-1, -1, [N/A]",
    "torch", "Traceback (most recent call last):", "ok",
)  # fmt: skip


def fails(answer: Answer, chance: Random) -> Answer:
    """Exit with an error, nothing said but that."""
    code = chance.choice((1, 2, 9, 126, 127, 255))
    said = chance.choice(("", "error", "Segmentation fault", "Input/output error", "Resource temporarily unavailable"))
    return Answer(replace(answer.result, status="failed", exit_code=code, stdout="", stderr=said))


def crashes(answer: Answer, chance: Random) -> Answer:
    """Ended by a signal, in the middle of what it said. SIGILL is not among them: it would be evidence."""
    result = replace(answer.result, status="crashed", exit_code=None, signal=chance.choice((6, 7, 9, 11)))
    return Answer(replace(result, stdout=_part(result.stdout, chance)), _some(answer.said, chance))


def hangs(answer: Answer, chance: Random) -> Answer:
    """Never ends: what it said until then is there, now and then it cannot even be killed."""
    result = replace(
        answer.result, status="timed-out", exit_code=None, stdout=_part(answer.result.stdout, chance),
        ms=answer.result.limit_s * 1000, stuck=chance.random() < 0.2, state=chance.choice(("S", "R", "D", "")),
    )  # fmt: skip
    return Answer(result, _some(answer.said, chance))


def floods(answer: Answer, chance: Random) -> Answer:
    """Writes without end."""
    noise = (chance.choice(NOISE) + "\n") * 2000
    result = replace(answer.result, status="flooded", exit_code=None, stdout=noise, truncated=True)
    return Answer(result, _some(answer.said, chance))


def lies(answer: Answer, chance: Random) -> Answer:
    """Answers garbage, and says that all is well."""
    lines = [chance.choice(NOISE) for _ in range(chance.randint(0, 30))]
    old = answer.result.stdout.splitlines()
    if old and chance.random() < 0.5:  # some of it is still right
        lines += chance.sample(old, k=min(len(old), 5))
        chance.shuffle(lines)
    said = tuple(chance.choice(NOISE) for _ in range(chance.randint(0, 3))) if answer.said else ()
    return Answer(replace(answer.result, status="ok", exit_code=0, stdout="\n".join(lines), stderr=""), said)


def is_late(answer: Answer, chance: Random) -> Answer:
    """All is said, but it does not end before its limit."""
    result = replace(answer.result, status="timed-out", exit_code=None, ms=answer.result.limit_s * 1000)
    return replace(answer, result=result)


def speaks_another_language(answer: Answer, chance: Random) -> Answer:
    """Fails in German, Chinese or Turkish."""
    words = chance.choice(FOREIGN)
    return Answer(replace(answer.result, status="failed", exit_code=1, stdout=chance.choice(("", words)), stderr=words))


Fault = Callable[[Answer, Random], Answer]
FAULTS: Mapping[str, Fault] = {
    "fails": fails, "crashes": crashes, "hangs": hangs, "floods": floods, "lies": lies, "is late": is_late,
    "another language": speaks_another_language,
}  # fmt: skip


def _part(text: str, chance: Random) -> str:
    return text[: chance.randint(0, len(text))]


def _some(said: tuple[str, ...], chance: Random) -> tuple[str, ...]:
    """The first lines; never the last one, which says that all is done."""
    return said[: chance.randint(0, max(0, len(said) - 1))]
