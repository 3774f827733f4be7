"""Stage 5, when asked: resolve, snapshot, run, verify, roll back (docs/design.md, section 11).

run.py is the order of things. place.py: the folders that a tool may change; listing.py: all that is there; snapshot.py
and journal.py: what was there, in a form that outlives kill -9; restore.py: putting back, and the comparison; seal.py:
whose journal it is; lock.py: one run at a time; resolve.py: the tool's dry run; consent.py: whose environment it is;
project.py: the edit of project files; judgement.py: whether it is cured; undo.py: back, also after a kill; fresh.py: an
environment where there is none.
"""

from __future__ import annotations


class ApplyError(Exception):
    """Why nothing was done, or not all: a sentence for the user, and the next step in it."""
