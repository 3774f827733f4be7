"""A recorded machine with a real environment in it, and an index on the loopback: what `fix --run` is tried on.

Everything of the machine is replayed (driver, GPUs, libraries), but for the environment, which lies in the machine's
folder: there real pip and real uv install stub wheels.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

from tests.index import wheels

MACHINES = Path(__file__).resolve().parent.parent / "machines"
UV = shutil.which("uv", path=os.pathsep.join((os.path.dirname(sys.executable), os.environ.get("PATH", ""))))
TOOLS = os.environ.get("TORCHDOCTOR_TEST_TOOLS") or str(
    Path(__file__).resolve().parents[2] / ".cache" / "tools" / "bin"
)
# What the developer's pip and uv are told must not decide what is installed here.
_LEFT_OUT = ("PIP_", "UV_", "TORCHDOCTOR_", "POETRY_", "PDM_")


def tool(name: str) -> str | None:
    """poetry or pdm: of the folder TORCHDOCTOR_TEST_TOOLS, of the environment that scripts/test makes, or on PATH."""
    return shutil.which(name, path=os.pathsep.join((TOOLS, os.environ.get("PATH", ""))))


def make_wheels(folder: Path, files: int = 30) -> Path:
    """The index of the tests: CPU, CUDA 12.6 and 13.0 builds of torch, and companions that pin it. `files`: in each
    torch."""
    for torch, vision, backend in (
        ("2.13.0", "0.28.0", "cpu"),
        ("2.13.0", "0.28.0", "cu130"),
        ("2.13.0", "0.28.0", "cu126"),
        ("2.14.1", "0.29.1", "cu130"),
        ("2.15.0", "0.29.2", "cu130"),
    ):
        place = folder / "whl" / backend
        wheels.torch(place, f"{torch}+{backend}", files=files)
        wheels.companion(place, "torchvision", f"{vision}+{backend}", torch)
        wheels.wheel(place, "typing-extensions", "4.15.0", {"typing_extensions.py": "x = 1\n"})
        if backend != "cpu":
            version = f"{backend[2:-1]}.{backend[-1]}"
            library = {"nvidia/cuda_runtime/lib/libcudart.so": "x" * 1000}
            wheels.wheel(place, "nvidia-cuda-runtime", version, library)
    return folder


@dataclass
class Patient:
    """`root`: the machine's folder; `env`: the environment; `url` of the index."""

    root: Path
    env: Path
    url: str
    environ: dict[str, str] = field(default_factory=dict)

    @property
    def python(self) -> Path:
        return self.env / "bin" / "python"

    @property
    def site(self) -> Path:
        return next((self.env / "lib").glob("python3*")) / "site-packages"

    def set(self, **variables: str) -> None:
        """Variables of the machine's user."""
        path = self.root / "machine.json"
        said = json.loads(path.read_text())
        said["environ"].update(variables)
        path.write_text(json.dumps(said))

    def command(self, *arguments: str) -> list[str]:
        return [sys.executable, "-m", "doctor", *arguments, "--python", str(self.env)]

    def variables(self) -> dict[str, str]:
        """The environment for the doctor's process."""
        kept = {k: v for k, v in os.environ.items() if not k.startswith(_LEFT_OUT)}
        said = {"TORCHDOCTOR_ROOT": str(self.root), "TORCHDOCTOR_PYTORCH_INDEX": f"{self.url}/whl"}
        return {**kept, **said, "HOME": str(self.root / "home"), **self.environ}

    def doctor(self, *arguments: str, timeout: float = 120) -> subprocess.CompletedProcess[str]:
        """Run torchdoctor on it, without a terminal."""
        return subprocess.run(
            self.command(*arguments), env=self.variables(), capture_output=True, text=True, timeout=timeout,
            check=False, stdin=subprocess.DEVNULL,
        )  # fmt: skip

    def fix(self, *arguments: str, timeout: float = 120) -> subprocess.CompletedProcess[str]:
        return self.doctor("fix", "--run", "--yes", "--no-probe", *arguments, timeout=timeout)

    def install(self, *requirements: str, backend: str) -> None:
        """Put packages there with uv, from the folder of a backend."""
        assert UV is not None
        place = self.root.parent / "wheels" / "whl" / backend
        argv = [UV, "pip", "install", "-q", "--python", str(self.python), "--no-index", "--find-links", str(place)]
        cache = {"UV_CACHE_DIR": str(self.root.parent / "cache")}
        subprocess.run([*argv, *requirements], env={**self.variables(), **cache}, check=True, timeout=60)

    def stand_in(self, folder: Path) -> None:
        """The machine's user works in that folder."""
        path = self.root / "machine.json"
        path.write_text(json.dumps({**json.loads(path.read_text()), "cwd": str(folder)}))

    def make_project(self, manager: str, pyproject: str, *, in_project: bool = True) -> None:
        """Let poetry or pdm manage the environment, which gets what the pyproject.toml says. `in_project`: not poetry's
        own environment, far from the project."""
        program = tool(manager)
        assert program is not None
        (self.env.parent / "pyproject.toml").write_text(pyproject)
        (self.root / "bin" / manager).symlink_to(program)
        cache = str(self.root / ("pypoetry" if manager == "poetry" else manager))
        self.environ |= {
            "POETRY_CACHE_DIR": cache, "POETRY_VIRTUALENVS_IN_PROJECT": "true" if in_project else "false",
            "PDM_CACHE_DIR": cache, "PDM_CHECK_UPDATE": "0",
        }  # fmt: skip
        self.set(**self.environ)
        argv = [program, "install", "--project", str(self.env.parent)]
        variables = {**self.variables(), **({"VIRTUAL_ENV": str(self.env)} if in_project else {})}
        if not in_project:
            shutil.rmtree(self.env)
        subprocess.run(argv, env=variables, check=True, timeout=120, stdout=subprocess.DEVNULL)
        if not in_project:
            self.env = next(Path(cache, "virtualenvs").glob("demo-*"))

    def torch(self) -> str | None:
        """The version that the environment's torch says of itself."""
        code = "import torch; print(torch.__version__)"
        done = subprocess.run([self.python, "-c", code], capture_output=True, text=True, check=False, timeout=30)
        return done.stdout.strip() or None

    def content(self) -> dict[str, str]:
        """What every file of the environment holds, its mode, and where every link leads; byte code is Python's
        own."""
        found = {}
        for folder, names, files in os.walk(self.env):
            names[:] = [n for n in names if n not in (".torchdoctor", "__pycache__")]
            found |= {os.path.relpath(os.path.join(folder, n), self.env): "folder" for n in names}
            for name in files:
                if name == ".lock":  # uv's own, empty
                    continue
                path = Path(folder, name)
                said = f"-> {os.readlink(path)}" if path.is_symlink() else _hash(path)
                found[os.path.relpath(path, self.env)] = said
        return found


    def exact(self) -> dict[str, str]:
        """All that can be told about everything in the environment, and about what its links to folders lead to:
        content, mode, owner, time, attributes, and the very file by its inode. But for .torchdoctor, the time of the
        folder that holds it, and uv's empty lock."""
        found: dict[str, str] = {}
        for root in (self.env, *(p for p in self.env.rglob("*") if p.is_symlink() and p.is_dir())):
            for folder, names, files in os.walk(os.path.realpath(root)):
                names[:] = [n for n in names if n != ".torchdoctor"]
                for name in (*names, *files):
                    path = Path(folder, name)
                    if path != Path(os.path.realpath(self.env), ".lock"):
                        found[str(path)] = _all_of(path)
        return found

    def cached(self) -> dict[str, str]:
        """The packages in uv's cache, which share their content with the environment; what it remembers of indexes and
        Pythons it writes anew."""
        packages = (self.root.parent / "cache").glob("archive-v*/**/*")
        return {str(path): _hash(path) for path in packages if path.is_file() and not path.is_symlink()}

    def make_hard(self, far: Path | None = None) -> None:
        """Give the environment what is easily lost: other owners, attributes, hard links, odd modes, old times, a file
        that no RECORD names; and a folder behind a link that leaves the environment, for pip, which can install there,
        a package, too, to the folder `far`."""
        torch, own = self.site / "torch", self.site / "torch" / "_parts" / "part_1.py"
        _unshare(own)
        own.chmod(0o640)
        with contextlib.suppress(PermissionError):
            os.chown(own, 12345, 54321)
            os.chown(torch / "lib", 12345, -1)
        with contextlib.suppress(OSError):
            os.setxattr(own, "user.origin", b"a mirror")
            os.setxattr(torch, "user.origin", b"a mirror")
        os.link(own, torch / "_parts" / "another_name.py")
        os.link(self.env / "lib" / "libmkl_core.so.2", self.env / "lib" / "libmkl.so")
        (self.env / "opt" / "unclaimed").write_text("by nobody")
        (self.env / "share").chmod(0o750)
        for name in (self.env / "etc", *((self.site / "torchvision",) if far else ())):
            target = (far or self.root.parent) / f"moved-{name.name}"
            shutil.move(name, target)
            name.symlink_to(target)
        for path in (self.env / "opt", torch / "_parts", self.env / "etc"):
            os.utime(path, ns=(10**18, 10**18 + 1), follow_symlinks=False)


