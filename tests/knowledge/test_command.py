"""`torchdoctor knowledge`."""

from __future__ import annotations

import copy
import json
from pathlib import Path

import pytest

from doctor.cli import knowledge
from doctor.cli.main import run
from doctor.knowledge import load, lookup
from doctor.knowledge.load import BUILT_IN, TABLES


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Where updates go in a test."""
    place = tmp_path / "updates"
    monkeypatch.setenv(knowledge.FOLDER_VARIABLE, str(place))
    load.use(None)
    yield place
    load.use(None)


def newer(date: str = "2099-01-01") -> dict:
    tables = {name: json.loads((BUILT_IN / f"{name}.json").read_text("utf-8")) for name in TABLES}
    for data in tables.values():
        data["date"] = date
    return {"schema": 1, "date": date, "tables": tables}


def written(path: Path, data: object) -> str:
    path.write_text(json.dumps(data), "utf-8")
    return str(path)


def test_prints_date_newest_releases_and_sources(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["knowledge"]) == 0
    text = capsys.readouterr().out
    assert f"Tables of {lookup.tables_date()}." in text
    assert "Newest torch: 2.15.0 (2026-10-28), with torchvision 0.29.2" in text
    assert "test-infra: pytorch/test-infra" in text


def test_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["knowledge", "--json"]) == 0
    known = json.loads(capsys.readouterr().out)
    assert known["newest"]["torch"] == lookup.newest_torch()
    assert {t["name"] for t in known["tables"]} == set(TABLES)
    assert all(t["origin"] == "built-in" and t["rows"] >= t["verified"] and t["rows"] > 0 for t in known["tables"])
    assert known["refused"] == []


def test_update_from_a_file_holds_for_the_next_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = newer()
    rows = data["tables"]["releases"]["rows"]
    rows.append({**copy.deepcopy(rows[-1]), "torch": "2.16.0", "date": "2026-12-09"})
    assert run(["knowledge", "--update", written(tmp_path / "new.json", data)]) == 0
    assert "Newest torch: 2.16.0" in capsys.readouterr().out
    load.use(None)
    assert run(["knowledge", "--json"]) == 0
    known = json.loads(capsys.readouterr().out)
    assert known["newest"]["torch"] == "2.16.0"
    assert {t["origin"] for t in known["tables"]} == {"updated"}


def test_update_with_nothing_newer(tmp_path: Path, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["knowledge", "--update", written(tmp_path / "old.json", newer("2020-01-01"))]) == 0
    assert "nothing newer" in capsys.readouterr().err
    assert not folder.exists()


def broken_row() -> dict:
    data = newer()
    data["tables"]["drivers"]["branches"][2]["cuda"] = "twelve"
    return data


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (broken_row(), "drivers.json, branches, row 3: field cuda: 'twelve' is not allowed"),
        ({**newer(), "schema": 0}, "has schema 0"),
        ([1, 2], "holds no tables"),
        ({"schema": 1, "tables": {"cats": {}}}, "'cats'"),
    ],
)
def test_a_broken_update_exits_2_and_changes_nothing(
    data: object, message: str, tmp_path: Path, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["knowledge", "--update", written(tmp_path / "broken.json", data)]) == 2
    seen = capsys.readouterr()
    assert message in seen.err
    assert "The tables in force are unchanged." in seen.err
    assert seen.out == ""
    assert not folder.exists()


@pytest.mark.parametrize(
    "source", ["http://example.org/tables.json", "ftp://example.org/x", "file:///etc/passwd", "/no/such/file.json"]
)
def test_only_files_and_https(source: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["knowledge", "--update", source]) == 2
    assert source in capsys.readouterr().err


class Answer:
    """What urlopen gives."""

    def __init__(self, body: bytes, url: str) -> None:
        self.body, self.url = body, url

    def __enter__(self) -> Answer:
        return self

    def __exit__(self, *_: object) -> None: ...

    def geturl(self) -> str:
        return self.url

    def read(self, limit: int) -> bytes:
        return self.body[:limit]


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (Answer(json.dumps(newer()).encode(), "https://example.org/t.json"), 0),
        (Answer(json.dumps(newer()).encode(), "http://example.org/t.json"), 2),
        (Answer(b" " * (knowledge.MAX_BYTES + 2), "https://example.org/t.json"), 2),
        (OSError("name or service not known"), 2),
    ],
)
def test_update_from_an_address(answer: Answer | OSError, code: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def urlopen(url: str, timeout: float) -> Answer:
        if isinstance(answer, OSError):
            raise answer
        return answer

    monkeypatch.setattr("urllib.request.urlopen", urlopen)
    assert run(["knowledge", "--update", "https://example.org/t.json"]) == code


def test_a_broken_shipped_table_exits_70(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in TABLES:
        (tmp_path / f"{name}.json").write_text((BUILT_IN / f"{name}.json").read_text("utf-8"), "utf-8")
    whole = (tmp_path / "releases.json").read_text("utf-8")
    (tmp_path / "releases.json").write_text(whole[: len(whole) // 2], "utf-8")
    monkeypatch.setattr(load, "BUILT_IN", tmp_path)
    load.forget()
    assert run(["knowledge"]) == 70
    assert "releases.json: is not JSON, or is cut off" in capsys.readouterr().err


def test_a_broken_stored_table_is_named_and_the_built_in_one_used(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder.mkdir()
    (folder / "releases.json").write_text('{"schema": 1, "table": "rele')
    assert run(["knowledge"]) == 0
    assert "Not used, the built-in table is: releases.json: is not JSON, or is cut off" in capsys.readouterr().out
