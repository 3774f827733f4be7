"""Plain specifiers are judged as packaging does."""

import itertools

import pytest
from packaging.specifiers import InvalidSpecifier, SpecifierSet

from doctor.knowledge.specifiers import specifier

RELEASES = (
    "1.13.1",
    "2.0",
    "2.1.0",
    "2.1.2",
    "2.2.0",
    "2.10.0",
    "2.10.1",
    "2.10.0.dev20250801",
    "2.10.0rc1",
    "2.10.0+cu128",
)
NUMBERS = ("2", "2.1", "2.1.0", "2.10.0")
SPECIFIERS = [sign + n for sign, n in itertools.product(("==", "!=", ">=", "<=", "<", ">"), NUMBERS)]


@pytest.mark.parametrize("text", [*SPECIFIERS, ">=2.1,<2.10", ">= 2.0 , != 2.1.2", "~=2.1", "==2.1.*", ">=2.1,==2.*"])
def test_as_packaging_does(text: str) -> None:
    for release in RELEASES:
        expected = SpecifierSet(text).contains(release, prereleases=True)
        assert specifier(text).contains(release, prereleases=True) == expected, release


def test_a_bare_version_is_that_version() -> None:
    assert specifier("2.1.0").contains("2.1.0")
    assert not specifier("2.1.0").contains("2.1.1")


def test_what_is_none() -> None:
    with pytest.raises(InvalidSpecifier):
        specifier(">=two")
