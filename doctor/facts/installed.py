"""The installed distributions, and the static side of torch, as inside/collect.py found them. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from doctor.facts.notes import Notes
from doctor.model.facts import ABSENT, Package, TorchCopy

VERSION_FILE = "torch/version.py"


def packages_of(said: Iterable[Mapping[str, Any]], markers: Mapping[str, str]) -> tuple[Package, ...]:
    """Facts.packages. torch itself is no package of its own environment: it is Facts.torch."""
    return tuple(
        Package(
            name=one["name"],
            version=one.get("version"),
            path=one.get("path"),
            installer=one.get("installer"),
            requires=requirements(one.get("requires", ()), markers),
            copies=one.get("copies", 1),
        )
        for one in said
        if one["name"] not in ("torch", "pytorch")
    )


def requirements(texts: Iterable[str], markers: Mapping[str, str]) -> tuple[str, ...]:
    """Those of the Requires-Dist that hold in the target, without their markers; extras are not wanted."""
    kept = []
    for text in texts:
        spec, semicolon, _ = text.partition(";")
        if not semicolon or _holds(text, markers):
            kept.append(spec.strip())
    return tuple(kept)


def _holds(text: str, markers: Mapping[str, str]) -> bool:
    from packaging.requirements import InvalidRequirement, Requirement

    try:
        marker = Requirement(text).marker
        return marker is None or marker.evaluate({**markers, "extra": ""})
    except (InvalidRequirement, ValueError, KeyError):
        return False


def write_torch(said: Mapping[str, Any], markers: Mapping[str, str], notes: Notes) -> None:
    """Write Facts.torch down, as far as files tell: ABSENT where no folder of sys.path has anything of it."""
    copies = tuple(TorchCopy(**copy) for copy in said["copies"])
    remains = any(not path.rpartition("/")[2].startswith(("~", "-", "=", "%")) for path in said["leftovers"])
    if not copies and not said["shadowed_by"] and not remains:
        notes.set("torch", ABSENT, "sys.path")
        return
    notes.set("torch.copies", copies, "sys.path")
    notes.set("torch.leftovers", tuple(said["leftovers"]), "site-packages")
    notes.set("torch.shadowed_by", said["shadowed_by"] or ABSENT, "sys.path")
    notes.set("torch.path", said.get("path"), "sys.path")
    _write_version(said, notes)
    for name, source in (("installer", "dist-info/INSTALLER"), ("build", "dist-info/WHEEL")):
        notes.set(
            f"torch.{name}",
            said.get(name),
            "conda-meta" if name == "build" and said.get("installer") == "conda" else source,
        )
    for name, source in (("missing_files", "dist-info/RECORD"), ("libraries", "torch/lib")):
        if said.get(name) is not None:
            notes.set(f"torch.{name}", tuple(said[name]), source)
        else:
            notes.gap(f"torch.{name}", "not-applicable", f"there is no {source} to read")
    if said.get("requires") is not None:
        notes.set("torch.requires", requirements(said["requires"], markers), "dist-info/METADATA")


def _write_version(said: Mapping[str, Any], notes: Notes) -> None:
    file = said.get("version_file")
    notes.set("torch.version", said.get("version"), VERSION_FILE if file else "dist-info/METADATA")
    if file is None:
        for name in ("cuda", "hip", "xpu", "git", "debug"):
            notes.gap(f"torch.{name}", "unreadable", f"there is no {VERSION_FILE}", VERSION_FILE)
        return
    for name in ("cuda", "hip", "xpu"):  # a line that older releases do not have means the same as None
        notes.set(f"torch.{name}", file.get(name) or ABSENT, VERSION_FILE, f"{name} = {file.get(name)!r}")
    notes.set("torch.git", file.get("git_version"), VERSION_FILE)
    notes.set("torch.debug", file.get("debug"), VERSION_FILE)
