"""What differs between machines, and which difference explains what is wrong with one of them. Pure.

subjects.py says what is compared, explain.py judges a machine again with another one's value, refusals.py says what
cannot be compared.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache

from doctor.checks import all_checks
from doctor.comparison.explain import explaining, is_said, overlap, rests_on
from doctor.comparison.subjects import Subject, details, differing, is_known, subjects, text
from doctor.model.compare import (
    RANKS,
    Comparison,
    Difference,
    Explained,
    Found,
    Group,
    Known,
    Machine,
    Rank,
    Unexplained,
    Value,
)
from doctor.model.facts import Facts
from doctor.model.finding import ONLY_TOLD, Finding
from doctor.model.report import Report
from doctor.reports import layers

# What the choice of a build asks (knowledge/choose.py), and what a probe's rates depend on.
_CHOICE = ("host.system", "host.architecture", "host.libc_version", "host.macos", "interpreter.version", "gpus",
           "nvidia.driver", "amd.rocm", "interpreter.environment", "host.jetson", "host.wsl")  # fmt: skip
_PROBE = ("host.cpu_model", "host.cpu_flags", "host.cgroup_cpus", "host.cpus_usable", "host.memory_bytes", "gpus")
_LISTED = 5


def compare(reports: Sequence[Report], names: Sequence[str] | None = None) -> Comparison:
    """Two machines or more; the first is the one known to be good. `names`: what to call them, by default as their
    evidence is called."""
    return _Comparing(tuple(reports), _distinct(names or [_name_of(report) for report in reports])).done()


def _name_of(report: Report) -> str:
    return ", ".join(report.target.evidence) or "this machine"


def _distinct(names: Sequence[str]) -> tuple[str, ...]:
    """Names of which none is another: the second «a» is «a (2)»."""
    made: list[str] = []
    for name in names:
        shown, number = name, 2
        while shown in made:
            shown, number = f"{name} ({number})", number + 1
        made.append(shown)
    return tuple(made)


class _Comparing:
    """One comparison while it is made."""

    def __init__(self, reports: tuple[Report, ...], names: tuple[str, ...]) -> None:
        self.reports, self.names = reports, names
        self.facts = tuple(report.facts for report in reports)
        self.roots = tuple(_roots(report) for report in reports)
        self.subjects = subjects(self.facts)
        self.classes = {s.id: _classes(s, self.facts) for s in self.subjects}
        self.explains: dict[str, list[Explained]] = {}
        self.unexplained: list[Unexplained] = []

    def done(self) -> Comparison:
        for index in range(len(self.reports)):
            for finding in self.roots[index]:
                self._explain(index, finding)
        different = [s for s in self.subjects if max(self.classes[s.id]) > 0]
        found = sorted((self._difference(s) for s in different), key=lambda d: RANKS.index(d.rank))
        return Comparison(
            tool=self.reports[0].tool,
            taken_at=max(report.taken_at for report in self.reports),
            machines=tuple(self._machine(i) for i in range(len(self.reports))),
            differences=tuple(found),
            unexplained=tuple(self.unexplained),
            groups=self._groups(found),
            same=tuple(self._same()),
            unknown=tuple(self._unknown()),
        )

    def _machine(self, index: int) -> Machine:
        report = self.reports[index]
        findings = tuple(
            Found(id=f.id, severity=f.severity, title=f.title, confidence=f.confidence) for f in self.roots[index]
        )
        return Machine(
            name=self.names[index], summary=layers.in_a_line(report), verdict=report.verdict, findings=findings
        )

    # ---- why

    def _explain(self, index: int, finding: Finding) -> None:
        """By the machine without that finding which differs least from this one; the first of equals."""
        ids = [{f.id for f in report.findings} for report in self.reports]
        without = [i for i in range(len(ids)) if i != index and finding.id not in ids[i]]
        if not without:
            return
        causes = {i: self._causes(index, i) for i in without}
        nearest = min(without, key=lambda i: (self.reports[i].verdict == "faulty", len(causes[i])))
        sets = explaining(finding, self.facts[index], self.reports[nearest], causes[nearest])
        for one in sets:
            for subject in one:
                self.explains.setdefault(subject.id, []).append(Explained(
                    machine=self.names[index], finding=finding.id, reference=self.names[nearest],
                    together_with=tuple(s.label for s in one if s is not subject),
                ))  # fmt: skip
        if not sets and finding.severity != "note":
            there = self.names[nearest]
            effects = [s for s in self.subjects if s.kind == "effect"]
            if not causes[nearest]:
                why = f"nothing is known that differs from {there} and could be the cause"
            elif is_said(finding, self.facts[index], self.reports[nearest], effects):
                why = "what was said or seen there is enough to find it, so no exchange of values can show its cause"
            else:
                why = f"with the values of {there} for all that differs it would still be found"
            self.unexplained.append(Unexplained(
                machine=self.names[index], finding=finding.id, why=why,
                rests_on=tuple(s.label for s in causes[nearest] if rests_on(finding, s)),
            ))  # fmt: skip

    def _causes(self, index: int, other: int) -> tuple[Subject, ...]:
        return tuple(
            s for s in self.subjects if s.kind == "cause" and differing(s, self.facts[index], self.facts[other])
        )

    # ---- differences

    def _difference(self, subject: Subject) -> Difference:
        classes = self.classes[subject.id]
        known = [i for i, number in enumerate(classes) if number >= 0]
        first = known[0]
        fields = tuple(dict.fromkeys(f for i in known for f in differing(subject, self.facts[first], self.facts[i])))
        texts = {n: self._text(subject, classes.index(n), fields) for n in sorted(set(classes) - {-1})}
        if len(set(texts.values())) < len(texts):  # the usual words hide it
            texts = {n: details(self.facts[classes.index(n)], fields) for n in texts}
        used = tuple(_used_by(subject))
        return Difference(
            subject=subject.id, label=subject.label, rank=self._rank(subject, used), facts=fields,
            values=tuple(
                Value(text=said, machines=tuple(self.names[i] for i in known if classes[i] == n))
                for n, said in texts.items()
            ),
            unknown=tuple(self.names[i] for i, number in enumerate(classes) if number < 0),
            explains=tuple(self.explains.get(subject.id, ())), used_by=used,
        )  # fmt: skip

    def _text(self, subject: Subject, index: int, fields: tuple[str, ...]) -> str:
        if subject.id == "probes":
            return layers.device(self.reports[index]) or "none"
        return text(subject, self.facts[index], fields)

    def _rank(self, subject: Subject, used: tuple[str, ...]) -> Rank:
        if subject.id in self.explains:
            return "explains"
        if subject.kind == "effect":
            return "follows"
        some = {f.id for roots in self.roots for f in roots if f.severity != "note"}
        every = set.intersection(*({f.id for f in roots} for roots in self.roots))
        if any(rests_on(f, subject) for roots in self.roots for f in roots if f.id in some - every):
            return "rests"
        return "matters" if used else "incidental"

    def _same(self) -> Iterator[Known]:
        """What matters, is known of all, and is equal: the table's subjects, which people would ask for."""
        for subject in self.subjects:
            if subject.kind == "cause" and subject.shown and set(self.classes[subject.id]) == {0}:
                said = subject.shown(self.facts[0])
                if said and said != "none":
                    yield Known(label=subject.label, text=said, rank="matters")

    def _unknown(self) -> Iterator[Known]:
        """What matters, is known of some, and not of all."""
        some = [f for roots in self.roots for f in roots if f.severity != "note"]
        for subject in self.subjects:
            missing = [self.names[i] for i, number in enumerate(self.classes[subject.id]) if number < 0]
            if missing and len(missing) < len(self.names) and max(self.classes[subject.id]) == 0:
                if any(rests_on(f, subject) for f in some):
                    yield Known(label=subject.label, text=", ".join(missing), rank="rests")
                elif subject.shown:
                    yield Known(label=subject.label, text=", ".join(missing), rank="matters")

    # ---- groups

    def _groups(self, differences: list[Difference]) -> tuple[Group, ...]:
        """Machines with the same findings and the same values of what explains them or what they rest on; where the
        findings are all the same, of what matters."""
        ids = [tuple(f.id for f in roots if f.severity != "note") for roots in self.roots]
        ranks = ("explains", "rests") if len(set(ids)) > 1 else ("explains", "rests", "matters")
        counted = [d.subject for d in differences if d.rank in ranks]
        keys = [
            (self.reports[i].verdict, ids[i], tuple(self.classes[s][i] for s in counted))
            for i in range(len(self.reports))
        ]
        members: dict[object, list[int]] = {}
        for index, key in enumerate(keys):
            members.setdefault(key, []).append(index)
        largest = max(map(len, members.values()))
        made = [
            Group(
                machines=tuple(self.names[i] for i in group), verdict=self.reports[group[0]].verdict,
                findings=ids[group[0]], odd=len(group) < largest,
            )
            for group in members.values()
        ]  # fmt: skip
        return tuple(sorted(made, key=lambda group: -len(group.machines)))


