"""What ranks leave is foreign: it is bounded and typed, or refused with the reason; files are replaced as a whole."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doctor.decode import Refused
from doctor.fleet import folder, merge, records
from doctor.model.fleet import RankRecord
from tests.fleet import simulated as sim


def test_a_record_comes_back_as_it_was() -> None:
    for record in sim.fleet(2, 2).values():
        assert records.parse(records.render(record)) == record


@pytest.mark.parametrize(
    "changes",
    [{"rank": 9}, {"rank": -1}, {"world": 0}, {"world": 1 << 40}, {"host": ""}, {"host": "x" * 999}, {"local_rank": 7},
     {"members": [0, 99]}, {"pairs": [{"source": 0, "scope": "node", "round": 0, "state": "ok", "gbs": -5.0}]},
     {"pairs": [{"source": 77, "scope": "node", "round": 0, "state": "ok"}]}, {"schema": "fleet-1"},
     {"config": {"xids": "9" * 5000}}, {"config": {str(n): "" for n in range(999)}},
     {"local_world": 0}, {"local_world": 10**18}, {"host": " "},
     {"pairs": [{"source": 1, "scope": "node", "round": 0, "state": "ok"}]},
     {"stages": [{"name": "A", "state": "healthy"}]}, {"config": {"torch": 5}}, {"probe": {"status": "fine"}}],
)  # fmt: skip
def test_what_cannot_be_is_refused(changes: dict[str, object]) -> None:
    data = json.loads(records.render(sim.fleet(1, 2)[1]))
    with pytest.raises(Refused):
        records.parse(json.dumps({**data, **changes}))


@given(st.binary(max_size=300))
def test_any_bytes_are_refused_or_read(data: bytes) -> None:
    with pytest.raises(Refused):
        records.parse(data)


@given(st.integers(0, 3000))
def test_a_truncated_record_is_refused(length: int) -> None:
    text = records.render(sim.fleet(1, 2)[0])
    with pytest.raises(Refused):
        records.parse(text[: min(length, len(text) - 2)])


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda c: st.lists(c, max_size=4) | st.dictionaries(st.text(max_size=8), c, max_size=4),
)


@given(VALUES)
def test_any_json_in_any_field(value: object) -> None:
    data = json.loads(records.render(sim.fleet(1, 2)[0]))
    for name in data:
        try:
            records.parse(json.dumps({**data, name: value}))
        except Refused:
            continue


def left(path: Path, found: dict[int, RankRecord]) -> str:
    for record in found.values():
        assert folder.write(str(path), record) is None
    return str(path)


def test_a_folder_is_merged(tmp_path: Path) -> None:
    report = merge.merge(left(tmp_path, sim.fleet(2, 2)))
    assert (report.verdict, report.heard, report.expected) == ("pass", 4, 4)
    assert sorted(os.listdir(tmp_path)) == [folder.name_of(rank) for rank in range(4)]


def test_damaged_foreign_and_strange_files_are_named(tmp_path: Path) -> None:
    left(tmp_path, sim.fleet(2, 2))
    whole = (tmp_path / "rank-00001.json").read_text()
    (tmp_path / "rank-00001.json").write_text(whole[:200])
    (tmp_path / "rank-00002.json").write_text(whole)  # of another rank
    (tmp_path / "rank-00003.json").unlink()
    os.mkfifo(tmp_path / "rank-00003.json")
    (tmp_path / "notes.txt").write_text("not ours")
    report = merge.merge(str(tmp_path))
    assert sorted((f.id, f.ranks) for f in report.findings if not f.because and f.ranks != (0,)) == [
        ("fleet-record-damaged", (rank,)) for rank in (1, 2, 3)
    ]
    assert report.verdict == "not-measured"


def test_who_never_wrote_is_known_from_the_number_expected(tmp_path: Path) -> None:
    one = {0: replace(sim.fleet(1, 1)[0], local_world=1)}
    report = merge.merge(left(tmp_path, one), expect=2, hosts=("alpha", "beta"))
    assert [(f.id, f.subject) for f in report.findings] == [("fleet-rank-missing", "beta")]
    assert report.verdict == "fail"


def test_an_empty_or_absent_folder_is_said_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(merge.NothingThere, match="no rank left a record"):
        merge.merge(str(tmp_path))
    with pytest.raises(merge.NothingThere, match="cannot read"):
        merge.merge(str(tmp_path / "none"))
    assert merge.merge(str(tmp_path), expect=2, hosts=("a", "b")).verdict == "fail"


def test_a_folder_that_cannot_be_written_is_a_reason(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("x")
    why = folder.write(str(file / "below"), sim.fleet(1, 1)[0])
    assert why is not None
    assert "cannot write" in why


@pytest.mark.parametrize("key", ["xids", "shm_free_bytes", "memlock_bytes", "ib_ports", "ib_rate_gbps", "link_mbps",
                                 "gpus_there", "nvlink_links_most", "cpus"])  # fmt: skip
def test_a_number_of_three_hundred_digits_is_none(key: str, tmp_path: Path) -> None:
    told = sim.fleet(2, 1)
    for rank, record in told.items():
        config = {**record.config, "nvlink_version": "4", "ib_ports": "4", key: str(9 - rank) * 300}
        folder.write(str(tmp_path), replace(record, config=config, backend="nccl"))
    assert len(merge.merge(str(tmp_path)).gpus) == 2


@pytest.mark.slow
@pytest.mark.parametrize("size", [None, 1, 8, 1 << 20])
def test_one_record_that_names_a_million_ranks_gives_a_short_report(size: int | None, tmp_path: Path) -> None:
    record = replace(sim.fleet(1, 1)[0], world=1 << 20, members=(0,), local_world=size)
    folder.write(str(tmp_path), record)
    report = merge.merge(str(tmp_path))
    assert (report.verdict, report.expected) == ("fail", 1 << 20)
    assert len(report.nodes) < 1100
    assert sum(len(f.ranks) for f in report.findings) < 20_000


def test_a_file_named_after_a_rank_that_cannot_be_is_no_record(tmp_path: Path) -> None:
    (tmp_path / "rank-9999999.json").write_text("x")
    with pytest.raises(merge.NothingThere):
        merge.merge(str(tmp_path))


def test_bad_links_between_two_nodes_of_one_name_are_told(tmp_path: Path) -> None:
    told = sim.fleet(3, 1)
    for rank, record in told.items():
        pairs = tuple(replace(p, state="wrong", wrong=3) for p in record.pairs)
        folder.write(str(tmp_path), replace(record, host="localhost" if rank else "a", pairs=pairs))
    report = merge.merge(str(tmp_path))
    assert any(f.hosts == ("localhost",) and f.verdict == "fail" for f in report.findings)
