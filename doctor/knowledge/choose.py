"""Which torch build serves a machine: facts in, ranked builds out, with the reasons. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from doctor.model.facts import Facts


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """A build that serves (or, in `Choice.rejected`, does not serve) the machine."""

    release: str  # "2.14.1"
    backend: str  # "cu126"
    index: str | None  # URL to name in a command; None: the default index has it
    companions: tuple[tuple[str, str], ...] = ()  # (("torchvision", "0.29.1"), …)
    status: str = "verified"  # "verified" or "derived": how sure it is that it was published
    reasons: tuple[str, ...] = ()  # for it
    against: tuple[str, ...] = ()  # against it
    covers: tuple[str, ...] = ()  # names of the GPUs that it serves
    leaves_out: tuple[str, ...] = ()  # names of the GPUs that it does not


@dataclass(frozen=True, kw_only=True)
class Nearest:
    """What would help where no build serves: `kind` is "driver", "python", "os", "older-torch", "cpu", "conda-forge", "vendor"."""

    kind: str
    text: str
    details: tuple[tuple[str, str], ...] = ()
    candidate: Candidate | None = None


@dataclass(frozen=True, kw_only=True)
class Choice:
    """`builds` best first; empty where nothing serves the machine's accelerator, then `nearest` says what would."""

    builds: tuple[Candidate, ...] = ()
    rejected: tuple[Candidate, ...] = ()
    nearest: tuple[Nearest, ...] = ()
    assumes: tuple[str, ...] = field(default=())  # facts that were not known and were taken for granted

    @property
    def best(self) -> Candidate | None:
        return self.builds[0] if self.builds else None


def choose(facts: Facts, *, torch: str | None = None, backend: str | None = None, companions: Iterable[str] = ()) -> Choice:
    """Rank the builds for the machine of `facts`. `torch` is a PEP 440 specifier that the build must meet ("==2.4.*"),
    `backend` a wanted backend ("cpu", "cu126"; None: the machine's best), `companions` packages to bring along.
    Unknown facts (no driver version in a ticket) are assumed to be good enough, and said so in `assumes`."""
    raise NotImplementedError
