"""MPS gives wrong results, in a range of torch and macOS that is known for it.

What it means
    Some releases of torch, or of macOS underneath, compute certain operations wrongly on the GPU of a Mac, without
    an error: large matrix products, attention with permuted inputs, writes into views. NaN in training is often one
    of them.

How to see it yourself
    Run the operation on "cpu" and on "mps" with the same input, and compare.

What to do
    Install a newer torch (or macOS) where that mends it; else let the operation run on the CPU, or hand it
    contiguous tensors.

References
    https://github.com/pytorch/pytorch/issues?q=label%3A%22module%3A+mps%22+label%3A%22module%3A+correctness+%28silent%29%22
"""

from doctor.checks import Check, Judgement
from doctor.checks._machine import heard
from doctor.checks._torch import build, numbers, quote, release_of
from doctor.checks.run._mps import known_faults
from doctor.knowledge import lookup
from doctor.model.facts import Facts
from doctor.model.finding import Evidence, Remedy

check = Check(
    severity="fault",
    needs=("torch.version", "messages"),
    systems=("darwin",),
    usual=(Remedy(action="upgrade-torch"),),
    instead_of=("device-wrong-results", "program-error"),
)

DIFFERS = ("mps-differs",)


@check
def judge(facts: Facts) -> Judgement:
    probe = next((p for p in facts.probes or () if p.device.startswith("mps") and p.data.get("wrong")), None)
    error = heard(facts, *DIFFERS)
    if (probe is None and error is None) or facts.host.system not in ("darwin", None):
        return None
    release = release_of(facts)
    known = known_faults(facts, "mps-wrong-results")
    if probe is not None and not known:
        return None  # device-wrong-results
    avoid = Remedy(
        action="none",
        details={"reason": "let the operation run on the CPU, or hand it smaller or contiguous tensors"},
        text="Let the operation run on the CPU, or hand it smaller or contiguous tensors.",
    )
    wrong = str(probe.data["wrong"]) if probe else ""
    return check.found(
        facts,
        "MPS computes wrongly here" + (f": {known[0].effect} ({known[0].source})." if known else "."),
        evidence=(
            quote(error) if error else None,
            Evidence(fact="probe of mps", value=wrong) if probe else None,
            "torch.version",
            "host.macos",
            *(
                Evidence(fact="known fault", value=f"{k.effect}: torch {k.torch}, macOS {k.macos}", source=k.source)
                for k in known[:3]
            ),
        ),
        remedies=_upgrade(facts, avoid),
        confidence="certain" if probe else "likely",
        torch=release,
        macos=facts.host.macos or None,
    )


def _upgrade(facts: Facts, avoid: Remedy) -> tuple[Remedy, ...]:
    """An upgrade comes first where torch is a nightly or well behind: faults of the newest two releases are open."""
    made, releases = build(facts), lookup.torch_versions(as_of=facts.as_of)
    if made is None:
        return (Remedy(action="upgrade-torch"), avoid)
    if made.nightly:
        return (Remedy(action="upgrade-torch", details={"torch": f">={made.release}"}), avoid)
    newest = sorted({numbers(r)[:2] for r in releases})[-2:]
    upgrade = () if made.release == lookup.newest_torch(facts.as_of) else (Remedy(action="upgrade-torch"),)
    return (avoid, *upgrade) if numbers(made.release)[:2] in newest else (*upgrade, avoid)
