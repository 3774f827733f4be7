"""Plants secrets and identities and looks for them in everything that leaves: tickets and live facts, all formats.

python scripts/prove_redaction.py [--seed N] [--verbose]

Prints, a line each, what was planted and how much of it leaked; which innocent lines and which words of a report
about users with ordinary names were changed. Exit 1 where anything leaked or was changed.
"""

from __future__ import annotations

import argparse
import html
import json
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from doctor import pipeline
from doctor.comparison import compare
from doctor.model.facts import Declaration, Gap, ImportFailure, Origin, ProbeResult
from doctor.model.finding import Evidence, Finding, Outcome, Remedy
from doctor.model.report import PluginRun, Report
from doctor.redaction.report import comparison_redaction, redact
from doctor.reports import block, env, github, junit, markdown, openmetrics, sarif
from doctor.reports import html as html_format
from doctor.reports import json as json_format
from doctor.reports.compare import json as compare_json
from doctor.reports.compare import markdown as compare_markdown
from doctor.reports.compare import text as compare_text
from doctor.triage.comment import answer_to
from tests.redaction.planted import INNOCENT, KINDS, USERS, Planted, pasted, planted, spelled
from tests.reports.samples import FACTS, report

FORMATS = {
    "json": json_format, "markdown": markdown, "html": html_format, "junit": junit, "github": github, "sarif": sarif,
    "openmetrics": openmetrics,
}  # fmt: skip
COMPARE = {"json": compare_json, "markdown": compare_markdown, "text": compare_text}
TICKET = """\
PyTorch version: 2.6.0+cu124
CUDA used to build PyTorch: 12.4
OS: Ubuntu 22.04.4 LTS (x86_64)
Python version: 3.12.4 (64-bit runtime)
Is CUDA available: False
GPU 0: NVIDIA GeForce RTX 4090
Nvidia driver version: 470.256.02

Some words of the person who asks:
{}
Traceback (most recent call last):
  File "train.py", line 3, in <module>
RuntimeError: {}
"""


def outputs(sample: Report, names: Iterable[tuple[str, str]] = ()) -> dict[str, str]:
    """Every format of the redacted report, with the format's own escapes undone."""
    redacted = redact(sample, names=tuple(names))
    texts = {name: module.render(redacted) for name, module in FORMATS.items()}
    texts |= {f"ticket --as {shape}": render(redacted) for shape, render in env.SHAPES.items()}
    pair = [report(FACTS), sample]
    comparison, _ = comparison_redaction(compare(pair, ["report.json", "ticket.txt"]), names=tuple(names))
    texts |= {f"compare {name}": module.render(comparison) for name, module in COMPARE.items()}
    texts["summary of a job"] = github.job_summary(redacted)
    texts["triage"] = answer_to(sample).body or ""  # it repeats values of a closed shape only
    decoded = {name: html.unescape(text).replace("\\", "") for name, text in texts.items()}
    return {
        **{f"{k} decoded": v for k, v in decoded.items()},
        **texts,
        "json values": "\n".join(strings(json.loads(texts["json"]))),
        "sarif values": "\n".join(strings(json.loads(texts["sarif"]))),
        "values of the ticket's block": "\n".join(strings(json.loads(block.made(redacted)[0]))),
    }


