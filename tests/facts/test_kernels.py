"""Jupyter's kernels, on machines made of a few files: a /proc, kernelspecs, environments."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace

import pytest

from doctor.facts import ancestors, collect, kernels
from doctor.facts.ancestors import Process
from doctor.facts.system import System
from doctor.facts.target import find_target
from doctor.model.facts import ABSENT, Kernel

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="POSIX layouts")

PID = 100  # the doctor's
ENV = "/home/u/ml"
OTHER = "/home/u/other"
KERNEL = (f"{ENV}/bin/python", "-m", "ipykernel_launcher", "-f", "/home/u/.local/share/jupyter/runtime/kernel-1.json")
SERVER = ("/home/u/jupyter/bin/python", "/home/u/jupyter/bin/jupyter-lab")
CELL = ("/bin/bash", "-c", "torchdoctor check")


def machine(root: Path, *chain: tuple[str, ...], tty: bool = True, **environ: str) -> System:
    """A machine with two environments, on which the doctor's parent is chain[0], and so on."""
    for folder in (ENV, OTHER):
        python = root / folder[1:] / "bin" / "python"
        if not python.exists():
            python.parent.mkdir(parents=True)
            python.write_text("#!/bin/sh\n")
            python.chmod(0o755)
            (python.parent.parent / "pyvenv.cfg").write_text("")
    for place, argv in enumerate(((f"{OTHER}/bin/python", "torchdoctor"), *chain)):
        proc = root / "proc" / str(PID - place)
        (proc / "fd").mkdir(parents=True)
        parent = PID - place - 1 if place < len(chain) else 1
        (proc / "status").write_text(f"Name:\tx\nState:\tS (sleeping)\nPPid:\t{parent}\n")
        (proc / "cmdline").write_bytes("\0".join(argv).encode() + b"\0")
        (proc / "exe").symlink_to("/usr/bin/python3.11")
        (proc / "fd" / "0").symlink_to("/dev/pts/3" if tty else "pipe:[1]")
    recorded = {"uname": {"system": "linux", "machine": "x86_64"}, "environ": environ, "pid": PID}
    (root / "machine.json").write_text(json.dumps(recorded))
    return System.of_folder(str(root))


@pytest.mark.parametrize(
    "chain",
    [
        (KERNEL, SERVER),
        (CELL, KERNEL, SERVER),
        (("uvx", "torchdoctor", "check"), CELL, KERNEL, SERVER),
        (CELL, (f"{ENV}/bin/python", "-Xfrozen_modules=off", "-m", "ipykernel_launcher", "--f=/x.json")),  # VS Code
        (CELL, (f"{ENV}/bin/python", "-X", "dev", "-m", "ipykernel", "-f", "/x.json")),
        (CELL, (f"{ENV}/bin/python", "-m", "colab_kernel_launcher", "-f", "/x.json"), SERVER),
        (CELL, (f"{ENV}/bin/python", "/databricks/python_shell/scripts/db_ipykernel_launcher.py", "-f", "/x.json")),
    ],
    ids=["direct", "shell", "uvx", "VS Code", "ipykernel", "Colab", "Databricks"],
)
def test_the_kernel_that_started_us(chain: tuple[tuple[str, ...], ...], tmp_path: Path) -> None:
    found = find_target(machine(tmp_path, *chain, VIRTUAL_ENV=OTHER))
    assert (found.python, found.reason) == (f"{ENV}/bin/python", "the Jupyter kernel that started torchdoctor")
    assert (found.kernel, found.failure) == (Kernel(), None)


@pytest.mark.parametrize(
    "chain",
    [
        (("/bin/bash",), SERVER),  # a terminal of JupyterLab
        (("/bin/bash",), SERVER, CELL, KERNEL),  # of a JupyterLab that a notebook started
        (("/bin/bash", "--init-file", "/x/shellIntegration-bash.sh"), ("/x/code",), KERNEL),
        (("-zsh",), ("sshd: u",), KERNEL),
        (("/bin/bash",), (f"{ENV}/bin/python", "-m", "ipykernel_utilities")),
        (CELL, (f"{ENV}/bin/python", "-c", "import x", "ipykernel_launcher")),
        (),
    ],
)
def test_a_terminal_is_no_kernel(chain: tuple[tuple[str, ...], ...], tmp_path: Path) -> None:
    found = find_target(machine(tmp_path, *chain, VIRTUAL_ENV=OTHER))
    assert (found.python, found.reason, found.kernel) == (f"{OTHER}/bin/python", "active environment", None)


def test_a_bash_cell_has_no_terminal(tmp_path: Path) -> None:
    system = machine(tmp_path, ("bash",), KERNEL, SERVER, tty=False)
    assert find_target(system).python == f"{ENV}/bin/python"


