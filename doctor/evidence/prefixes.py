"""What programs, pagers and log collectors put before each line, taken off once, so that no reader has to know of it:
timestamps and levels, docker compose, journald, Kubernetes, GitHub Actions, ranks and workers, line numbers.

Most forms are certain by themselves. A line number or a bare name before a bar is a prefix only where its neighbours
have one, too. A level that tells of a failure stays as «ERROR: », unless the line is part of a traceback.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from doctor.regex import Regex

ROUNDS = 4  # prefixes before prefixes
_RUN = 3  # lines on end that make a run
_LIST = 8  # the same, where the number could be that of a list («0: Tesla T4»)

_LEVELS = r"DEBUG|INFO|NOTICE|TRACE|WARN(?:ING)?|ERROR|CRITICAL|FATAL"
_STAMP = (
    r"(?:\[?\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[ ]?[+-]\d\d:?\d\d)?\]?|"
    r"\[\d\d:\d\d:\d\d(?:[.,]\d{1,6})?\])"
)
# «- app.main - INFO - », « | INFO     | module:function:30 - », « INFO [file.py:12] », « ERROR: »
_LEVEL = (
    r"(?:[ ]-[ ][\w.]{1,80}|[ ]\[[\w.-]{1,60}\])?[ ]?[-|\[]?[ ]?\[?(?P<level>" + _LEVELS + r")\b(?!: task)\]?:?"
    r"(?:[ ]{0,8}\|[ ][^|\s]{1,120}[ ]-[ ]?|[ ]{0,8}[-|][ ]?|[ ]{0,8}\[[\w./-]{1,80}:\d{1,6}\][ ]?|[ ]{1,8}|$)"
)
_CERTAIN = Regex(
    r"[ \t]{0,8}(?:" + _STAMP
    + r"(?:[ ](?:stdout|stderr)[ ][FP](?:[ ]|$)|" + _LEVEL + r"|[ \t]?(?P<hub>##\[\w{1,12}\])|:?[ \t]|$)|"
    r"\d\d:\d\d:\d\d-\d{6}[ ]{1,4}(?P<webui>" + _LEVELS + r")[ ]{1,8}|"
    r"(?P<vllm>" + _LEVELS + r")[ ]{1,4}\d\d-\d\d[ ]\d\d:\d\d:\d\d(?:\.\d{1,6})?[ ]\[[\w./-]{1,80}:\d{1,6}\](?:[ ]|$)|"
    r"(?P<glog>[IWEF])\d{4}[ ]\d\d:\d\d:\d\d\.\d{1,9}[ ]{1,6}\d{1,8}[ ][\w./-]{1,80}:\d{1,6}\](?:[ ]|$)|"
    r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[ ]{1,2}\d{1,2}[ ]\d\d:\d\d:\d\d(?:\.\d{1,9})?[ ]"
    r"[\w.-]{1,64}[ ][\w./@-]{1,64}(?:\[\d{1,8}\])?:(?:[ ]|$)|"
    r"\[pod/[\w.-]{1,100}(?:/[\w.-]{1,64})?\](?:[ ]|$)|"
    r"\[(?:rank|default)\d{1,5}\]:(?:[ ]|$)|\[\d{1,4},\d{1,5}\]<std(?:err|out)>:[ ]?|"
    r"\(\w[\w.-]{0,60}(?:[ ]rank=\d{1,5})?[ ]pid=\d{1,9}(?:,[ ]ip=[\w.:]{1,45})?\)(?:[ ]|$))"
)
_JOB = Regex(r"[^\t\n]{1,80}\t[^\t\n]{1,80}\t(?=\d{4}-\d\d-)")  # gh run view --log: job, step
_COMPOSE = Regex(r"[ \t]{0,8}[\w.-]{1,60}[-_]\d{1,3}[ ]{1,30}\|(?:[ ]|$)")
_SIGNS = frozenset("[(0123456789JFMASONDTICWE")  # what _CERTAIN begins with
# And how they go on: of most texts no line needs the long expression.
_BEGINS = Regex(
    r"[ \t]{0,8}(?:\[?\d{4}[-/]\d|\[(?:\d|pod/|rank|default)|\(\w[^)\n]{0,80}pid=|\d\d:\d\d:|[IWEF]\d{4}[ ]|"
    r"[JFMASOND][a-z]{2}[ ]{1,2}\d|[A-Z]{4,8}[ ]{1,4}\d\d-)"
)
_FAILED = {"ERROR": "ERROR", "CRITICAL": "ERROR", "FATAL": "FATAL", "WARN": "WARNING", "WARNING": "WARNING"}
_GLOG = {"E": "ERROR", "F": "FATAL", "W": "WARNING"}
_OF_TRACEBACK = Regex(r"[ \t]|$|Traceback \(|(?:[A-Za-z_]\w{0,60}\.){0,8}[A-Z]\w{0,60}(?:Error|Exception)\b")
_NUMBER = Regex(r"[ \t]{0,8}(\d{1,6})(?:[ ]?([|│])(?:[ ]|$)|(\t)|(:)(?:[ ]|$)|$)")
_NAME = Regex(r"([\w.-]{1,60})([ ]{1,30})\|(?:[ ]|$)")


def without_prefixes(lines: list[str]) -> list[str]:
    """The lines without one prefix each. As many lines as before; those without a prefix are the same objects.

    >>> without_prefixes(["[rank0]: RuntimeError: x", "2025-03-04T12:00:00.123Z y", "(Worker_TP0 pid=7)   File"])
    ['RuntimeError: x', 'y', '  File']
    >>> without_prefixes(["2025-03-04 12:00:00,1 - app - ERROR - it failed", "ERROR 05-01 12:00:00 [a.py:3] KeyError"])
    ['ERROR: it failed', 'KeyError']
    >>> without_prefixes([" 9 | a", "10 |", "11 |   b"]), without_prefixes(["1 | a", "7 | b", "x"])
    (['a', '', '  b'], ['1 | a', '7 | b', 'x'])
    """
    found = [_certain(line) for line in lines]
    for form in (_of_numbers, _of_names):
        for at, end in form(found):
            found[at] = found[at][end:]
    return found


def _certain(line: str) -> str:
    if "|" in line and (named := _COMPOSE.match(line)):
        return line[named.end() :]
    job = _JOB.match(line) if "\t" in line else None
    m = _CERTAIN.match(line, job.end()) if job else None
    if m is None and _may_begin(line):
        m = _CERTAIN.match(line)
    if m is None:
        return line
    rest = line[m.end() :]
    if m["hub"]:
        return f"Error: {rest}" if m["hub"] == "##[error]" else rest
    level = m["level"] or m["webui"] or m["vllm"] or _GLOG.get(m["glog"] or "", "")
    said = _FAILED.get(level)
    return f"{said}: {rest}" if said and not _OF_TRACEBACK.match(rest) else rest


def _may_begin(line: str) -> bool:
    return line.lstrip(" \t")[:1] in _SIGNS and _BEGINS.match(line) is not None


def _of_numbers(lines: list[str]) -> list[tuple[int, int]]:
    """(index, end of the prefix) of the lines that are numbered one by one."""
    begun = ((i, line) for i, line in enumerate(lines) if line.lstrip(" \t")[:1].isdigit())
    numbered = [(i, m) for i, line in begun if (m := _NUMBER.match(line))]
    filled = sum(1 for line in lines if line)

    def is_run(run: list[tuple[int, re.Match[str]]]) -> bool:
        kinds = {kind for _, m in run if (kind := m[2] or m[3] or m[4])}
        if len(kinds) != 1:
            return False
        if int(run[0][1][1]) == 1 and len(run) == filled:
            return True
        enough = _LIST if kinds == {":"} else _RUN
        return len(run) >= enough and len(run) * 2 > run[-1][0] - run[0][0]

    runs = _runs(numbered, lambda one, two: int(two[1]) == int(one[1]) + 1)
    return [(i, m.end()) for run in runs if is_run(run) for i, m in run]


def _of_names(lines: list[str]) -> list[tuple[int, int]]:
    """(index, end of the prefix) of the lines that stand behind the name of a container and a bar: in one column, and
    the names come again."""
    named = [(i, m) for i, line in enumerate(lines) if "|" in line and (m := _NAME.match(line))]
    filled = sum(1 for line in lines if line)
    found = []
    for run in _runs(named, lambda one, two: one.end(2) == two.end(2)):
        names = {m[1] for _, m in run}
        whole = len(run) == filled > 1
        if (len(run) >= _RUN or whole) and len(names) * 2 <= len(run) and len(run) * 2 > run[-1][0] - run[0][0]:
            found += [(i, m.end()) for i, m in run]
    return found


def _runs(
    found: list[tuple[int, re.Match[str]]], goes_on: Callable[[re.Match[str], re.Match[str]], bool]
) -> list[list[tuple[int, re.Match[str]]]]:
    runs: list[list[tuple[int, re.Match[str]]]] = []
    for one in found:
        if runs and goes_on(runs[-1][-1][1], one[1]):
            runs[-1].append(one)
        else:
            runs.append([one])
    return runs
