#!/usr/bin/env python3
"""From a broken installation to a healthy one with `fix --run`, and back with `--undo`, by each tool.

python scripts/prove_cures.py [--tool pip,uv,poetry,pdm] [--real [--wheels DIR] [--pair-env DIR]]

Stub wheels: a recorded machine with a GPU, real tools, an index on the loopback; a stub computes nothing, so the
verdict is that of `check --no-probe`. With --real also wheels as they are published, on this machine, judged with the
probe. They are fetched with `pip download` as pip is configured here (about 1.1 GB, kept in --wheels). pip and uv then
install from where they are configured to; poetry, which does not read pip's configuration, from the loopback.
torch 2.14.1 for Linux imports nothing without several GB of CUDA libraries: the real pair of torch and torchvision is
tried in a copy of --pair-env, an environment that has them.

A row passes where the fault was found, `fix --run` ended with 0, the verdict is healthy, and after `--undo` every file
of the environment and the project has its content, mode and time of before. Exit code 1 where one fails.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.index import wheels  # noqa: E402
from tests.index.patient import TOOLS, UV, Patient, make_patient, make_wheels, tool  # noqa: E402
from tests.index.scenarios import PROJECTS, SCENARIOS  # noqa: E402
from tests.index.server import serving  # noqa: E402

# What is fetched for each Python, in calls of pip that do not exclude each other.
REAL_WHEELS = {
    "3.10": (("torch==1.12.1", "numpy==2.2.6", "typing-extensions"), ("numpy==1.26.4",)),
    "3.11": (
        ("torch==2.13.0+cpu", "numpy", "filelock", "fsspec", "jinja2", "markupsafe", "mpmath<1.4", "networkx"),
        ("setuptools", "sympy", "typing-extensions"),
        ("torchvision==0.28.0",),
        ("torchvision==0.29.1",),
    ),
}
PYPROJECT = """[project]
name = "demo"
version = "0.1.0"
requires-python = "=={python}.*"
dependencies = [{dependencies}]

[tool.poetry]
package-mode = false

