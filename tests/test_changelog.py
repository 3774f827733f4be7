"""docs/CHANGELOG.md: its newest entry is the version of the package."""

from __future__ import annotations

import re
from pathlib import Path

from packaging.version import Version

from doctor import __version__

ROOT = Path(__file__).resolve().parent.parent
HEADING = re.compile(r"^## (\S+) – (unreleased|\d{4}-\d\d-\d\d)$", re.M)
KINDS = {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}


def disagreement(changelog: str, version: str) -> str:
    """What is wrong between the newest entry and the version, or ""."""
    entries = HEADING.findall(changelog)
    if not entries or len(entries) != len(re.findall(r"^## ", changelog, re.M)):
        return "an entry is not «## VERSION – DATE» or «## VERSION – unreleased»"
    number, date = entries[0]
    asked = Version(version)
    if number != asked.base_version:
        return f"the newest entry is {number}, the version {version}"
    if (date == "unreleased") != asked.is_prerelease:
        return f"the version is {version}, and its entry says {date}"
    return "" if all(date != "unreleased" for _, date in entries[1:]) else "an older entry is unreleased"


def test_the_newest_entry_is_this_version() -> None:
    text = (ROOT / "docs" / "CHANGELOG.md").read_text(encoding="utf-8")
    assert disagreement(text, __version__) == ""
    assert set(re.findall(r"^### (.+)$", text, re.M)) <= KINDS
    assert [Version(number) for number, _ in HEADING.findall(text)] == sorted(
        (Version(number) for number, _ in HEADING.findall(text)), reverse=True
    )


def test_the_project_has_that_version() -> None:
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert re.findall(r'^version = "(.+)"$', text, re.M) == [__version__]


def test_what_disagrees_is_said() -> None:
    entry = "## 1.1.0 – 2027-01-01\n## 1.0.0 – 2026-12-01\n"
    assert disagreement(entry, "1.1.0") == ""
    assert "newest" in disagreement(entry, "1.2.0")
    assert "says 2027" in disagreement(entry, "1.1.0.dev0")
    assert "not «" in disagreement("## Version 1\n", "1.1.0")
    assert "unreleased" in disagreement("## 1.0.0 – unreleased\n", "1.0.0")
