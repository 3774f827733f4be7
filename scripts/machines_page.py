"""docs/machines.md: what `torchdoctor install --print-commands` says to every reviewed machine of tests/knowledge."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from doctor.cli.install import advise
from doctor.fixes.build import name_of
from doctor.fixes.plan import script
from doctor.knowledge.choose import Choice, choose
from doctor.model.facts import ABSENT, Facts
from doctor.model.fix import Plan
from tests.knowledge.machines import MACHINES, NOTHING


def text() -> str:
    """The page."""
    return "\n".join([
        "# Machines and their torch\n",
        "Made by scripts/generate.py from the machines of tests/knowledge/machines.py: what `torchdoctor install "
        "--print-commands` prints for each (with pip), why this build, which came next and what put it behind, and the "
        "newest build that does not serve and why not. Python is 3.12 and Linux has glibc 2.35 where the machine says "
        "nothing else.\n",
        f"## Served: {len(MACHINES)}\n",
        "| machine | seen | build | command | why | next | not |",
        "| --- | --- | --- | --- | --- | --- | --- |",
        *(_row(name, facts) for name, (facts, *_) in MACHINES.items()),
        f"\n## Not served as they are: {len(NOTHING)}\n",
        "The command is that of the first thing that would help; steps that no command does stand as comments.\n",
        "| machine | seen | command | what would help | not |",
        "| --- | --- | --- | --- | --- |",
        *(_row_of_unserved(name, facts) for name, (facts, *_) in NOTHING.items()),
        "",
    ])  # fmt: skip


def _row(name: str, facts: Facts) -> str:
    choice = choose(facts)
    best = choice.builds[0]
    why = [*best.reasons, *(f"but: {text}" for text in best.against)]
    after = [f"{name_of(other)}: {other.behind}" for other in choice.builds[1:2]]
    cells = (name, _seen(facts), name_of(best), _commands(facts), _lines(why), _lines(after), _rejected(choice))
    return f"| {' | '.join(cells)} |"


def _row_of_unserved(name: str, facts: Facts) -> str:
    choice = choose(facts)
    helps = _lines([near.text for near in choice.nearest])
    return f"| {' | '.join((name, _seen(facts), _commands(facts), helps, _rejected(choice)))} |"


def _rejected(choice: Choice) -> str:
    return _lines([f"{name_of(other)}: {other.against[0]}" for other in choice.rejected[:1] if other.against])


def _commands(facts: Facts) -> str:
    fix, _ = advise(replace(facts, torch=ABSENT), spec=None, backend=None, companions=(), tool="pip")
    printed = script(Plan(fixes=(fix,)), windows=facts.host.system == "windows") if fix else ""
    return "<br>".join(f"`{line.replace('|', '¦')}`" for line in printed.splitlines())


def _seen(facts: Facts) -> str:
    """The facts on which the choice depends."""
    return _lines(list(_parts(facts)))


def _parts(facts: Facts) -> Iterator[str]:
    host, interpreter = facts.host, facts.interpreter
    if facts.gpus:
        yield " + ".join(gpu.name or gpu.vendor for gpu in facts.gpus)
    if facts.nvidia.driver:
        yield f"driver {facts.nvidia.driver}"
    elif facts.nvidia.driver is ABSENT and any(gpu.vendor == "nvidia" for gpu in facts.gpus or ()):
        yield "no driver"
    system = host.os_name if host.system in ("windows", "darwin") else "Linux"
    system = "WSL 2" if host.wsl else f"L4T {host.jetson}" if host.jetson else system
    yield f"{system} {interpreter.architecture}"
    if host.libc and (host.libc, host.libc_version) != ("glibc", "2.35"):
        yield f"{host.libc} {host.libc_version}"
    if not (interpreter.version or "").startswith("3.12.") or interpreter.free_threaded:
        yield f"Python {interpreter.version}{', free-threaded' if interpreter.free_threaded else ''}"


def _lines(texts: list[str]) -> str:
    return "<br>".join(text.replace("|", "¦") for text in texts)