def test_who_names_a_python_means_it(tmp_path: Path) -> None:
    system = machine(tmp_path, CELL, KERNEL, TORCHDOCTOR_PYTHON=OTHER)
    assert find_target(system).python == f"{OTHER}/bin/python"
    assert find_target(system, ENV).reason == "--python"


def test_a_kernel_that_was_called_by_a_bare_name(tmp_path: Path) -> None:
    bare = ("python", "-m", "ipykernel_launcher")
    assert find_target(machine(tmp_path, CELL, bare)).python == "/usr/bin/python3.11"


def test_a_kernel_whose_python_is_gone_is_still_the_target(tmp_path: Path) -> None:
    argv = ("/gone/bin/python", *KERNEL[1:])
    found = find_target(machine(tmp_path, CELL, argv))
    assert found.kernel == Kernel()
    assert found.failure is not None


def test_elsewhere_psutil_is_asked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    psutil = pytest.importorskip("psutil")

    class Denied:
        def cmdline(self) -> list[str]:
            raise psutil.AccessDenied()

    def process(argv: tuple[str, ...], terminal: str | None = None) -> SimpleNamespace:
        return SimpleNamespace(cmdline=lambda: list(argv), exe=lambda: "/exe", terminal=lambda: terminal)

    def parents(*chain: object) -> System:
        monkeypatch.setattr(psutil, "Process", lambda pid: SimpleNamespace(parents=lambda: list(chain)))
        return System(recorded={}, environ={})

    monkeypatch.setattr(System, "uname", lambda self: SimpleNamespace(system="darwin"))
    python = str(tmp_path / "python")
    Path(python).touch()
    kernel = process((python, *KERNEL[1:]))
    assert kernels.running_python(parents(process(CELL), Denied(), kernel)) == python
    assert kernels.running_python(parents(process(("-zsh",), "/dev/ttys001"), kernel)) is None
    assert kernels.running_python(parents(process(("bash",)), kernel)) == python
    assert kernels.running_python(parents(process(SERVER), kernel)) is None
    assert list(ancestors.ancestors(parents(process(("zsh", "-l"), "/dev/ttys001")))) == [
        Process(argv=("zsh", "-l"), executable="/exe", interactive=True)
    ]


# ---- kernelspecs


def add(root: Path, folder: str, name: str, said: object) -> str:
    place = root / folder[1:] / "kernels" / name
    place.mkdir(parents=True)
    (place / "kernel.json").write_text(said if isinstance(said, str) else json.dumps(said))
    return f"{folder}/kernels/{name}/kernel.json"


def spec(python: str, **more: object) -> Mapping[str, object]:
    return {"argv": [python, "-m", "ipykernel_launcher", "-f", "{connection_file}"], "language": "python", **more}


USER = "/home/u/.local/share/jupyter"


@pytest.mark.parametrize(
    ("folder", "environ"),
    [
        (USER, {"HOME": "/home/u"}),
        ("/data/jupyter", {"HOME": "/home/u", "XDG_DATA_HOME": "/data"}),
        ("/data", {"HOME": "/home/u", "JUPYTER_DATA_DIR": "/data"}),
        ("/b", {"JUPYTER_PATH": "/a:/b"}),
        (f"{OTHER}/share/jupyter", {"VIRTUAL_ENV": OTHER}),
        (f"{OTHER}/share/jupyter", {"CONDA_PREFIX": OTHER}),
        ("/usr/local/share/jupyter", {}),
        ("/usr/share/jupyter", {}),
        ("/home/u/.ipython", {"HOME": "/home/u"}),
    ],
)
def test_where_kernelspecs_lie(folder: str, environ: dict[str, str], tmp_path: Path) -> None:
    file = add(tmp_path, folder, "PyTorch", spec(f"{ENV}/bin/python", display_name="My torch"))
    found = find_target(machine(tmp_path, **environ), "kernel:pytorch")
    assert (found.python, found.failure, found.explicit) == (f"{ENV}/bin/python", None, True)
    assert found.kernel == Kernel(name="pytorch", file=file)
    assert found.reason == f"--python kernel:pytorch, {file}"


@pytest.mark.parametrize(
    ("system", "environ", "folder"),
    [
        ("darwin", {"HOME": "/Users/u"}, "/Users/u/Library/Jupyter"),
        ("windows", {"APPDATA": "/C/Roaming"}, "/C/Roaming/jupyter"),
        ("windows", {"PROGRAMDATA": "/C/ProgramData"}, "/C/ProgramData/jupyter"),
    ],
)
def test_where_they_lie_elsewhere(system: str, environ: dict[str, str], folder: str, tmp_path: Path) -> None:
    add(tmp_path, folder, "ml", spec("/x/python"))
    recorded = {"uname": {"system": system}}
    (found,) = kernels.kernelspecs(System(root=str(tmp_path), environ=environ, recorded=recorded))
    assert (found.name, found.python) == ("ml", "/x/python")


