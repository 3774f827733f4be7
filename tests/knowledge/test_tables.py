"""The shipped tables: their schema, their agreement with each other, and what happens to broken ones."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from doctor.knowledge import _literals, load, lookup, messages, vendors
from doctor.knowledge.form import KnowledgeError
from doctor.knowledge.load import BUILT_IN, TABLES
from doctor.knowledge.schema import check_patterns, check_table
from doctor.regex import Text
from scripts import prove_knowledge

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def built_in_tables():
    load.use(None)
    yield
    load.use(None)


def of_file(name: str) -> dict:
    return json.loads((BUILT_IN / f"{name}.json").read_text("utf-8"))


@pytest.mark.parametrize("name", TABLES)
def test_a_shipped_table_keeps_its_schema(name: str) -> None:
    check_patterns(check_table(of_file(name), name), name)


@pytest.mark.parametrize("name", TABLES)
def test_every_source_is_used(name: str) -> None:
    data = of_file(name)
    cited = {key for _, row in load.rows_of(data) for key in row.get("sources", ())}
    cited -= {key for key in cited if key.startswith("https://")}  # rows of errata cite addresses
    assert cited == set(data["sources"])


def test_no_row_twice() -> None:
    for name, keys in {
        "releases": ("torch",), "companions": ("package", "version", "for"), "builds": ("torch", "backend"),
        "archs": ("torch", "backend", "platform"), "peaks": ("name",), "messages": ("id",), "errata": ("id",),
    }.items():  # fmt: skip
        rows = [tuple(row[k] for k in keys) for row in of_file(name)["rows"]]
        assert len(rows) == len(set(rows)), name


def test_the_default_cuda_build_of_every_release_has_an_arch_list() -> None:
    for release in lookup.torch_versions():
        for platform in ("linux_x86_64", "linux_aarch64"):
            backend = lookup.default_backend(release, platform)
            if backend and backend.startswith("cu"):
                assert lookup.arch_list_of(release, backend, platform), (release, backend, platform)


def test_every_arch_list_is_of_a_published_build() -> None:
    minors = {(row["torch"], row["backend"], row["platform"]) for row in of_file("archs")["rows"]}
    published = {
        (".".join(release.split(".")[:2]), backend, platform)
        for release in lookup.torch_versions()
        for platform in ("linux_x86_64", "linux_aarch64", "win_amd64")
        for backend in lookup.backends_of(release, platform)
    }
    assert not sorted(minors - published)


def test_models_with_rates_are_known_by_name() -> None:
    for row in of_file("peaks")["rows"]:
        model = lookup.gpu_model(row["name"])
        assert model is not None, row["name"]
        assert model.vendor == row["vendor"], row["name"]
        assert (row.get("capability"), row.get("gfx")) == (model.capability, model.gfx), row["name"]


def test_driver_floors_never_sink_within_a_major_version() -> None:
    versions = ["10.1", "10.2", "11.0", "11.1", "11.8", "12.0", "12.9", "13.0", "13.4"]
    for system in ("linux", "windows"):
        floors = [lookup.driver_need(v, system) for v in versions]
        numbers = [tuple(map(int, f.minimum.split("."))) for f in floors if f]
        assert numbers == sorted(numbers)


def test_every_disagreement_with_a_peer_is_judged() -> None:
    verdicts = json.loads(prove_knowledge.VERDICTS.read_text())
    found = list(prove_knowledge.disagreements())
    assert [d.key for d in found if prove_knowledge.verdict_of(d, verdicts) is None] == []
    assert all(any(prove_knowledge.verdict_of(d, [v]) for d in found) for v in verdicts), "a verdict on nothing"


def test_the_last_proofs_found_nothing_wrong() -> None:
    proof = json.loads((ROOT / "tests" / "knowledge" / "proof.json").read_text())
    assert proof["wheels"]["asked"] >= 500
    assert proof["wheels"]["pip"]["wrong"] == []
    assert proof["wheels"]["uv"]["wrong"] == []
    assert proof["companions"]["wrong"] == []
    assert proof["commands"]["wrong"] == []
    assert proof["commands"]["tried"] > 0


def refused(name: str, change: Callable[[dict], object], where: str, message: str) -> None:
    """The table, once changed, is refused at that place with these words."""
    data = of_file(name)
    change(data)
    with pytest.raises(KnowledgeError) as caught:
        check_table(data, name)
    assert caught.value.where == where
    assert message in str(caught.value)


def fields_of(value: object) -> set[str]:
    """The names of all fields of rows, and of the table itself; not the keys of maps (versions, platforms)."""
    if isinstance(value, list):
        of_rows = {name for one in value if isinstance(one, dict) for name in one}
        return of_rows.union(*map(fields_of, value))
    return set().union(*map(fields_of, value.values())) if isinstance(value, dict) else set()


def never_read(table: dict, code: str) -> list[str]:
    """Fields that no line of the code names."""
    names = {name for name in fields_of(table) | set(table) if re.fullmatch("[a-z_]+", name)}
    return sorted(name for name in names if not re.search(rf"""["'.]{name}\b""", code))


