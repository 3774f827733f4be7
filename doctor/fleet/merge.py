"""A folder of records made into a report, without a launcher."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timezone

from doctor import __version__
from doctor.fleet import folder
from doctor.fleet.judge.judgement import judge
from doctor.fleet.judge.ranks import Expected
from doctor.model.fleet import FleetReport


class NothingThere(ValueError):
    """Why there is nothing to merge, in one line."""


def merge(path: str, *, expect: int | None = None, hosts: Sequence[str] = (), strict: bool = False) -> FleetReport:
    """The report of all records in a folder. `expect`: how many ranks there should be, where even the launcher's own
    number is not to be trusted or nobody wrote; `hosts`: the nodes in the order of their ranks. Raises NothingThere."""
    try:
        found = folder.read(path)
    except OSError as error:
        raise NothingThere(f"cannot read {path}: {error.strerror or error}") from error
    worlds = [record.world for record in found.records]
    if not worlds and not found.unreadable and expect is None:
        raise NothingThere(f"no rank left a record in {path}; --expect RANKS says how many there should be")
    least = max([rank + 1 for rank in found.unreadable], default=0)
    world = max(expect or 0, max(worlds, default=0), least)
    return judge(
        found.records,
        Expected(world=world, hosts=by_rank(hosts, world), unreadable=found.unreadable),
        tool=f"torchdoctor {__version__}",
        taken_at=datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
        strict=strict,
    )


def by_rank(hosts: Sequence[str], world: int) -> Mapping[int, str]:
    """The host of each rank, where the hosts have equally many in order, as all launchers number them.

    >>> dict(by_rank(["a", "b"], 4))
    {0: 'a', 1: 'a', 2: 'b', 3: 'b'}
    """
    if not hosts or world % len(hosts):
        return {}
    each = world // len(hosts)
    return {rank: hosts[rank // each] for rank in range(world)}
