"""A device is far slower than its model should be.

What it means
    The probe's best rate is below 0.85 (note), 0.6 (warning) or 0.3 (fault; of a CPU a warning) of what a healthy
    device of this model reaches in the precision that was really used, or far below an equal device of the same
    machine, or data reach it over a link that is narrower than it could be. The full probe holds copies, within its
    memory and over its link, to the same bands; they are no fault. Usual causes: its power is capped, it is too hot,
    its clock is locked, a container's CPU quota, too few threads, or the work runs elsewhere. A device that other
    programs use while it is probed gets no verdict; where it is only known that they have it open, too, no fault; a
    CPU gets the note only where its cause is seen, since what is expected of it is a rough lower bound.

How to see it yourself
    nvidia-smi -q -d PERFORMANCE,POWER,CLOCK,TEMPERATURE while it computes; torchdoctor probe --full

What to do
    Look at temperature, power limit, clocks and slot; of a CPU at the quota of the container and OMP_NUM_THREADS.

References
    https://docs.nvidia.com/deploy/nvidia-smi/ (clocks event reasons)
    https://github.com/stas00/ml-engineering/tree/master/compute/accelerator (rates that healthy devices reach)
"""

from collections.abc import Iterator

from doctor.checks import Check, Judgement
from doctor.checks._machine import heard
from doctor.checks._speed import MEMORY, Ratio, gpu_name, link_ratio, memory_ratio, number, product_ratio
from doctor.checks._torch import quote
from doctor.knowledge import speeds
from doctor.model.facts import Facts, ProbeResult
from doctor.model.finding import Evidence, Finding, Remedy, Severity

HARDWARE = Remedy(action="hardware-service")
GPU_SETTING = Remedy(
    action="system-setting",
    details={"setting": "power limit, clocks and cooling of the GPU"},
    text="Look at the GPU's power limit, clocks and cooling (NVIDIA: nvidia-smi -q -d POWER,CLOCK,PERFORMANCE).",
)

check = Check(
    severity="warning",
    needs=("probes",),
    usual=(GPU_SETTING, HARDWARE),
)

LOW_CLOCK = 0.7  # of the highest, while it computes
ELSEWHERE = 0.05  # of the expected rate: no setting makes a GPU so slow
THREADS_ADD = 0.3  # of one thread's rate, for each thread: two threads of a core share its units
FEW_THREADS = 0.5  # of the CPUs that may be used
LINK_SETTING = Remedy(
    action="system-setting",
    details={"setting": "slot, riser and BIOS link of the GPU"},
    text="Look at the GPU's slot and riser, and at the link speed in the firmware's settings.",
)


@check
def judge(facts: Facts) -> Judgement:
    found = [*_slow(facts), *_stragglers(facts), *_links(facts), *_copies(facts)]
    if not found and (error := heard(facts, "gpu-clocks-throttled")):
        return check.found(
            facts,
            "The driver slows the GPU down.",
            evidence=(quote(error), "gpus"),
            remedies=(GPU_SETTING, HARDWARE),
            confidence="likely",
        )
    return found or None


def _judged(facts: Facts) -> Iterator[ProbeResult]:
    """Probes that ended well, of devices that nobody else used meanwhile."""
    return (p for p in facts.probes or () if p.status == "ok" and not p.data.get("busy"))


def _slow(facts: Facts) -> Iterator[Finding]:
    for probe in _judged(facts):
        measured = product_ratio(facts, probe)
        cpu = probe.device == "cpu"
        below = measured is not None and measured.ratio < speeds.OK
        reasons = tuple(_cpu_reasons(facts, probe) if cpu else _gpu_reasons(probe, measured if below else None))
        slow = measured is not None and measured.ratio < speeds.SLOW
        lost = cpu and _threads_lost(probe)
        noted = below and (not cpu or any(_core_reasons(facts, probe)))
        if not (slow or lost or noted):
            continue
        if below and measured is not None and (slow or not lost):
            text = (
                f"{measured.name} reaches {measured.rate:.3g} TFLOP/s in {measured.kind}; a healthy one reaches about "
                f"{measured.expected.rate:.3g}: {measured.ratio:.0%}."
            )
        else:
            text = f"{probe.data.get('threads')} threads compute hardly faster than one."
        yield check.found(
            facts,
            " ".join([text, *(f"{reason[:1].upper()}{reason[1:]}." for reason in reasons)]),
            evidence=(*_evidence(probe, measured), *_said(probe), "nvidia.processes"),
            remedies=_cpu_remedies(probe) if cpu else (GPU_SETTING, HARDWARE) if slow else (GPU_SETTING,),
            severity=_severity(measured, probe) if slow else "warning" if lost else "note",
            title=None if slow or lost else "A device is slower than its model should be.",
            device=probe.device,
            ratio=f"{measured.ratio:.2f}" if below and measured else None,
            reason=reasons[0] if reasons else None,
        )


