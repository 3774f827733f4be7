"""scripts/refresh_knowledge.py, with an index of our own making."""

from __future__ import annotations

import copy
import json
from types import SimpleNamespace

import pytest

from doctor.knowledge.load import BUILT_IN, TABLES, parse_update
from doctor.knowledge.schema import check_table
from scripts import refresh_knowledge as refresh


def tables() -> dict:
    return {name: json.loads((BUILT_IN / f"{name}.json").read_text("utf-8")) for name in TABLES}


def package(filename: str, **more: object) -> SimpleNamespace:
    return SimpleNamespace(**{
        "filename": filename, "package_type": "wheel", "is_yanked": False, "requires_python": ">=3.11", "upload_time": None,
        "url": f"https://index.example/{filename}", **more,
    })  # fmt: skip


class Index:
    """An index with the wheels that the tables name, and more."""

    def __init__(self, known: dict, more: dict[str, list[str]] | None = None, without: str = "-never-") -> None:
        self.files: dict[str, list[str]] = {"torch": []}
        for row in known["releases"]["rows"]:
            for tags in row["wheels"].values():
                for tag, pythons in tags.items():
                    self.files["torch"] += [wheel("torch", row["torch"], python, tag) for python in pythons.split()]
        for row in known["companions"]["rows"]:
            for platform, pythons in row.get("wheels", {}).items():
                tag = {"linux_x86_64": "manylinux_2_28_x86_64", "linux_aarch64": "manylinux_2_28_aarch64",
                       "macos_arm64": "macosx_11_0_arm64", "macos_x86_64": "macosx_10_9_x86_64"}.get(platform, platform)  # fmt: skip
                files = self.files.setdefault(row["package"], [])
                files += [wheel(row["package"], row["version"], python, tag) for python in pythons.split()]
        for project, files in (more or {}).items():
            self.files[project] += files
        self.without = without

    def get_project_page(self, project: str) -> SimpleNamespace:
        return SimpleNamespace(packages=[package(f) for f in self.files[project] if self.without not in f])


def wheel(project: str, version: str, python: str, tag: str) -> str:
    if python == "any":
        return f"{project}-{version}-py3-none-{tag}.whl"
    base = "cp" + python.replace(".", "")
    return f"{project}-{version}-{base.rstrip('t')}-{base}-{tag}.whl"


@pytest.mark.parametrize(
    ("tag", "platforms"),
    [
        ("manylinux_2_28_x86_64", ("linux_x86_64",)), ("manylinux2014_aarch64", ("linux_aarch64",)), ("linux_x86_64", ("linux_x86_64",)),
        ("macosx_11_0_arm64", ("macos_arm64",)), ("macosx_10_9_x86_64", ("macos_x86_64",)), ("win_amd64", ("win_amd64",)),
        ("win32", ()), ("any", ()), ("musllinux_1_2_x86_64", ()), ("manylinux_2_17_ppc64le", ()),
    ],
)  # fmt: skip
def test_platforms_of_a_tag(tag: str, platforms: tuple[str, ...]) -> None:
    assert refresh.platforms_of(tag) == platforms


@pytest.mark.parametrize(
    ("interpreter", "abi", "python"),
    [("cp313", "cp313", "3.13"), ("cp313", "cp313t", "3.13t"), ("cp37", "cp37m", "3.7"), ("cp312", "none", "3.12"),
     ("py3", "none", "any"), ("cp27", "cp27mu", None), ("pp39", "pypy39_pp73", None)],
)  # fmt: skip
def test_python_of_a_tag(interpreter: str, abi: str, python: str | None) -> None:
    assert refresh.python_of_tag(interpreter, abi) == python


def test_an_index_that_says_the_same() -> None:
    known = tables()
    index = Index(known)
    assert list(refresh.compare_torch(known, index, {})) == []  # type: ignore[arg-type]
    assert list(refresh.compare_companions(known, index)) == []  # type: ignore[arg-type]


