"""What the rows need to know of the machine: files and names, found without torch and without the doctor."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

WHERE = "import importlib.util as u; print(u.find_spec('torch').origin)"
DRIVER_FOLDERS = (
    "/usr/local/nvidia/lib64", "/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib",
)  # fmt: skip
TOOLKIT = Path("/usr/local/cuda")


@dataclass(frozen=True, kw_only=True)
class Machine:
    """`site`: the folder in which torch lies; `cached`: the libraries that the loader's cache names, and where;
    `namespaces`: whether this user may mount."""

    python: str
    site: Path
    gpus: int
    uuids: tuple[str, ...]
    nodes: tuple[str, ...]
    cached: dict[str, str]
    loader_path: str
    namespaces: bool

    def library(self, name: str) -> Path | None:
        """A library of the nvidia-* packages or of torch itself, by the start of its file's name."""
        folders = (self.site / "nvidia", self.site / "torch" / "lib", self.site / "torch")
        for folder in folders:
            files = folder.rglob(f"{name}*") if folder.name == "nvidia" else folder.glob(f"{name}*")
            found = sorted({file.resolve() for file in files if file.is_file()})
            if found:
                return found[0]
        return None

    def driver_library(self, name: str) -> Path | None:
        """A library of the driver, where the loader finds it."""
        folders = [folder for folder in self.loader_path.split(":") if folder]
        named = [Path(folder) / name for folder in folders]
        named += [Path(self.cached[name])] if name in self.cached else []
        named += [Path(folder) / name for folder in DRIVER_FOLDERS]
        return next((file.resolve() for file in named if file.is_file()), None)

    @property
    def only_cache_knows_libcuda(self) -> bool:
        """Whether the loader finds libcuda by its cache, and by no folder that it always looks into."""
        file = self.cached.get("libcuda.so.1", "")
        always = ("/lib", "/lib64", "/usr/lib", "/usr/lib64")
        folders = [*self.loader_path.split(":"), *always]
        return bool(file) and not any((Path(folder) / "libcuda.so.1").exists() for folder in folders if folder)


def machine(python: str) -> Machine:
    """This machine, with the Python that has torch. RuntimeError where it has none."""
    found = subprocess.run([python, "-c", WHERE], capture_output=True, text=True, timeout=60, check=False)
    if found.returncode or not found.stdout.strip():
        raise RuntimeError(f"{python} has no torch: {found.stderr.strip()[-200:]}")
    nodes = tuple(sorted(str(node) for node in Path("/dev").glob("nvidia*") if not node.is_dir()))
    listed = _said("nvidia-smi", "-L")
    cache = re.findall(r"^\s*(\S+) \([^)]*x86-64[^)]*\) => (\S+)$", _said("ldconfig", "-p"), re.MULTILINE)
    return Machine(
        python=python,
        site=Path(found.stdout.strip()).parents[1],
        gpus=sum(node[len("/dev/nvidia") :].isdigit() for node in nodes),
        uuids=tuple(re.findall(r"UUID: (GPU-[\w-]+)", listed)),
        nodes=nodes,
        cached=dict(reversed(cache)),
        loader_path=os.environ.get("LD_LIBRARY_PATH", ""),
        namespaces=os.geteuid() == 0 and _may_mount(),
    )


def _said(*argv: str) -> str:
    program = shutil.which(argv[0]) or shutil.which(argv[0], path="/usr/sbin:/sbin")
    if program is None:
        return ""
    try:
        return subprocess.run([program, *argv[1:]], capture_output=True, text=True, timeout=60, check=False).stdout
    except (OSError, subprocess.TimeoutExpired):
        return ""


def _may_mount() -> bool:
    tried = ("unshare", "-m", "sh", "-c", "mount -t tmpfs none /mnt")
    try:
        return subprocess.run(tried, capture_output=True, timeout=30, check=False).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False