[[tool.poetry.source]]
name = "wheels"
url = "{url}/{folder}"
priority = "primary"
"""


class NotRun(Exception):
    """Why a row could not be tried here."""


@dataclass(frozen=True)
class Row:
    """`passed`: None where it was not run, and then `found` says why."""

    tool: str
    scenario: str
    kind: str
    found: str
    code: str = ""
    after: str = ""
    undone: str = ""
    passed: bool | None = None

    def __str__(self) -> str:
        cells = (self.tool, self.scenario, self.kind, self.found, self.code, self.after, self.undone)
        return f"| {' | '.join(cells)} |"


def prove(patient: Patient, by: str, scenario: str, kind: str, finding: str) -> Row:
    """Examine, mend, examine, undo, compare. `kind`: «stub» or «real», which is judged with the probe."""
    look = () if kind == "real" else ("--no-probe",)
    before, files = patient.content(), _project(patient)
    found = _faults(_report(patient, *look))
    options = ("--tool", by) if by not in PROJECTS else ()
    done = patient.doctor("fix", "--run", "--yes", *look, *options, timeout=900)
    report = _report(patient, *look)
    after = report["verdict"]
    if kind == "real":
        after += ", probe " + ("/".join(sorted({p["status"] for p in report["facts"]["probes"] or ()})) or "missing")
    undo = patient.doctor("fix", "--undo", timeout=300)
    same = (patient.content(), _project(patient)) == (before, files)
    good = after == ("healthy, probe ok" if kind == "real" else "healthy")
    passed = finding in found and done.returncode == 0 and good and undo.returncode == 0 and same
    if not passed:
        print(f"{by}, {scenario}: {done.stderr.strip()}\n{undo.stderr.strip()}", file=sys.stderr)
    undone = "every file as before" if same else "NOT as before"
    return Row(by, scenario, kind, ", ".join(found) or "nothing", str(done.returncode), after, undone, passed)


def _report(patient: Patient, *look: str) -> dict:
    return json.loads(patient.doctor("check", "--json", *look, timeout=300).stdout)


def _faults(report: dict) -> list[str]:
    return [f["id"] for f in report["findings"] if f["root"] and f["severity"] != "note"]


def _project(patient: Patient) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in patient.env.parent.iterdir() if path.is_file()}


# ---- stub wheels


def stubs(tools: list[str]) -> Iterator[Row]:
    for scenario in SCENARIOS:
        for by in tools:
            if by in PROJECTS and tool(by) is None:
                yield Row(by, scenario.name, "stub", f"not run: there is no {by}")
                continue
            with tempfile.TemporaryDirectory(prefix="prove-cures-") as name:
                folder = Path(name).resolve()
                with serving(make_wheels(folder / "wheels")) as index:
                    patient = make_patient(folder, index.url, pip=by == "pip")
                    scenario.make(patient, by)
                    yield prove(patient, by, scenario.name, "stub", scenario.finding)


# ---- real wheels


class Here(Patient):
    """An environment on this machine, as its user would have it mended."""

    def variables(self) -> dict[str, str]:
        left_out = ("TORCHDOCTOR_", "POETRY_", "PDM_", "VIRTUAL_ENV", "CONDA_PREFIX", "PYTHONPATH", "PYTHONHOME")
        kept = {key: value for key, value in os.environ.items() if not key.startswith(left_out)}
        said = {"PATH": os.pathsep.join((TOOLS, os.environ["PATH"])), "POETRY_CACHE_DIR": str(self.root / "poetry")}
        return {**kept, **said, **self.environ}


@dataclass(frozen=True, kw_only=True)
class RealScenario:
    """`requirements` are installed from the fetched wheels of that Python, then the environment is spoiled."""

    name: str
    finding: str
    python: str
    requirements: tuple[str, ...]
    spoil: Callable[[Here, Path], None] = lambda patient, fetched: None
    pytorch_index: bool = False  # PyTorch's own index is the loopback's: its CPU build is no package of the default one
    copied: bool = False  # the environment is a copy of --pair-env


def _without_libtorch(patient: Here, fetched: Path) -> None:
    (patient.site / "torch" / "lib" / "libtorch_cpu.so").unlink()


def _older_torchvision(patient: Here, fetched: Path) -> None:
    _install(patient, fetched, "torchvision==0.28.0", "--no-deps", "--reinstall")


REAL = (
    RealScenario(
        name="NumPy 2.2.6 with torch 1.12.1",
        finding="numpy-abi-mismatch",
        python="3.10",
        requirements=("torch==1.12.1", "numpy==2.2.6"),
    ),
    RealScenario(
        name="torch 2.14.1 with torchvision 0.28.0",
        finding="companion-mismatch",
        python="3.11",
        requirements=("torch==2.14.1", "torchvision==0.29.1"),
        spoil=_older_torchvision,
        copied=True,
    ),
    RealScenario(
        name="torch 2.13.0+cpu without libtorch_cpu.so",
        finding="torch-install-broken",
        python="3.11",
        requirements=("torch==2.13.0", "numpy"),
        spoil=_without_libtorch,
        pytorch_index=True,
    ),
)


def real(tools: list[str], fetched: Path, pair: Path | None) -> Iterator[Row]:
    for scenario in REAL:
        for by in tools:
            with tempfile.TemporaryDirectory(prefix="prove-cures-") as name:
                try:
                    yield _real_row(scenario, by, Path(name).resolve(), fetched, pair)
                except NotRun as reason:
                    yield Row(by, scenario.name, "real", f"not run: {reason}")


def _real_row(scenario: RealScenario, by: str, folder: Path, fetched: Path, pair: Path | None) -> Row:
    if by in PROJECTS and (by != "poetry" or tool(by) is None):
        raise NotRun(f"there is no {by}" if tool(by) is None else f"{by} is tried with stubs only")
    if scenario.copied and pair is None:
        raise NotRun("it takes GB of CUDA libraries to import this torch; --pair-env names an environment with them")
    for python in REAL_WHEELS:
        _fetch(python, fetched)
    (folder / "index" / "whl").mkdir(parents=True)
    (folder / "index" / "whl" / "cpu").symlink_to(fetched / "3.11")
    (folder / "index" / "fetched").symlink_to(fetched)
    with serving(folder / "index") as index:
        patient = Here(folder, folder / "work" / ".venv", index.url)
        patient.env.parent.mkdir()
        if scenario.pytorch_index:
            patient.environ["TORCHDOCTOR_PYTORCH_INDEX"] = f"{index.url}/whl"
        if scenario.copied:
            assert pair is not None
            _copy_environment(pair, patient.env)
        else:
            _make_environment(patient, by, scenario.python)
            _install(patient, fetched / scenario.python, *scenario.requirements)
        if by == "poetry":
            _lock(patient, scenario, folder / "index")
        scenario.spoil(patient, fetched / scenario.python)
        return prove(patient, by, scenario.name, "real", scenario.finding)


def _fetch(python: str, fetched: Path) -> None:
    """The wheels of a Python, once."""
    folder = fetched / python
    stamp, wanted = folder / "fetched", "\n".join(map(" ".join, REAL_WHEELS[python]))
    if stamp.exists() and stamp.read_text() == wanted:
        return
    program = _python(python)
    for requirements in REAL_WHEELS[python]:
        argv = [program, "-m", "pip", "download", "-q", "--no-deps", "-d", str(folder), *requirements]
        done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=1800)
        if done.returncode:
            raise NotRun(f"pip download {' '.join(requirements)} failed: {done.stderr.strip().splitlines()[-1]}")
    stamp.write_text(wanted)


def _python(version: str) -> str:
    """An interpreter of that version, with venv and pip: on PATH, of pyenv, or of uv."""
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv") / "versions"
    found = [shutil.which(f"python{version}"), *map(str, sorted(pyenv.glob(f"{version}.*/bin/python")))]
    done = subprocess.run([str(UV), "python", "find", "-q", version], capture_output=True, text=True, check=False)
    for program in filter(None, [*found, done.stdout.strip()]):
        works = subprocess.run([program, "-c", "import ensurepip, pip, venv"], capture_output=True, check=False)
        if not works.returncode:
            return program
    raise NotRun(f"there is no Python {version}")


def _make_environment(patient: Here, by: str, python: str) -> None:
    if by == "pip":
        argv = [_python(python), "-m", "venv", str(patient.env)]
    else:
        argv = [str(UV), "venv", "-q", "--python", _python(python), str(patient.env)]
    subprocess.run(argv, check=True, timeout=120)


def _install(patient: Here, fetched: Path, *requirements: str) -> None:
    argv = [str(UV), "pip", "install", "-q", "--python", str(patient.python), "--no-index"]
    argv += ["--find-links", str(fetched), *requirements]
    subprocess.run(argv, env=patient.variables(), check=True, timeout=600)


def _copy_environment(source: Path, target: Path) -> None:
    """Libraries are linked: tools replace them and do not write into them."""

    def copy(file: str, to: str) -> None:
        if file.endswith(".so") or ".so." in file:
            try:
                os.link(file, to)
                return
            except OSError:  # another file system
                pass
        shutil.copy2(file, to)

    shutil.copytree(source, target, symlinks=True, copy_function=copy, ignore=shutil.ignore_patterns(".torchdoctor"))


def _lock(patient: Here, scenario: RealScenario, served: Path) -> None:
    """Make it a poetry project that has locked what is installed."""
    folder = f"fetched/{scenario.python}"
    if scenario.copied:  # of what stays installed, poetry needs the METADATA alone
        folder = "pair"
        for wheel in (served / "fetched" / scenario.python).glob("torchvision-*.whl"):
            (served / folder).mkdir(exist_ok=True)
            (served / folder / wheel.name).symlink_to(wheel)
        _wheels_of_metadata(patient.site, served / folder)
    dependencies = ", ".join(f'"{requirement}"' for requirement in scenario.requirements)
    text = PYPROJECT.format(python=scenario.python, dependencies=dependencies, url=patient.url, folder=folder)
    (patient.env.parent / "pyproject.toml").write_text(text)
    argv = [str(tool("poetry")), "lock", "-q", "--project", str(patient.env.parent)]
    subprocess.run(argv, env={**patient.variables(), "VIRTUAL_ENV": str(patient.env)}, check=True, timeout=600)


def _wheels_of_metadata(site: Path, folder: Path) -> None:
    for metadata in sorted(site.glob("*.dist-info/METADATA")):
        name, _, version = metadata.parent.name.removesuffix(".dist-info").rpartition("-")
        if name != "torchvision":
            said = metadata.read_text(encoding="utf-8", errors="replace")
            requires = [line.partition(": ")[2] for line in said.splitlines() if line.startswith("Requires-Dist: ")]
            wheels.wheel(folder, name, version, {}, requires=requires)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tool", default="pip,uv,poetry", metavar="NAME,…")
    parser.add_argument("--real", action="store_true", help="also published wheels")
    parser.add_argument("--wheels", type=Path, metavar="DIR", help="where the published wheels are kept")
    parser.add_argument("--pair-env", type=Path, metavar="DIR", help="an environment with torch 2.14.1 that imports")
    options = parser.parse_args()
    tools = options.tool.split(",")
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "torchdoctor" / "wheels"
    fetched = (options.wheels or cache).resolve()
    rows = []
    print("| tool | broken | wheels | found before | fix --run | after | after --undo |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for part in (stubs(tools), real(tools, fetched, options.pair_env) if options.real else ()):
        for row in part:
            rows.append(row)
            print(row, flush=True)
    passed, failed = (sum(row.passed is value for row in rows) for value in (True, False))
    print(f"\n{passed} cured and put back, {failed} failed, {len(rows) - passed - failed} not run.")
    if not options.real:
        print("Published wheels were not tried: --real.")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
