"""A comparison for the terminal: two machines side by side, more as groups and values. One screen; --all has more."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from doctor.model.compare import Comparison, Difference
from doctor.reports.compare import layout
from doctor.reports.text import safe, wrapped

_LABEL = 22  # columns of a difference's name
_LONGEST = 160  # characters of a value; JSON has all of it
_RED, _GREEN, _BOLD = "31", "32", "1"


def render(comparison: Comparison, *, color: bool = False, width: int = 80, every: bool = False) -> str:
    """The whole comparison."""
    return "".join(f"{line}\n" for line in _lines(comparison, color, width, every))


def _lines(comparison: Comparison, color: bool, width: int, every: bool) -> Iterator[str]:
    two = len(comparison.machines) == 2
    explained = any(d.rank == "explains" for d in comparison.differences)
    yield from _painted(_prose(layout.verdict(comparison), width), _GREEN if explained else _BOLD, color)
    yield ""
    yield from _columns(comparison, width) if two else _groups(comparison, width)
    for section in layout.sections(comparison, every=every):
        yield ""
        if not section.differences:
            yield f"{_counted(section.more)} that nothing depends on: --all lists them"
            continue
        yield from _painted(_prose(section.title, width), _BOLD, color)
        for one in section.differences:
            yield from _row(comparison, one, width) if two else _values(one, width)
            for remark in layout.remarks(one) if not two else _short_remarks(one):
                yield from _painted(_prose(f"-> {remark}", width, indent=4, hang=7), _GREEN, color)
        if section.more:
            yield f"  and {_counted(section.more)}: --all lists them"
    if comparison.unexplained:
        yield ""
        yield from _painted(["Not explained"], _BOLD, color)
        for left in comparison.unexplained:
            yield from _prose(f"{left.finding} ({left.machine}): {layout.unexplained(left)}", width, indent=2, hang=4)
    for title, known in (("Same on all", comparison.same), ("Known of some only", comparison.unknown)):
        if known:
            sep = " " if title == "Same on all" else ": not of "
            yield ""
            said = "; ".join(f"{k.label}{sep}{k.text}" for k in known[: 40 if every else 6])
            more = len(known) - 6
            rest = f"; and {more} more" if more > 0 and not every else ""
            yield from _prose(f"{title}: {said}{rest}", width, hang=2)


def _short_remarks(difference: Difference) -> Iterator[str]:
    """What a difference between two machines explains; the columns tell whose value it is."""
    for one in difference.explains:
        also = f", together with {', '.join(one.together_with)}" if one.together_with else ""
        yield f"explains {one.finding}: gone with the value of {one.reference}{also}"


def _columns(comparison: Comparison, width: int) -> Iterator[str]:
    names = [machine.name for machine in comparison.machines]
    yield from _side_by_side("", names, width)
    yield from _side_by_side("verdict", [layout.found(comparison, i) for i in range(2)], width)


def _row(comparison: Comparison, difference: Difference, width: int) -> Iterator[str]:
    cells = [layout.value_at(difference, machine.name) for machine in comparison.machines]
    return _side_by_side(difference.label, cells, width)


def _side_by_side(label: str, cells: list[str], width: int) -> Iterator[str]:
    room = (width - _LABEL - 4) // 2
    name = safe(label)
    if len(name) >= _LABEL:  # above its values
        yield from _prose(name, width, indent=2)
        name = ""
    parts = [wrapped(_cut(safe(cell)), room - 1) for cell in cells]
    for number in range(max(map(len, parts))):
        row = [part[number] if number < len(part) else "" for part in parts]
        yield f"  {name:{_LABEL}}{row[0]:{room}}  {row[1]}".rstrip()
        name = ""


def _groups(comparison: Comparison, width: int) -> Iterator[str]:
    index = {machine.name: number for number, machine in enumerate(comparison.machines)}
    for group in comparison.groups:
        size = f"{len(group.machines)} machine{'s' if len(group.machines) > 1 else ''}"
        what = layout.found(comparison, index[group.machines[0]])
        yield from _prose(f"{'odd' if group.odd else '   '}  {size}, {what}", width, indent=2, hang=7)
        yield from _prose(layout.listed(group.machines, 8), width, indent=7)


def _values(difference: Difference, width: int) -> Iterator[str]:
    yield from _prose(difference.label, width, indent=2)
    ranked = sorted(difference.values, key=lambda value: -len(value.machines))
    for value in ranked:
        yield from _prose(f"{_cut(safe(value.text))}  ({layout.listed(value.machines)})", width, indent=4, hang=6)
    if difference.unknown:
        yield from _prose(f"not known  ({layout.listed(difference.unknown)})", width, indent=4, hang=6)


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 30]} … {text[-26:]}"


def _counted(number: int) -> str:
    return f"{number} difference{'s' if number > 1 else ''}"


def _prose(text: str, width: int, *, indent: int = 0, hang: int | None = None) -> list[str]:
    return wrapped(text, width, indent=" " * indent, hang=" " * (indent if hang is None else hang))


def _painted(lines: Iterable[str], code: str, color: bool) -> Iterator[str]:
    for line in lines:
        yield f"\x1b[{code}m{line}\x1b[0m" if color else line
