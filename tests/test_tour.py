"""docs/tour.md beside the code: every name stands in the file before it, and its ticket is judged as it says."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from doctor.accounting.judgement import judged
from doctor.evidence.read import read

ROOT = Path(__file__).resolve().parent.parent
TOUR = (ROOT / "docs" / "tour.md").read_text(encoding="utf-8")
PATH = re.compile(r"(?:doctor|scripts|tests)/[\w/.]+")
TICKET = re.search(r"```text\n(.*?)```", TOUR, re.S)


def names_in(path: Path) -> set[str]:
    """What a module defines, also inside its classes and functions."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            found.add(node.name)
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            found |= {t.id for t in targets if isinstance(t, ast.Name)}
    return found


def untrue(text: str) -> list[str]:
    """Paths that are not there, and names that do not stand in the file before them."""
    wrong = []
    for path, name in named(text):
        file = ROOT / path
        if not file.exists():
            wrong.append(f"{path} is not there")
        elif name and name not in names_in(file):
            wrong.append(f"{path} has no {name}")
    return wrong


def named(text: str) -> list[tuple[str, str]]:
    """(path, name), "" for the file alone. Of the last file are a name right behind it, and those that begin with
    "_"."""
    found, path, end = [], "", 0
    for match in re.finditer(r"`([^`\n]+)`", text):
        if PATH.fullmatch(match[1]):
            path = match[1]
            found.append((path, ""))
        elif match[1].startswith("_") or (found[-1:] == [(path, "")] and not text[end : match.start()].strip()):
            found.append((path, match[1]))
        end = match.end()
    return found


def test_every_name_is_where_the_tour_says() -> None:
    assert untrue("`doctor/process.py` `start`, then `_nothing`; `doctor/process.py`\n`stop`, `doctor/gone.py`") == [
        "doctor/process.py has no _nothing", "doctor/process.py has no stop", "doctor/gone.py is not there",
    ]  # fmt: skip
    assert len(named(TOUR)) > 90
    assert untrue(TOUR) == []


def test_the_ticket_is_judged_as_the_tour_says() -> None:
    facts = read((("ticket.txt", TICKET[1].encode()),)).facts
    (message,) = (e for e in facts.errors if e.pattern == "nvidia-driver-too-old-for-torch")
    assert (message.groups, message.path, facts.nvidia.driver) == (("11040",), "train.py", "470.256.02")
    judgement = judged(facts)
    (fault,) = (f for f in judgement.account.findings if f.severity == "fault")
    assert (fault.id, fault.confidence) == ("nvidia-driver-too-old", "certain")
    assert "CUDA up to 11.4" in fault.detail
    assert "525.60.13" in fault.detail
    assert message.text in {e.quote for e in fault.evidence} | {e.value for e in fault.evidence}
    assert {s.explained_by for s in judgement.account.symptoms} == {fault.id}
    assert fault.remedies[0].action == "upgrade-driver"
