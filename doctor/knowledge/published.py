"""What others published of the same workloads, how comparable it is, and which published numbers are wrong. Pure.

The rows are in tables/published.json. A row keeps the quantity that its source gives (an epoch, a step, a rate, a
ratio); `Published.samples_per_s` is made of it where that is possible.
"""

from __future__ import annotations

import math
from typing import Literal

from doctor.knowledge.gpus import plain_name
from doctor.knowledge.load import cited, of_tables, table
from doctor.model.values import dataclass

Quantity = Literal["epoch_s", "step_ms", "samples_per_s", "speedup", "tflops"]


@dataclass(frozen=True, kw_only=True)
class Work:
    """An article, a repository or a table of results. `address`: None where it is not on record; `suites`: those that
    repeat it."""

    id: str
    title: str
    address: str | None
    suites: tuple[str, ...]
    about: str
    source: str

    @property
    def where(self) -> str:
        """Its address, or what is on record instead."""
        own = self.source.startswith("measured for this table")
        return self.address or (self.source if own else f"no address on record ({self.source})")


@dataclass(frozen=True, kw_only=True)
class Caveat:
    """What keeps a row from being compared; `wrong`: the number is not what it says at all."""

    id: str
    means: str
    wrong: bool


@dataclass(frozen=True, kw_only=True)
class Published:
    """One published number. `dtype` as it is claimed, `really` as it was computed (None: not known). `value` is in the
    unit that `quantity` names: seconds of an epoch of `samples`, milliseconds of a step, samples a second, a speed-up
    over the CPU (a ratio), TFLOP/s.
    """

    work: Work
    workload: str | None
    model: str
    phase: str
    device: str
    machine: str
    batch: int | None
    dtype: str
    really: str | None
    quantity: Quantity
    value: float
    samples: int | None
    torch: str | None
    caveats: tuple[Caveat, ...]
    source: str
    accuracy_percent: float | None = None
    note: str = ""

    @property
    def samples_per_s(self) -> float | None:
        """Images, sequences or products a second; None where the published quantity does not tell."""
        if self.quantity == "samples_per_s":
            return self.value
        if self.quantity == "step_ms" and self.batch:
            return 1000 * self.batch / self.value
        if self.quantity == "epoch_s" and self.samples:
            return self.samples / self.value
        return None

    @property
    def step_ms(self) -> float | None:
        """Milliseconds of a step at the row's batch."""
        if self.quantity == "step_ms":
            return self.value
        rate = self.samples_per_s
        return 1000 * self.batch / rate if rate and self.batch else None

    @property
    def wrong(self) -> bool:
        """Whether the number is not what it says: shown with the reason only, never compared with."""
        return any(c.wrong for c in self.caveats)

    @property
    def loader_included(self) -> bool:
        """Whether the data loader is in the time: then it compares to a time with the loader only."""
        return any(c.id == "loader-included" for c in self.caveats)


@dataclass(frozen=True, kw_only=True)
class Known:
    """A published claim that is wrong, or not comparable to what it is compared with. `factor`: by how much, where that
    is known; `see`: the command that shows the effect on one's own machine ("" where none does)."""

    id: str
    work: Work
    kind: Literal["wrong", "not-comparable"]
    claim: str
    reason: str
    factor: float | None
    see: str
    source: str


@dataclass(frozen=True)
class Near:
    """A published row near a measured one, and in what the two differ (empty: in nothing that is known)."""

    row: Published
    differs: tuple[str, ...]
    distance: float = 0.0


@of_tables
def works() -> dict[str, Work]:
    """By id."""
    content = table("published")
    return {
        row["id"]: Work(
            id=row["id"], title=row["title"], address=row["address"], suites=tuple(row["suites"]), about=row["about"],
            source=cited("published", row),
        )
        for row in content["works"]
    }  # fmt: skip


@of_tables
def caveats() -> dict[str, Caveat]:
    """By id."""
    rows = table("published")["caveats"]
    return {row["id"]: Caveat(id=row["id"], means=row["means"], wrong=row["wrong"]) for row in rows}


@of_tables
def published() -> tuple[Published, ...]:
    """All rows, in the order of the table."""
    content = table("published")
    return tuple(
        Published(
            work=works()[row["work"]],
            workload=row["workload"],
            model=row["model"],
            phase=row["phase"],
            device=row["device"],
            machine=row["machine"],
            batch=row["batch"],
            dtype=row["dtype"],
            really=row["really"],
            quantity=row["quantity"],
            value=row["value"],
            samples=row["samples"],
            torch=row["torch"],
            caveats=tuple(caveats()[c] for c in row["caveats"]),
            source=cited("published", row),
            accuracy_percent=row.get("accuracy_percent"),
            note=row.get("note", ""),
        )
        for row in content["rows"]
    )