def test_the_environment_of_jupyter_on_path_and_precedence(tmp_path: Path) -> None:
    script = tmp_path / "bin" / "jupyter"
    script.parent.mkdir()
    script.write_text(f"#!{OTHER}/bin/python\n")
    script.chmod(0o755)
    add(tmp_path, f"{OTHER}/share/jupyter", "python3", spec("python"))
    add(tmp_path, USER, "python3", spec(f"{ENV}/bin/python"))
    found = find_target(machine(tmp_path, HOME="/home/u"), "kernel:python3")
    assert found.python == f"{OTHER}/bin/python", "plain python is the one of the environment that the file lies in"


def problem(root: Path, name: str, **environ: str) -> str:
    found = find_target(machine(root, HOME="/home/u", **environ), f"kernel:{name}")
    assert found.python is None
    assert found.failure is not None
    assert found.failure.kind == "not-found"
    assert "\n" not in found.failure.message
    return found.failure.message


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ("{", "is no kernelspec: it is not JSON"),
        ([], "is no kernelspec: it is not an object"),
        ({"argv": []}, 'is no kernelspec: it has no "argv"'),
        ({"argv": [1]}, 'is no kernelspec: it has no "argv"'),
        (spec("python"), 'starts plain "python", the Python of the Jupyter server itself'),
        (spec("/usr/bin/docker"), "starts /usr/bin/docker, no Python: name its Python with --python PATH"),
    ],
)
def test_kernelspecs_without_a_python(said: object, words: str, tmp_path: Path) -> None:
    file = add(tmp_path, USER, "odd", said)
    message = problem(tmp_path, "ODD")
    assert words in message
    assert file in message


def test_a_missing_kernelspec_names_those_that_are_there(tmp_path: Path) -> None:
    add(tmp_path, USER, "one", spec("/x/python"))
    add(tmp_path, "/usr/share/jupyter", "two", spec("/x/python"))
    assert problem(tmp_path, "three") == "there is no Jupyter kernel three; there are: one, two"


def test_no_kernelspec_at_all(tmp_path: Path) -> None:
    assert problem(tmp_path, "three") == "there is no Jupyter kernel three, nor any other"


def test_a_conda_environment_that_a_runner_activates(tmp_path: Path) -> None:
    argv = ["/opt/conda/bin/python", "-m", "nb_conda_kernels.runner", "/opt/conda", ENV, "python", "-m", "ipykernel"]
    add(tmp_path, USER, "conda", {"argv": argv})
    assert find_target(machine(tmp_path, HOME="/home/u"), "kernel:conda").python == f"{ENV}/bin/python"


def test_the_variables_of_a_kernelspec_are_those_of_the_kernel(tmp_path: Path) -> None:
    env = {"CUDA_VISIBLE_DEVICES": "", "LD_LIBRARY_PATH": "/opt/cuda:${LD_LIBRARY_PATH}", "N": 1}
    file = add(tmp_path, USER, "ml", spec(f"{ENV}/bin/python", env=env))
    system = machine(tmp_path, HOME="/home/u", LD_LIBRARY_PATH="/old")
    found = find_target(system, "kernel:ml")
    assert found.reason == f"--python kernel:ml, {file}, which sets CUDA_VISIBLE_DEVICES, LD_LIBRARY_PATH"
    seen = found.seen_from(system)
    assert seen.environ == {**system.environ, "CUDA_VISIBLE_DEVICES": "", "LD_LIBRARY_PATH": "/opt/cuda:/old"}
    facts = collect.start(seen, found).finish()
    assert facts.interpreter.kernel == Kernel(name="ml", file=file, environ=("CUDA_VISIBLE_DEVICES", "LD_LIBRARY_PATH"))
    assert facts.environ == {"CUDA_VISIBLE_DEVICES": "", "LD_LIBRARY_PATH": "/opt/cuda:/old"}


def test_no_kernel_is_known_to_be_none(tmp_path: Path) -> None:
    system = machine(tmp_path)
    assert collect.start(system, find_target(system, ENV)).finish().interpreter.kernel is ABSENT


def test_our_own_process_is_asked_about() -> None:
    """The live machine: whoever runs the tests, nothing raises."""
    live = System.of_this_process()
    assert live.pid == os.getpid()
    assert all(isinstance(one, Process) for one in ancestors.ancestors(live))
