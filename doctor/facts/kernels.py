"""Jupyter's kernels: the one that torchdoctor was started from, and those that kernelspecs name. Nothing is started.

Where kernelspecs lie: https://docs.jupyter.org/en/latest/use/jupyter-directories.html, and the functions of
jupyter_core.paths. What one says: https://jupyter-client.readthedocs.io/en/stable/kernels.html#kernel-specs. An
`argv[0]` of plain "python" is replaced by the Python of the Jupyter server that starts the kernel.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from string import Template

from doctor.decode import Refused, decode_fields, loads
from doctor.facts.ancestors import Process, ancestors
from doctor.facts.system import System, utc
from doctor.model.facts import Gap
from doctor.model.values import dataclass

FILE = "kernel.json"
FILE_SIZE = 65536  # bytes; a kernel.json has some hundreds
AT_MOST = 200  # kernelspecs in one folder
_PYTHON = re.compile(r"(python|pypy)[\d.]*(\.exe)?\Z", re.I)
# What a kernel's process runs: ipykernel's own launcher, those of Colab, Databricks and Spyder.
_LAUNCHER = re.compile(
    r"(.*[/\\])?(\w*(ipykernel|colab_kernel)_launcher(\.py)?|ipykernel(\.\w+)?|spyder_kernels\.\w+)\Z"
)
_SERVER = re.compile(r"(.*[/\\])?(jupyter[\w-]*|notebook)(\.exe|\.py)?\Z")
_WITH_VALUE = ("-X", "-W", "--check-hash-based-pycs")
_CONDA_RUNNER = "nb_conda_kernels.runner"  # python -m nb_conda_kernels.runner CONDA ENVIRONMENT python -m ipykernel …


@dataclass(frozen=True, kw_only=True)
class Spec:
    """What we read of a kernel.json."""

    argv: tuple[str, ...] = ()
    display_name: str = ""
    env: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Kernelspec:
    """What a kernel.json says. `python` is None where it names none that could be examined: `problem` says why."""

    name: str
    file: str
    display: str = ""
    python: str | None = None
    environ: Mapping[str, str] = field(default_factory=dict)
    problem: str = ""


# ---- the kernel that started us


def running_python(system: System) -> str | None:
    """The Python of the kernel that torchdoctor was started from (`!torchdoctor` in a cell, a %%bash cell, a program
    of the notebook). None in a terminal, also in one that Jupyter or an editor opened: the server is no kernel."""
    process = _running(system)
    return _executable(system, process) if process else None


def running_since(system: System) -> str | None:
    """When that kernel was started, UTC; None where that is not known (also of a recorded machine)."""
    process = _running(system)
    if process is None or process.pid is None or system.root:
        return None
    try:
        import psutil

        started = psutil.Process(process.pid).create_time()
    except ImportError:
        return None
    except psutil.Error:
        return None
    return utc(started)


def _running(system: System) -> Process | None:
    for process in ancestors(system):
        if process.interactive or _is_server(process.argv):
            return None
        if is_kernel(process.argv):
            return process
    return None


def is_kernel(argv: Sequence[str]) -> bool:
    """Whether a command line is that of an IPython kernel."""
    return bool(_LAUNCHER.match(_started(argv)))


def _is_server(argv: Sequence[str]) -> bool:
    return bool(argv and (_SERVER.match(argv[0]) or _SERVER.match(_started(argv))))


def _started(argv: Sequence[str]) -> str:
    """The module or the script that a Python's command line starts; "" where there is none."""
    words = iter(argv[1:])
    for word in words:
        if word == "-m":
            return next(words, "")
        if word in _WITH_VALUE:
            next(words, "")
        elif word.startswith("-c"):
            return ""
        elif not word.startswith("-"):
            return word
    return ""


def _executable(system: System, process: Process) -> str | None:
    """The Python as it was called: in an environment its own, which is a link to another one. What the kernel tells
    of the program comes second."""
    called = process.argv[0]
    if not os.path.dirname(called):
        found = system.which(called)
        called = found if found and system.real(found) == system.real(process.executable or found) else ""
    return called if called and os.path.isabs(called) and system.exists(called) else process.executable


# ---- kernelspecs


def spec_named(system: System, name: str) -> Kernelspec:
    """The kernelspec of a name (case does not matter); one with a `problem` where there is none, or no good one."""
    seen: dict[str, Kernelspec] = {}
    for spec in kernelspecs(system):
        if spec.name == name.lower():
            return spec
        seen[spec.name] = spec
    there = f"; there are: {', '.join(sorted(seen))}" if seen else ", nor any other"
    return Kernelspec(name=name, file="", problem=f"there is no Jupyter kernel {name}{there}")


def kernelspecs(system: System, prefixes: Iterable[str] = ()) -> Iterator[Kernelspec]:
    """All kernelspecs, as Jupyter looks for them: of one name the first. `prefixes`: further environments."""
    seen = set()
    for folder in _folders(system, prefixes):
        names = system.listdir(folder)
        for name in () if isinstance(names, Gap) else names[:AT_MOST]:
            file = os.path.join(folder, name, FILE)
            key = name.lower()
            if key not in seen and system.exists(file):
                seen.add(key)
                yield _read(system, key, file)


