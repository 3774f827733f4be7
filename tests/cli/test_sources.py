import io
from pathlib import Path

import click
import pytest

from doctor.cli import sources
from doctor.cli.sources import read_source
from doctor.evidence.text import document


@pytest.fixture(autouse=True)
def _small_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "KEPT_BYTES", 10)


def test_a_short_file_is_read_whole(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"0123456789abcdefghij")
    assert read_source(str(tmp_path / "a")) == (str(tmp_path / "a"), b"0123456789abcdefghij")


def test_of_a_long_file_the_ends_are_read_and_that_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a").write_bytes(b"0123456789" + b"-" * 100 + b"abcdefghij")
    assert read_source(str(tmp_path / "a"))[1] == b"0123456789\n[left out here: 100 bytes, 0 lines ]\nabcdefghij"
    assert "were not read" in capsys.readouterr().err


def test_a_name_is_not_said_raw(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    name = tmp_path / "a\x1b[31m\n::error::x"
    name.write_bytes(b"-" * 100)
    read_source(str(name))
    err = capsys.readouterr().err
    assert "\x1b" not in err
    assert err.count("\n") == 1
    assert "::error" not in err.replace(": :error", "")


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    class Input:
        buffer = io.BytesIO(b"0123456789" + b"-" * 100 + b"abcdefghij")

    monkeypatch.setattr("sys.stdin", Input)
    assert read_source("-") == ("stdin", b"0123456789\n[left out here: 100 bytes, 0 lines ]\nabcdefghij")


def test_what_cannot_be_read_is_wrong_usage(tmp_path: Path) -> None:
    with pytest.raises(click.UsageError, match="cannot read"):
        read_source(str(tmp_path / "missing"))
    with pytest.raises(click.UsageError):
        read_source(str(tmp_path))


def test_what_does_not_end_is_wrong_usage(monkeypatch: pytest.MonkeyPatch) -> None:
    class Zeros(io.RawIOBase):
        def read(self, size: int = -1) -> bytes:
            return bytes(size)

    class Input:
        buffer = Zeros()

    monkeypatch.setattr("sys.stdin", Input)
    monkeypatch.setattr(sources, "_ENDLESS_BYTES", 1 << 22)
    with pytest.raises(click.UsageError, match="has not ended"):
        read_source("-")


def test_of_the_middle_the_telling_lines_are_kept_with_their_numbers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sources, "KEPT_BYTES", 1_000)
    monkeypatch.setattr(sources, "_CHUNK", 1_024)
    lines = [f"step {i}" for i in range(2_000)]
    lines[900] = lines[1_000] = "NVRM: Xid (PCI:0000:01:00): 79, pid=1"
    lines[1_990] = "NVRM: Xid (PCI:0000:01:00): 31, pid=1"
    (tmp_path / "a").write_text("\n".join(lines), encoding="utf-8")
    name, content = read_source(str(tmp_path / "a"))
    assert len(content) < 2_500
    found = document(name, content)
    assert {found.lines[i]: found.numbers[i] for i in range(len(found.lines)) if "Xid" in found.lines[i]} == {
        lines[900]: 901,
        lines[1_990]: 1_991,
    }
    assert "bytes more" in found.left_out


def test_many_files_keep_less_of_each(tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.setattr(sources, "KEPT_BYTES", 1_000)
    monkeypatch.setattr(sources, "KEPT_IN_ALL", 4_000)
    monkeypatch.setattr(sources, "_KEPT_AT_LEAST", 100)
    (tmp_path / "a").write_bytes(b"x" * 3_000)
    kept = [read_source(str(tmp_path / "a"), among)[1].count(b"x") for among in (1, 4, 8, 1_000)]
    assert kept == [2_000, 2_000, 1_000, 200]
