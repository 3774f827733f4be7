"""Prove that the form of a ticket does not change the verdict.

scripts/prove_forms.py [--mixtures] [--pairs] [--fuzz N] [DIR…]

Every case below the folders (tests/cases) is judged as it is and in every form that people paste a text in: quoted,
fenced, wrapped, in another encoding, with its blocks in another order, cut after the last line that says something.
The verdict, the first finding and the first fix must be the same. What programs, pagers and mailers put before each
line (PREFIXES) is a form, too; there 1 case in 100 may change. --mixtures: with a healthy machine's block before or
behind it, too. --pairs: also with two prefixes, one before the other, every third case. --fuzz N: also N texts made of
damaged and mixed lines of the cases, and of any bytes; none may raise or take more than a second. Prints a table and
every change; exit code 1 if there are too many.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
import textwrap
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from doctor.model.report import Report  # noqa: E402
from doctor.pipeline import Request, examine  # noqa: E402
from scripts.tickets import tickets_below  # noqa: E402

Case = tuple[str, str, str]  # name, text, date
SECONDS = 1.0  # for one text of the fuzz
PREFIXED = 0.01  # of the cases that may change by what stands before their lines


def each_line(change: Callable[[str], str]) -> Callable[[str], bytes]:
    """A form that changes every line."""
    return lambda text: "\n".join(change(line) for line in text.split("\n")).encode()


def wrapped(text: str) -> str:
    """Long lines broken at spaces, as a mail program does."""
    return "\n".join(
        line if len(line) <= 80 else textwrap.fill(line, 80, break_on_hyphens=False, break_long_words=False)
        for line in text.split("\n")
    )


def folded(text: str) -> str:
    """Long lines broken at exactly 80 columns, as a terminal does."""
    return "\n".join("\n".join(line[i : i + 80] for i in range(0, max(len(line), 1), 80)) for line in text.split("\n"))


def reordered(text: str) -> str:
    """The blocks in the opposite order. What one program printed may have empty lines in it: a block begins at a prompt
    or at the first line of a known tool, behind an empty line."""
    return "\n\n".join(reversed(_BLOCK.split(text)))


_BLOCK = re.compile(
    r"\n[ \t]*\n(?=\S{0,60}[$#%>] |\(\w+\) |Traceback|-{20,}\n\w+ +Traceback|PyTorch version|Collecting environment|"
    r"\+-{20}|Python 3\.|OS:|NAME=)"
)
FORMS: dict[str, Callable[[str], bytes]] = {
    "quoted": each_line(lambda s: f"> {s}"),
    "quoted twice": each_line(lambda s: f"> > {s}"),
    "quoted tightly": each_line(lambda s: f">{s}"),
    "fenced": lambda t: f"Here it is:\n```\n{t}\n```\n".encode(),
    "fenced and quoted": lambda t: "\n".join(f"> {s}" for s in f"```shell\n{t}\n```".split("\n")).encode(),
    "folded away": lambda t: f"<details><summary>Logs</summary>\n<pre>\n{t}\n</pre>\n</details>\n".encode(),
    "indented": each_line(lambda s: f"    {s}"),
    "indented by a tab": each_line(lambda s: f"\t{s}"),
    "CRLF": lambda t: t.replace("\n", "\r\n").encode(),
    "CR": lambda t: t.replace("\n", "\r").encode(),
    "spaces at the ends": each_line(lambda s: f"{s}   "),
    "empty lines between": lambda t: t.replace("\n", "\n\n").encode(),
    "UTF-8 with a mark": lambda t: t.encode("utf-8-sig"),
    "UTF-16": lambda t: t.encode("utf-16"),
    "UTF-16 without a mark": lambda t: t.encode("utf-16-le"),
    "cp936": lambda t: f"我的环境如下，安装失败：\n\n{t}".encode("gb18030"),
    "cp1252": lambda t: f"Voilà le problème :\n\n{t}".encode("cp1252", "replace"),
    "coloured": each_line(lambda s: f"\x1b[31m{s[:5]}\x1b[0m\x1b[1m{s[5:]}\x1b[0m"),
    "colours without escapes": each_line(lambda s: f"[31m{s}[0m" if s else s),
    "escaped for HTML": lambda t: t.replace("&", "&amp;").replace(">", "&gt;").replace("<", "&lt;").encode(),
    "typographic": lambda t: re.sub(r"'([^'\n]*)'", "\u2018\\1\u2019", t).replace("  ", " \u00a0").encode(),
    "log of a container": each_line(lambda s: f"app-1  | {s}"),
    "wrapped": lambda t: wrapped(t).encode(),
    "wrapped at 80": lambda t: folded(t).encode(),
    "blocks reordered": lambda t: reordered(t).encode(),
    "with words around": lambda t: (
        f"Hello,\n\nI get this since yesterday:\n\n{t}\n\nThank you for any help!\n".encode()
    ),
}


def numbered(text: str, pattern: str) -> str:
    """Each line behind its number: `pattern` holds {n}, and {t}, the seconds since the first line."""
    return "\n".join(
        pattern.format(n=n, t=f"{n // 60 % 60:02}:{n % 60:02}") + line for n, line in enumerate(text.split("\n"), 1)
    )


# What stands before each line: the form as {n} (number of the line) and {t} (minutes and seconds) make it.
_PREFIX_PATTERNS = {
    "line numbers and bars": "{n:4} | ",
    "line numbers and tabs": "{n:6}\t",
    "line numbers and colons": "{n}: ",
    "a timestamp": "2025-03-04 12:{t},123 ",
    "a timestamp and a level": "2025-03-04 12:{t},123 - app.main - INFO - ",
    "a time in brackets": "[12:{t}] ",
    "docker compose": "worker-1  | ",
    "docker compose, a named container": "trainer  | ",
    "docker logs -t": "2025-03-04T12:{t}.123456789Z ",
    "a container's log file": "2025-03-04T12:{t}.123456789Z stderr F ",
    "kubectl logs --prefix": "[pod/train-5d4f7c9b8-x2x9z/trainer] ",
    "journalctl": "Mar 04 12:{t} gpubox python3[4242]: ",
    "GitHub Actions": "2025-03-04T12:{t}.1234567Z ",
    "gh run view --log": "test (3.11)\tRun tests\t2025-03-04T12:{t}.1234567Z ",
    "a rank": "[rank0]: ",
    "a worker": "(EngineCore_0 pid=4242) ",
    "a quote mark": "> ",
}
PREFIXES: dict[str, Callable[[str], bytes]] = {
    name: lambda t, p=pattern: numbered(t, p).encode()  # type: ignore[misc]
    for name, pattern in _PREFIX_PATTERNS.items()
}
PREFIXES |= {
    "a greeting before the fence": lambda t: (
        f"Hello, this is what I get here, please have a look:\n\n```\n{t}\n```\n".encode()
    ),
    "an answer to a mail": lambda t: (
        "On Tue, 4 Mar 2025 at 12:01, Jo <jo@example.org> wrote:\n\n" + "\n".join(f"> {s}" for s in t.split("\n"))
    ).encode(),
    "headings of an issue": lambda t: (
        f"### Describe the bug\n\n{t}\n\n### Expected behavior\n\n_No response_\n".encode()
    ),
}
PAIRS: dict[str, Callable[[str], bytes]] = {
    f"{one}, then {two}": lambda t, a=before, b=behind: numbered(numbered(t, b), a).encode()  # type: ignore[misc]
    for one, before in _PREFIX_PATTERNS.items()
    for two, behind in _PREFIX_PATTERNS.items()
    if one != two
}
EVERY = 3  # of the cases with two prefixes
HEALTHY_LINUX = """\
PyTorch version: 2.5.1+cu124
Is debug build: False
CUDA used to build PyTorch: 12.4
ROCM used to build PyTorch: N/A