def _unshare(path: Path) -> None:
    """Make it a file of its own, that uv's cache has no part in."""
    shutil.copy2(path, f"{path}.own")
    os.replace(f"{path}.own", path)


def _all_of(path: Path) -> str:
    said = path.lstat()
    if path.is_symlink():
        what = f"-> {os.readlink(path)}"
    else:
        what = f"folder {said.st_mode:o}" if path.is_dir() else f"{_hash(path)} {said.st_ino}"
    names = sorted(os.listxattr(path, follow_symlinks=False)) if hasattr(os, "listxattr") else ()
    attributes = [(name, os.getxattr(path, name, follow_symlinks=False)) for name in names]
    return f"{what} {said.st_uid}:{said.st_gid} {said.st_mtime_ns} {attributes}"


def _hash(path: Path) -> str:
    said = path.lstat()
    return f"{hashlib.sha256(path.read_bytes()).hexdigest()} {said.st_mode:o} {said.st_mtime_ns}"


def make_patient(folder: Path, url: str, *, machine: str = "linux-rtx5090-driver-610", pip: bool = False) -> Patient:
    """A machine in `folder`, with an empty environment made by uv, or by venv with pip in it. The wheels of
    make_wheels lie in folder/wheels."""
    root = folder / "machine"
    shutil.copytree(MACHINES / machine, root, symlinks=True)
    home = Path(sys.base_prefix)
    (root / home.relative_to("/")).parent.mkdir(parents=True, exist_ok=True)
    (root / home.relative_to("/")).symlink_to(home)
    (root / "home").mkdir()
    if not (root / "usr" / "bin").exists():  # another Python that uv may find
        (root / "usr" / "bin").symlink_to("/usr/bin")
    env = root / "work" / ".venv"
    env.parent.mkdir()
    patient = Patient(root, env, url)
    if pip:
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(env)], check=True, timeout=60)
        _give_pip(patient)
    else:
        assert UV is not None
        subprocess.run([UV, "venv", "-q", "--python", sys.executable, str(env)], check=True, timeout=60)
    if UV is not None:
        (root / "bin" / "uv").symlink_to(UV)
    index = f"{url}/whl/cu130"
    patient.set(
        HOME=str(root / "home"), PIP_CONFIG_FILE=os.devnull, PIP_INDEX_URL=index, PIP_NO_CACHE_DIR="1",
        UV_DEFAULT_INDEX=index, UV_CACHE_DIR=str(folder / "cache"), UV_NO_CONFIG="1",
        PIP_RETRIES="1", PIP_DEFAULT_TIMEOUT="5",
    )  # fmt: skip
    return patient


def _give_pip(patient: Patient) -> None:
    """Copy the pip of our own environment: ensurepip would take seconds."""
    import pip

    source = Path(pip.__file__).parent
    shutil.copytree(source, patient.site / "pip")  # what is compiled already, too
    info = next(source.parent.glob("pip-*.dist-info"))
    shutil.copytree(info, patient.site / info.name)
