"""Compare the wheel tables with the package index, and bring them up to date.

refresh_knowledge.py show what differs; exit 1 if anything does refresh_knowledge.py --write take it over, but for
rows that contradict a verified one refresh_knowledge.py --write --accept torch==2.9.1 --date 2.16.0=2026-12-09
refresh_knowledge.py --sizes --write measure what the releases download that tables/downloads.json lacks
refresh_knowledge.py --literals work out the prefilters of the message and GPU patterns anew refresh_knowledge.py
--bundle FILE all tables as one file for `torchdoctor knowledge --update FILE`

The index is pip's own (`pip config`, PIP_INDEX_URL), else that of the pypi-simple library. Wheels are not downloaded:
their names say nearly all, and of a new release torch/version.py and METADATA are read by range requests.
"""

from __future__ import annotations

import argparse
import io
import json
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from packaging.requirements import Requirement  # noqa: E402
from packaging.utils import InvalidWheelFilename, parse_wheel_filename  # noqa: E402
from packaging.version import InvalidVersion, Version  # noqa: E402
from pypi_simple import PYPI_SIMPLE_ENDPOINT, DistributionPackage, PyPISimple  # noqa: E402

from doctor.knowledge.form import SCHEMA, Table  # noqa: E402
from doctor.knowledge.literals import flags_of, lets_through  # noqa: E402
from doctor.knowledge.load import BUILT_IN, TABLES  # noqa: E402
from doctor.knowledge.schema import check_table  # noqa: E402
from doctor.knowledge.versions import numbers  # noqa: E402
from scripts.measure_downloads import sizes_of  # noqa: E402
from scripts.needs import needs_of  # noqa: E402
from scripts.tables import table_text  # noqa: E402

OLDEST = Version("1.8.0")
COMPANIONS = ("torchvision", "torchaudio", "torchtext", "xformers")
MENDED = ("xformers",)  # their post releases are made for other releases of torch
SIZES_SOURCE = "index-sizes"  # its key where it tells sizes
INDEX_SOURCE = "index"  # key of the package index among the sources of a table


def index_url() -> str:
    """The index that pip is configured for, or the library's default."""
    asked = subprocess.run(
        [sys.executable, "-m", "pip", "config", "get", "global.index-url"], capture_output=True, text=True, check=False
    )
    return asked.stdout.strip() or PYPI_SIMPLE_ENDPOINT


@dataclass
class Release:
    """The wheels of one version of a project: platform -> tag -> Pythons ("3.13t"; "any" for py3-none wheels)."""

    version: Version
    wheels: dict[str, dict[str, set[str]]] = field(default_factory=dict)
    packages: list[tuple[str, DistributionPackage]] = field(default_factory=list)  # (platform, a wheel for it)
    date: str | None = None

    def by_tag(self) -> dict[str, dict[str, str]]:
        """As the tables have it: platform -> tag -> "3.9 3.10"."""
        return {p: {t: spelled(found) for t, found in sorted(tags.items())} for p, tags in sorted(self.wheels.items())}

    def by_platform(self) -> dict[str, str]:
        """platform -> "3.9 3.10"."""
        return {p: spelled(set().union(*tags.values())) for p, tags in sorted(self.wheels.items())}


def spelled(pythons: set[str]) -> str:
    return " ".join(sorted(pythons, key=lambda p: (numbers(p), p)))


def platforms_of(tag: str) -> tuple[str, ...]:
    """The platforms of a wheel's platform tag; () for those that torch's tables don't have."""
    for cpu in ("x86_64", "aarch64"):
        if tag.startswith(("manylinux", "linux_")) and tag.endswith("_" + cpu):
            return (f"linux_{cpu}",)
    for cpu in ("arm64", "x86_64"):
        if tag.startswith("macosx_") and tag.endswith(("_" + cpu, "_universal2")):
            return (f"macos_{cpu}",)
    return (tag,) if tag in ("win_amd64", "win_arm64") else ()


def python_of_tag(interpreter: str, abi: str) -> str | None:
    """ "cp313", "cp313t" -> "3.13t"; "py3", "none" or "cp39", "abi3" -> "any"; None for other interpreters and for
    Python 2."""
    if interpreter.startswith("py3") or abi == "abi3":  # the least that those ask for is older than torch's own
        return "any"
    if not interpreter.startswith("cp3"):
        return None
    return f"3.{interpreter[3:]}" + ("t" if abi.endswith("t") else "")


