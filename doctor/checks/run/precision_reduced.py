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

NOTHING = Remedy(
    action="none",
    details={"reason": "it is a setting, often the default"},
    text='Nothing, unless full precision is needed: torch.set_float32_matmul_precision("highest").',
)

check = Check(
    severity="note",
    needs=("probes",),
    usual=(NOTHING,),
)

FULL = 24
MODES = ((16, "bf16x2"), (11, "TF32"), (8, "bf16"))
# what the probe measured: of products twice, because a backward pass may take another kernel than the forward pass
OPERATIONS = {
    "matrix products": ("float32_bits_effective", "float32_mm_bits"),
    "convolutions": ("float32_conv2d_bits",),
}


@check
def judge(facts: Facts) -> Judgement:
    found: list[Finding] = []
    for probe in facts.probes or ():
        reduced = _reduced(probe)
        if probe.status != "ok" or not reduced:
            continue
        what = " and ".join(f"{operation} ({bits} bits, {_mode(bits)})" for operation, bits in reduced.items())
        found.append(
            check.found(
                facts,
                f"{probe.device} computes {what} of float32 with reduced precision.",
                evidence=[
                    Evidence(fact=f"{probe.device}, {operation}", value=f"{bits} significant bits", source="probe")
                    for operation, bits in reduced.items()
                ],
                remedies=(NOTHING,),
                device=probe.device,
            )
        )
    return found or None


def _reduced(probe: ProbeResult) -> dict[str, int]:
    """The operations that do not keep all 24 bits, with the bits that they keep."""
    held = {
        operation: [bits for key in keys if isinstance(bits := probe.data.get(key), int) and bits > 0]
        for operation, keys in OPERATIONS.items()
    }
    return {operation: min(bits) for operation, bits in held.items() if bits and min(bits) < FULL}


def _mode(bits: int) -> str:
    return next((name for least, name in MODES if bits >= least), "less than bf16")
