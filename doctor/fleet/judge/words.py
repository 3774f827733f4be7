"""How ranks, GPUs and links are called in findings."""

from __future__ import annotations

from collections.abc import Sequence

from doctor.model.fleet import RankRecord


def gpu_name(record: RankRecord) -> str:
    """ "node7 GPU 3 (rank 59)" """
    kind, _, index = record.device.partition(":")
    device = f"GPU {index}" if index else kind.upper()
    return f"{record.host} {device} (rank {record.rank})"


def listed(parts: Sequence[str], most: int) -> str:
    """Some of them, and how many more.

    >>> listed(["a", "b", "c"], 2)
    'a, b and 1 more'
    """
    if len(parts) <= most:
        return ", ".join(parts)
    return f"{', '.join(parts[:most])} and {len(parts) - most} more"


def ranks_listed(ranks: Sequence[int]) -> str:
    """Ranks with runs put together.

    >>> ranks_listed([0, 1, 2, 5]), ranks_listed([7])
    ('ranks 0-2, 5', 'rank 7')
    """
    runs: list[list[int]] = []
    for rank in sorted(ranks):
        if runs and rank == runs[-1][1] + 1:
            runs[-1][1] = rank
        else:
            runs.append([rank, rank])
    words = [str(a) if a == b else f"{a}-{b}" for a, b in runs]
    return f"rank{'' if len(ranks) == 1 else 's'} {listed(words, 12)}"


def gbs(rate: float) -> str:
    """A rate with three digits.

    >>> gbs(0.02512), gbs(431.2)
    ('0.0251 GB/s', '431 GB/s')
    """
    return f"{rate:.3g} GB/s" if rate < 1000 else f"{rate:,.0f} GB/s"
