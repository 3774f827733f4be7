"""What an example may be: facts, or the text of a ticket."""

from __future__ import annotations

from dataclasses import dataclass, replace

from doctor.facts.said import with_messages
from doctor.model.facts import Facts


@dataclass(frozen=True)
class Case:
    """An example with more to say: `first` is the id that comes first, `severity` what is expected, `as_of` a date."""

    what: Facts | str
    first: str | None = None
    severity: str | None = None
    as_of: str | None = None


def facts_of(what: Facts | str, as_of: str | None = None) -> Facts:
    """A ticket's text is read as --from would; of live facts what was said is recognised, as after the probes."""
    if isinstance(what, str):
        from doctor.evidence.read import read

        what = replace(read((("ticket", what.encode()),)).facts, live=False)
    elif what.live:
        what = with_messages(what)
    return replace(what, as_of=as_of) if as_of else what