def _severity(measured: Ratio | None, probe: ProbeResult) -> Severity:
    sure = probe.device != "cpu" and not _others(probe)
    return "fault" if measured and sure and measured.ratio < speeds.VERY_SLOW else "warning"


def _others(probe: ProbeResult) -> int:
    """How many other processes had the GPU open, before or after. What the driver says each of them computed is no
    proof that they did not: within a second it says 0 of processes that took three quarters of the GPU."""
    return int(max(number(probe, "processes_before") or 0, number(probe, "processes_after") or 0))


def _evidence(probe: ProbeResult, measured: Ratio | None) -> Iterator[Evidence]:
    if measured is not None:
        rate = f"{measured.rate:.3g} TFLOP/s"
        yield Evidence(fact=f"{probe.device}, {measured.kind}", value=rate, source="probe")
        expected = f"{measured.expected.rate:.3g} TFLOP/s"
        yield Evidence(fact="expected", value=expected, source=measured.expected.source)


def _said(probe: ProbeResult) -> Iterator[Evidence]:
    """What was read while it computed."""
    for key, words, unit in (
        ("sm_clock_mhz", "clock", "MHz"), ("power_w", "power", "W"), ("temperature_c", "temperature", "°C"),
        ("cpu_capability", "instruction set that torch uses", ""), ("threads", "threads", ""),
        ("quota_cpus", "CPU quota", "CPUs"), ("load_1min", "load", "processes"),
    ):  # fmt: skip
        if probe.data.get(key) is not None:
            yield Evidence(fact=words, value=f"{probe.data[key]} {unit}".strip(), source="probe")


def _gpu_reasons(probe: ProbeResult, measured: Ratio | None) -> Iterator[str]:
    """Why a GPU may be slow, the most telling first."""
    if count := _others(probe):
        yield f"{count} other process{'es have' if count > 1 else ' has'} it open and may compute: probe it alone"
    limit, default = number(probe, "power_limit_w"), number(probe, "power_limit_default_w")
    throttles = probe.data.get("throttles")
    named = [str(t) for t in throttles] if isinstance(throttles, list | tuple) else []
    if limit and default and limit < 0.95 * default:
        yield f"its power is limited to {limit:g} of {default:g} W"
    if others := [name for name in named if name not in ("power cap", "display clocks")]:
        yield f"the driver slows it down ({', '.join(others)})"
    clock, most = number(probe, "sm_clock_mhz"), number(probe, "sm_clock_max_mhz")
    if clock and most and clock < LOW_CLOCK * most:
        yield f"its clock stays at {clock:g} of {most:g} MHz"
    if measured is not None and "power cap" in named and not (limit and default and limit < 0.95 * default):
        yield "its power limit holds it back"
    if measured is not None and measured.ratio < ELSEWHERE:
        yield "so slow is no setting: the work may run on the CPU"


def _cpu_reasons(facts: Facts, probe: ProbeResult) -> Iterator[str]:
    """Why a CPU may be slow: what slows one thread, then what all of them together."""
    yield from _core_reasons(facts, probe)
    usable, threads = number(probe, "cpus_usable"), number(probe, "threads")
    asked = probe.data.get("omp_num_threads")
    if threads and usable and threads < FEW_THREADS * usable:
        yield f"torch uses {threads:g} threads of {usable:g} CPUs" + (f" (OMP_NUM_THREADS={asked})" if asked else "")


def _core_reasons(facts: Facts, probe: ProbeResult) -> Iterator[str]:
    usable, quota = number(probe, "cpus_usable"), number(probe, "quota_cpus")
    if quota and usable and quota < usable and probe.data.get("throttled_periods"):
        yield f"a quota allows {quota:g} CPUs of {usable:g}, and stopped the threads while they computed"
    used = str(probe.data.get("cpu_capability") or "")
    if used in ("DEFAULT", "NO AVX") and {"avx2", "fma"} & set(facts.host.cpu_flags or ()):
        yield f"torch uses none of the CPU's vector instructions (its own word: {used})"


