"""The environment that a bed breaks: hard links to a base in the store, so that it costs neither time nor room.

Nothing here writes into a file: a file that changes is replaced, else the base, and every other bed, would change too.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tests.index.server import serving


@dataclass
class Place:
    """`root` holds all of it: `env` (the environment), `work` (where the user stands) and `home`."""

    root: Path
    env: Path
    wheels: Path  # the folder of all wheels
    environ: dict[str, str | None] = field(default_factory=dict)  # changes of the user's variables; None: not set
    work: Path = Path()
    wrapper: tuple[str, ...] = ()  # what starts the doctor, with its limits and mounts
    target: str | None = None  # what --python says; by default the environment
    sources: tuple[str, ...] = ()  # where fixes find packages; by default in the folder of wheels
    closing: contextlib.ExitStack = field(default_factory=contextlib.ExitStack)

    def __post_init__(self) -> None:
        self.work = self.root / "work"
        self.work.mkdir(exist_ok=True)
        (self.root / "home").mkdir(exist_ok=True)
        self.sources = self.sources or ("--offline", "--find-links", str(self.wheels))

    def __enter__(self) -> Place:
        return self

    def __exit__(self, *_: object) -> None:
        self.closing.close()

    # ---- where things are

    @property
    def python(self) -> Path:
        return self.env / "bin" / "python"

    @property
    def site(self) -> Path:
        return next((self.env / "lib").glob("python*")) / "site-packages"

    @property
    def torch(self) -> Path:
        return self.site / "torch"

    def info(self, name: str) -> Path:
        """The dist-info folder of a distribution."""
        return next(self.site.glob(f"{name.replace('-', '_')}-*.dist-info"))

    def library(self, name: str) -> Path:
        """A library of an nvidia-* package."""
        return next(p for p in (self.site / "nvidia").rglob(name) if not p.is_symlink())

    def wheel(self, name: str) -> Path:
        """A wheel of the store, by the start of its file's name."""
        return next(self.wheels.glob(f"{name}*.whl"))

    # ---- breaking

    def write(self, path: Path, content: bytes | str) -> Path:
        """A new file, or another one in the place of an old one."""
        path.parent.mkdir(parents=True, exist_ok=True)
        mode = path.stat().st_mode if path.exists() else 0o644
        path.unlink(missing_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        path.chmod(mode)
        return path

    def truncate(self, path: Path, share: float = 0.5) -> None:
        """Keep the first part of a file."""
        size = path.stat().st_size
        with path.open("rb") as file:
            kept = file.read(int(size * share))
        self.write(path, kept)

    def replace_text(self, path: Path, old: str, new: str) -> None:
        text = path.read_text()
        assert old in text, f"{path} has no {old!r}"
        self.write(path, text.replace(old, new))

    def remove(self, *paths: Path) -> None:
        for path in paths:
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink()

    def uninstall(self, name: str) -> None:
        """Remove the files that a distribution's RECORD names, as pip does."""
        info = self.info(name)
        for line in (info / "RECORD").read_text().splitlines():
            path = self.site / line.split(",")[0].strip('"')
            if path.is_file() or path.is_symlink():
                path.unlink()
        shutil.rmtree(info, ignore_errors=True)
        folder = self.site / name
        shutil.rmtree(folder / "__pycache__", ignore_errors=True)
        if folder.is_dir() and not any(path.suffix in (".py", ".so") for path in folder.rglob("*")):
            shutil.rmtree(folder)  # byte code and empty folders, which pip removes, too

    def unpack(self, wheel: str, into: Path | None = None, only: str = "") -> None:
        """What `unzip -o` of a wheel does."""
        folder = into or self.site
        with zipfile.ZipFile(self.wheel(wheel)) as archive:
            for name in archive.namelist():
                if name.startswith(only) and not name.endswith("/"):
                    self.write(folder / name, archive.read(name))

    def install(self, *wheels: str) -> None:
        """`pip install --no-deps` of wheels of the store: over what is there, as it warns of and does."""
        argv = [self.python, "-m", "pip", "install", "-q", "--no-deps", "--no-index", "--disable-pip-version-check"]
        said = subprocess.run(
            [*argv, *(self.wheel(w) for w in wheels)], capture_output=True, text=True, check=False, timeout=300
        )
        assert said.returncode == 0, said.stderr

    def compile(self, source: str, output: Path, *options: str) -> Path:
        """A shared library of a few lines of C."""
        output.parent.mkdir(parents=True, exist_ok=True)
        output.unlink(missing_ok=True)
        include = sysconfig.get_paths()["include"]
        subprocess.run(
            ["gcc", "-shared", "-fPIC", f"-I{include}", "-x", "c", "-", "-o", str(output), *options],
            input=source, text=True, check=True, timeout=60,
        )  # fmt: skip
        return output

    def mounted(self, script: str) -> None:
        """Let the doctor run in a mount namespace of its own, in which a shell script was run before."""
        self.wrapper = ("unshare", "-m", "sh", "-ec", f'{script}\nexec "$@"', "sh")

    def hide(self, *patterns: str) -> None:
        """Let the doctor run where folders of this machine are empty: those that the shell's patterns match."""
        folders = " ".join(patterns)
        self.mounted(f'for d in {folders}; do if [ -d "$d" ]; then mount -t tmpfs none "$d"; fi; done')

    def as_nobody(self, *wrapper: str) -> None:
        """Let the doctor run as the user nobody, who owns no file. Where this Python lies in a folder that nobody may
        enter (a root user's home), it is shown in an empty one."""
        prefix = Path(os.path.realpath(self.python)).parents[1]
        closed = next((p for p in reversed(prefix.parents) if not p.stat().st_mode & 0o001), None)
        script = f"mount --bind {prefix} /mnt; mount -t tmpfs -o mode=755 none {closed}; mkdir -p {prefix}; "
        script = f"{script}mount --bind /mnt {prefix}; " if closed else ""
        user = "setpriv --reuid=65534 --regid=65534 --clear-groups"
        self.mounted(f'{script}exec {user} {" ".join(wrapper)} "$@"')

    def run_as(self, *wrapper: str) -> None:
        """Let something start the target's Python, which then is a script of the shell."""
        real = os.path.realpath(self.python)
        python = self.env / "bin" / "python3.11"
        for name in ("python", "python3", "python3.11"):
            (self.env / "bin" / name).unlink(missing_ok=True)
        words = " ".join(wrapper).format(self=python)
        self.write(python, f'#!/bin/sh\nexec {words} {real} "$@"\n').chmod(0o755)
        for name in ("python", "python3"):
            (self.env / "bin" / name).symlink_to("python3.11")

    # ---- indexes and projects

    def serve(self, *backend: str) -> str:
        """Serve wheels on the loopback for as long as the bed lasts: all of them under /all, those whose names begin
        with one of `backend` under /whl/cpu, which then stands for PyTorch's own index. The server's address."""
        folder = self.root / "index"
        (folder / "whl" / "cpu").mkdir(parents=True)
        (folder / "all").symlink_to(self.wheels)
        for path in self.wheels.iterdir():
            if path.name.startswith(backend):
                (folder / "whl" / "cpu" / path.name).symlink_to(path)
        index = self.closing.enter_context(serving(folder))
        self.sources = ("--pytorch-index", f"{index.url}/whl")
        return index.url

    def project(self, text: str, file: str = "pyproject.toml") -> Path:
        """Make the environment that of a project, as its .venv; the user stands in the project's folder."""
        self.work = self.root / "project"
        self.work.mkdir()
        self.write(self.work / file, text)
        moved = self.work / ".venv"
        move_environment(self.env, moved)
        self.env = moved
        return self.work

    def tool(self, *argv: str) -> None:
        """Run a tool as this user."""
        said = subprocess.run(
            argv, cwd=self.work, env=self.variables(), capture_output=True, text=True, check=False, timeout=300
        )
        assert said.returncode == 0, said.stderr[-600:]

    # ---- the doctor

    def variables(self) -> dict[str, str]:
        """The user's environment: what a login shell has, and no more of ours than pip's own settings."""
        kept = {k: v for k, v in os.environ.items() if k.startswith(("PIP_", "SSL_"))}
        user: Mapping[str, str | None] = {
            **kept, "PATH": os.environ.get("PATH", ""), "HOME": str(self.root / "home"), "LANG": "C.UTF-8",
            "TERM": "dumb", **self.environ,
        }  # fmt: skip
        return {name: value for name, value in user.items() if value is not None}

    def doctor(self, *arguments: str, timeout: float) -> subprocess.CompletedProcess[str]:
        """Run torchdoctor as this user, from an environment of its own: with -I, for what breaks the user's Python
        does not break ours; its children get the variables all the same."""
        target = self.target or str(self.env)
        argv = [*self.wrapper, sys.executable, "-I", "-m", "doctor", *arguments, "--python", target]
        return subprocess.run(
            argv, cwd=self.work, env=self.variables(), capture_output=True, text=True, errors="replace",
            timeout=timeout, check=False, stdin=subprocess.DEVNULL,
        )  # fmt: skip

    def environments(self) -> set[str]:
        """The environments in the folder where the user stands: a fix may make another one."""
        return {str(path.parent) for path in self.work.glob("*/pyvenv.cfg")}

    def exact(self) -> dict[str, str]:
        """What is where under the root: sizes and times of files, targets of links. Byte code, the doctor's own store,
        and what tools write into the user's home, are nobody's."""
        found = {}
        for folder, names, files in os.walk(self.root):
            names[:] = [n for n in names if n not in ("__pycache__", ".torchdoctor", "home")]
            for name in (*files, *(n for n in names if os.path.islink(os.path.join(folder, n)))):
                path = os.path.join(folder, name)
                said = os.lstat(path)
                what = os.readlink(path) if os.path.islink(path) else f"{said.st_size} {said.st_mtime_ns}"
                if name != ".lock":
                    found[os.path.relpath(path, self.root)] = what
        return found


def link_environment(source: Path, target: Path) -> None:
    """The same environment at another place: hard links, but for what names its own place (pyvenv.cfg, scripts)."""
    shutil.copytree(source, target, symlinks=True, copy_function=_link)
    _name_anew(source, target)


def move_environment(source: Path, target: Path) -> None:
    source.rename(target)
    _name_anew(source, target)


def _name_anew(source: Path, target: Path) -> None:
    moved = [target / "pyvenv.cfg", *(target / "bin").iterdir()]
    for path in moved:
        if path.is_symlink() or not path.is_file():
            continue
        content = path.read_bytes()
        if str(source).encode() in content:
            mode = path.stat().st_mode
            path.unlink()
            path.write_bytes(content.replace(str(source).encode(), str(target).encode()))
            path.chmod(mode)


def _link(source: str, target: str) -> str:
    os.link(source, target, follow_symlinks=False)
    return target
