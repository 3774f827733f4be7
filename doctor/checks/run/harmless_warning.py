"""A warning that is no fault by itself.

What it means
    The text holds a line that looks alarming and only informs: torch or a library beside it takes another path that
    gives the same results, announces a change of a later release, or offers more speed. The finding says what the line
    means, when it matters after all, and how to silence it. It never speaks of a line that shows a fault.

How to see it yourself
    Let the program run on: where such a line is all that is printed, its results are right. What fails says so in a
    later line, mostly the last one of a traceback.

What to do
    Nothing. To silence a Python warning, filter it in the program:
    warnings.filterwarnings("ignore", message="…"), or set PYTHONWARNINGS. If something is wrong all the same, look for
    its cause elsewhere, and paste the whole output.

References
    https://docs.python.org/3/library/warnings.html
    https://docs.pytorch.org/docs/stable/logging.html
"""

from doctor.checks import Check, Judgement, Unknown
from doctor.checks.runner import quoted
from doctor.knowledge.messages import ErrorPattern, harmless_ids
from doctor.model.facts import ErrorText, Facts
from doctor.model.finding import Finding, Remedy
from doctor.regex import Regex

NOTHING = Remedy(
    action="none",
    details={"reason": "the line is no fault by itself"},
    text="Nothing needs fixing: the line is no fault by itself.",
)

# What loggers of C++ and of torch put before a line: "W0801 12:00:00.0 42 torch/_inductor/utils.py:1138] [0/0] ".
_LOGGED = Regex(r"\A[^\]\n«]{0,160}\.(?:cc|cpp|h|py):\d{1,5}\](?: ?\[[\w/]{1,12}\])* ")

check = Check(
    severity="note",
    concluded=True,
    needs=("messages",),
    usual=(NOTHING,),
)


@check
def judge(facts: Facts) -> Judgement:
    """Nothing is found here: whether another finding speaks of the line is known last (doctor/accounting)."""
    if not facts.live and any(e.pattern in harmless_ids() for e in facts.errors):
        return Unknown("whether another finding speaks of its line is known when all have answered")
    return None


def told(facts: Facts, error: ErrorText, row: ErrorPattern) -> Finding:
    """The finding of one recognised line."""
    return check.found(
        facts,
        f"«{_short(error.text)}» {row.means} {row.matters}",
        evidence=(quoted(error),),
        remedies=(Remedy(action="none", details=NOTHING.details, text=row.remedy),),
        message=row.id,
    )


def _short(text: str) -> str:
    """The words of a warning, without the path and the class that stand before it.

    >>> _short("/a/b.py:3: UserWarning: TypedStorage is deprecated. (Triggered internally at x.cpp:1)")
    'TypedStorage is deprecated.'
    """
    text = _LOGGED.sub("", text)
    for head in ("Warning: ", "WARNING: "):
        before, found, after = text.partition(head)
        text = after if found and len(after) > 20 and "«" not in before else text
    text = text.partition(" (Triggered internally")[0].strip()
    return text if len(text) <= 100 else f"{text[:99].rstrip()}…"