OS: Rocky Linux 9.4 (Blue Onyx) (x86_64)
GCC version: (GCC) 11.4.1
Libc version: glibc-2.34

Python version: 3.9.18 (main, Jul  3 2024, 00:00:00)  [GCC 11.4.1 20231218] (64-bit runtime)
Python platform: Linux-5.14.0-427.13.1.el9_4.x86_64-x86_64-with-glibc2.34
Is CUDA available: True
CUDA runtime version: 12.4.131
CUDA_MODULE_LOADING set to: LAZY
GPU models and configuration: GPU 0: NVIDIA L40S
Nvidia driver version: 550.127.05
cuDNN version: Could not collect
Is XNNPACK available: True

Versions of relevant libraries:
[pip3] numpy==1.26.4
[pip3] torch==2.5.1+cu124
"""
HEALTHY_MAC = """\
PyTorch version: 2.6.0
Is debug build: False
CUDA used to build PyTorch: None
ROCM used to build PyTorch: N/A

OS: macOS 15.3.1 (arm64)
Libc version: N/A

Python version: 3.12.9 (main, Feb  4 2025, 14:38:38) [Clang 16.0.0 (clang-1600.0.26.6)] (64-bit runtime)
Python platform: macOS-15.3.1-arm64-arm-64bit
Is CUDA available: False
CUDA runtime version: No CUDA
GPU models and configuration: No CUDA
Nvidia driver version: No CUDA
Is XNNPACK available: True

