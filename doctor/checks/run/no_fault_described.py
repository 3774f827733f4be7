"""The text reads like a question or a wish; no fault is known by what it says.

What it means
    No message in the text is known for a fault, and its words are those of tickets in which nothing was wrong: a
    question, a wish, a report that something works. That is not proof that the machine is healthy.

How to see it yourself
    torchdoctor check on the machine itself proves whether torch uses it.

What to do
    Nothing, unless something fails: then paste the command that was run and all that it printed.

References
    https://docs.pytorch.org/docs/stable/notes/faq.html
"""

from doctor.checks import Check, Judgement
from doctor.model.facts import Facts
from doctor.model.finding import Remedy

NOTHING = Remedy(
    action="none", details={"reason": "no fault is described"}, text="No fault is recognised in what is said."
)

check = Check(
    severity="note",
    concluded=True,
    needs=("messages",),
    usual=(NOTHING,),
)


@check
def judge(facts: Facts) -> Judgement:
    """Nothing is found here: what a text reads like is known when all checks have answered (doctor/accounting)."""
    return None