def test_a_wheel_more_is_taken_over() -> None:
    known = tables()
    index = Index(known, {"torch": [wheel("torch", "2.15.0", "3.16", "win_amd64")]})
    (found,) = refresh.compare_torch(known, index, {})  # type: ignore[arg-type]
    assert (found.key, found.contradicts) == ("torch==2.15.0", False)
    assert refresh.taken_over(known, [found], set()) == []
    assert known["releases"]["rows"][-1]["wheels"]["win_amd64"]["win_amd64"].endswith("3.15t 3.16")
    check_table(known["releases"], "releases")


def test_a_wheel_less_contradicts_a_verified_row_and_is_refused_until_accepted() -> None:
    known = tables()
    before = copy.deepcopy(known)
    found = list(refresh.compare_torch(known, Index(known, without="torch-2.9.1-cp312"), {}))  # type: ignore[arg-type]
    assert [(d.key, d.contradicts) for d in found] == [("torch==2.9.1", True)]
    assert refresh.taken_over(known, found, set()) == found
    assert known == before
    assert refresh.taken_over(known, found, {"torch==2.9.1"}) == []
    assert known != before


def test_a_new_release(monkeypatch: pytest.MonkeyPatch) -> None:
    known = tables()
    index = Index(
        known, {"torch": [wheel("torch", "2.16.0", p, "manylinux_2_28_x86_64") for p in ("3.12", "3.13", "3.14t")]}
    )
    texts = {"torch/version.py": "__version__ = '2.16.0'\ncuda: Optional[str] = '13.4'\nhip: Optional[str] = None\n"}
    monkeypatch.setattr(refresh, "files_in", lambda client, package, *endings: texts)
    with pytest.raises(SystemExit, match=r"--date 2\.16\.0=YYYY-MM-DD"):
        list(refresh.compare_torch(known, index, {}))  # type: ignore[arg-type]
    (found,) = refresh.compare_torch(known, index, {"2.16.0": "2026-12-09"})  # type: ignore[arg-type]
    assert refresh.taken_over(known, [found], set()) == []
    row = known["releases"]["rows"][-1]
    assert row["wheels"] == {"linux_x86_64": {"manylinux_2_28_x86_64": "3.12 3.13 3.14t"}}
    assert (row["cuda_builds"], row["status"]) == ({"linux_x86_64": "cu134"}, "single")
    check_table(known["releases"], "releases")


@pytest.mark.parametrize(
    ("line", "torch", "mate", "status"),
    [
        ("Requires-Dist: torch==2.15.0", "==2.15.0", "2.15.0", "verified"),
        ("Requires-Dist: torch>=2.14.0", ">=2.14.0", None, "single"),
        ("Requires-Dist: torch==2.15.0+cu132", "==2.15.0", "2.15.0", "verified"),
    ],
)
def test_a_new_companion(line: str, torch: str, mate: str | None, status: str, monkeypatch: pytest.MonkeyPatch) -> None:
    known = tables()
    index = Index(known, {"torchvision": [wheel("torchvision", "0.30.0", "any", "win_amd64")]})
    metadata = f"Metadata-Version: 2.1\nName: torchvision\nRequires-Dist: numpy\n{line}\n\nRequires-Dist: torch==0\n"
    monkeypatch.setattr(refresh, "files_in", lambda client, package, *endings: {".dist-info/METADATA": metadata})
    (found,) = refresh.compare_companions(known, index)  # type: ignore[arg-type]
    assert (found.row["torch"], found.row["for"], found.row["status"]) == (torch, mate, status)
    refresh.taken_over(known, [found], set())
    check_table(known["companions"], "companions")


def test_a_table_is_written_as_it_is_shipped() -> None:
    for name, data in tables().items():
        assert json.loads(refresh.table_text(data)) == data, name


def test_the_bundle_is_an_update() -> None:
    assert parse_update(refresh.bundle(tables()).encode()) == tables()


def test_literals_are_current() -> None:
    assert refresh.refresh_literals(tables()) == 0