CPU:
Apple M3 Max

Versions of relevant libraries:
[pip3] numpy==2.2.3
[pip3] torch==2.6.0
"""
OTHERS = {
    "a Linux machine": f"For comparison, it works here:\n\n{HEALTHY_LINUX}",
    "a Mac": f"Works for me on my Mac:\n\n{HEALTHY_MAC}",
    "a Linux machine without a word": HEALTHY_LINUX,
    "a Mac without a word": HEALTHY_MAC,
}
MIXTURES: dict[str, Callable[[str], bytes]] = {}
for _name, _block in OTHERS.items():
    MIXTURES[f"{_name} behind it"] = lambda t, b=_block: f"{t}\n\n{b}\n".encode()  # type: ignore[misc]
    MIXTURES[f"{_name} before it"] = lambda t, b=_block: f"{b}\n\n{t}\n".encode()  # type: ignore[misc]


def judged(data: bytes, date: str) -> Report:
    """The report on one text."""
    return examine(Request(evidence=(("ticket", data),), as_of=date))


def essence(report: Report) -> tuple[Any, ...]:
    """What must not change: the verdict, the first finding, the first fix with its build."""
    first = report.findings[0].id if report.findings else None
    fix = next(iter(report.plan.fixes), None)
    return report.verdict, first, (fix.action, fix.details.get("backend")) if fix else None


def cut(report: Report, text: str) -> bytes:
    """The text up to the last line from which something was read, and what hangs together with it."""
    last = max([o.line or 0 for o in report.facts.origins.values()] + [e.line or 0 for e in report.facts.errors] + [0])
    lines = text.split("\n")
    end = next((i for i, line in enumerate(lines) if i >= last and not line.strip()), len(lines))
    return "\n".join(lines[:end]).encode()


def cases(folders: list[Path]) -> Iterator[Case]:
    """All labelled cases below the folders."""
    for ticket in tickets_below(folders):
        yield ticket.name, ticket.text, ticket.label["date"]


def matrix(found: list[Case], forms: dict[str, Callable[[str], bytes]], changes: Counter[str]) -> int:
    """Judge every case in every form; the number of comparisons. Changes are printed and counted."""
    compared = 0
    for name, text, date in found:
        plain = judged(text.encode(), date)
        made = {form: change(text) for form, change in forms.items() if form != "cp1252" or text.isascii()}
        if forms is FORMS:
            made["cut after the last fact"] = cut(plain, text)
        for form, data in made.items():
            compared += 1
            said, before = essence(judged(data, date)), essence(plain)
            if forms is not FORMS:  # who reads another prefix may rank the fixes of one finding otherwise
                said, before = said[:2], before[:2]
            if said != before:
                changes[form] += 1
                print(f"  {form}: {name}: {before} -> {said}")
    return compared


def fuzz(found: list[Case], count: int, changes: Counter[str]) -> None:
    """Read and judge `count` texts that nobody would write."""
    rng = random.Random(0)
    lines = sorted({line for _, text, _ in found for line in text.split("\n") if line.strip()})
    texts = [text for _, text, _ in found]
    for number in range(count):
        data = _strange(rng, lines, texts)
        started = time.process_time()
        try:
            judged(data, "2026-01-01")
        except Exception:
            changes["raised"] += 1
            print(f"  text {number} raised: {data[:200]!r}\n{traceback.format_exc()}")
        if time.process_time() - started > SECONDS:
            changes["slow"] += 1
            print(f"  text {number} took {time.process_time() - started:.1f} s: {data[:200]!r}")


def _strange(rng: random.Random, lines: list[str], texts: list[str]) -> bytes:
    kind = rng.randrange(5)
    if kind == 0:
        return rng.randbytes(rng.randrange(600))
    if kind == 1:
        return "\n".join(rng.choices(lines, k=rng.randrange(1, 40))).encode()
    if kind == 2:  # lines with a piece cut out or doubled
        return "\n".join(_damaged(rng, line) for line in rng.choices(lines, k=rng.randrange(1, 25))).encode(
            "utf-8", "replace"
        )
    if kind == 3:  # half of a case in the middle of another
        one, two = rng.choice(texts), rng.choice(texts)
        at = rng.randrange(len(one) + 1)
        return (one[:at] + two[rng.randrange(len(two) + 1) :] + one[at:]).encode()
    data = bytearray(rng.choice(texts).encode())
    for _ in range(rng.randrange(1, 30)):
        data[rng.randrange(len(data))] = rng.randrange(256)
    return bytes(data)


def _damaged(rng: random.Random, line: str) -> str:
    first, last = sorted((rng.randrange(len(line) + 1), rng.randrange(len(line) + 1)))
    odd = "".join(rng.choices("0123456789.:,;|/\\\"'()[]{}<>=+-*#%$&@ \tAz\u00e9\u2019\u0660", k=rng.randrange(4)))
    return line[:first] + odd + (line[first:last] * rng.randrange(3)) + line[last:]


def main() -> int:
    """Prove it, and print what is not so."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="*", type=Path, default=[ROOT / "tests/cases"], metavar="DIR")
    parser.add_argument("--mixtures", action="store_true", help="also with another machine's block around it")
    parser.add_argument("--pairs", action="store_true", help="also with two prefixes before each line")
    parser.add_argument("--fuzz", type=int, default=0, metavar="N", help="also N strange texts")
    options = parser.parse_args()
    found = list(cases(options.folders))
    changes: Counter[str] = Counter()
    compared = matrix(found, FORMS, changes)
    print(f"{len(found)} cases, {len(FORMS) + 1} forms, {compared} comparisons: {sum(changes.values())} changes")
    for title, forms, chosen in (
        ("a prefix", PREFIXES, found), ("two prefixes", PAIRS if options.pairs else {}, found[::EVERY]),
    ):  # fmt: skip
        prefixed: Counter[str] = Counter()
        compared = matrix(chosen, forms, prefixed)
        count = sum(prefixed.values())
        print(f"{compared} comparisons with {title}: {count} changes ({1 - count / max(1, compared):.2%} as before)")
        for form, one in prefixed.most_common():
            print(f"  {one:4} {form}")
        if count > PREFIXED * compared:
            changes += prefixed
    if options.mixtures:
        mixed: Counter[str] = Counter()
        compared = matrix(found, MIXTURES, mixed)
        print(f"{compared} mixtures of two machines: {sum(mixed.values())} changes")
        changes += mixed
    if options.fuzz:
        strange: Counter[str] = Counter()
        fuzz(found, options.fuzz, strange)
        print(f"{options.fuzz} strange texts: {strange['raised']} raised, {strange['slow']} slow")
        changes += strange
    for form, count in changes.most_common():
        print(f"  {count:4} {form}")
    return int(bool(changes))


if __name__ == "__main__":
    raise SystemExit(main())
