"""What was required with --require is not there.

What it means
    `torchdoctor check --require 'cuda>=1'` says what an image, a node or a job counts on. What is known not to hold is
    a fault. What cannot be told (nothing was probed, a tool did not answer) is a note, and there is no verdict as long
    as it is open: exit code 3.

How to see it yourself
    torchdoctor check --only requirement-unmet --require 'torch>=2.5' judges nothing but the requirements;
    torchdoctor help requirements lists what can be required.

What to do
    Where another fault is the cause, fix that one: it is named beside the requirement. Otherwise install what is
    required, or require what is needed.

References
    https://packaging.python.org/en/latest/specifications/version-specifiers/ (comparisons of versions)
"""

from collections.abc import Iterator

from doctor.checks import Check, Judgement
from doctor.checks._required import Demand, is_met, parse
from doctor.model.facts import Facts, Torch
from doctor.model.finding import Evidence, Finding, Remedy

check = Check(
    severity="fault",
    needs=("required",),
    usual=(Remedy(action="none", details={"reason": "install what is required, or require what is needed"}),),
    on_request=True,
    follows_kept_gpus=True,
)


@check
def judge(facts: Facts) -> Judgement:
    return list(_findings(facts)) or None


def _findings(facts: Facts) -> Iterator[Finding]:
    for text in facts.required or ():
        try:
            demand = parse(text)
        except ValueError as error:  # of a report that somebody changed; the command line refuses it
            yield _open(facts, text, str(error))
            continue
        met, have = is_met(demand, facts)
        if met is None:
            yield _open(facts, demand.text, have)
        elif not met:
            yield check.found(
                facts,
                f"{demand.text} is required, but {have}.",
                evidence=(Evidence(fact="required", value=demand.text, source="--require"),
                          Evidence(fact="found", value=have)),
                remedies=(_remedy(demand, facts),),
                required=demand.text,
                vendors=demand.measure.vendors or None,
            )  # fmt: skip


def _open(facts: Facts, text: str, why: str) -> Finding:
    return check.found(
        facts,
        f"{text} is required, but whether it holds cannot be said: {why}.",
        evidence=(Evidence(fact="required", value=text, source="--require"),),
        severity="note",
        title="Whether what was required holds is not known.",
        remedies=(Remedy(action="none", details={"reason": "let the doctor see it: probe, or name the right Python"}),),
        required=text,
    )


def _remedy(demand: Demand, facts: Facts) -> Remedy:
    if demand.name == "torch":
        wanted = demand.compared[0][1]
        action = "downgrade-torch" if _too_new(wanted, facts) else "upgrade-torch"
        return Remedy(action=action if isinstance(facts.torch, Torch) else "install-torch", details={"torch": wanted})
    if demand.name == "driver" and demand.compared[0][1].startswith(">="):
        return Remedy(action="upgrade-driver", details={"minimum": demand.compared[0][1][2:].partition(",")[0].strip()})
    return Remedy(action="none", details={"reason": f"provide what is required: {demand.text}"})


def _too_new(wanted: str, facts: Facts) -> bool:
    from packaging.specifiers import SpecifierSet  # only where something is required
    from packaging.version import InvalidVersion, Version

    try:
        have = Version((facts.torch.version if isinstance(facts.torch, Torch) else None) or "")
        return any(s.operator in ("<", "<=", "==", "~=") and have > Version(s.version.removesuffix(".*"))
                   for s in SpecifierSet(wanted))  # fmt: skip
    except InvalidVersion:
        return False
