"""START HERE: the whole flow on one screen.

collect facts ─→ probe devices ─→ checks ─→ account for every symptom ─→ verdict ─→ plan the fix ─→ render or apply
(facts/, evidence/)  (probes/)    (checks/)          (accounting/)                   (fixes/)      (reports/, apply/)
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from doctor import __version__
from doctor.model.facts import DamagedFile, Facts, Gap
from doctor.model.fix import Plan
from doctor.model.report import Report, Target
from doctor.model.request import Request

if TYPE_CHECKING:
    from doctor.fleet.rank.options import Options
    from doctor.model.bench import BenchOptions, BenchReport, Row
    from doctor.model.finding import Finding
    from doctor.model.fleet import FleetReport

PATIENCE_S = 0.6  # for a tool of the driver, where everything else has answered


def _now() -> str:
    """UTC, in ISO 8601."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def _silent(stage: str) -> None:
    """Progress that nobody watches."""


def _show(progress: Callable[[str], None], what: str, value: object) -> None:
    """Tell a watcher who can show more than the names of stages (cli/progress.py)."""
    hear = getattr(progress, what, None)
    if hear:
        hear(value)


def examine(request: Request, progress: Callable[[str], None] = _silent) -> Report:
    """Look, probe, judge, plan. Never raises for anything that the machine or the evidence does."""
    started = time.monotonic()
    target, facts, extra = read_evidence(request) if request.is_text else look_at_machine(request, progress)
    words = extra.pop("words", "")

    from doctor.accounting.judgement import judged

    facts = replace(facts, required=request.require) if request.require else facts
    limits = (*limits_of(request), *extra.pop("limits", ()))
    judgement = judged(facts, only=request.only, limits=limits, words=words)
    account = judgement.account
    report = Report(
        tool=f"torchdoctor {__version__}",
        taken_at=_now(),
        duration_ms=round((time.monotonic() - started) * 1000, 1),
        target=target,
        verdict=judgement.verdict.value,
        unproven=judgement.verdict.unproven,
        limits=limits,
        facts=facts,
        outcomes=judgement.outcomes,
        findings=account.findings,
        symptoms=account.symptoms,
        hypotheses=account.hypotheses,
        questions=account.questions,
        plan=_planned(account.findings, facts, request),
        **extra,
    )
    return report if request.plugins == () else _with_plugins(report, request, started)


def _planned(findings: tuple[Finding, ...], facts: Facts, request: Request) -> Plan:
    """What to do about the findings, if somebody wants to know."""
    if not request.fixes:
        return Plan()
    from doctor.fixes.plan import plan

    return plan(findings, facts, tool=request.tool, shell=request.shell)


def _with_plugins(report: Report, request: Request, started: float) -> Report:
    """The report with what the plugins say that are installed beside, or those that are named."""
    from doctor.plugins.installed import installed

    asked = tuple(one for one in installed() if request.plugins is None or one.name in request.plugins)
    if not asked:
        return report
    from doctor.plugins.merge import merged
    from doctor.plugins.run import ask

    until = started + request.run_limit_s if request.run_limit_s else None
    ran = ask(asked, report.facts, request.evidence, limit_s=request.limit_s, until=until)
    return replace(merged(report, ran, request), duration_ms=round((time.monotonic() - started) * 1000, 1))


def limits_of(request: Request) -> tuple[str, ...]:
    """The options by which the user limited what is judged: then nothing is said of the whole."""
    limits = [f"--only {id}" for id in request.only]
    if not request.is_text:
        limits += [f"--device {device}" for device in request.devices]
        limits += [] if request.probe else ["--no-probe"]
    return tuple(limits)


def look_at_machine(request: Request, progress: Callable[[str], None]) -> tuple[Target, Facts, dict[str, Any]]:
    """Stages 1 and 2, live. The children that import torch start first: that takes the time, everything else overlaps
    it. So do the probes of GPUs that files promise, and no tool of the driver is waited for before them."""
    from doctor import process

    process.get_ready()
    from doctor.facts.system import System
    from doctor.facts.target import find_target
    from doctor.probes import children
    from doctor.probes.limits import run_limit

    until = time.monotonic() + (request.run_limit_s or run_limit(request.mode, request.limit_s))
    system = replace(System.of_this_process(), until=until)
    target = find_target(system, request.python)
    system = target.seen_from(system)
    first = children.start_first(system, target, probe=request.probe, request=request)
    from doctor.facts import collect, interpreter

    collection = collect.start(system, target)
    if target.python and not target.failure:
        _show(progress, "target", target.as_report())
    from doctor.facts.said import with_messages

    _load_what_judges()
    progress("looking at the machine")
    soon = collection.first_look()
    _show(progress, "known", soon)
    others = children.probe(first, system, target, soon, request=request, progress=progress)
    facts = collection.finish(
        patience_s=PATIENCE_S if others and others.answered else None,
        devices_used_at=others.devices_used_at if others else None,
    )
    facts = children.add(others, replace(facts, as_of=request.as_of, asked_devices=request.devices))
    if request.every_file or (facts.torch and facts.torch.imports is False):
        progress("comparing the installed files")
        facts = _with_every_file(facts, interpreter.all_damaged_files(system, target))
    return target.as_report(), with_messages(facts), {}


def _load_what_judges() -> None:
    """Modules and tables, while the children work: nothing is loaded between their last word and the report."""
    from importlib import import_module

    from doctor.checks import all_checks
    from doctor.knowledge import lookup, messages, releases

    for module in ("doctor.accounting.judgement", "doctor.fixes.plan"):
        import_module(module)
    all_checks()
    lookup.errata()
    messages.harmless_ids()
    releases.torch_versions()


