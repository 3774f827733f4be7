"""Conda environments of real files: a channel made here of the store's environments, and installed from it by
py-rattler, pixi's own installer."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import shutil
import tarfile
from pathlib import Path

from tests.ward.place import Place

SUBDIR = "linux-64"
PYTHON = "3.11.9"
# name -> version, build, requirements; numpy and pytorch hold the files of those distributions of the base.
PACKAGES = {
    "python": (PYTHON, "h1_cpython", ()),
    "numpy": ("2.4.6", "py311_0", ("python 3.11.*",)),
    "pytorch": ("2.13.0", "cpu_generic_py311_h0_0", ("python 3.11.*", "numpy")),
}
HOLDS = {
    "numpy": ("numpy",),
    "pytorch": (
        "torch", "filelock", "fsspec", "jinja2", "markupsafe", "mpmath", "networkx", "sympy", "typing_extensions",
    ),
}  # fmt: skip
SITE = "lib/python3.11/site-packages"


def environment(place: Place, *names: str, into: Path | None = None) -> None:
    """Put a conda environment in the place of the environment. The channel, and what rattler unpacked of it, are kept
    in the store: conda links its cache's files into environments, too."""
    import rattler

    store = place.wheels.parent
    channel = _channel(store / "base" / "cpu", store / "conda")
    target = into or place.root / "conda" / "envs" / "ml"

    async def install() -> None:
        records = await rattler.solve([channel.as_uri()], list(names), platforms=[SUBDIR, "noarch"])
        await rattler.install(records, target_prefix=target, cache_dir=store / "conda" / "cache", show_progress=False)

    asyncio.run(install())
    shutil.rmtree(place.env)
    place.env = target


def _channel(base: Path, folder: Path) -> Path:
    """The channel, made once."""
    channel = folder / "channel"
    if channel.exists():
        return channel
    made = folder / "making"
    shutil.rmtree(made, ignore_errors=True)
    rows = {}
    for name, (version, build, depends) in PACKAGES.items():
        file = f"{name}-{version}-{build}.tar.bz2"
        holds = folder / "holds"
        shutil.rmtree(holds, ignore_errors=True)
        files = _python(base, holds) if name == "python" else _distributions(base, holds, HOLDS[name])
        index = {
            "name": name, "version": version, "build": build, "build_number": 0, "depends": list(depends),
            "subdir": SUBDIR, "timestamp": 1_700_000_000_000,
        }  # fmt: skip
        rows[file] = {**index, **_pack(holds, files, index, made / SUBDIR / file)}
        shutil.rmtree(holds)
    for subdir in (SUBDIR, "noarch"):
        (made / subdir).mkdir(parents=True, exist_ok=True)
        packages = rows if subdir == SUBDIR else {}
        said = {"info": {"subdir": subdir}, "packages": packages, "packages.conda": {}}
        (made / subdir / "repodata.json").write_text(json.dumps(said))
    made.rename(channel)
    return channel


def _python(base: Path, folder: Path) -> list[str]:
    """The Python that the base was made from, with its standard library: what conda's own package holds."""
    real = Path(os.path.realpath(base / "bin" / "python"))
    prefix = real.parent.parent
    (folder / "bin").mkdir(parents=True)
    shutil.copy2(real, folder / "bin" / "python3.11")
    for name in ("python", "python3"):
        (folder / "bin" / name).symlink_to("python3.11")
    for library in prefix.glob("lib/libpython3*.so*"):
        (folder / "lib").mkdir(exist_ok=True)
        shutil.copy2(library, folder / "lib" / library.name, follow_symlinks=False)
    ignored = shutil.ignore_patterns("site-packages", "test", "__pycache__", "idlelib", "tkinter", "config-*")
    shutil.copytree(prefix / "lib" / "python3.11", folder / "lib" / "python3.11", symlinks=True, ignore=ignored)
    (folder / SITE).mkdir()
    (folder / SITE / "README.txt").write_text("This directory contains site-packages of the environment.\n")
    return _all(folder)


def _distributions(base: Path, folder: Path, names: tuple[str, ...]) -> list[str]:
    """The files of those distributions, as conda has them: with their metadata, installed by «conda», without RECORD's
    scripts."""
    site = base / SITE
    for name in names:
        info = next(site.glob(f"{name}-*.dist-info"))
        for line in (info / "RECORD").read_text().splitlines():
            path = line.split(",")[0].strip('"')
            if path.startswith("..") or path.endswith(".pyc") or not (site / path).is_file():
                continue
            target = folder / SITE / path
            target.parent.mkdir(parents=True, exist_ok=True)
            os.link(site / path, target)
        installer = folder / SITE / info.name / "INSTALLER"
        installer.unlink()
        installer.write_text("conda")
    return _all(folder)


def _all(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_symlink() or path.is_file())


def _pack(folder: Path, files: list[str], index: dict[str, object], archive: Path) -> dict[str, object]:
    """A conda package, with the weakest compression; its sums for the channel's index."""
    info = folder / "info"
    info.mkdir()
    paths = [{"_path": file, **_told(folder / file)} for file in files]
    (info / "index.json").write_text(json.dumps(index))
    (info / "files").write_text("\n".join(files) + "\n")
    (info / "paths.json").write_text(json.dumps({"paths": paths, "paths_version": 1}))
    archive.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(archive, "w:bz2", compresslevel=1) as tar:
        tar.add(info, "info")
        for file in files:
            tar.add(folder / file, file)
    data = archive.read_bytes()
    sums = {"md5": hashlib.md5(data, usedforsecurity=False).hexdigest(), "sha256": hashlib.sha256(data).hexdigest()}
    return {**sums, "size": len(data)}


def _told(path: Path) -> dict[str, object]:
    data = path.read_bytes()  # of a link: of what it leads to
    kind = "softlink" if path.is_symlink() else "hardlink"
    return {"path_type": kind, "sha256": hashlib.sha256(data).hexdigest(), "size_in_bytes": len(data)}
