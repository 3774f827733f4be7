"""MPS gives wrong results, in a range of torch and macOS that is known for it.

What it means
    Some releases of torch, or of macOS underneath, compute certain operations wrongly on the GPU of a Mac, without
    an error: large matrix products, attention with permuted inputs, writes into views. NaN in training is often one
    of them.

How to see it yourself
    Run the operation on "cpu" and on "mps" with the same input, and compare.

What to do
    Install a newer torch (or macOS) where that fixes it; else let the operation run on the CPU, or hand it
    contiguous tensors.

References
    https://github.com/pytorch/pytorch/issues?q=label%3A%22module%3A+mps%22+label%3A%22module%3A+correctness+%28silent%29%22
"""

from doctor.checks import Check, Fit, Judgement
from doctor.checks._errata import as_evidence, cure, matches, way_back, workaround_of
from doctor.checks._errata_fit import explaining
from doctor.checks._machine import heard
from doctor.checks._torch import build, numbers, quote, release_of
from doctor.knowledge import lookup
from doctor.knowledge.errata import Erratum, Match
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
COMPLAINTS = ("complaint-wrong-images", "complaint-differs-from-cpu")  # say it of a Mac, and a known fault fits
KINDS = ("wrong-result", "nan")


@check
def judge(facts: Facts) -> Judgement:
    probe = next((p for p in facts.probes or () if p.device.startswith("mps") and p.data.get("wrong")), None)
    error = heard(facts, *DIFFERS)
    complaint = heard(facts, *COMPLAINTS) if facts.host.system == "darwin" else None
    if (probe is None and error is None and complaint is None) or facts.host.system not in ("darwin", None):
        return None
    release = release_of(facts)
    named = explaining(facts, KINDS, ("mps",))
    if error is None and probe is None:
        if not named:
            return None  # one hypothesis among others
        error = complaint
    if probe is not None and not named and not _known(facts):
        return None  # device-wrong-results
    first = named[0].match.erratum if named else None
    known = "this is known" if named and named[0].named else "most like it of what is known"
    avoid = Remedy(
        action="none",
        details={"reason": "let the operation run on the CPU, or hand it smaller or contiguous tensors"},
        text="Let the operation run on the CPU, or hand it smaller or contiguous tensors.",
    )
    wrong = str(probe.data["wrong"]) if probe else ""
    return check.found(
        facts,
        "MPS computes wrongly here" + (f", and {known}: {first.title}." if first else f".{_others(facts)}"),
        evidence=(
            quote(error) if error else None,
            Evidence(fact="probe of mps", value=wrong) if probe else None,
            "torch.version",
            "host.macos",
            *(as_evidence(fit.match) for fit in named[:3]),
        ),
        remedies=_remedies(facts, first, avoid),
        confidence="certain" if probe else "likely",
        torch=release,
        macos=facts.host.macos or None,
        erratum=first.id if first else None,
    )


@check.fit
def fits(facts: Facts) -> Fit | None:
    known = _known(facts) if facts.host.system == "darwin" else []
    return Fit(4, f"of torch {release_of(facts)} such a fault on MPS is known") if known else None


def _known(facts: Facts) -> list[Match]:
    """The faults of this kind that MPS is known to have here."""
    return [m for m in matches(facts) if m.erratum.kind in KINDS and m.backends == ("mps",) and m.applies]


def _others(facts: Facts) -> str:
    """How many are known, where the text names no operation that would tell which of them it is."""
    known, release = _known(facts), release_of(facts)
    if not known:
        return ""
    count = f"{len(known)} faults of this kind are" if len(known) > 1 else "One fault of this kind is"
    return f" {count} known of torch {release}: torchdoctor errata --torch {release} --backend mps"


def _remedies(facts: Facts, erratum: Erratum | None, avoid: Remedy) -> tuple[Remedy, ...]:
    """Of a known fault the release that cures it, newer or older, and the workaround."""
    if erratum is None:
        return _upgrade(facts, avoid)
    fix = cure(erratum, facts.as_of) or way_back(erratum, facts)
    around = workaround_of(erratum) or avoid
    return (fix, around) if fix else (around, *(r for r in _upgrade(facts, avoid) if r is not avoid))


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