def _folders(system: System, prefixes: Iterable[str]) -> tuple[str, ...]:
    """The folders of kernelspecs in the order of precedence. Jupyter's own environment comes before the user's folder:
    since its Python is not known, every environment near us stands for it."""
    environ = system.environ
    home = environ.get("HOME") or environ.get("USERPROFILE") or ""
    near = [environ.get("VIRTUAL_ENV"), environ.get("CONDA_PREFIX"), _prefix_of_jupyter(system), system.own_prefix]
    shared = [os.path.join(prefix, "share", "jupyter") for prefix in (*near, *prefixes) if prefix]
    if system.is_windows:
        user = os.path.join(environ.get("APPDATA") or home, "jupyter")
        everybody = [os.path.join(environ.get("PROGRAMDATA") or "C:\\ProgramData", "jupyter")]
    else:
        data = environ.get("XDG_DATA_HOME") or os.path.join(home, ".local", "share")
        mac = system.uname().system == "darwin"
        user = os.path.join(home, "Library", "Jupyter") if mac else os.path.join(data, "jupyter")
        everybody = ["/usr/local/share/jupyter", "/usr/share/jupyter"]
    named = [path for path in environ.get("JUPYTER_PATH", "").split(os.pathsep) if path]
    places = [*named, *shared, environ.get("JUPYTER_DATA_DIR") or user, *everybody, os.path.join(home, ".ipython")]
    return tuple(dict.fromkeys(os.path.join(place, "kernels") for place in places))


def _prefix_of_jupyter(system: System) -> str | None:
    """The environment of the `jupyter` on PATH."""
    script = system.which("jupyter")
    python = python_of_script(system, script) if script else None
    return os.path.dirname(os.path.dirname(python)) if python else None


def python_of_script(system: System, script: str) -> str | None:
    """The Python that a console script starts: its first line, or the exec line of one with a long path."""
    head = system.read_bytes(script, 1024).decode("utf-8", "replace").splitlines()
    if not head or not head[0].startswith("#!"):
        return None
    line = head[1] if head[0].strip() == "#!/bin/sh" and len(head) > 1 else head[0][2:]
    match = re.search(r"(/[^'\"\n]*?python[\d.]*)(?=['\"\s]|$)", line)
    return match[1] if match else None


def _read(system: System, name: str, file: str) -> Kernelspec:
    text = system.read(file, FILE_SIZE + 1)
    if isinstance(text, Gap):
        return Kernelspec(name=name, file=file, problem=text.detail)
    try:
        said, _ = decode_fields(Spec, loads(text, size=FILE_SIZE, items=1000))
    except Refused as error:
        return Kernelspec(name=name, file=file, problem=f"{file} is no kernelspec: {error}")
    argv = said.get("argv", ())
    if not argv or any("\0" in word for word in argv):
        return Kernelspec(name=name, file=file, problem=f'{file} is no kernelspec: it has no "argv"')
    python, problem = _python(system, name, file, argv)
    return Kernelspec(
        name=name,
        file=file,
        display=said.get("display_name", name),
        python=python,
        environ=_variables(said.get("env", {}), system.environ),
        problem=problem,
    )


def _python(system: System, name: str, file: str, argv: Sequence[str]) -> tuple[str | None, str]:
    """(the Python, "") or (None, why there is none)."""
    first = argv[0]
    if not _PYTHON.match(re.split(r"[/\\]", first)[-1]):
        return None, f"the kernel {name} ({file}) starts {first}, no Python: name its Python with --python PATH"
    if _CONDA_RUNNER in argv[:-2]:
        return python_in(system, argv[argv.index(_CONDA_RUNNER) + 2]), ""
    if os.path.dirname(first):
        return first, ""
    shared = os.path.dirname(os.path.dirname(os.path.dirname(file)))  # PREFIX/share/jupyter/kernels/NAME/kernel.json
    prefix = os.path.dirname(os.path.dirname(shared))
    own = python_in(system, prefix)
    if os.path.basename(shared) == "jupyter" and system.exists(own) and _is_environment(system, prefix):
        return own, ""
    return None, (
        f'the kernel {name} ({file}) starts plain "{first}", the Python of the Jupyter server itself: name that one '
        "with --python PATH"
    )


def _is_environment(system: System, prefix: str) -> bool:
    return any(system.exists(os.path.join(prefix, mark)) for mark in ("pyvenv.cfg", "conda-meta"))


def python_in(system: System, prefix: str) -> str:
    """Where an environment of that folder has its Python."""
    if not system.is_windows:
        return os.path.join(prefix, "bin", "python")
    conda = os.path.join(prefix, "python.exe")
    return conda if system.exists(conda) else os.path.join(prefix, "Scripts", "python.exe")


def _variables(said: Mapping[str, object], environ: Mapping[str, str]) -> dict[str, str]:
    """The `env` of a kernelspec; jupyter_client puts the server's variables in for ${NAME}. What no process can have is
    left out."""
    return {
        key: Template(value).safe_substitute(environ)
        for key, value in said.items()
        if isinstance(value, str) and key and "=" not in key and "\0" not in key + value
    }