def releases_of(client: PyPISimple, project: str) -> dict[str, Release]:
    """Every stable release of a project with its wheels, by version, oldest first."""
    found: dict[str, Release] = {}
    for package in client.get_project_page(project).packages:
        if package.package_type != "wheel" or package.is_yanked:
            continue
        try:
            _, version, _, tags = parse_wheel_filename(package.filename)
        except (InvalidWheelFilename, InvalidVersion):
            continue
        if version.is_prerelease or (version.is_postrelease and project not in MENDED):
            continue
        release = found.setdefault(str(version), Release(version))
        if package.upload_time:
            release.date = min(release.date or "9", package.upload_time.date().isoformat())
        for tag in tags:
            python = python_of_tag(tag.interpreter, tag.abi)
            for platform in platforms_of(tag.platform) if python else ():
                release.wheels.setdefault(platform, {}).setdefault(tag.platform, set()).add(python or "")
                release.packages.append((platform, package))
    return dict(sorted(found.items(), key=lambda item: item[1].version))


class RangeFile(io.RawIOBase):
    """A file on the index, read piece by piece with range requests."""

    def __init__(self, client: PyPISimple, url: str) -> None:
        self.session, self.url, self.at = client.s, url, 0
        answer = self.session.head(url, allow_redirects=True, timeout=60)
        answer.raise_for_status()
        if answer.headers.get("Accept-Ranges") != "bytes":
            raise OSError("the index serves no ranges")
        self.size = int(answer.headers["Content-Length"])

    def seekable(self) -> bool:
        return True

    def readable(self) -> bool:
        return True

    def tell(self) -> int:
        return self.at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self.at = offset + {io.SEEK_SET: 0, io.SEEK_CUR: self.at, io.SEEK_END: self.size}[whence]
        return self.at

    def readinto(self, buffer: Any) -> int:
        last = min(self.at + len(buffer), self.size) - 1
        if last < self.at:
            return 0
        answer = self.session.get(self.url, headers={"Range": f"bytes={self.at}-{last}"}, timeout=60)
        answer.raise_for_status()
        if answer.status_code != 206:
            raise OSError("the index ignores ranges")
        buffer[: len(answer.content)] = answer.content
        self.at += len(answer.content)
        return len(answer.content)


def files_in(client: PyPISimple, package: DistributionPackage, *endings: str) -> dict[str, str]:
    """Texts of the files in a wheel whose names have these endings, without downloading the wheel."""
    with zipfile.ZipFile(io.BufferedReader(RangeFile(client, package.url), 1 << 16)) as wheel:
        names = {e: n for n in wheel.namelist() for e in endings if n.endswith(e)}
        return {e: wheel.read(n).decode("utf-8") for e, n in names.items()}


def requirements_of(metadata: str) -> Iterator[Requirement]:
    for line in metadata.splitlines():
        if line.startswith("Requires-Dist:"):
            yield Requirement(line.removeprefix("Requires-Dist:"))
        if not line:
            return


def cuda_builds(client: PyPISimple, release: Release) -> dict[str, str]:
    """platform -> backend of the wheels of a torch release that are CUDA builds, by torch/version.py in one wheel
    each."""
    found = {}
    for platform, package in {p: k for p, k in release.packages if p.startswith("linux")}.items():
        text = files_in(client, package, "torch/version.py")["torch/version.py"]
        line = next(line for line in text.splitlines() if line.startswith("cuda"))
        if digits := [part for part in line.partition("=")[2].strip(" '\"").split(".") if part.isdigit()]:
            found[platform] = "cu" + "".join(digits[:2])
    return found


def torch_pin(client: PyPISimple, release: Release) -> str | None:
    """What a companion's METADATA wants of torch: "==2.6.0", ">=2.14.0"; None if it wants none."""
    metadata = files_in(client, release.packages[-1][1], ".dist-info/METADATA")[".dist-info/METADATA"]
    for requirement in requirements_of(metadata):
        if requirement.name == "torch":
            return ",".join(str(Version(s.version).public).join((s.operator, "")) for s in requirement.specifier)
    return None


