"""The Python itself: removed, upgraded, moved, too old, without pip."""

from __future__ import annotations

import os
import shutil

from tests.ward.bed import bed
from tests.ward.place import Place

MISSING = "torch-missing"


def _base_of(place: Place, link: str) -> None:
    """Let the environment's python lead to a Python at `link`, which leads on to the real one."""
    real = os.path.realpath(place.python)
    folder = place.root / "python" / "bin"
    folder.mkdir(parents=True)
    (folder / "python3.11").symlink_to(link or real)
    for name in ("python", "python3", "python3.11"):
        (place.env / "bin" / name).unlink(missing_ok=True)
        (place.env / "bin" / name).symlink_to(folder / "python3.11")


@bed("interpreter-broken", action="replace-interpreter", cure="run", fast=True)
def base_python_removed(place: Place) -> None:
    """The Python that the environment was made from was removed."""
    _base_of(place, str(place.root / "python" / "gone"))


@bed("interpreter-broken", action="replace-interpreter", cure="run")
def copied_from_another_machine(place: Place) -> None:
    """The environment was copied from a machine that has its Python elsewhere."""
    cfg = place.env / "pyvenv.cfg"
    lines = [line for line in cfg.read_text().splitlines() if not line.startswith(("home", "executable", "command"))]
    place.write(cfg, "\n".join(["home = /opt/python/3.11.9/bin", *lines, ""]))
    for name in ("python", "python3", "python3.11"):
        (place.env / "bin" / name).unlink(missing_ok=True)
        (place.env / "bin" / name).symlink_to("/opt/python/3.11.9/bin/python3.11")


@bed(None, fast=True)
def environment_moved(place: Place) -> None:
    """The environment was moved: its scripts name the old place, its Python works all the same."""
    moved = place.root / "moved"
    place.env.rename(moved)
    place.env = moved


@bed(MISSING, also=("pip-missing",), cure="none", why_not="the environment's folder belongs to two Pythons")
def base_python_upgraded(place: Place) -> None:
    """The base Python went from 3.11 to 3.12 under the environment: its packages lie in lib/python3.11."""
    real = shutil.which("python3.12", path=os.pathsep.join(_pythons()))
    assert real
    for name in ("python", "python3", "python3.11"):
        (place.env / "bin" / name).unlink(missing_ok=True)
        (place.env / "bin" / name).symlink_to(real)


def _pythons() -> list[str]:
    from tests.ward.store import interpreter

    return [os.path.dirname(path) for version in ("3.12",) if (path := interpreter(version))]


@bed("interpreter-broken", action="replace-interpreter", cure="run")
def python_is_for_another_machine(place: Place) -> None:
    """bin/python is a program of another architecture."""
    head = b"\x7fELF\x02\x01\x01" + b"\0" * 9 + (3).to_bytes(2, "little") + (183).to_bytes(2, "little")
    for name in ("python", "python3", "python3.11"):
        (place.env / "bin" / name).unlink(missing_ok=True)
    place.write(place.env / "bin" / "python3.11", head + b"\0" * 400).chmod(0o755)
    for name in ("python", "python3"):
        (place.env / "bin" / name).symlink_to("python3.11")


@bed(MISSING, base="bare", action="install-torch", cure="run")
def nothing_installed(place: Place) -> None:
    """A fresh environment with pip and nothing else."""


@bed(MISSING, base="bare-uv", action="install-torch", cure="run")
def nothing_installed_by_uv(place: Place) -> None:
    """A fresh environment of uv: without pip, which it does not need."""


@bed(MISSING, base="bare", action="install-torch", cure="run", also=("pip-missing",))
def no_pip(place: Place) -> None:
    """An environment made without pip."""
    place.remove(place.site / "pip", place.info("pip"), *(place.env / "bin").glob("pip*"))


@bed(MISSING, base="bare", action="install-torch", cure="run")
def broken_pip(place: Place) -> None:
    """pip's folder is there, and half of it is gone."""
    place.remove(place.site / "pip" / "_internal" / "cli")


@bed(MISSING, base="bare", action="install-torch", cure="run", also=("pip-missing",))
def pip_of_another_python(place: Place) -> None:
    """The script bin/pip belongs to another Python, and installs there."""
    place.remove(place.site / "pip", place.info("pip"))
    for path in (place.env / "bin").glob("pip*"):
        place.write(path, "#!/usr/bin/python3\nimport sys\nsys.exit('another Python')\n")


@bed(
    "python-unsupported", action="replace-interpreter",
    cure="none", why_not="the target is no environment", needs=("python2.7",),
)  # fmt: skip
def python_2_7(place: Place) -> None:
    """Python 2.7, for which torch ended with 1.4."""
    from tests.ward.store import interpreter

    place.target = interpreter("2.7")


@bed(MISSING, base="bare-3.6", action="install-torch", cure="none", why_not="the cache has no torch for 3.6")
def python_3_6(place: Place) -> None:
    """Python 3.6, whose last torch is 1.10."""


@bed(MISSING, base="bare-3.7", action="install-torch", cure="none", why_not="the cache has no torch for 3.7")
def python_3_7(place: Place) -> None:
    """Python 3.7, whose last torch is 1.13."""


@bed(MISSING, base="bare-3.8", action="install-torch", cure="none", why_not="the cache has no torch for 3.8")
def python_3_8(place: Place) -> None:
    """Python 3.8, whose last torch is 2.4."""


@bed(MISSING, base="bare-3.9", action="install-torch", cure="none", why_not="the cache has no torch for 3.9")
def python_3_9(place: Place) -> None:
    """Python 3.9, whose last torch is 2.8."""


@bed(MISSING, base="bare-3.13", action="install-torch", cure="none", why_not="the cache has no torch for 3.13")
def python_3_13(place: Place) -> None:
    """Python 3.13, for which there is torch."""


@bed("interpreter-broken", action="replace-interpreter", cure="none", why_not="the kernel's environment was removed")
def stale_kernel(place: Place) -> None:
    """A notebook's kernel names the Python of an environment that was removed."""
    spec = place.root / "home" / ".local" / "share" / "jupyter" / "kernels" / "ml" / "kernel.json"
    gone = place.root / "gone" / "bin" / "python"
    gone.parent.mkdir(parents=True)
    gone.symlink_to("/opt/python/3.11.9/bin/python3.11")
    argv = f'["{gone}", "-m", "ipykernel_launcher", "-f", "{{connection_file}}"]'
    place.write(spec, f'{{"argv": {argv}, "display_name": "ML", "language": "python"}}\n')
    place.target = "kernel:ml"
