"""Which Python is the patient: by files alone, nothing is started.

--python › TORCHDOCTOR_PYTHON › the Jupyter kernel that started us › VIRTUAL_ENV › CONDA_PREFIX › our own interpreter if
torch is in it › ./.venv › the first python3 or python on PATH › our own. The doctor's own environment without torch is
never chosen implicitly: uvx puts its throw-away environment first on PATH, and the .venv of a clone may hold only the
doctor. «kernel:NAME» stands for the Python of a Jupyter kernel.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import field, replace

from doctor.facts import kernels
from doctor.facts.system import System
from doctor.model.facts import Gap, Kernel, StartFailure
from doctor.model.report import Target
from doctor.model.values import dataclass

VARIABLE = "TORCHDOCTOR_PYTHON"
KERNEL = "kernel:"  # --python kernel:NAME
_POSIX = ("bin/python", "bin/python3")
_WINDOWS = ("Scripts/python.exe", "python.exe", "bin/python.exe")
# First bytes of programs: ELF, Mach-O (thin, fat), PE, a script.
_MAGIC = (b"\x7fELF", b"\xcf\xfa\xed\xfe", b"\xca\xfe\xba\xbe", b"\xce\xfa\xed\xfe", b"MZ", b"#!")
# Without Apple's command line tools, running this stub opens a dialogue.
_APPLE_STUB = "/usr/bin/python3"
_APPLE_TOOLS = ("/Library/Developer/CommandLineTools/usr/bin/python3", "/Applications/Xcode.app")


@dataclass(frozen=True, kw_only=True)
class Found:
    """The target: what to run, why, and what files already say against it. `explicit`: the user named it; `kernel`:
    whose Python it is; `environ`: the variables that its kernel.json sets."""

    python: str | None
    reason: str
    failure: StartFailure | None = None
    explicit: bool = False
    kernel: Kernel | None = None
    environ: Mapping[str, str] = field(default_factory=dict)

    def as_report(self) -> Target:
        return Target(python=self.python, reason=self.reason)

    def seen_from(self, system: System) -> System:
        """The machine as that Python's programs see it: with the variables of its kernel."""
        return replace(system, environ={**system.environ, **self.environ}) if self.environ else system


def find_target(system: System, python: str | None = None) -> Found:
    """The Python to examine, by the rule above."""
    if python:
        return _named(system, python, "--python", explicit=True)
    if named := system.environ.get(VARIABLE):
        return _named(system, named, VARIABLE, explicit=True)
    if running := kernels.running_python(system):
        found = _checked(system, running, "the Jupyter kernel that started torchdoctor")
        return replace(found, kernel=Kernel(started_at=kernels.running_since(system)))
    for variable, reason in (("VIRTUAL_ENV", "active environment"), ("CONDA_PREFIX", "active conda environment")):
        folder = system.environ.get(variable)
        if folder and not _is_doctors_without_torch(system, folder):
            return _named(system, folder, reason)
    if system.own_python and _own_has_torch(system):
        return _checked(system, system.own_python, "torchdoctor's own interpreter, which has torch")
    local = os.path.join(system.cwd, ".venv")
    if system.is_folder(local) and not _is_doctors_without_torch(system, local) and _python_in(system, local):
        return _named(system, local, "the .venv of this folder")
    for candidate in _on_path(system):
        return _checked(system, candidate, "first Python on PATH")
    if system.own_python:
        return _checked(system, system.own_python, "torchdoctor's own interpreter: no other Python was found")
    failure = StartFailure(kind="not-found", message="there is no Python on PATH")
    return Found(python=None, reason="nothing was found", failure=failure)


def _named(system: System, name: str, reason: str, *, explicit: bool = False) -> Found:
    """The Python that a path, an environment's folder or a bare command name stands for."""

    def failed(kind: str, message: str, python: str | None = None) -> Found:
        return Found(
            python=python or name,
            reason=reason,
            explicit=explicit,
            failure=StartFailure(kind=kind, message=message),  # type: ignore[arg-type]
        )

    if name.startswith(KERNEL):
        return _of_kernel(system, kernels.spec_named(system, name[len(KERNEL) :]), reason)
    path = name
    home = system.environ.get("HOME") or system.environ.get("USERPROFILE")
    if home and (path == "~" or path.startswith(("~/", "~\\"))):  # «~name» is another user's
        path = home + path[1:]
    if not os.path.dirname(path) and not system.exists(os.path.join(system.cwd, path)):
        found = system.which(path)
        return _checked(system, found, reason, explicit) if found else failed("not-found", f"no {name} on PATH")
    path = os.path.normpath(os.path.join(system.cwd, path))
    if system.is_folder(path):
        inside = _python_in(system, path)
        if inside is None:
            return failed("not-python", f"{path} is a folder without a Python in it")
        return _checked(system, inside, reason, explicit)
    return _checked(system, path, reason, explicit)


