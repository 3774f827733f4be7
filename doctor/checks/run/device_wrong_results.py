"""A device computes wrong results.

What it means
    The probe's computations on this device do not agree with exact integers, or with float64 on the CPU, by more than
    rounding explains; or a training does not do what it does on the CPU. Whatever is computed on it can't be trusted.

How to see it yourself
    torchdoctor probe --device DEVICE --full

What to do
    Repeat the probe in a new environment with the newest torch and driver. If the results stay wrong, the hardware
    (memory, overclocking, power) is the suspect.

References
    https://docs.pytorch.org/docs/stable/notes/numerical_accuracy.html
"""

from dataclasses import replace

from doctor.checks import Check, Fit, Judgement
from doctor.checks._errata import as_evidence, cure
from doctor.checks._errata_fit import explaining
from doctor.checks.run.peer_copy_broken import wrong_copies
from doctor.model.facts import Facts
from doctor.model.finding import Evidence, Finding, Remedy

check = Check(
    severity="fault",
    needs=("probes",),
    usual=(Remedy(action="upgrade-torch"), Remedy(action="upgrade-driver"), Remedy(action="hardware-service")),
)

LEAK = "memory leak"  # how the probe's texts on it begin
KINDS = ("wrong-result", "nan", "leak")
BACKENDS = {"cpu": ("cpu",), "cuda": ("cuda", "rocm"), "mps": ("mps",), "xpu": ("xpu",)}


@check
def judge(facts: Facts) -> Judgement:
    found: list[Finding] = []
    for probe in facts.probes or ():
        listed = probe.data.get("wrong")
        if probe.status != "failed" or not isinstance(listed, list | tuple):
            continue
        wrong = [w for w in listed if w not in wrong_copies(probe)]
        if not wrong:
            continue
        fits = explaining(replace(facts, probes=(probe,)), KINDS, BACKENDS[probe.device.partition(":")[0]])
        known = [fit.match for fit in fits]
        cured = cure(known[0].erratum) if known else None
        found.append(
            check.found(
                facts,
                f"{probe.device}: {wrong[0]}" + (f", and {len(wrong) - 1} more." if len(wrong) > 1 else "."),
                evidence=(
                    *(Evidence(fact=probe.device, value=str(w), source="probe") for w in wrong[:3]),
                    "torch.version",
                    "nvidia.driver",
                    *(as_evidence(match) for match in known[:3]),
                ),
                remedies=(
                    cured or Remedy(action="upgrade-torch"),
                    Remedy(action="upgrade-driver"),
                    Remedy(action="hardware-service"),
                ),
                title=f"{probe.device} leaks memory."
                if all(str(w).startswith(LEAK) for w in wrong)
                else f"{probe.device} computes wrong results.",
                device=probe.device,
                stage=probe.stage,
                erratum=known[0].erratum.id if known else None,
            )
        )
    return found or None


@check.fit
def fits(facts: Facts) -> Fit | None:
    on_mps = facts.host.system == "darwin" or any("mps" in error.text.lower() for error in facts.errors)
    return Fit(0.1, "on MPS it is torch that computes wrongly, not the device") if on_mps else None
