"""A part of torch fails here, though the device computes as it should.

What it means
    The full probe tries what programs use besides plain computations: torch.compile, the attention backends, data
    loaders with worker processes, saving and loading, process groups, and the compiled packages that are installed
    beside torch. One of them failed with a message of its own. Or a program's output shows that cuDNN, NCCL, MIOpen or
    DirectML refused a call.

How to see it yourself
    torchdoctor probe --full says what was tried and what it answered.

What to do
    What the finding names: it is concluded from what failed and how. Programs that don't use that part are not
    affected.

References
    https://docs.pytorch.org/docs/stable/torch.compiler_troubleshooting.html
    https://docs.pytorch.org/docs/stable/generated/torch.nn.attention.sdpa_kernel.html
    https://docs.pytorch.org/docs/stable/data.html#multi-process-data-loading
    https://docs.pytorch.org/docs/stable/distributed.html#common-environment-variables
"""

from __future__ import annotations

import re

from doctor.checks import Check, Judgement, Unknown
from doctor.checks._features import Failure, failures, source, tried
from doctor.checks._machine import heard
from doctor.checks._torch import quote
from doctor.checks.machine.folder_not_writable import unwritable
from doctor.knowledge import lookup
from doctor.model.facts import ErrorText, Facts
from doctor.model.finding import Finding, Remedy
from doctor.regex import Regex

UPGRADE = Remedy(action="upgrade-torch")

check = Check(
    severity="fault",
    needs=("probes",),
    usual=(UPGRADE,),
)

TITLES = {
    "compile": "torch.compile does not work here.",
    "attention": "An attention backend does not work here.",
    "workers": "A DataLoader with worker processes does not work here.",
    "io": "Saving and loading does not work here.",
    "distributed": "torch.distributed does not work here.",
    "extensions": "A package that is installed beside torch does not work here.",
}
GRAVE = ("workers", "io")  # most programs use them; the others only if they ask for them
FLAGS = {"flash": "enable_flash_sdp", "memory-efficient": "enable_mem_efficient_sdp", "cuDNN": "enable_cudnn_sdp"}
DISTRIBUTIONS = {"torch_scatter": "torch-scatter", "flash_attn": "flash-attn"}
OLD_PTXAS = Regex(r"not defined for option 'gpu-name'|Unsupported \.version|ptxas (?:fatal|exited|error)", re.I)
NO_USER = Regex(r"getpwuid\(\)|No username set")
# It may hang, or the machine may be slow: no fault is proven.
LATE = Regex(r"^(?:\w+: )?TimeoutError|timed out after|longer than \d+ s")
PTXAS = "TRITON_PTXAS_PATH"
NO_MODULE = Regex(r"No module named '([A-Za-z]\w{0,60})'")
REDUCE = Remedy(action="reduce-memory")
# the message -> what refused, and what is tried against it, the likeliest first
REFUSALS = {
    "cudnn-refuses": ("cuDNN", (REDUCE, UPGRADE, Remedy(action="upgrade-driver"))),
    "nccl-refuses": ("NCCL", (Remedy(action="set-env", details={"name": "NCCL_DEBUG", "value": "WARN"}), UPGRADE)),
    "nccl-store-timeout": ("NCCL", (UPGRADE,)),
    "miopen-refuses": ("MIOpen", (UPGRADE,)),
    "directml-operator-missing": ("DirectML", (UPGRADE,)),
}
MODULES = {"pkg_resources": ("setuptools", "<81")}  # the module was taken out of later ones, as their warning says


@check
def judge(facts: Facts) -> Judgement:
    if not tried(facts):
        if not facts.live and (error := heard(facts, *REFUSALS)):
            return _refused(facts, error)
        return Unknown("torch.compile, attention, worker processes and the like were not tried: probe --full does")
    found: dict[tuple[str, str, str], list[Failure]] = {}
    for failure in failures(facts):
        if not _told_elsewhere(facts, failure):
            found.setdefault((failure.stage, failure.what.partition(" (")[0], failure.device), []).append(failure)
    return [_found(facts, failed) for failed in found.values()] or None


