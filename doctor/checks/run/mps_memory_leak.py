"""Memory on MPS grows without bound.

What it means
    The driver's memory grows from step to step although the tensors are freed: a fault of torch's allocator, or of
    macOS below it (MaxPool2d up to macOS 15.1).

How to see it yourself
    print(torch.mps.driver_allocated_memory()) after every step; torch.mps.empty_cache() does not bring it down

What to do
    Update macOS where it is at fault, else torch; until then run the operation on the CPU.

References
    https://github.com/pytorch/pytorch/issues/125217
    https://github.com/pytorch/pytorch/issues/121113
"""

from doctor.checks import Check, Judgement
from doctor.checks._errata import as_evidence, cure, workaround_of
from doctor.checks._errata_fit import alone, explaining
from doctor.checks._machine import heard
from doctor.checks._torch import numbers, quote, release_of
from doctor.checks.run.device_wrong_results import LEAK
from doctor.knowledge import lookup
from doctor.model.facts import Facts, ProbeResult
from doctor.model.finding import Evidence, Remedy

check = Check(
    severity="fault",
    needs=("messages",),
    systems=("darwin",),
    usual=(Remedy(action="upgrade-torch"),),
    instead_of=("program-error", "device-wrong-results", "mps-out-of-memory"),
)


@check
def judge(facts: Facts) -> Judgement:
    error = heard(facts, "mps-memory-grows")
    measured = next((str(w) for p in facts.probes or () if p.device.startswith("mps") for w in _leaks(p)), None)
    if (error is None and measured is None) or facts.host.system not in ("darwin", None):
        return None
    release, macos = release_of(facts), facts.host.macos or None
    named = explaining(facts, ("leak",), ("mps",)) or alone(facts, "leak", "mps")
    first = named[0].match.erratum if named else None
    said = "Known here" if named and named[0].named else "Known here, and most like it"
    system = Remedy(action="upgrade-os", details={"minimum": "15.4"})
    avoid = Remedy(
        action="none",
        details={"reason": "run the operation on the CPU"},
        text="Run the operation that leaks on the CPU.",
    )
    newer = release is None or numbers(release)[:2] < numbers(lookup.newest_torch(facts.as_of))[:2]
    by_system = error is not None and "pool" in error.text.lower() and (macos is None or numbers(macos) < (15, 4))
    around = (first and workaround_of(first)) or avoid
    upgrade = (first and cure(first, facts.as_of)) or (Remedy(action="upgrade-torch") if newer else None)
    remedies = (system, around) if by_system else (upgrade, around) if upgrade else (around,)
    return check.found(
        facts,
        "The memory of MPS grows from step to step." + (f" {said}: {first.title}." if first else ""),
        evidence=(
            quote(error) if error else None,
            Evidence(fact="probe of mps", value=measured, source="probe") if measured else None,
            "torch.version",
            "host.macos",
            *(as_evidence(fit.match) for fit in named[:3]),
        ),
        remedies=remedies,
        confidence="certain" if measured else "likely",
        torch=release,
        macos=macos,
        erratum=first.id if first else None,
    )


def _leaks(probe: ProbeResult) -> list[str]:
    """What the probe's training saw of growing memory, where that is all that it found wrong."""
    wrong = probe.data.get("wrong")
    texts = [str(w) for w in wrong] if isinstance(wrong, list | tuple) else []
    return texts if all(text.startswith(LEAK) for text in texts) else []