def test_every_field_of_a_table_is_read() -> None:
    """What nothing reads is not kept true: it goes, or something is made of it."""
    assert never_read({"rows": [{"torch": "2.0", "colour": {"deep": 1}}], "date": ""}, 'row["torch"], date.rows') == [
        "colour", "date",
    ]  # fmt: skip
    sources = (p for p in (ROOT / "doctor").rglob("*.py") if p.name != "schema.py")
    code = "\n".join(p.read_text("utf-8") for p in sources)
    unread = {name: never_read(of_file(name), code) for name in TABLES}
    assert {name: fields for name, fields in unread.items() if fields} == {}


@pytest.mark.parametrize(
    ("change", "where", "message"),
    [
        (lambda d: d["rows"][3].update(date="yesterday"), "releases.json, rows, row 4", "field date"),
        (lambda d: d["rows"][0].pop("wheels"), "releases.json, rows, row 1", "field wheels: is missing"),
        (lambda d: d["rows"][1].update(colour="blue"), "releases.json, rows, row 2", "field colour: is not known"),
        (lambda d: d["rows"][2].update(sources=["nobody"]), "releases.json, rows, row 3", "'nobody'"),
        (lambda d: d["rows"][2]["wheels"].update(amiga={}), "releases.json, rows, row 3", "field wheels"),
        (lambda d: d.update(schema=0), "releases.json", "schema 0"),
        (lambda d: d.update(table="gpus"), "releases.json", "field table"),
        (lambda d: d.update(date=20261121), "releases.json", "field date"),
        (lambda d: d.update(rows="none"), "releases.json", "field rows"),
        (lambda d: d["rows"].append("2.16"), "releases.json, rows, row 41", "is not an object"),
        (lambda d: d.pop("sources"), "releases.json", "field sources"),
    ],
)
def test_a_broken_table_is_named_with_row_and_field(change, where: str, message: str) -> None:
    refused("releases", change, where, message)


@pytest.mark.parametrize(
    ("change", "where", "message"),
    [
        (lambda d: d["therock"].update(index="http://example.org/"), "vendors.json, therock", "field index"),
        (lambda d: d.update(therock=[]), "vendors.json, therock", "is not an object"),
        (lambda d: d.pop("uv_backends"), "vendors.json, uv_backends", "is not an object"),
        (lambda d: d["jetson"][2].update(l4t="36"), "vendors.json, jetson, row 3", "field l4t"),
        (lambda d: d["conda_forge"]["packages"].pop("cuda"), "vendors.json, conda_forge", "field packages"),
        (lambda d: d["conda_forge"]["archs"].update({"13": "sm_75,sm_80"}), "vendors.json, conda_forge", "field archs"),
        (lambda d: d["conda_forge"].update(sources=["nobody"]), "vendors.json, conda_forge", "'nobody'"),
    ],
)
def test_a_broken_table_of_vendors_is_named_with_row_and_field(change, where: str, message: str) -> None:
    refused("vendors", change, where, message)


@pytest.mark.parametrize(
    ("regex", "literals"),
    [
        ("(unclosed", ["unclosed"]),
        ("a+ message", ["something else"]),
        ("a message", []),
        ("a message", [""]),
        (".*", ["x"]),
    ],
)
def test_a_pattern_that_does_not_compile_or_slips_its_prefilter(regex: str, literals: list[str]) -> None:
    data = of_file("messages")
    data["rows"][0].update(regex=regex, flags="", literals=literals)
    with pytest.raises(KnowledgeError, match=r"messages\.json, rows, row 1"):
        check_patterns(data, "messages")


def newer(name: str, **changes: object) -> dict:
    return {**copy.deepcopy(of_file(name)), "date": "2099-01-01", **changes}


def with_new_release(data: dict) -> dict:
    data["rows"].append({**data["rows"][-1], "torch": "2.16.0", "date": "2026-12-09"})
    return data


