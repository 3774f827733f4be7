"""Which labels an issue gets: a file of the project says it, by diagnosis, by layer, by verdict.

    {"findings": {"nvidia-driver-too-old": ["env: driver"]},
     "layers": {"install": ["topic: installation"]},
     "verdicts": {"unknown": ["needs info"]}}
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field
from difflib import get_close_matches

from doctor.checks import all_checks
from doctor.decode import Refused, decode, loads
from doctor.model.finding import LAYERS
from doctor.model.report import Report
from doctor.model.values import dataclass

VERDICTS = ("healthy", "faulty", "unknown")
LENGTH = 50  # GitHub's limit


@dataclass(frozen=True)
class Labels:
    """The labels of a diagnosis, a layer, a verdict."""

    findings: dict[str, tuple[str, ...]] = field(default_factory=dict)
    layers: dict[str, tuple[str, ...]] = field(default_factory=dict)
    verdicts: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def of(self, report: Report, named: Iterable[str]) -> tuple[str, ...]:
        """Those of a report; `named`: the ids of the faults that the comment names."""
        named = tuple(named)
        wanted = [label for id in named for label in self.findings.get(id, ())]
        layers = dict.fromkeys(f.layer for f in report.findings if f.id in named)
        wanted += [label for layer in layers for label in self.layers.get(layer, ())]
        wanted += self.verdicts.get(report.verdict, ())
        return tuple(dict.fromkeys(wanted))


def labels_of(data: bytes) -> Labels:
    """The mapping of a file. Refused, with the nearest name, where it names what does not exist."""
    said = loads(data)
    if not isinstance(said, dict):
        raise Refused("it is not an object")
    names = {"findings": [c.id for c in all_checks()], "layers": list(LAYERS), "verdicts": list(VERDICTS)}
    for part in said:
        _known(part, list(names), "part")
    parts = {part: _mapping(part, said.get(part, {}), known) for part, known in names.items()}
    return Labels(**parts)


def _mapping(part: str, said: object, known: list[str]) -> dict[str, tuple[str, ...]]:
    if not isinstance(said, dict):
        raise Refused(f"{part} is not an object")
    found: dict[str, tuple[str, ...]] = {}
    for name, labels in said.items():
        _known(name, known, part)
        found[name] = decode(tuple[str, ...], [labels] if isinstance(labels, str) else labels)
        if any(not 0 < len(label) <= LENGTH or not label.isprintable() for label in found[name]):
            raise Refused(f"{part}.{name}: a label has 1 to {LENGTH} printable characters")
    return found


def _known(name: str, known: list[str], part: str) -> None:
    if name not in known:
        near = get_close_matches(name, known, 1)
        raise Refused(f"{part}: there is no {name[:60]!r}" + (f"; did you mean {near[0]}?" if near else ""))
