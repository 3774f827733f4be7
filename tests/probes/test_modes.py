"""The modes of the probe: what is sent to the child, and which children run when."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from doctor.inside import probe
from doctor.pipeline import Request
from doctor.probes import children, run, script
from doctor.probes.triggers import INSIDE, triggers
from tests.probes.fakes import machine, with_gpus

STAGES = Path(probe.__file__).parent / "stages"

# A torch whose devices open at once and then fail: the order of the children is what is looked at.
TWO_GPUS = """
__version__ = "9.9.0"
class Tensor: pass
""" + with_gpus(2) + """def get_num_threads(): return 4
def device(name): raise RuntimeError("opened " + name)
"""


@pytest.mark.parametrize("mode", [*script.PIECES, "errata:sort_of_nothing", "errata:clamp_twice"])
def test_what_a_child_reads_is_a_valid_script(mode: str) -> None:
    text = script.script(mode)
    assert text.isascii()
    tree = ast.parse(text)
    sent = ast.literal_eval(tree.body[0].value)  # type: ignore[attr-defined]
    assert tuple(name for name, _ in sent) == script.pieces_of(mode)
    assert list(probe.load_pieces(sent)) == list(script.pieces_of(mode))


def test_a_trigger_is_sent_with_the_piece_that_holds_it_and_no_other() -> None:
    for trigger, piece in triggers().items():
        assert script.pieces_of(f"errata:{trigger}") == ("errata/stage", piece)
    assert {p.split("/")[1] for p in triggers().values() if "/" in p} == {
        path.stem for path in (INSIDE / "errata").glob("*.py")
    } - {"__init__", "stage"}


def test_every_piece_is_sent_by_some_mode_and_every_stage_has_its_words() -> None:
    sent = {name for pieces in script.PIECES.values() for name in pieces}
    assert sent == {path.stem for path in STAGES.glob("*.py")} - {"__init__"} | {"errata/stage"}
    for name in sent:
        path = (INSIDE if "/" in name else STAGES) / f"{name}.py"
        piece = probe.load_pieces([(name, path.read_text())])[name]
        for stage, _, modes, types in piece.STAGES:
            assert stage in run.WORDS
            assert set(modes) <= {"quick", "full", "soak", "peers", "errata", "fleet"}
            assert set(types) <= {"cpu", "cuda", "mps", "xpu"}


@dataclass
class Watcher:
    said: list[str] = field(default_factory=list)
    shares: list[float] = field(default_factory=list)

    def __call__(self, stage: str) -> None:
        self.said.append(stage)

    def share(self, done: float) -> None:
        self.shares.append(done)


def test_full_probes_gpus_first_then_the_cpu_then_the_pairs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[tuple[str, str]] = []
    begin = run.Run.__init__

    def noted(self, system, python, device, mode, limit_s, changed):  # type: ignore[no-untyped-def]
        started.append((device, mode))
        begin(self, system, python, device, mode, limit_s, changed)

    monkeypatch.setattr(run.Run, "__init__", noted)
    system, found = machine(tmp_path, TWO_GPUS)
    request, watcher = Request(mode="full", limit_s=20), Watcher()
    from doctor.model.facts import Facts

    first = children.start_first(system, found, probe=True, request=request)
    facts = children.finish(first, system, found, Facts(), request=request, progress=watcher)
    assert started[0] == ("cpu", "facts")
    assert sorted(started[1:3]) == [("cuda:0", "full"), ("cuda:1", "full")]
    assert started[3:] == [("cpu", "full"), ("cuda:0", "peers")]
    assert [p.id for p in facts.probes or ()] == ["cpu", "cuda:0", "cuda:1", "peers"]
    assert facts.probes
    assert facts.probes[-1].device == "cuda"
    assert {p.status for p in facts.probes} == {"failed"}
    assert watcher.shares
    assert watcher.shares[-1] == 1.0


def test_quick_starts_no_second_child_for_the_cpu_and_no_pairs(tmp_path: Path) -> None:
    from tests.probes.fakes import look

    facts = look(*machine(tmp_path, TWO_GPUS))
    assert [p.id for p in facts.probes or ()] == ["cpu", "cuda:0", "cuda:1"]
