"""inside/probe.py without torch: its line protocol, and the languages it must stay valid in."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doctor.inside import probe

SOURCE = Path(probe.__file__)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(VALUES)
def test_to_json_writes_what_json_reads(value: object) -> None:
    text = probe.to_json(value)
    assert text.isascii()
    assert "\n" not in text
    assert json.loads(text) == value


@pytest.mark.parametrize(("value", "said"), [(math.nan, "nan"), (math.inf, "inf"), (-math.inf, "-inf")])
def test_to_json_names_what_json_cannot_say(value: float, said: str) -> None:
    assert json.loads(probe.to_json({"ratio": value})) == {"ratio": said}


def test_source_is_ascii_because_it_travels_on_stdin() -> None:
    assert SOURCE.read_bytes().isascii()


def test_source_is_valid_for_python_3_6() -> None:
    vermin = pytest.importorskip("vermin")
    old, new = vermin.detect(SOURCE.read_text())
    assert old is None or old[0] == 2 or old == (0, 0)
    assert (3, 0) <= new <= (3, 6)


def test_nothing_is_imported_that_a_user_could_shadow(tmp_path: Path) -> None:
    """A json.py or signal.py in the working folder must reach torch, not us."""
    for name in ("json", "traceback", "signal", "warnings", "re", "random", "threading"):
        (tmp_path / f"{name}.py").write_text("raise RuntimeError('shadowed')")
    folder = tmp_path / "torch"
    folder.mkdir()
    (folder / "__init__.py").write_text("import json")
    said = subprocess.run(
        [sys.executable, "-S", "-B", "-", "cpu", "facts"], input=SOURCE.read_text(), cwd=tmp_path,
        capture_output=True, text=True, timeout=30,
    )
    lines = [json.loads(line.partition(" ")[2]) for line in said.stdout.splitlines()]
    assert [line.get("event") for line in lines] == ["begin", "end", "done"], said.stderr
    assert lines[1]["ok"] is False
    assert lines[1]["data"]["message"] == "shadowed"


@pytest.mark.skipif(sys.platform == "win32", reason="it ends by a signal")
def test_who_listens_sees_the_end_before_the_process_has_ended(tmp_path: Path) -> None:
    """A process with a CUDA context takes long to end; the parent reads its streams to their end."""
    folder = tmp_path / "torch"
    folder.mkdir()
    over = tmp_path / "over"
    lasts = f"import atexit, time\natexit.register(lambda: (time.sleep(20), open({str(over)!r}, 'w')))"
    (folder / "__init__.py").write_text(f"{lasts}\nraise ImportError('nothing')")
    script = tmp_path / "probe.py"
    script.write_text(SOURCE.read_text())
    child = subprocess.Popen(
        [sys.executable, "-S", "-B", str(script), "cpu", "facts"], cwd=tmp_path, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, env={**os.environ, "PYTHONPATH": str(tmp_path)},
    )  # fmt: skip
    with child:
        assert child.stdout
        assert child.stderr
        said = child.stdout.read()
        child.stderr.read()
        assert not over.exists(), "the streams were open until the process ended"
        child.kill()
    assert b'"done"' in said


@pytest.mark.parametrize(
    ("before", "value", "kept"), [(None, 2.0, 2.0), (1.0, 2.0, 2.0), (3.0, 2.0, 3.0)],
)
def test_raise_to_keeps_the_larger(before: float | None, value: float, kept: float) -> None:
    data = {} if before is None else {"k": before}
    probe.raise_to(data, "k", value, max)
    assert data["k"] == kept


def test_raise_to_never_hides_a_nan() -> None:
    data: dict[str, float] = {}
    for value in (1.0, math.nan, 2.0):
        probe.raise_to(data, "k", value, max)
    assert math.isnan(data["k"])