@dataclass
class Difference:
    """A row that the index and the tables tell differently. `key` names it for --accept."""

    key: str
    what: str
    row: dict[str, Any]
    contradicts: bool  # a verified row


def compare_torch(tables: dict[str, Table], client: PyPISimple, dates: dict[str, str]) -> Iterator[Difference]:
    rows = {row["torch"]: row for row in tables["releases"]["rows"]}
    for version, release in releases_of(client, "torch").items():
        if release.version < OLDEST:
            continue
        wheels = release.by_tag()
        old = rows.get(version)
        if old is None:
            date = release.date or dates.get(version)
            if date is None:
                sys.exit(
                    f"torch {version} is new, and this index tells no upload times: add --date {version}=YYYY-MM-DD"
                )
            yield Difference(f"torch=={version}", "new release", new_release(tables, client, release, date), False)
        elif old["wheels"] != wheels:
            what = "; ".join(wheel_changes(old["wheels"], wheels))
            yield Difference(
                f"torch=={version}",
                what,
                {**old, "wheels": wheels},
                old["status"] == "verified" and shrinks(old, wheels),
            )


def shrinks(old: dict[str, Any], wheels: dict[str, dict[str, str]]) -> bool:
    """Whether a wheel that the tables have is gone: new wheels of an old release contradict nothing."""
    return any(
        set(pythons.split()) - set(wheels.get(platform, {}).get(tag, "").split())
        for platform, tags in old["wheels"].items()
        for tag, pythons in tags.items()
    )


def wheel_changes(old: dict[str, dict[str, str]], new: dict[str, dict[str, str]]) -> Iterator[str]:
    for platform in sorted({*old, *new}):
        before, after = old.get(platform, {}), new.get(platform, {})
        for tag in sorted({*before, *after}):
            if before.get(tag) != after.get(tag):
                yield f"{tag}: {before.get(tag) or 'none'} -> {after.get(tag) or 'none'}"


def new_release(tables: dict[str, Table], client: PyPISimple, release: Release, date: str) -> dict[str, Any]:
    """A row for a release that the tables don't have; what the index can't say is taken over from the newest row:
    single."""
    newest = max(tables["releases"]["rows"], key=lambda row: numbers(row["torch"]))
    return {
        **newest,
        "torch": str(release.version),
        "date": date,
        "wheels": release.by_tag(),
        "cuda_builds": cuda_builds(client, release),
        "note": f"numpy_2, mps_minimum and conda_channel taken over from {newest['torch']}",
        "sources": [INDEX_SOURCE],
        "status": "single",
    }


def compare_companions(tables: dict[str, Table], client: PyPISimple) -> Iterator[Difference]:
    """Wheels of the companions that the tables name, and companions of new torch releases."""
    torches = {row["torch"] for row in tables["releases"]["rows"]}
    known = {(row["package"], row["version"]) for row in tables["companions"]["rows"]}
    for package in COMPANIONS:
        releases = releases_of(client, package)
        for row in [r for r in tables["companions"]["rows"] if r["package"] == package]:
            wheels = releases[row["version"]].by_platform() if row["version"] in releases else {}
            if wheels != row.get("wheels"):
                gone = bool(row.get("wheels")) and any(
                    set(p.split()) - set(wheels.get(f, "").split()) for f, p in row["wheels"].items()
                )
                what = f"wheels: {row.get('wheels')} -> {wheels}" if row.get("wheels") else "its wheels"
                yield Difference(f"{package}=={row['version']}", what, {**row, "wheels": wheels}, gone)
        newest = max((r["version"] for r in tables["companions"]["rows"] if r["package"] == package), key=numbers)
        for version, release in releases.items():
            if (package, version) in known or numbers(version) <= numbers(newest):
                continue
            pin = torch_pin(client, release)
            mate = (
                pin.removeprefix("==") if pin and pin.startswith("==") and pin.removeprefix("==") in torches else None
            )
            row = {
                "package": package,
                "version": version,
                "for": mate,
                "torch": pin or f">={max(torches, key=numbers)}",
                "wheels": release.by_platform(),
                "sources": [INDEX_SOURCE],
                "status": "verified" if mate else "single",
            }
            yield Difference(f"{package}=={version}", f"new, wants torch{pin or ''}", row, False)


