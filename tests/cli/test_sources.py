import io
from pathlib import Path

import click
import pytest

from doctor.cli import sources
from doctor.cli.sources import read_source


@pytest.fixture(autouse=True)
def _small_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "KEPT_BYTES", 10)


def test_a_short_file_is_read_whole(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"0123456789abcdefghij")
    assert read_source(str(tmp_path / "a")) == (str(tmp_path / "a"), b"0123456789abcdefghij")


def test_of_a_long_file_the_ends_are_read_and_that_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a").write_bytes(b"0123456789" + b"-" * 100 + b"abcdefghij")
    assert read_source(str(tmp_path / "a"))[1] == b"0123456789\nabcdefghij"
    assert "were not read" in capsys.readouterr().err


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    class Input:
        buffer = io.BytesIO(b"0123456789" + b"-" * 100 + b"abcdefghij")

    monkeypatch.setattr("sys.stdin", Input)
    assert read_source("-") == ("stdin", b"0123456789\nabcdefghij")


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