def test_updated_tables_are_preferred_where_they_are_newer(tmp_path: Path) -> None:
    load.store({"releases": with_new_release(newer("releases"))}, tmp_path)
    load.use(tmp_path)
    assert lookup.newest_torch() == "2.16.0"
    assert lookup.companion("2.15.0", "torchvision") == "0.29.2", "the other tables are the built-in ones"
    load.use(None)
    assert lookup.newest_torch() == "2.15.0"


def test_what_was_made_of_another_table_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """As while somebody writes a row: the file has another size than that of which it was made."""
    rows = load.table("messages")["rows"]
    literals = Text("\n".join(literal for row in rows for literal in row["literals"]))
    made, harmless = messages.vocabulary_of_messages().within(literals), messages.harmless_ids()
    monkeypatch.setattr(_literals, "SIZE", 0)
    monkeypatch.setattr(_literals, "BY_PART", "")
    monkeypatch.setattr(_literals, "HARMLESS", frozenset())
    load.forget()
    assert (messages.vocabulary_of_messages().within(literals), messages.harmless_ids()) == (made, harmless)
    monkeypatch.undo()
    load.forget()


def test_rows_that_are_read_alone_are_those_of_an_update(tmp_path: Path) -> None:
    data = newer("messages")
    row = {**data["rows"][0], "id": "a-new-message", "literals": ["frobnicated"], "means": "It means nothing."}
    data["rows"].append(dict(reversed(row.items())))
    load.store({"messages": data}, tmp_path)
    load.use(tmp_path)
    found = messages.vocabulary_of_messages().within(Text("it was frobnicated"))
    assert found == {"frobnicated": [len(data["rows"]) - 1]}
    assert "a-new-message" in messages.harmless_ids()
    found = lookup.error_pattern("a-new-message")
    assert found is not None
    assert found.means == "It means nothing."
    load.use(None)
    assert lookup.error_pattern("a-new-message") is None


def test_what_vendors_publish_is_updated_too(tmp_path: Path) -> None:
    assert not vendors.uv_knows("cu134")
    data = newer("vendors")
    data["uv_backends"]["names"].append("cu134")
    load.store({"vendors": data}, tmp_path)
    load.use(tmp_path)
    assert vendors.uv_knows("cu134")
    load.use(None)
    assert not vendors.uv_knows("cu134")


def test_updated_tables_that_are_not_newer_are_left_aside(tmp_path: Path) -> None:
    load.store({"releases": {**with_new_release(newer("releases")), "date": of_file("releases")["date"]}}, tmp_path)
    load.use(tmp_path)
    assert lookup.newest_torch() == "2.15.0"


@pytest.mark.parametrize("text", ['{"schema": 1, "table": "rel', "[]", '{"schema": 7}', "\x00", ""])
def test_stored_tables_that_are_broken_leave_the_built_in_ones_in_force(tmp_path: Path, text: str) -> None:
    (tmp_path / "releases.json").write_text(text)
    load.use(tmp_path)
    assert lookup.newest_torch() == "2.15.0"
    assert [error.where for error in lookup.refused()] == ["releases.json"]


def test_a_broken_shipped_table_is_a_bug(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "releases.json").write_text((BUILT_IN / "releases.json").read_text("utf-8")[:2000])
    monkeypatch.setattr(load, "BUILT_IN", tmp_path)
    load.forget()
    with pytest.raises(KnowledgeError, match=r"releases\.json: is not JSON, or is cut off"):
        lookup.newest_torch()


def test_an_update_is_a_bundle_or_a_single_table() -> None:
    single = load.parse_update(json.dumps(newer("macos")).encode())
    assert list(single) == ["macos"]
    bundle = load.parse_update(json.dumps({"schema": 1, "tables": {n: newer(n) for n in TABLES}}).encode())
    assert set(bundle) == set(TABLES)


@pytest.mark.parametrize(
    "text",
    [b"", b"{", b"[]", b"3", b"[" * 100_000, b'{"schema": 1, "table": ["macos"]}', b'{"schema": 1}', b'{"schema": 2, "tables": {}}', b'{"schema": 1, "tables": {"cats": {}}}',
     b'{"schema": 1, "tables": {"macos": []}}', b"\xff\xfe{"],
)  # fmt: skip
def test_an_update_that_is_none(text: bytes) -> None:
    with pytest.raises(KnowledgeError):
        load.parse_update(text)


def test_the_tables_that_a_question_needs_are_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    read = []
    monkeypatch.setattr(load, "_read", lambda path, real=load._read: (read.append(path.stem), real(path))[1])
    load.forget()
    lookup.driver_runs("580.65.06", "13.0")
    lookup.driver_runs("470.1", "12.0")
    assert read == ["drivers"]
