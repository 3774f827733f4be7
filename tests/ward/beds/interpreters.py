"""The Python itself: removed, upgraded, moved, too old, without pip."""

from __future__ import annotations

import os
import shutil

from tests.ward.bed import bed
from tests.ward.place import Place

MISSING, BROKEN = "torch-missing", "torch-install-broken"


def _base_of(place: Place, link: str) -> None:
    """Let the environment's python lead to a Python at `link`, which leads on to the real one."""
    real = os.path.realpath(place.python)
    folder = place.root / "python" / "bin"
    folder.mkdir(parents=True)
    (folder / "python3.11").symlink_to(link or real)
    for name in ("python", "python3", "python3.11"):
        (place.env / "bin" / name).unlink(missing_ok=True)
        (place.env / "bin" / name).symlink_to(folder / "python3.11")


AS_IT_WAS = {"python": "3.11", "torch": "2.13.0", "backend": "cpu"}


@bed("interpreter-broken", action="replace-interpreter", details=AS_IT_WAS, cure="run", fast=True)
def base_python_removed(place: Place) -> None:
    """The Python that the environment was made from was removed."""
    _base_of(place, str(place.root / "python" / "gone"))


@bed("interpreter-broken", action="replace-interpreter", details=AS_IT_WAS, cure="run")
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


@bed("interpreter-broken", action="replace-interpreter", details=AS_IT_WAS, cure="run")
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


@bed(MISSING, base="bare", action="install-torch", cure="run", also=("pip-missing",))
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


@bed(MISSING, base="bare-3.10", action="install-torch", cure="none", why_not="the cache has no torch for 3.10")
def python_3_10(place: Place) -> None:
    """Python 3.10, for which there is torch."""


@bed(MISSING, base="bare-3.12", action="install-torch", cure="none", why_not="the cache has no torch for 3.12")
def python_3_12(place: Place) -> None:
    """Python 3.12, for which there is torch."""


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


@bed(None, base="old-3.6", limit_s=90)
def torch_1_10_in_python_3_6(place: Place) -> None:
    """Python 3.6 with its last torch, 1.10.2."""


@bed(None, base="old-3.7", limit_s=90)
def torch_1_7_in_python_3_7(place: Place) -> None:
    """Python 3.7 with torch 1.7.1."""


@bed(None, base="old-3.8", limit_s=90)
def torch_1_8_in_python_3_8(place: Place) -> None:
    """Python 3.8 with torch 1.8.1."""


@bed(BROKEN, base="old-3.6", action="reinstall-torch", cure="none", why_not="the cache has no wheel of torch 1.10")
def old_torch_cut_short(place: Place) -> None:
    """Python 3.6 with torch 1.10.2, half of whose libtorch_cpu.so is there."""
    place.truncate(place.torch / "lib" / "libtorch_cpu.so")


@bed(MISSING, base="bare-3.13t", action="install-torch", cure="none", why_not="the cache has no torch for 3.13t")
def free_threaded_python(place: Place) -> None:
    """A free-threaded CPython 3.13, for which torch has wheels of their own, and no torch in it."""


@bed("python-unsupported", base="bare-pypy3", action="replace-interpreter", cure="run")
def pypy(place: Place) -> None:
    """PyPy, for which there is no torch."""


@bed(
    "glibc-too-old", base="bare-3.13-musl", action="use-other-build",
    cure="none", why_not="another C library is another system",
)  # fmt: skip
def python_on_musl(place: Place) -> None:
    """A Python that was built for musl instead of glibc."""


@bed("python-32-bit", base="bare-3.13-i686", action="replace-interpreter", details={"arch": "64-bit"}, cure="run")
def python_of_32_bit(place: Place) -> None:
    """A 32-bit Python on a 64-bit system."""


@bed(None, needs=("qemu-x86_64", "unshare"), limit_s=400)
def cpu_without_avx(place: Place) -> None:
    """A CPU of 2008 (Nehalem): SSE 4.2, no AVX. torch and NumPy run on it, slowly: qemu translates."""
    _on_cpu(place, "Nehalem", "Intel Core i7 9xx (Nehalem Class Core i7)", "sse4_1 sse4_2 popcnt")


@bed(
    "cpu-instructions-missing", needs=("qemu-x86_64", "unshare"), limit_s=200,
    cure="none", why_not="another CPU, or a build for it, is the user's to find",
)  # fmt: skip
def cpu_without_sse4(place: Place) -> None:
    """A CPU of 2006 (Core 2 Duo): importing torch ends with an illegal instruction."""
    _on_cpu(place, "core2duo", "Intel(R) Core(TM)2 Duo CPU T7700 @ 2.40GHz", "")


def _on_cpu(place: Place, model: str, name: str, flags: str) -> None:
    """Let qemu's user mode run the target's Python, and /proc/cpuinfo say so."""
    place.run_as("qemu-x86_64", "-cpu", model, "-0", "{self}")
    common = "fpu vme de pse tsc msr pae mce cx8 apic sep mtrr pge mca cmov pat pse36 clflush mmx fxsr sse sse2 ss ht"
    common = f"{common} syscall nx lm pni ssse3 cx16"
    text = f"vendor_id\t: GenuineIntel\nmodel name\t: {name}\nflags\t\t: {common} {flags}\n"
    told = place.write(place.root / "cpuinfo", "".join(f"processor\t: {cpu}\n{text}\n" for cpu in range(2)))
    place.mounted(f"mount --bind {told} /proc/cpuinfo")