@of_tables
def known() -> tuple[Known, ...]:
    """The published numbers that are wrong or not comparable, the wrong ones first."""
    content = table("published")
    found = (
        Known(
            id=row["id"],
            work=works()[row["work"]],
            kind=row["kind"],
            claim=row["claim"],
            reason=row["reason"],
            factor=row["factor"],
            see=row["see"],
            source=cited("published", row),
        )
        for row in content["known"]
    )
    return tuple(sorted(found, key=lambda k: k.kind != "wrong"))


def of_suite(suite: str) -> tuple[Published, ...]:
    """The rows of the works that a suite repeats: its reference rows."""
    return tuple(row for row in published() if suite in row.work.suites and row.workload is not None)


def nearest(
    workload: str, phase: str, *, device: str, name: str | None, batch: int, dtype: str, torch: str | None = None,
    with_loader: bool = False, most: int = 3,
) -> tuple[Near, ...]:  # fmt: skip
    """The published rows that come nearest to a measured one, nearest first. `device` is a backend ("cuda"), `name` the
    model of the GPU or processor, `dtype` what it really computed with ("tf32" is one). Never among them: a row that is
    wrong, of another workload or phase, or one that gives no time."""
    found = []
    for number, row in enumerate(published()):
        if row.workload != workload or row.phase != phase or row.wrong or row.samples_per_s is None:
            continue
        far, differs = _distance(row, device, name, batch, dtype, torch, with_loader)
        found.append((far, number, Near(row, differs, far)))
    return tuple(near for _, _, near in sorted(found, key=lambda f: f[:2])[:most])


def _distance(
    row: Published, device: str, name: str | None, batch: int, dtype: str, torch: str | None, with_loader: bool
) -> tuple[float, tuple[str, ...]]:
    """How far a row is from what was measured, and the words for it. Another device weighs more than another batch."""
    far, differs = 0.0, []
    if not same_model(row.machine, name):
        far += 4 if row.device == device else 16
        differs.append("another device")
    if row.batch is None or row.batch != batch:
        far += abs(math.log2(row.batch / batch)) if row.batch else 2
        differs.append(f"batch {row.batch}" if row.batch else "batch not stated")
    if (row.really or row.dtype) != dtype:
        far += 2
        differs.append((row.really or row.dtype).upper())
    if row.loader_included != with_loader:
        far += 3
        differs.append("the loader is in its time" if row.loader_included else "without a loader")
    if row.torch is None or torch is None or row.torch.partition("+")[0] != torch.partition("+")[0]:
        far += 0.5
        differs.append(f"torch {row.torch}" if row.torch else "torch not stated")
    others = [c for c in row.caveats if c.id not in ("loader-included", "torch-not-stated", "tf32-called-fp32")]
    return far + 0.5 * len(others), (*differs, *(c.means for c in others))


def same_model(machine: str, name: str | None) -> bool:
    """Whether a machine as it is named in print has that GPU or processor: all words of the shorter name are in the
    longer one, and none that tells models apart is in only one of them. A name without a number ("AMD EPYC") is none.

    >>> same_model("RTX 4090", "NVIDIA GeForce RTX 4090"), same_model("RTX 4090", "NVIDIA GeForce RTX 4090 Laptop GPU")
    (True, False)
    >>> same_model("M1 Max", "Apple M1 Max"), same_model("M1 (plain)", "Apple M1 Max")
    (True, False)
    """
    if name is None:
        return False
    printed, held = (
        {w for w in plain_name(text).split() if w not in _FILLERS and not w.endswith(("gb", "-core"))}
        for text in (machine.split(" (")[0], name)
    )
    shorter, longer = sorted((printed, held), key=len)
    numbered = any(character.isdigit() for word in shorter for character in word)
    return numbered and shorter <= longer and not (longer - shorter) & _TELLING


_FILLERS = {"apple", "gpu", "macbook", "air", "pro-macbook", "mini", "mac", "with", "plain", "24", "2020"}
_TELLING = {"laptop", "ti", "super", "max", "pro", "ultra", "mobile", "pcie", "d", "xt", "xtx", "8-core", "10-core"}