def _refused(facts: Facts, error: ErrorText) -> Finding:
    """A library beneath torch refused a call, in the words of a program. Why, its status does not say."""
    library, remedies = REFUSALS[error.pattern]
    return check.found(
        facts,
        f"{library} refused a call of the program; its message does not say why.",
        evidence=(quote(error), "torch.version"),
        remedies=remedies,
        severity="warning",
        confidence="likely",
        title=f"{library} does not work as the program uses it.",
        feature=library,
    )


def _told_elsewhere(facts: Facts, failure: Failure) -> bool:
    """Whether a row of the messages knows it, whose diagnosis tells more than this one; or a folder can't be
    written."""
    place = source(failure.device, failure.stage)
    said = f"{failure.what}: {failure.text}"
    known = (e for e in facts.errors if e.source == place and e.text in said)
    return unwritable(facts, failure) is not None or any(_tells_more(e.pattern) for e in known)


def _tells_more(row: str) -> bool:
    known = lookup.error_pattern(row)
    return known is None or check.id not in known.causes


def _found(facts: Facts, failed: list[Failure]) -> Finding:
    first = failed[0]
    why, remedies = _concluded(facts, first)
    more = f" (and {len(failed) - 1} more like it)" if len(failed) > 1 else ""
    return check.found(
        facts,
        f"{first.device}: {first.what} fails{more}: {why or first.text[:300]}",
        evidence=(*(f.evidence for f in failed[:3]), "torch.version"),
        remedies=remedies,
        severity="fault" if first.stage in GRAVE and not LATE.search(first.text) else "warning",
        title=TITLES[first.stage],
        device=first.device,
        stage=first.stage,
        feature=first.what,
    )


def _concluded(facts: Facts, failure: Failure) -> tuple[str, tuple[Remedy, ...]]:
    """Why, where the words tell it, and what follows for the fix."""
    if failure.stage == "compile":
        return _compile(facts, failure)
    if failure.stage == "attention":
        flag = FLAGS.get(failure.what.split()[0])
        without = _without(f"Leave this backend out: torch.backends.cuda.{flag}(False).") if flag else None
        return "", (without, UPGRADE) if without else (UPGRADE,)
    if failure.stage == "extensions":
        name = DISTRIBUTIONS.get(failure.what, failure.what)
        return "", (Remedy(action="reinstall-package", details={"package": name}), UPGRADE)
    if failure.stage == "workers":
        return _late(failure), (_without("Load the data in the program itself: DataLoader(num_workers=0)."), UPGRADE)
    if failure.stage == "distributed":
        return _late(failure), (_without("Run on one device, in one process."), UPGRADE)
    return "", (UPGRADE,)


def _compile(facts: Facts, failure: Failure) -> tuple[str, tuple[Remedy, ...]]:
    eager = _without("Run without torch.compile: TORCH_COMPILE_DISABLE=1 switches it off for a whole program.")
    if OLD_PTXAS.search(failure.text):
        chosen = Remedy(action="unset-env", details={"name": PTXAS}) if PTXAS in (facts.environ or {}) else None
        why = f"the ptxas that Triton starts{f' ({PTXAS})' if chosen else ''} does not know this GPU."
        return why, ((chosen,) if chosen else ()) + (UPGRADE, eager)
    if NO_USER.search(failure.text):
        user = Remedy(action="set-env", details={"name": "USER", "value": "user"})
        return "this user has no name in the system, which the place of the cache is made of.", (user, eager)
    if found := NO_MODULE.search(failure.text):
        package, spec = MODULES.get(found[1], (found[1], ""))
        details = {"package": package, **({"spec": spec} if spec else {})}
        return f"it needs the module {found[1]}.", (Remedy(action="install-package", details=details), UPGRADE, eager)
    return _late(failure), (UPGRADE, eager)


def _late(failure: Failure) -> str:
    return "it did not come to an end in its time." if LATE.search(failure.text) else ""


def _without(text: str) -> Remedy:
    return Remedy(action="none", details={"reason": "the rest of torch works without it"}, text=text)
