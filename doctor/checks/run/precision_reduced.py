"""float32 is computed with fewer bits than float32 has.

What it means
    NVIDIA GPUs from Ampere on take TF32 (11 significant bits instead of 24) for convolutions unless they are told
    otherwise, and for matrix products when torch.set_float32_matmul_precision allows it; other devices have modes
    of their own. It is fast, and enough for most training; it is measured here, not read from a flag.

How to see it yourself
    print(torch.backends.cuda.matmul.allow_tf32, torch.backends.cudnn.allow_tf32)

What to do
    Nothing, unless you need the full precision: torch.set_float32_matmul_precision("highest"),
    torch.backends.cudnn.allow_tf32 = False.

References
    https://docs.pytorch.org/docs/stable/notes/cuda.html#tensorfloat-32-tf32-on-ampere-and-later-devices
"""

from doctor.checks import Check, Judgement
from doctor.model.facts import Facts, ProbeResult
from doctor.model.finding import Evidence, Finding, Remedy

check = Check(severity="note")

FULL = 24
MODES = ((17, "bf16x2"), (11, "TF32"), (8, "bf16"))
OPERATIONS = {"float32_bits_effective": "matrix products", "float32_conv2d_bits": "convolutions"}


@check
def judge(facts: Facts) -> Judgement:
    found: list[Finding] = []
    for probe in facts.probes or ():
        reduced = _reduced(probe)
        if probe.status != "ok" or not reduced:
            continue
        what = " and ".join(f"{OPERATIONS[k]} ({bits} bits, {_mode(bits)})" for k, bits in reduced.items())
        found.append(
            check.found(
                facts,
                f"{probe.device} computes {what} of float32 with reduced precision.",
                evidence=[
                    Evidence(fact=f"{probe.device}, {OPERATIONS[k]}", value=f"{bits} significant bits", source="probe")
                    for k, bits in reduced.items()
                ],
                remedies=(
                    Remedy(
                        action="none",
                        details={"reason": "it is a setting, often the default"},
                        text='Nothing, unless full precision is needed: torch.set_float32_matmul_precision("highest").',
                    ),
                ),
                device=probe.device,
            )
        )
    return found or None


def _reduced(probe: ProbeResult) -> dict[str, int]:
    """The operations that do not keep all 24 bits, with the bits that they keep."""
    bits = {k: probe.data.get(k) for k in OPERATIONS}
    return {k: b for k, b in bits.items() if isinstance(b, int) and 0 < b < FULL}


def _mode(bits: int) -> str:
    return next((name for least, name in MODES if bits >= least), "less than bf16")
