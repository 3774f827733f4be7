"""The answer to an issue, in words that are all our own: an issue is written by a stranger, and a comment is read by
people and programs that act on it.

Nothing that was read is repeated but values of a closed shape (versions, models of GPUs, architectures). Sentences are
those of the catalogue, of the questions and of this file. So no mention, link, markup or instruction of the issue can
come back in the comment, however it was written.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from doctor.accounting.questions import ASKS, CHECK
from doctor.checks import check_of, is_programs_own
from doctor.model.facts import Facts, Torch
from doctor.model.finding import Finding
from doctor.model.fix import Fix
from doctor.model.report import Report
from doctor.model.symptom import Question
from doctor.model.values import dataclass
from doctor.reports import findings, words
from doctor.reports.sinks import markdown
from doctor.triage.event import MARKER

FINDINGS_AT_MOST = 4

_TORCH = re.compile(
    r"\d\.\d{1,2}(\.\d{1,2})?(a0|rc\d|\.post\d|\.dev\d{8})?(\+(cpu|xpu|cu\d{2,3}|rocm\d(\.\d){1,2}))?", re.A
)
_DRIVER = re.compile(r"\d{3}\.\d{2,3}(\.\d{2})?", re.A)
_CUDA = re.compile(r"\d{1,2}\.\d", re.A)
_PYTHON = re.compile(r"\d\.\d{1,2}(\.\d{1,2})?", re.A)
_BACKEND = re.compile(r"cpu|mps|xpu|cu\d{2,3}|rocm\d(\.\d){1,2}", re.A)
_MODEL = re.compile(
    r"\b((?:RTX|GTX) \d{3,4}(?: Ti)?(?: SUPER)?|(?:A|B|H|L|T|V|P|K|M|GB|GH)\d{1,3}[Ss]?|RX \d{3,4}(?: XTX?)?"
    r"|MI\d{2,3}X?|Apple M\d(?: (?:Pro|Max|Ultra))?|Arc [AB]\d{3})\b",
    re.A,
)
_TODO = {
    "upgrade-driver": "Update the GPU's driver.", "install-driver": "Install the GPU's driver.",
    "install-torch": "Install torch for this machine.", "reinstall-torch": "Install torch again.",
    "upgrade-torch": "Install a newer torch.", "downgrade-torch": "Install an older torch.",
    "replace-interpreter": "Use another Python.", "upgrade-os": "Update the operating system.",
    "reboot": "Restart the machine.", "set-env": "Set a variable.", "unset-env": "Unset a variable.",
    "pin-package": "Install another version of a package.", "install-package": "Install a package.",
    "remove-package": "Remove a package.", "reinstall-package": "Install a package again.",
    "container-flag": "Start the container with access to the GPU.", "rename-file": "Rename a file.",
    "install-system-package": "Install a package of the system.", "activate-environment": "Use the other environment.",
    "reduce-memory": "Let the program use less memory.", "free-disk-space": "Free space on the disk.",
    "use-other-build": "Install another build of a package.", "start-service": "Start a service of the driver.",
    "fix-index": "Install from PyTorch's own index.", "raise-limit": "Raise a limit of the process.",
}  # fmt: skip
_QUESTIONS = {(ask.text, ask.command) for ask in (*ASKS, CHECK)}


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What to say to an issue; `body` None: nothing, because of `reason`. `named`: the faults that it names."""

    body: str | None
    named: tuple[str, ...] = ()
    question: Question | None = None
    reason: str = ""


def answer_to(report: Report) -> Answer:
    """The answer that a report of an issue's text gives."""
    if silent := _why_silent(report):
        return Answer(body=None, reason=silent)
    faults = tuple(f for f in report.findings if f.root and f.severity == "fault")[:FINDINGS_AT_MOST]
    question = _question(report)
    lines = [MARKER, *_lines(report, faults, question)]
    return Answer(body="\n".join(lines) + "\n", named=tuple(f.id for f in faults), question=question)


def _why_silent(report: Report) -> str:
    """Why an issue gets no answer: it may be about something else."""
    facts = report.facts
    if words.nothing_recognised(facts):
        return "nothing in the issue was recognised"
    named = any(f.severity in ("fault", "warning") for f in report.findings)
    if named or report.symptoms or isinstance(facts.torch, Torch):
        return ""
    return "the issue says nothing of torch, and nothing that fails"


def _lines(report: Report, faults: tuple[Finding, ...], question: Question | None) -> Iterator[str]:
    yield f"**torchdoctor: {_verdict(report, faults)}**"
    yield ""
    for finding in faults:
        check = check_of(finding.id)
        likely = " (likely)" if finding.confidence == "likely" else ""
        yield f"- `{finding.id}`{likely}: {markdown(check.title) if check else ''}".rstrip()
        fix = findings.fix_of(report, finding)
        if todo := fix and _todo(fix):
            yield f"  {todo}"
    if faults:
        yield ""
        yield f"More: `torchdoctor explain {faults[0].id}`; the commands for the machine: `torchdoctor fix`."
        yield ""
    if seen := ", ".join(_seen(report.facts)):
        yield f"Read from the issue: {seen}."
        yield ""
    if question:
        yield f"What would settle it: {question.text}"
        if question.command:
            yield from ("", "```sh", question.command, "```")
        yield ""
    yield "<sub>Made by a program from the text of this issue alone; nothing in it was run or opened."
    yield "`torchdoctor ticket` on the machine itself says more.</sub>"


def _verdict(report: Report, faults: tuple[Finding, ...]) -> str:
    if faults:
        return f"{len(faults)} fault{'s' if len(faults) > 1 else ''} of the environment"
    if report.verdict == "healthy":
        own = any(is_programs_own(s.explained_by) for s in report.symptoms)
        shown = ": the error is the program's own" if own else ", as far as the issue shows it"
        return f"the environment is in order{shown}"
    return "no verdict, the issue does not say enough"


def _todo(fix: Fix) -> str:
    said = _TODO.get(fix.action, "")
    torch, backend = fix.details.get("torch", ""), fix.details.get("backend", "")
    minimum = fix.details.get("minimum", "")
    if fix.action.endswith("-torch") and _TORCH.fullmatch(torch):
        with_backend = f" ({backend})" if _BACKEND.fullmatch(backend) else ""
        return f"Install torch {torch}{with_backend}."
    if fix.action.endswith("-driver") and _DRIVER.fullmatch(minimum):
        return f"{said.rstrip('.')}: {minimum} or newer."
    return said


def _seen(facts: Facts) -> Iterator[str]:
    """The values of a closed shape that the answer rests on."""
    torch = facts.torch if isinstance(facts.torch, Torch) else Torch()
    for name, value, shape in (
        ("torch", torch.version, _TORCH), ("built for CUDA", torch.cuda, _CUDA),
        ("driver", facts.nvidia.driver, _DRIVER), ("Python", facts.interpreter.version, _PYTHON),
    ):  # fmt: skip
        if isinstance(value, str) and shape.fullmatch(value):
            yield f"{name} {value}"
    if facts.host.system in words.SYSTEMS:
        yield words.SYSTEMS[facts.host.system]
    models = dict.fromkeys(match[1] for gpu in facts.gpus or () if (match := _MODEL.search(gpu.name or "")))
    yield from list(models)[:4]


def _question(report: Report) -> Question | None:
    """The first question, where a verdict is missing, as it stands in the table."""
    if not report.is_open:
        return None
    return next((q for q in report.questions if (q.text, q.command) in _QUESTIONS), None)

