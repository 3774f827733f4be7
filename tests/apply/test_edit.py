"""Edits of a project's file: TOML merged into TOML."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doctor.apply import ApplyError
from doctor.apply.edit import carry_out, merged
from doctor.model.fix import TomlEdit

SOURCE = '[[tool.pdm.source]]\nname = "pytorch"\nurl = "https://new"\ninclude_packages = ["torch", "torchvision"]'


def test_the_rest_stays_as_it_is() -> None:
    text = '# top\n[project]\nname = "demo"   # why\n\n[tool.pdm]\ndistribution = false\n\n[tool.ruff]\nx = 1\n'
    assert merged(text, SOURCE) == text.replace("\n[tool.ruff]", f"\n{SOURCE}\n\n[tool.ruff]")


def test_at_the_end_of_a_file_without_such_a_table() -> None:
    assert merged('[project]\nname = "demo"\n', SOURCE) == f'[project]\nname = "demo"\n\n{SOURCE}\n'


@pytest.mark.parametrize(
    "before",
    [
        '[[tool.pdm.source]]\nname = "pytorch"\nurl = "https://old"\ninclude_packages = ["torchaudio"]\n',
        '[tool.pdm]\nsource = [{name = "pytorch", url = "https://old", include_packages = ["torchaudio"]}]\n',
    ],
    ids=["array of tables", "inline"],
)
def test_a_source_of_the_same_name_is_changed(before: str) -> None:
    said = merged(before, SOURCE)
    assert said is not None
    assert '"https://new"' in said
    assert "https://old" not in said
    assert '["torchaudio", "torch", "torchvision"]' in said


def test_a_requirement_takes_the_place_of_one_for_the_same_package() -> None:
    before = '[envs.default]\ndependencies = ["Torch_Vision==0.1", "numpy", "torch ~= 2.1"]  # why\n'
    said = merged(before, '[envs.default]\ndependencies = ["torch<=2.14.1", "torch-vision<=0.29", "numpy"]')
    assert said == '[envs.default]\ndependencies = ["torch-vision<=0.29", "numpy", "torch<=2.14.1"]  # why\n'


def test_another_source_stays() -> None:
    before = '[[tool.pdm.source]]\nname = "mine"\nurl = "https://mine"\n'
    assert merged(before, SOURCE) == f"{before}\n{SOURCE}\n"


def test_what_was_merged_once_is_not_merged_again() -> None:
    once = merged("", SOURCE)
    assert once is not None
    assert merged(once, SOURCE) == once


def test_pixis_tables() -> None:
    before = '[workspace]\nplatforms = ["linux-64"]\n\n[pypi-dependencies]\ntorch = "*"\nother = "*"\n'
    said = merged(before, '[pypi-dependencies]\ntorch = { version = "==2.9.1", index = "https://new" }')
    assert said == before.replace('torch = "*"', 'torch = { version = "==2.9.1", index = "https://new" }')
    assert merged(before, '[system-requirements]\ncuda = "12"') == before + '\n[system-requirements]\ncuda = "12"\n'


@pytest.mark.parametrize(
    "text",
    ["not toml", "tool = 1\n", "[tool]\npdm = {distribution = false}\n", '[tool.pdm]\nsource = "x"\n'],
    ids=["not toml", "no table", "an inline table", "no array"],
)
def test_what_would_not_come_out_right_is_left(text: str, tmp_path: Path) -> None:
    file = tmp_path / "pyproject.toml"
    file.write_text(text)
    with pytest.raises(ApplyError, match="by hand"):
        carry_out(TomlEdit(file=str(file), toml=SOURCE), str(file))
    assert file.read_text() == text


def test_line_ends_and_links_stay(tmp_path: Path) -> None:
    real, file = tmp_path / "real.toml", tmp_path / "pyproject.toml"
    real.write_bytes(b'[project]\r\nname = "demo"\r\n')
    file.symlink_to(real)
    carry_out(TomlEdit(file=str(file), toml=SOURCE), str(file))
    assert file.is_symlink()
    assert real.read_bytes().count(b"\r\n") == real.read_bytes().count(b"\n") == 7


KEYS = st.sampled_from(["tool", "pdm", "source", "name", "project"])
VALUES = st.recursive(
    st.one_of(st.integers(-5, 5), st.text("ab\"\\'#[=\n", max_size=4)),
    lambda inner: st.one_of(st.lists(inner, max_size=2), st.dictionaries(KEYS, inner, max_size=3)),
    max_leaves=6,
)


@given(st.dictionaries(KEYS, VALUES, max_size=3))
def test_any_file_is_edited_as_meant_or_not_at_all(document: dict[str, object]) -> None:
    import tomlkit

    said = merged(tomlkit.dumps(document), SOURCE)
    if said is not None:
        data = tomlkit.parse(said).unwrap()
        assert "https://new" in str(data["tool"]["pdm"]["source"])
        assert {key: value for key, value in data.items() if key != "tool"} == {
            key: value for key, value in document.items() if key != "tool"
        }