def taken_over(tables: dict[str, Table], differences: list[Difference], accepted: set[str]) -> list[Difference]:
    """Put the differences into the tables; the refused ones come back."""
    refused = []
    for difference in differences:
        if difference.contradicts and difference.key not in accepted:
            refused.append(difference)
            continue
        name = "releases" if "date" in difference.row else "companions"
        rows = tables[name]["rows"]
        same = ("torch",) if name == "releases" else ("package", "version", "for")
        for number, row in enumerate(rows):
            if all(row[k] == difference.row[k] for k in same):
                rows[number] = difference.row
                break
        else:
            rows.append(difference.row)
    return refused


def refresh_sizes(tables: dict[str, Table], client: PyPISimple) -> list[str]:
    """Rows for the releases of which tables/downloads.json has none; their versions."""
    rows = tables["downloads"]["rows"]
    known = {row["torch"] for row in rows if SIZES_SOURCE in row["sources"]}
    new = [row for row in tables["releases"]["rows"] if row["torch"] not in known]
    rows += [
        {"torch": row["torch"], "mb": sizes_of(row, client), "sources": [SIZES_SOURCE], "status": "verified"}
        for row in new
    ]
    rows.sort(key=lambda row: (SIZES_SOURCE not in row["sources"], numbers(row["torch"])))
    return [row["torch"] for row in new]


def refresh_literals(tables: dict[str, Table]) -> int:
    """Work out the prefilters anew that let not every match through, or are missing; how many changed."""
    changed = 0
    for row in (*tables["messages"]["rows"], *tables["gpus"]["patterns"]):
        regex, flags = row.get("regex") or row["pattern"], row.get("flags", "")
        if not lets_through(row["literals"], regex, flags):
            changed += 1
            row["literals"] = list(next(iter(needs_of(regex, flags_of(flags), longest=400)[1]), ()))
    return changed


def bundle(tables: dict[str, Table]) -> str:
    """All tables as one file."""
    return json.dumps(
        {"schema": SCHEMA, "date": max(t["date"] for t in tables.values()), "tables": tables}, ensure_ascii=False
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="change the tables")
    parser.add_argument("--accept", action="append", default=[], metavar="NAME==VERSION", help="believe the index here")
    parser.add_argument(
        "--date", action="append", default=[], metavar="VERSION=DATE", help="date of a new torch release"
    )
    parser.add_argument("--today", metavar="DATE", help="the date that changed tables get")
    parser.add_argument("--sizes", action="store_true", help="measure the downloads of releases without a size")
    parser.add_argument("--literals", action="store_true", help="work out the prefilters anew, without the index")
    parser.add_argument("--bundle", type=Path, metavar="FILE", help="write all tables into one file")
    options = parser.parse_args()
    tables = {name: check_table(json.loads((BUILT_IN / f"{name}.json").read_text("utf-8")), name) for name in TABLES}
    before = {name: table_text(data) for name, data in tables.items()}
    refused: list[Difference] = []
    differences: list[Difference] = []
    if options.literals:
        print(f"{refresh_literals(tables)} prefilters changed")
    elif options.sizes:
        with PyPISimple(index_url()) as client:
            print(f"measured: {', '.join(refresh_sizes(tables, client)) or 'nothing is missing'}")
    elif not options.bundle:
        with PyPISimple(index_url()) as client:
            dates = dict(pair.split("=", 1) for pair in options.date)
            differences += compare_torch(tables, client, dates)
            differences += compare_companions(tables, client)
        for difference in differences:
            print(f"{'!!' if difference.contradicts else '  '} {difference.key}: {difference.what}")
        refused = taken_over(tables, differences, set(options.accept))
        for difference in refused:
            print(f"refused: {difference.key} contradicts a verified row; --accept {difference.key} believes the index")
    if options.bundle:
        options.bundle.write_text(bundle(tables), "utf-8")
    for name, data in tables.items():
        if table_text(data) == before[name]:
            continue
        if options.today:
            data["date"] = options.today
        check_table(data, name)
        if options.write:
            (BUILT_IN / f"{name}.json").write_text(table_text(data), "utf-8")
            print(f"wrote {name}.json")
    return 1 if refused or (differences and not options.write) else 0


if __name__ == "__main__":
    sys.exit(main())