def _threads_lost(probe: ProbeResult) -> bool:
    """Whether many threads together compute hardly faster than one, because a quota stops them."""
    one, threads = number(probe, "float32_tflops_one_thread"), number(probe, "threads")
    every = number(probe, "float32_tflops_sustained")
    if not (one and every and threads and threads > 1 and probe.data.get("throttled_periods")):
        return False
    return every < THREADS_ADD * threads * one


def _cpu_remedies(probe: ProbeResult) -> tuple[Remedy, ...]:
    found = []
    if probe.data.get("omp_num_threads"):
        found.append(Remedy(action="unset-env", details={"name": "OMP_NUM_THREADS"}))
    setting = Remedy(
        action="system-setting",
        details={"setting": "CPU quota of the container, power plan"},
        text="Look at the container's CPU quota and the machine's power plan.",
    )
    return (*found, setting)


def _stragglers(facts: Facts) -> Iterator[Finding]:
    """Of several equal GPUs those that are more than 10 % behind the fastest in every type."""
    groups: dict[str, list[ProbeResult]] = {}
    for probe in _judged(facts):
        if name := gpu_name(facts, probe.device):
            groups.setdefault(name, []).append(probe)
    for name, probes in groups.items():
        for probe in probes if len(probes) > 1 else ():
            shares = list(_shares(probe, probes))
            if not shares or max(shares) >= speeds.STRAGGLER:
                continue
            yield check.found(
                facts,
                f"{probe.device} reaches {max(shares):.0%} of the fastest of {len(probes)} equal GPUs ({name}).",
                evidence=tuple(_said(probe)),
                remedies=(GPU_SETTING, HARDWARE),
                device=probe.device,
                ratio=f"{max(shares):.2f}",
            )


def _shares(probe: ProbeResult, equals: list[ProbeResult]) -> Iterator[float]:
    for key in ("float32_tflops_burst", "float16_tflops_burst", "bfloat16_tflops_burst"):
        rate, best = number(probe, key), max((number(p, key) or 0.0 for p in equals), default=0.0)
        if rate and best:
            yield rate / best


def _links(facts: Facts) -> Iterator[Finding]:
    """GPUs behind a link that is narrower or older than both ends allow, as it was while data were copied."""
    for probe in _judged(facts):
        if probe.data.get("h2d_gbs") is None:
            continue
        names = ("pcie_generation", "pcie_width", "pcie_generation_max", "pcie_width_max")
        now, lanes, most, width = (int(number(probe, n) or 0) for n in names)
        here, best = speeds.link_rate(now, lanes), speeds.link_rate(most, width)
        if not (here and best) or here.rate >= speeds.SLOW * best.rate:
            continue
        yield check.found(
            facts,
            f"{probe.device} is linked by PCIe {now} x{lanes}, where PCIe {most} x{width} is possible: data reach it "
            f"at {number(probe, 'h2d_gbs') or 0:.3g} GB/s.",
            evidence=(
                Evidence(fact="link under load", value=here.source, source="probe"),
                Evidence(fact="link possible", value=best.source, source="probe"),
            ),
            remedies=(LINK_SETTING,),
            title="A GPU is linked by a narrow or slow PCIe link.",
            device=probe.device,
            ratio=f"{here.rate / best.rate:.2f}",
        )


def _copies(facts: Facts) -> Iterator[Finding]:
    """GPUs whose copies are slower than their memory or their link allows."""
    for probe in _judged(facts):
        for measured in (memory_ratio(facts, probe), link_ratio(facts, probe)):
            if measured is None or measured.ratio >= speeds.OK:
                continue
            reasons = tuple(_gpu_reasons(probe, None))
            text = (
                f"{measured.name} reaches {measured.rate:.3g} GB/s in {measured.kind}; a healthy one reaches about "
                f"{measured.expected.rate:.3g}: {measured.ratio:.0%}."
            )
            yield check.found(
                facts,
                " ".join([text, *(f"{reason[:1].upper()}{reason[1:]}." for reason in reasons)]),
                evidence=(
                    Evidence(fact=measured.kind, value=f"{measured.rate:.3g} GB/s", source="probe"),
                    Evidence(
                        fact="expected", value=f"{measured.expected.rate:.3g} GB/s", source=measured.expected.source
                    ),
                    *_said(probe),
                ),
                remedies=(GPU_SETTING,) if measured.kind == MEMORY else (LINK_SETTING,),
                severity="warning" if measured.ratio < speeds.SLOW else "note",
                title="A GPU copies more slowly than it should.",
                device=probe.device,
                ratio=f"{measured.ratio:.2f}",
                reason=reasons[0] if reasons else None,
            )
