"""A device is far slower than its model should be.

What it means
    The probe's best rate is below 0.6 (warning) or 0.3 (fault) of what a healthy GPU of this model reaches. Usual
    causes: another program computes on it, it is too hot, its power is capped, its clock is locked, or the work
    runs elsewhere.

How to see it yourself
    nvidia-smi -q -d PERFORMANCE,POWER,CLOCK,TEMPERATURE while it computes

What to do
    Look for other processes on it, then at temperature, power limit and clocks.

References
    https://docs.nvidia.com/deploy/nvidia-smi/ (clocks event reasons)
    https://github.com/stas00/ml-engineering/tree/master/compute/accelerator (rates that healthy devices reach)
"""

from doctor.checks import Check, Judgement
from doctor.checks._machine import heard
from doctor.checks._torch import installed, quote
from doctor.knowledge import lookup
from doctor.model.facts import Facts, ProbeResult
from doctor.model.finding import Evidence, Finding, Remedy

check = Check(severity="warning")

SLOW, VERY_SLOW = 0.6, 0.3
# the part of the published peak that healthy devices reach in matrix products: (full float32, 16 bits and TF32)
REACHED = {"nvidia": (0.65, 0.75), "amd": (0.6, 0.5), "apple": (0.7, 0.7), "intel": (0.6, 0.6)}
TF32_BITS = 11


@check
def judge(facts: Facts) -> Judgement:
    found: list[Finding] = []
    for probe in facts.probes or ():
        measured = _best(facts, probe)
        if probe.status != "ok" or measured is None or measured[0] >= SLOW:
            continue
        ratio, rate, expected, kind, name = measured
        found.append(
            check.found(
                facts,
                f"{name} reaches {rate:.3g} TFLOP/s in {kind}; a healthy one reaches about {expected:.3g}: "
                f"{ratio:.0%}.",
                evidence=(
                    Evidence(fact=f"{probe.device}, {kind}", value=f"{rate:.3g} TFLOP/s", source="probe"),
                    Evidence(
                        fact="expected",
                        value=f"{expected:.3g} TFLOP/s",
                        source="published peak, and the part of it that healthy devices reach",
                    ),
                    "nvidia.processes",
                ),
                remedies=(
                    Remedy(action="stop-process", text="End other programs that compute on this GPU."),
                    Remedy(action="system-setting", details={"setting": "power limit, clocks and cooling of the GPU"}),
                    Remedy(action="hardware-service"),
                ),
                severity="fault" if ratio < VERY_SLOW else "warning",
                device=probe.device,
                ratio=f"{ratio:.2f}",
            )
        )
    if not found and (error := heard(facts, "e148")):
        return check.found(
            facts,
            "The driver slows the GPU down.",
            evidence=(quote(error), "gpus"),
            remedies=(
                Remedy(action="system-setting", details={"setting": "power limit, clocks and cooling of the GPU"}),
                Remedy(action="hardware-service"),
            ),
            confidence="likely",
        )
    return found or None


def _best(facts: Facts, probe: ProbeResult) -> tuple[float, float, float, str, str] | None:
    """(ratio, rate, expected rate, type, name of the GPU) of the type that comes nearest to what it should: a device
    that is slow is so in all of them. None where the tables do not know the model."""
    name, vendor = _model(facts, probe.device)
    peaks = lookup.peaks_of(name) if name else None
    if peaks is None or vendor is None or name is None:
        return None
    full, reduced = REACHED[vendor]
    exact = probe.data.get("float32_bits_effective")
    fp32 = peaks.tf32 if isinstance(exact, int) and exact <= TF32_BITS and peaks.tf32 else peaks.fp32
    wanted = (
        ("float32", fp32, full if fp32 is peaks.fp32 else reduced),
        ("float16", peaks.fp16, reduced),
        ("bfloat16", peaks.bf16, reduced),
    )
    rated = []
    for kind, peak, part in wanted:
        rate = probe.data.get(f"{kind}_tflops_burst")
        if peak and isinstance(rate, int | float):
            rated.append((rate / (peak * part), float(rate), peak * part, kind, name))
    return max(rated, default=None)


def _model(facts: Facts, device: str) -> tuple[str | None, str | None]:
    """Name and vendor of the GPU behind a device such as "cuda:0"."""
    torch = installed(facts)
    backend, _, index = device.partition(":")
    for seen in (torch.devices if torch else None) or ():
        if seen.backend == backend and seen.index == int(index or 0) and seen.name:
            vendor = (
                "apple"
                if backend == "mps"
                else "intel"
                if backend == "xpu"
                else "amd"
                if torch and torch.hip
                else "nvidia"
            )
            return seen.name, vendor
    if backend == "mps":
        return facts.host.cpu_model, "apple"
    return None, None
