"""What every package manager of doctor/fixes/tools must keep, whichever it is."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from doctor.evidence.installs import parse_command
from doctor.fixes import quoting
from doctor.fixes.situation import Situation, situation_of
from doctor.fixes.sources import Sources
from doctor.fixes.tools import Order, Tool, all_tools, find, kind, names, of_argv, of_kind
from doctor.formats import manifests
from doctor.model.fix import Step
from tests.examples import linux, with_nvidia, with_packages, with_torch

INDEX = "https://download.pytorch.org/whl/cu126"
ORDER = Order(
    requirements=("torch==2.14.1", "torchvision==0.29.1"), index=INDEX, backend="cu126", replaces=("torch",),
    exact=True,
)  # fmt: skip
WORDS = re.compile(r"[ -~]+")
EACH = pytest.mark.parametrize("tool", all_tools(), ids=lambda tool: tool.name)


def situation(tool: Tool, system: str = "linux") -> Situation:
    facts = with_packages(with_torch(with_nvidia(linux(), "NVIDIA L4"), "2.13.0+cpu"), torchvision="0.28.0")
    interpreter = replace(facts.interpreter, environment=tool.kinds[0].name if tool.kinds else "venv")
    facts = replace(facts, host=replace(facts.host, system=system), interpreter=replace(interpreter, manager=tool.name))
    return situation_of(facts, tool.name)


def said(steps: tuple[Step, ...]) -> str:
    """All that the steps say, of whatever kind they are."""
    parts = ((" ".join(s.argv or ()), s.shell or "", s.edit.toml if s.edit else "", s.text) for s in steps)
    return "\n".join(part for step in parts for part in step)


def test_no_two_share_a_name_or_a_place() -> None:
    tools = all_tools()
    assert len({tool.rank for tool in tools}) == len(tools)
    assert len(set(names())) == len(names())
    kinds = [kind.name for tool in tools for kind in tool.kinds]
    assert len(set(kinds)) == len(kinds)
    locks = [lock for tool in tools for lock in tool.locks]
    assert len(set(locks)) == len(locks)


@EACH
def test_it_is_found(tool: Tool) -> None:
    assert all(find(program) is tool and of_argv((program, "x")) is tool for program in tool.programs)
    assert all(of_argv((f"C:\\bin\\{program}.EXE", "x")) is tool for program in tool.programs)
    assert all(of_kind(one.name) is tool and kind(one.name) is one for one in tool.kinds)
    assert situation(tool).by is tool


@EACH
def test_its_signs_are_one_thing_each(tool: Tool) -> None:
    for sign in tool.signs:
        assert sum(map(bool, (sign.file, sign.part, sign.lock, sign.key))) == 1, sign
        assert "\\" not in sign.file + sign.part + sign.above
        assert sign.kind in ("venv", *(one.name for one in tool.kinds)), sign
        assert not sign.project or set(sign.project) <= set(tool.manifests), sign


@EACH
def test_its_files_and_words_are_read(tool: Tool) -> None:
    assert all(manifests.is_manifest(name) for name in tool.manifests)
    for expression in (*tool.said, tool.failed, tool.missed, tool.path_said, tool.manifests_like, tool.tagged):
        re.compile(expression)
    for table in (tool.tables.packages, tool.tables.lists, tool.tables.indexes):
        re.compile(table)
    for program in tool.programs if tool.said else ():
        parsed = parse_command(f"{program} install torch==2.5.1")
        assert parsed, program
        assert parsed[:2] == (tool.name, ("torch==2.5.1",))


@EACH
@pytest.mark.parametrize("system", ["linux", "darwin", "windows"])
def test_it_installs_what_is_ordered(tool: Tool, system: str) -> None:
    """Torch in that very version from that index; each command is of a tool that is known, and can be written."""
    where = situation(tool, system)
    steps = tool.install(where, ORDER)
    assert steps
    text = said(steps)
    assert re.search(r"\btorch\b.{0,16}[=<]=2\.14\.1", text), text
    assert INDEX in text or "cu126" in text
    for step in steps:
        assert WORDS.match(step.text)
        assert step.argv or step.shell or step.edit or " where " in step.text, "a step that does nothing"
        if step.argv:
            assert of_argv(step.argv) or step.argv[0] == where.python
            assert all(quoting.command(step.argv, shell) for shell in quoting.SHELLS if system != "windows")
    plain = tool.install(where, Order(requirements=("numpy<2",)))
    assert "numpy" in said(plain)


@EACH
def test_it_removes_what_is_named(tool: Tool) -> None:
    steps = tool.remove(situation(tool), ("torchvision",))
    assert "torchvision" in said(steps)


@EACH
def test_without_a_network_it_asks_no_index(tool: Tool) -> None:
    sources = Sources(find_links=("/wheels",), offline=True)
    for step in tool.install(situation(tool), ORDER):
        owner = of_argv(step.argv) if step.argv else None
        if step.argv and owner and owner.takes_wheels and INDEX in step.argv:
            words = owner.redirected(list(step.argv), sources)
            assert INDEX not in words
            assert any("/wheels" in word for word in words)


@EACH
def test_its_project_can_be_tried_in_a_copy(tool: Tool) -> None:
    ways = tool.projects
    if ways is None:
        return
    assert tool.manifests, "whose file is edited?"
    re.compile(ways.answered)
    re.compile(ways.chatter)
    assert list(ways.reason(["why"])) == ["why"]
    assert all(name.isupper() for name, _ in ways.limits)
    assert all(option.startswith("-") for option in (*ways.folder, *filter(None, (ways.leave,)), *ways.verbose))