def _of_kernel(system: System, spec: kernels.Kernelspec, reason: str) -> Found:
    """The Python of a kernelspec, and what it gives it."""
    reason = f"{reason} kernel:{spec.name}"
    if spec.python is None:
        failure = StartFailure(kind="not-found", message=spec.problem)
        return Found(python=None, reason=reason, explicit=True, failure=failure)
    names = tuple(sorted(spec.environ))
    sets = f", which sets {', '.join(names)}" if names else ""
    return replace(
        _checked(system, spec.python, f"{reason}, {spec.file}{sets}", explicit=True),
        kernel=Kernel(name=spec.name, file=spec.file, environ=names),
        environ=spec.environ,
    )


def _python_in(system: System, folder: str) -> str | None:
    """The Python of an environment's folder, also where it is a dead link."""
    for name in _WINDOWS if system.is_windows else _POSIX:
        path = os.path.join(folder, *name.split("/"))
        if os.path.lexists(system.at(path)):
            return path
    return None


def _checked(system: System, python: str, reason: str, explicit: bool = False) -> Found:
    return Found(python=python, reason=reason, explicit=explicit, failure=_wrong_with(system, python))


def _wrong_with(system: System, python: str) -> StartFailure | None:
    """What the files alone say against it."""

    def failure(kind: str, message: str) -> StartFailure:
        return StartFailure(kind=kind, message=message)  # type: ignore[arg-type]

    if not os.path.lexists(system.at(python)):
        return failure("not-found", f"{python} does not exist")
    home = _base_of(system, python)
    if home and not system.exists(home):
        return failure("missing-base", f"{python}: the Python it was made from is gone: {home}")
    if system.is_dead_link(python):
        return failure("dead-link", f"{python} is a link to {system.link(python)}, which does not exist")
    if system.is_folder(python):
        return failure("not-python", f"{python} is a folder")
    first = system.read_bytes(python, 4)
    if not system.is_windows and not first.startswith(_MAGIC):
        return failure("not-python", f"{python} is not a program")
    if not system.runnable(python):
        return failure("permission", f"{python} may not be executed")
    return None


def _base_of(system: System, python: str) -> str | None:
    """The folder of the Python that a venv was made from: `home` of its pyvenv.cfg."""
    return configuration(system, environment_of(python)).get("home") or None


def environment_of(python: str) -> str:
    """The folder of the environment that a Python belongs to, if it does."""
    folder = os.path.dirname(python)
    return os.path.dirname(folder) if os.path.basename(folder).lower() in ("bin", "scripts") else folder


def configuration(system: System, folder: str) -> Mapping[str, str]:
    """What an environment's pyvenv.cfg says, with keys in small letters; {} where there is none."""
    text = system.read(os.path.join(folder, "pyvenv.cfg"), 65536)
    lines = () if isinstance(text, Gap) else text.splitlines()
    pairs = (line.partition("=") for line in lines)
    return {key.strip().lower(): value.strip() for key, equals, value in pairs if equals}


def _own_has_torch(system: System) -> bool:
    return any(system.exists(os.path.join(folder, "torch", "__init__.py")) for folder in system.own_path if folder)


def _is_doctors_without_torch(system: System, folder: str) -> bool:
    """Our own environment, or another that somebody made for the doctor: it has torchdoctor, and no torch."""
    if system.own_prefix and system.real(folder) == system.real(system.own_prefix):
        return not _own_has_torch(system)
    names = [name for place in site_packages(system, folder) for name in _listed(system, place)]
    return any(name.startswith("torchdoctor-") for name in names) and "torch" not in names


def site_packages(system: System, folder: str) -> Iterator[str]:
    """The folders of an environment that packages are installed into."""
    if system.is_windows:
        yield os.path.join(folder, "Lib", "site-packages")
        return
    for name in _listed(system, os.path.join(folder, "lib")):
        if name.startswith("python"):
            yield os.path.join(folder, "lib", name, "site-packages")


def _listed(system: System, folder: str) -> tuple[str, ...]:
    names = system.listdir(folder)
    return () if isinstance(names, Gap) else names


def _on_path(system: System) -> Iterator[str]:
    """Pythons on PATH, the doctor's own environment left out."""
    own = {system.real(os.path.dirname(system.own_python))} if system.own_python else set()
    if system.own_prefix:
        own |= {system.real(os.path.join(system.own_prefix, name)) for name in ("bin", "Scripts")}
    for folder in system.path:
        if system.real(folder) in own:
            continue
        for name in ("python.exe", "python3.exe") if system.is_windows else ("python3", "python"):
            candidate = os.path.join(folder, name)
            if system.runnable(candidate) and not _would_open_dialogue(system, candidate):
                yield candidate


def _would_open_dialogue(system: System, candidate: str) -> bool:
    return (
        system.uname().system == "darwin"
        and candidate == _APPLE_STUB
        and not any(system.exists(path) for path in _APPLE_TOOLS)
    )