def strings(value: object) -> Iterator[str]:
    """All texts of a JSON value, keys too."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield key
            yield from strings(item)
    elif isinstance(value, list):
        for item in value:
            yield from strings(item)


def leaks(one: Planted, texts: dict[str, str]) -> list[str]:
    """The outputs in which the value is, in any letter case, or eight characters and more of it."""
    value = one.value.lower()
    parts = {value} if len(value) < 12 else {value[i : i + 12] for i in range(len(value) - 11)}
    bare = {part.replace("\\", "") for part in parts}
    return [
        name
        for name, text in texts.items()
        if any(p in (low := text.lower()) or b in low for p, b in zip(parts, bare, strict=False))
    ]


def of_ticket(one: Planted) -> Report:
    """The ticket that holds the line, among what was not understood and as a message."""
    return pipeline.examine(pipeline.Request(evidence=(("ticket.txt", TICKET.format(one.line, one.line).encode()),)))


def live(one: Planted) -> Report:
    """A live machine whose tools, paths and variables say the line."""
    name, equals, value = one.line.partition("=")
    environ = {name: value} if equals and name.isidentifier() else {"CFLAGS": one.line}
    assert FACTS.torch
    failure = ImportFailure(
        kind="exception",
        message=one.line,
        exception="ImportError",
        traceback=f"Traceback:\n  {one.line}\nImportError: x",
    )
    probe = ProbeResult(
        id="cpu",
        device="cpu",
        status="crashed",
        stderr_tail=f"x\n{one.line}\ny",
        reason=one.line,
        data={"log": one.line},
    )
    facts = replace(
        FACTS,
        environ={**environ, "LD_LIBRARY_PATH": f"/usr/lib:{one.line}"},
        torch=replace(FACTS.torch, imports=False, path=one.line, warnings=(one.line,), import_failure=failure),
        gaps=(Gap(fact="gpus", reason="crashed", detail=one.line, source=one.line),),
        origins={"host": Origin(source=one.line, quote=one.line, line=1)},
        interpreter=replace(FACTS.interpreter, sys_path=(one.line,), project=one.line),
        probes=(probe,),
        declared=(Declaration(file=f"{one.line}/requirements.txt", line=3, what="torch"),),
        required=("torch>=2.5",),
    )  # fmt: skip
    found = Finding(
        id="acme/licence-server-down", layer="torch", severity="fault", title="A plugin's finding.", detail=one.line,
        values={"host": one.line}, evidence=(Evidence(fact="message", value=one.line, quote=one.line),),
        remedies=(Remedy(action="none", details={"reason": one.line}),),
    )  # fmt: skip
    return report(
        facts,
        verdict="faulty",
        findings=(found,),
        outcomes=(Outcome(id="acme/licence-server-down", layer="torch", status="crashed", reason=one.line),),
        plugins=(PluginRun(name="acme", status="failed", reason=one.line),),
    )


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    leaked: Counter[str] = Counter()
    everything = [*planted(options.seed), *pasted(), *spelled()]
    for one in everything:
        for where, sample in (("ticket", of_ticket(one)), ("live", live(one))):
            if found := leaks(one, outputs(sample)):
                leaked[where] += 1
                print(f"LEAK  {where:7}{one.kind:24}{one.line[:110]!r} -> {', '.join(found)[:60]}")
    print(
        f"planted: {len(everything)} of {len(KINDS)} kinds; "
        f"leaked in tickets: {leaked['ticket']}, live: {leaked['live']}"
    )
    print("kinds: " + ", ".join(KINDS))
    changed = list(changed_lines())
    for line, shown in changed:
        print(f"CHANGED  {line!r} -> {shown!r}")
    print(f"innocent lines: {len(INNOCENT)}; changed: {len(changed)}")
    wrong = list(changed_by_users())
    for user, before, after in wrong:
        print(f"CHANGED  user {user}: {before!r} -> {after!r}")
    print(f"users with ordinary names: {len(USERS)}; texts changed wrongly: {len(wrong)}")
    return 1 if leaked or changed or wrong else 0


def changed_lines() -> Iterator[tuple[str, str]]:
    """Innocent lines that redaction changes, as text of the facts and as lines that nobody understood."""
    for line in INNOCENT:
        sample = replace(report(replace(FACTS, gaps=(Gap(fact="x", reason="crashed", detail=line),))), unread=(line,))
        shown = redact(sample)
        for text in (shown.facts.gaps[0].detail, *shown.unread):
            if text != line:
                yield line, text


def changed_by_users() -> Iterator[tuple[str, str, str]]:
    """Texts that differ in the reports of two users, but for their home folders."""
    for user in USERS:
        lines = (
            *INNOCENT,
            f"/home/{user}/ml/x.py",
            f"File /home/{user}/.venv/lib/python3.12/site-packages/{user}/core.py",
        )
        gaps = tuple(Gap(fact="x", reason="crashed", detail=line) for line in lines)
        sample = report(replace(FACTS, gaps=gaps))
        shown = redact(sample, names=(("user", user), ("home", f"/home/{user}"), ("host", user)))
        before, after = (list(strings(json_format.encode(r))) for r in (replace(sample, redacted=True), shown))
        for a, b in zip(before, after, strict=True):
            stand_in = b.partition("/home/")[2].partition("/")[0] if "/home/" in b else ""
            home = a.partition("/home/")[2].partition("/")[0] if "/home/" in a else ""
            if a != b and a.replace(f"/home/{home}", "/home/~", 1) != b.replace(f"/home/{stand_in}", "/home/~", 1):
                yield user, a, b


if __name__ == "__main__":
    sys.exit(main())
