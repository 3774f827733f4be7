"""Machines to compare: one that is well, and what can be done to it."""

from __future__ import annotations

from dataclasses import replace

from doctor.accounting.judgement import judged
from doctor.model.facts import Facts, Gpu
from doctor.model.report import Report, Target
from tests.examples import device, linux, with_nvidia, with_packages, with_torch

NAME = "NVIDIA GeForce RTX 4090"


def facts(
    *, driver: str = "550.90.07", cuda: str = "12.4", torch: str = "2.6.0+cu124", works: bool = True,
    python: str = "3.12.4", name: str = NAME, numpy: str = "2.1.3", vision: str = "0.21.0",
    environ: dict[str, str] | None = None,
    **host: object,
) -> Facts:  # fmt: skip
    """A machine as a text shows it; as it is, it is well."""
    devices = (device("cuda", name),) if works else ()
    made = with_torch(
        with_nvidia(linux(python=python, **host), name, driver=driver, driver_cuda=cuda), torch, cuda_available=works,
        devices=devices,
    )  # fmt: skip
    return replace(with_packages(made, torchvision=vision, numpy=numpy), environ=environ or {}, live=False)


def report(facts: Facts, name: str = "machine") -> Report:
    """Judged, without a plan."""
    done = judged(facts)
    return Report(
        tool="torchdoctor 1.0", taken_at="2026-01-02T03:04:05Z", duration_ms=1.0,
        target=Target(python=None, reason="evidence", evidence=(name,)), verdict=done.verdict.value,
        unproven=done.verdict.unproven, facts=facts, outcomes=done.outcomes, findings=done.account.findings,
        symptoms=done.account.symptoms, hypotheses=done.account.hypotheses, questions=done.account.questions,
    )  # fmt: skip


GOOD = report(facts(), "his.json")
OLD_DRIVER = report(facts(driver="470.256.02", cuda="11.4", works=False, python="3.11.9"), "mine.json")
HIDDEN = report(facts(works=False, environ={"CUDA_VISIBLE_DEVICES": "-1"}), "mine.json")
CPU_BUILD = report(facts(torch="2.6.0+cpu", works=False), "mine.json")
BOTH = report(
    facts(driver="470.256.02", cuda="11.4", works=False, vision="0.20.0", numpy="1.26.4"),
    "mine.json",
)
OPEN = report(facts(works=False), "mine.txt")
LIKELY = report(facts(works=False, container="docker"), "container.json")
FLEET = (
    *(report(facts(), f"node{n}.json") for n in range(5)),
    report(facts(works=False, environ={"CUDA_VISIBLE_DEVICES": "-1"}), "node5.json"),
    report(facts(driver="470.256.02", cuda="11.4", works=False), "node6.json"),
    report(facts(python="3.11.9"), "node7.json"),
)
SERIAL = replace(GOOD, facts=replace(GOOD.facts, gpus=(
    Gpu(vendor="nvidia", name=NAME, uuid="GPU-11111111-2222-3333-4444-555555555555"),)))  # fmt: skip
EVIL = report(
    facts(works=False, environ={"CUDA_VISIBLE_DEVICES": "-1\x1b[31m <script>alert(1)</script> @you |\n::error::x"}),
    "<img src=x>\x1b]0;t\x07@team|.json",
)
PAIRS = {
    "healthy": (GOOD, replace(GOOD, target=replace(GOOD.target, evidence=("mine.json",)))),
    "one fault": (GOOD, OLD_DRIVER), "hidden": (GOOD, HIDDEN), "many": (GOOD, BOTH), "no verdict": (GOOD, OPEN),
    "likely": (GOOD, LIKELY),
    "cpu build": (GOOD, CPU_BUILD), "fleet": FLEET, "hostile": (GOOD, EVIL),
}  # fmt: skip
