"""After the checks: whatever speaks of a failure is accounted for, and health is proven.

judgement.py     START HERE: from facts to a verdict
memo.py          what is worked out of the facts is worked out once
accelerators.py  which accelerators are there, and whether torch uses each
symptoms.py      what must be explained: messages, unused accelerators, failed imports, starts, installs and probes
account.py       which finding explains which symptom, hypotheses for the rest, the question to ask
questions.py     the questions, with the facts that their answers hold
verdict.py       healthy, faulty or unknown, and why
"""
