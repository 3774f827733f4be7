"""The table of errata: its rows are sound, and hold exactly where they should."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doctor.knowledge import errata as engine
from doctor.knowledge import load, lookup
from doctor.knowledge.errata import Erratum, Place, affects, errata_for, nightly_date, stands_for
from doctor.knowledge.load import BUILT_IN
from doctor.probes.triggers import triggers
from scripts import merge_errata
from tests.table import table

ROWS = json.loads((BUILT_IN / "errata.json").read_text("utf-8"))["rows"]
TRIGGERS = triggers()


@table("row", ROWS, ids=lambda row: row["id"])
def test_a_row_is_sound(row: dict) -> None:
    assert list(merge_errata.problems(row, TRIGGERS)) == []


def test_the_file_is_as_the_merge_script_writes_it() -> None:
    text = (BUILT_IN / "errata.json").read_text("utf-8")
    data = json.loads(text)
    assert merge_errata.table_text(data["date"], data["rows"]) == text


def erratum(**changes: object) -> Erratum:
    made = Erratum(
        id="mps-example", title="An example of a row", kind="wrong-result", versions=">=2.8,<2.9.1", backends=("mps",),
        ops=("mm",), symptom="Results differ.", severity="grave", fixed_in="2.9.1", workaround="", status="verified",
        sources=("https://example.org/1",), looked="2026-11-22",
    )  # fmt: skip
    return replace(made, **changes)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("version", "answer"),
    [
        ("2.8.0", True),
        ("2.9.0+cu128", True),
        ("2.9.0.post302", True),
        ("2.9.0+cpu.cxx11.abi", True),
        ("2.9.1", False),
        ("2.7.1", False),
        ("2.9.0.dev20250801", True),  # between 2.8.0 and 2.9.0, which both have it
        ("2.9.0rc3", True),
        ("2.8.0.dev20250601", None),  # 2.7.1 does not have it: it may be older than the fault
        ("2.10.0a0+gitabc", None),
        ("2.9.0+git0fabc3b", None),  # a build of the release branch: with or without the fix of 2.9.1
        ("2.8.0a0+5228986c39.nv25.06", None),
        ("2.9.0a0+145a3a7bda.nv25.10", True),
        ("2.9.0+mylocal", None),
        ("main", None),
    ],
)
def test_versions(version: str, answer: bool | None) -> None:
    assert affects(erratum(), version) is answer


def test_without_a_known_fix_later_releases_are_not_known_to_be_free_of_it() -> None:
    open_end = erratum(versions="==2.8.0", fixed_in=None)
    assert [affects(open_end, v) for v in ("2.7.1", "2.8.0", "2.9.0")] == [False, True, None]
    later_fix = erratum(versions="==2.8.0", fixed_in="2.10.0")
    assert [affects(later_fix, v) for v in ("2.9.1", "2.10.0")] == [None, False]


def test_an_open_range_says_nothing_of_what_came_after_it_was_written() -> None:
    open_range = erratum(versions=">=2.8", fixed_in=None, looked="2026-01-01")
    assert [affects(open_range, v) for v in ("2.9.1", "2.10.0", "2.99.0")] == [True, None, None]


def test_nightlies_are_judged_by_their_date() -> None:
    nightly = erratum(versions="", nightlies=("2022-05-20", "2022-06-01"), fixed_in=None)
    answers = [affects(nightly, f"1.13.0.dev{day}") for day in ("20220519", "20220520", "20220601", "20220602")]
    assert answers == [False, True, True, False]
    assert affects(nightly, "1.12.0") is False
    assert affects(nightly, "1.13.0a0+gitabc") is None
    endless = erratum(versions="", nightlies=("2022-07-17", None), fixed_in=None)
    answers = [affects(endless, f"1.13.0.dev{day}") for day in ("20220716", "20220717", "20220718")]
    assert answers == [False, True, None]
    assert nightly_date("2.9.0.dev20250801+cu128") == "2025-08-01"


@pytest.fixture
def only(monkeypatch):
    def put(*rows: Erratum) -> None:
        load.forget()
        monkeypatch.setattr(engine, "errata", lambda: rows)

    yield put
    load.forget()


MAC = Place(
    version="2.8.0", backends=("mps", "cpu"), devices={"mps": ("M2",)}, system="darwin", system_version="15.1",
    libraries={"numpy": "2.1.3", "triton": ""}, cpu={"arm64": True, "sve": False},
)  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "place", "found"),
    [
        ({}, {}, "applies"),
        ({"backends": ("cuda",)}, {}, "no"),
        ({"devices": ("M1", "m2")}, {}, "applies"),
        ({"devices": ("M1",)}, {}, "no"),
        ({"devices": ("M1",)}, {"devices": {}}, "not known"),
        ({"systems": {"darwin": ">=15,<15.2"}}, {}, "applies"),
        ({"systems": {"darwin": ">=15.2"}}, {}, "no"),
        ({"systems": {"darwin": ">=15.2"}}, {"system_version": None}, "not known"),
        ({"systems": {"linux": ""}}, {}, "no"),
        ({"systems": {"linux": ""}}, {"system": None}, "not known"),
        ({"needs": {"numpy": ">=2"}}, {}, "applies"),
        ({"needs": {"numpy": "<2"}}, {}, "no"),
        ({"needs": {"triton": ""}}, {}, "no"),
        ({"needs": {"scipy": ""}}, {}, "not known"),
        ({"cpu": ("arm64", "-sve")}, {}, "applies"),
        ({"cpu": ("sve",)}, {}, "no"),
        ({"cpu": ("amx_tile",)}, {}, "not known"),
        ({}, {"backends": None}, "not known"),
        ({}, {"version": None}, "not known"),
        ({"kind": "import", "ops": ()}, {"imported": True}, "no"),
        ({"kind": "import", "ops": ("torchvision",)}, {"imported": True}, "applies"),
    ],
)
def test_where_an_erratum_holds(only, changes: dict, place: dict, found: str) -> None:
    only(erratum(**changes))
    answer = errata_for(replace(MAC, **place))
    assert ("no" if not answer else "applies" if answer[0].applies else "not known") == found


def test_the_gravest_come_first(only) -> None:
    rows = (
        erratum(id="mps-slow", kind="slow", severity="minor"),
        erratum(id="mps-crash", kind="crash", severity="grave"),
        erratum(id="mps-unknown", devices=("M1",)),
        erratum(id="mps-wrong"),
        erratum(id="mps-wrong-here", devices=("M2",)),
    )
    only(*rows)
    place = replace(MAC, devices={"mps": ("M2",)})
    assert [m.erratum.id for m in errata_for(place)] == ["mps-wrong-here", "mps-wrong", "mps-crash", "mps-slow"]


@given(st.text(max_size=40))
def test_any_version_gets_an_answer(version: str) -> None:
    for row in lookup.errata()[:5]:
        assert affects(row, version) in (True, False, None)


@given(
    st.integers(1, 3), st.integers(0, 20), st.integers(0, 3),
    st.sampled_from(["", "+cu128", "+cpu", "a0+41361538.nv23.06", ".dev20250801+cpu", "+gitabc", "rc1", ".post1"]),
)  # fmt: skip
def test_a_build_stands_for_releases_around_it(major: int, minor: int, patch: int, rest: str) -> None:
    base = f"{major}.{minor}.{patch}"
    assert base in stands_for(base + rest)


def good_row() -> dict:
    return {**ROWS[0], "id": "mps-new-row", "sources": ["https://example.org/issues/1"]}


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"id": "strange-row"}, "area"),
        ({"versions": "~=2.8"}, "versions"),
        ({"versions": "==2.8.*"}, "versions"),
        ({"versions": ""}, "no nightlies"),
        ({"versions": ">=9.0", "fixed_in": None}, "no release"),
        ({"versions": ">=2.8,<2.9.1", "fixed_in": "2.9.0"}, "inside"),
        ({"versions": ">=2.8,<2.9.1", "fixed_in": "2.7.0"}, "older"),
        ({"versions": ">=2.8,<2.9.1", "fixed_in": "2.10"}, "write 2.9.0"),
        ({"sources": []}, "sources"),
        ({"sources": ["pytorch#1"]}, "sources"),
        ({"trigger": "nobody_wrote_it"}, "no trigger"),
        ({"kind": "bad"}, "kind"),
        ({"title": "A title with a full stop."}, "full stop"),
        ({"symptom": "no stop"}, "full stop"),
        ({"message": "short"}, "telling"),
        ({"shared": True, "ops": []}, "operation that tells"),
        ({"colour": "blue"}, "not known"),
        ({"backends": ["metal"]}, "backends"),
        ({"nightlies": [None, "2022-05-01"]}, "nightlies"),
        ({"devices": ["RTX 4090"]}, "device"),
    ],
)
def test_a_bad_row_is_rejected_with_the_reason(change: dict, why: str) -> None:
    rows, rejected, taken = merge_errata.merged([], [("a.json 1", {**good_row(), **change})], replace=False)
    assert (rows, taken) == ([], 0)
    assert why in rejected[0]


def test_a_good_row_is_taken_once() -> None:
    given_rows = [("a.json 1", good_row()), ("a.json 2", good_row()), ("b.json 1", {**good_row(), "id": "mps-twin"})]
    rows, rejected, taken = merge_errata.merged([], given_rows, replace=False)
    assert [row["id"] for row in rows] == ["mps-new-row"]
    assert taken == 1
    assert "the id is taken" in rejected[0]
    assert "one fault is one row" in rejected[1]


def test_fragments_in_any_form(tmp_path) -> None:
    row = good_row()
    for text in (json.dumps([row]), json.dumps({"rows": [row]}), json.dumps(row), f"[\n{json.dumps(row)},\n]"):
        (tmp_path / "rows.json").write_text(text)
        assert merge_errata.rows_in(tmp_path / "rows.json") == [row]


# ---- the choice


def chosen(facts, **options):
    from doctor.knowledge.choose import choose

    return choose(facts, **options).builds[:2]


def test_a_neighbour_without_a_grave_erratum_is_chosen(only) -> None:
    from tests.examples import mac

    only(erratum(versions="==2.15.0", fixed_in=None))
    first, second = chosen(mac(macos="15.1"))
    assert (first.release, second.release) == ("2.14.1", "2.15.0")
    assert "2.15.0 is newer, but it has a known fault here: An example of a row (mps-example)" in first.reasons
    assert second.behind == "it has a grave fault here that is known"


@pytest.mark.parametrize(
    "changes",
    [
        {"severity": "moderate"},
        {"status": "single"},
        {"backends": ("cuda",)},
        {"devices": ("M1",)},
        {"systems": {"darwin": "<15"}},
        {"needs": {"scipy": ""}},
        {"versions": ">=2.13,<=2.15"},  # its neighbours have it, too
    ],
)
def test_the_newest_stays_first(only, changes: dict) -> None:
    from tests.examples import mac

    only(erratum(**{"versions": "==2.15.0", "fixed_in": None, **changes}))
    assert chosen(mac(macos="15.1", chip="Apple M4"))[0].release == "2.15.0"


def test_a_neighbour_with_a_grave_erratum_of_its_own_is_no_better(only) -> None:
    from tests.examples import mac

    older = (erratum(id=f"mps-of-{n}", versions=f"=={v}", fixed_in="2.15.0") for n, v in enumerate(("2.14.0", "2.14.1")))
    only(erratum(versions="==2.15.0", fixed_in=None), *older)
    assert chosen(mac(macos="15.1"))[0].release == "2.15.0"


def test_the_cudnn_of_the_wheel_counts(only) -> None:
    from tests.examples import linux, with_nvidia

    machine = with_nvidia(linux(), "NVIDIA GeForce RTX 4090")
    row = erratum(backends=("cuda",), versions="==2.9.1", fixed_in="2.10.0", needs={"cudnn": "<9.15"})
    only(row)
    assert chosen(machine, torch="<2.10")[0].release in ("2.9.0", "2.8.0")
    only(replace(row, needs={"cudnn": ">=9.20"}))
    assert chosen(machine, torch="<2.10")[0].release == "2.9.1"


def test_the_cudnn_attention_fault_needs_a_build_that_uses_it_by_default() -> None:
    # torch leaves cuDNN attention off below CUDA 12.9 (pull request 171627).
    place = Place(
        version="2.13.0", backends=("cuda",), devices={"cuda": ("sm_90",)}, system="linux", system_version="6.8",
        libraries={"cuda": "13.0", "cudnn": "9.20.0"}, cpu={},
    )  # fmt: skip

    def found(place: Place) -> bool:
        return "cuda-sdpa-cudnn-mask-nan-grad" in {m.erratum.id for m in errata_for(place)}

    assert found(place)
    assert not found(replace(place, libraries={"cuda": "12.6", "cudnn": "9.10.2"}))


@pytest.mark.parametrize(
    ("id", "release"), [("mps-slow-einsum-2022-09", "1.13.0"), ("mps-where-condition-strides", "2.8.0")]
)
def test_a_fault_of_nightlies_names_the_release_with_the_fix(id: str, release: str) -> None:
    row = engine.erratum_of(id)
    assert row is not None
    assert row.fixed_in == release


def test_who_names_a_release_gets_it(only) -> None:
    from tests.examples import mac

    only(erratum(versions="==2.15.0", fixed_in=None))
    assert chosen(mac(macos="15.1"), torch="==2.15.0")[0].release == "2.15.0"


def test_a_row_is_linked_with_the_computation_that_was_written_for_its_thread() -> None:
    thread = {**good_row(), "sources": ["https://github.com/pytorch/pytorch/issues/118117"]}
    thread.pop("trigger", None)
    other = {**thread, "sources": ["https://example.org/1", *thread["sources"]]}
    own = {**thread, "trigger": "clamp_twice"}
    assert [row.get("trigger") for row in merge_errata.linked([thread, other, own])] == [
        "rprop_noncontiguous_parameter", None, "clamp_twice",
    ]  # fmt: skip
    assert len(merge_errata.computations()) > 50


def test_what_is_to_be_looked_at_again(monkeypatch) -> None:
    from scripts import refresh_errata

    rows = (
        erratum(id="mps-fixed", fixed_in="2.15.0", looked="2026-10-01"),
        erratum(id="mps-newer", versions="==2.14.1", fixed_in=None, looked="2026-10-05", trigger="clamp_twice"),
        erratum(id="mps-stale", versions="==2.15.0", fixed_in=None, looked="2025-01-01", trigger="clamp_twice"),
        erratum(id="mps-well", trigger="clamp_twice"),
        erratum(id="mps-untried"),
    )
    found = [(name, id) for name, id, _ in refresh_errata.to_look_at(rows, "2026-11-22")]
    assert found == [
        ("fixed", "mps-fixed"), ("untried", "mps-fixed"), ("newer", "mps-newer"), ("stale", "mps-stale"),
        ("untried", "mps-untried"),
    ]  # fmt: skip


@pytest.mark.parametrize(("name", "holds"), [("Intel(R) Arc(TM) B580 Graphics", True), ("Intel(R) Arc(TM) A770 Graphics", False)])
def test_a_family_of_intel_is_called_as_the_table_of_gpus_calls_it(name: str, holds: bool) -> None:
    model = lookup.gpu_model(name)
    assert model is not None
    family = str(model.architecture).lower()
    place = Place(
        version="2.13.0", backends=("xpu",), devices={"xpu": (family,)}, system="linux",
        libraries={"intel-compute-runtime": "26.05.37020.3"},
    )  # fmt: skip
    assert holds == any(m.applies for m in errata_for(place) if m.erratum.id == "xpu-nonzero-truncated-2-13")