def _with_every_file(facts: Facts, damaged: tuple[DamagedFile, ...] | Gap) -> Facts:
    return replace(facts, gaps=(*facts.gaps, damaged)) if isinstance(damaged, Gap) else replace(facts, damaged=damaged)


def read_evidence(request: Request) -> tuple[Target, Facts, dict[str, Any]]:
    """Stage 1 from pasted text and stated facts. Nothing in them is executed, opened or resolved."""
    from doctor.decode import encoded
    from doctor.evidence.read import read

    stated = request.stated
    texts = request.evidence
    if stated and stated.messages:
        texts = (*texts, (stated.name, encoded("\n".join(stated.messages))))
    seen = read(texts)
    facts = replace(seen.facts, as_of=request.as_of) if request.as_of else seen.facts
    if stated:
        from doctor.evidence.stated import over

        facts = over(facts, stated)
    names = tuple(dict.fromkeys((*(name for name, _ in request.evidence), *((stated.name,) if stated else ()))))
    return (
        Target(python=facts.interpreter.executable, reason="evidence", evidence=names),
        facts,
        {
            "others": seen.others,
            "unread": seen.unread,
            "limits": seen.limits,
            "words": seen.words,
        },
    )


CPU_RANKS = 2  # of a fleet check on a machine without a GPU


class NothingToMeasure(Exception):
    """Why there is no benchmark, in one line: torch does not import, or a device that was asked for is not there."""

    def __init__(self, message: str, *, usage: bool) -> None:
        super().__init__(message)
        self.usage = usage  # the command line named what is not there


def benchmark(
    request: Request,
    options: BenchOptions,
    progress: Callable[[str, float], None] = lambda what, share: None,
    on_rows: Callable[[tuple[Row, ...]], None] | None = None,
) -> BenchReport:
    """`torchdoctor bench`: look, plan, measure in children, judge. Ctrl-C gives the report of what is done. `progress`
    hears what is running and how much of the time is over, `on_rows` all rows that are done. Raises
    NothingToMeasure."""
    started = time.monotonic()
    target, facts, _ = look_at_machine(replace(request, probe=False), lambda stage: progress(stage, 0.0))

    from doctor.bench import plan, report
    from doctor.facts.system import System
    from doctor.facts.target import find_target
    from doctor.probes import benching

    available = report.devices_of(facts)
    if not available:
        raise NothingToMeasure(f"torch does not import in {target.python}: torchdoctor check says why", usage=False)
    devices, missing = report.chosen(available, options.devices)
    if missing:
        names = ", ".join(available)
        raise NothingToMeasure(f"no such device for this torch: {', '.join(missing)} (available: {names})", usage=True)
    plans = plan.plan(options, devices)
    system = replace(System.of_this_process(), until=time.monotonic() + 2 * sum(p.seconds for p in plans) + 300)
    found = find_target(system, request.python)
    answers = benching.Answers()
    cells = tuple(cell for p in plans for cell in p.cells)
    shown = 0

    def tell(what: str, share: float) -> None:
        nonlocal shown
        progress(what, share)
        if on_rows is not None and len(answers.cells) > shown:
            said = dict(answers.cells)
            shown = len(said)
            on_rows(report.rows_so_far(facts, devices, cells, said, options))

    interrupted = False
    try:
        benching.run(found.seen_from(system), found.python or "", plans, options, answers, tell)
    except KeyboardInterrupt:
        interrupted = True
    return report.report_of(
        tool=f"torchdoctor {__version__}",
        taken_at=_now(),
        duration_ms=round((time.monotonic() - started) * 1000, 1),
        facts=facts,
        machine=report.machine_of(facts, devices, answers.environ),
        options=options,
        cells=cells,
        said=dict(answers.cells),
        notes=tuple(answers.notes),
        interrupted=interrupted,
    )


def fleet_of_this_machine(
    request: Request, options: Options, *, ranks: int | None, strict: bool, tell: Callable[[str], None]
) -> FleetReport:
    """`torchdoctor fleet --local`: start a rank for each device of this machine, and judge what they leave. Raises
    NothingToMeasure."""
    target, facts, _ = look_at_machine(replace(request, probe=False), _silent)

    from doctor.facts.system import System
    from doctor.facts.target import find_target
    from doctor.fleet import launch, merge
    from doctor.model.facts import Torch

    if not isinstance(facts.torch, Torch) or facts.torch.imports is not True:
        raise NothingToMeasure(f"torch does not import in {target.python}: torchdoctor check says why", usage=False)
    kind = {"nccl": "cuda", "xccl": "xpu", "gloo": "cpu"}.get(options.backend or "", "")
    found = [d for d in facts.torch.devices or () if d.backend in ((kind,) if kind else ("cuda", "xpu"))]
    if options.backend in ("nccl", "xccl") and not found:
        raise NothingToMeasure(f"this torch sees no device for --backend {options.backend}", usage=True)
    count = ranks or len(found) or CPU_RANKS
    started = System.of_this_process()
    system = find_target(started, request.python).seen_from(started)
    result = launch.local(
        system, target.python or "", count, options, tell, torchrun=launch.has_torchrun(facts.torch.path)
    )
    if not result.ok and result.status != "failed":
        tell(f"torchdoctor: the ranks' launcher: {result.said}")
    return merge.merge(options.output, expect=count, hosts=(), strict=strict)