def _roots(report: Report) -> tuple[Finding, ...]:
    return tuple(f for f in report.findings if f.root and f.id not in ONLY_TOLD)


def _classes(subject: Subject, machines: tuple[Facts, ...]) -> tuple[int, ...]:
    """Which machines have the same value: a number each, 0 the first machine's; -1 where nothing is known of it."""
    firsts: list[int] = []
    numbers = []
    for index, facts in enumerate(machines):
        if not is_known(subject, facts):
            numbers.append(-1)
            continue
        same = next((n for n, first in enumerate(firsts) if not differing(subject, machines[first], facts)), None)
        if same is None:
            same = len(firsts)
            firsts.append(index)
        numbers.append(same)
    return tuple(numbers)


def _used_by(subject: Subject) -> Iterator[str]:
    checks = [id for id, names in _needs() if any(overlap(f, n) for f in subject.fields for n in names)]
    yield from checks[:_LISTED]
    if any(overlap(field, name) for field in subject.fields for name in _CHOICE):
        yield "choice of a build"
    if any(overlap(field, name) for field in subject.fields for name in _PROBE):
        yield "probe"


@cache
def _needs() -> tuple[tuple[str, tuple[str, ...]], ...]:
    """The facts that each check names."""
    return tuple((check.id, tuple(n for need in check.needs for n in need.split("|"))) for check in all_checks())
