"""inside/collect.py, run by real interpreters over environments made of a few files."""

from __future__ import annotations

import ast
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from doctor.facts.interpreter import read_answer as answer_of
from doctor.fixes.tools import signs
from doctor.knowledge.interfaces import TORCH_IMPORTS

SCRIPT = Path(__file__).parents[2] / "doctor" / "inside" / "collect.py"
NONCE = "0123-nonce"
VERSIONS = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"


def run(python: str, cwd: Path, before: str = "", **environ: str) -> subprocess.CompletedProcess[str]:
    clean = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
    return subprocess.run(
        [python, "-B", "-", NONCE], cwd=cwd,
        input=f"SIGNS = {signs()!r}\n{before}\n{SCRIPT.read_text(encoding='ascii')}",
        env={**clean, **environ}, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip


def read_answer(stdout: str, nonce: str) -> dict[str, Any] | None:
    """What stands between the two nonces, as by hand."""
    parts = stdout.split(nonce)
    return json.loads(parts[1]) if len(parts) > 2 else None


def ask(cwd: Path, **environ: str) -> Mapping[str, Any]:
    answer = read_answer(run(sys.executable, cwd, **environ).stdout, NONCE)
    assert answer is not None
    return answer


def make_torch(site: Path, version: str = "2.6.0+cu124", *, files: bool = True, metadata: bool = True) -> None:
    """An installed torch of a few files, in a site-packages folder."""
    lines = ["torch/__init__.py,sha256=x,10", "torch/lib/libtorch.so,sha256=x,10", "torch/_C.so,sha256=x,10",
             "torch/nn/modules/conv.py,sha256=x,10", "torch/nn/__init__.py,sha256=x,0"]  # fmt: skip
    if files:
        for line in lines:
            file = site / line.split(",")[0]
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text("raise SystemExit('torch must not be imported')\n")
        (site / "torch/version.py").write_text(
            f"from typing import Optional\n\n__all__ = ['debug']\n__version__ = '{version}'\ndebug = False\n"
            "cuda: Optional[str] = '12.4'\ngit_version = 'abc'\nhip: Optional[str] = None\n"
        )
    if metadata:
        info = site / f"torch-{version}.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: torch\nVersion: {version}\nRequires-Dist: filelock\n"
            'Requires-Dist: triton==3.2.0; platform_system == "Linux"\n\nRequires-Dist: not-a-header\n'
        )
        (info / "RECORD").write_text("\n".join(lines) + "\n")
        (info / "INSTALLER").write_text("uv\n")
        (info / "WHEEL").write_text("Wheel-Version: 1.0\nTag: cp312-cp312-linux_x86_64\n")


@pytest.mark.parametrize("name", ["2.7", "3.6", "3.7", "3.8", "3.13"])
def test_old_and_new_interpreters(name: str, tmp_path: Path) -> None:
    python = next((p / "bin" / "python" for p in VERSIONS.glob(name + ".*")), None)
    if python is None:
        pytest.skip(f"no Python {name} here")
    done = run(str(python), tmp_path)
    answer = read_answer(done.stdout, NONCE)
    assert answer
    assert answer["version"].startswith(name)
    assert done.returncode == (79 if name == "2.7" else 0)
    assert ("torch" in answer) == (name != "2.7")


def test_valid_for_python_2_7_and_3_6() -> None:
    vermin = shutil.which("vermin", path=os.path.dirname(sys.executable)) or shutil.which("vermin")
    if vermin is None:
        pytest.skip("vermin is not installed")
    command = [vermin, "--no-tips", "-t=2.7-", "-t=3.6-", "--violations", str(SCRIPT)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout
    assert SCRIPT.read_bytes().isascii()


def test_torch_is_read_from_files(tmp_path: Path) -> None:
    site = tmp_path / "site-packages"
    make_torch(site)
    torch = ask(tmp_path, PYTHONPATH=str(site))["torch"]
    assert torch["version"] == "2.6.0+cu124"
    assert torch["version_file"] == {
        "__version__": "2.6.0+cu124", "cuda": "12.4", "hip": None, "git_version": "abc", "debug": False,
    }  # fmt: skip
    assert torch["path"] == str(site / "torch")
    assert torch["installer"] == "uv"
    assert torch["build"] == "cp312-cp312-linux_x86_64"
    assert torch["libraries"] == ["libtorch.so"]
    assert torch["requires"] == ["filelock", 'triton==3.2.0; platform_system == "Linux"']
    assert torch["missing_files"] == []
    assert torch["shadowed_by"] is None


def test_missing_and_emptied_files(tmp_path: Path) -> None:
    site = tmp_path / "site-packages"
    make_torch(site)
    (site / "torch/lib/libtorch.so").unlink()
    (site / "torch/_C.so").write_bytes(b"")
    assert ask(tmp_path, PYTHONPATH=str(site))["torch"]["missing_files"] == ["torch/lib/libtorch.so", "torch/_C.so"]


def test_metadata_without_files_and_files_without_metadata(tmp_path: Path) -> None:
    empty, bare = tmp_path / "a/site-packages", tmp_path / "b/site-packages"
    make_torch(empty, "2.5.0", files=False)
    make_torch(bare, "2.6.0", metadata=False)
    torch = ask(tmp_path, PYTHONPATH=os.pathsep.join((str(empty), str(bare))))["torch"]
    assert [(c["version"], c["has_files"], c["has_metadata"]) for c in torch["copies"]] == [
        ("2.5.0", False, True), ("2.6.0", True, False),
    ]  # fmt: skip
    assert torch["path"] == str(bare / "torch")


def test_two_torches_on_record_in_one_folder(tmp_path: Path) -> None:
    """The metadata of the files that are there count as theirs, whichever comes first."""
    site = tmp_path / "site-packages"
    make_torch(site, "2.13.0", files=False)
    make_torch(site, "2.6.0+cu124")
    (site / "torch-2.13.0.dist-info" / "INSTALLER").write_text("pip\n")
    torch = ask(tmp_path, PYTHONPATH=str(site))["torch"]
    assert [(c["version"], c["installer"], c["has_files"]) for c in torch["copies"]] == [
        ("2.6.0+cu124", "uv", True), ("2.13.0", "pip", False),
    ]  # fmt: skip
    assert (torch["version"], torch["installer"]) == ("2.6.0+cu124", "uv")


def test_leftovers(tmp_path: Path) -> None:
    site = tmp_path / "site-packages"
    for name in ("~orch", "~orch-2.0.0.dist-info", "torch", "torchvision"):
        (site / name).mkdir(parents=True)
    torch = ask(tmp_path, PYTHONPATH=str(site))["torch"]
    assert torch["leftovers"] == [str(site / name) for name in ("~orch", "~orch-2.0.0.dist-info", "torch")]
    assert torch["copies"] == []


@pytest.mark.parametrize("name", ["torch.py", "torch/__init__.py"])
def test_a_users_torch_in_the_working_folder(name: str, tmp_path: Path) -> None:
    site, cwd = tmp_path / "site-packages", tmp_path / "work"
    make_torch(site)
    file = cwd / name
    file.parent.mkdir(parents=True)
    file.write_text("raise SystemExit('must not be imported')\n")
    torch = ask(cwd, PYTHONPATH=str(site))["torch"]
    assert torch["shadowed_by"] == str(file)
    assert torch["version"] == "2.6.0+cu124"


def test_files_that_hide_the_standard_library_are_named_and_do_no_harm(tmp_path: Path) -> None:
    for name in ("json.py", "random.py", "re.py", "ordinary.py"):
        (tmp_path / name).write_text("raise SystemExit('must not be imported')\n")
    (tmp_path / "select").mkdir()  # a folder without __init__ hides nothing
    answer = ask(tmp_path)
    assert {module for module, _ in answer["shadowed"]} >= {"json", "random"}
    assert ["random", str(tmp_path / "random.py")] in answer["shadowed"]
    assert not {"ordinary", "select", "os", "sys"} & {module for module, _ in answer["shadowed"]}


def test_files_that_hide_what_torch_imports(tmp_path: Path) -> None:
    site, cwd = tmp_path / "site-packages", tmp_path / "work"
    (cwd / "numpy").mkdir(parents=True)
    (cwd / "numpy/__init__.py").write_text("raise SystemExit('must not be imported')\n")
    (cwd / "typing_extensions.py").write_text("raise SystemExit('must not be imported')\n")
    (cwd / "networkx").mkdir()  # a folder without __init__ hides nothing
    (cwd / "sympy").mkdir()
    (cwd / "sympy/__init__.py").touch()
    (cwd / "sympy-1.13.dist-info").mkdir()  # installed there
    (cwd / "sympy-1.13.dist-info/METADATA").write_text("Name: sympy\nVersion: 1.13\n")
    (site / "filelock").mkdir(parents=True)
    (site / "filelock/__init__.py").touch()
    answer = ask(cwd, PYTHONPATH=str(site))
    assert answer["shadowed_packages"] == [
        ["numpy", str(cwd / "numpy/__init__.py")], ["typing_extensions", str(cwd / "typing_extensions.py")],
    ]  # fmt: skip


def test_it_knows_the_packages_that_the_tables_know() -> None:
    """It may import nothing of ours."""
    source = SCRIPT.read_text(encoding="utf-8")
    told = re.search(r"^TORCH_IMPORTS = (\(.*?^\))", source, re.M | re.S)
    assert told is not None
    assert ast.literal_eval(told[1]) == TORCH_IMPORTS


def test_prints_of_sitecustomize_do_not_matter(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("print('hello', end='')\n")
    assert ask(tmp_path, PYTHONPATH=str(tmp_path))["version"] == ".".join(map(str, sys.version_info[:3]))


def test_packages_and_their_copies(tmp_path: Path) -> None:
    one, two = tmp_path / "a/site-packages", tmp_path / "b/site-packages"
    for site, name in (
        (one, "numpy-1.26.4"),
        (two, "numpy-2.1.0"),
        (one, "nvidia_cudnn_cu12-9.1.0.70"),
        (one, "requests-2.0"),
    ):
        (site / f"{name}.dist-info").mkdir(parents=True)
        (site / f"{name}.dist-info" / "METADATA").write_text("Name: x\nRequires-Dist: torch>=2; extra == 'all'\n")
    said = {p["name"]: p for p in ask(tmp_path, PYTHONPATH=os.pathsep.join((str(one), str(two))))["packages"]}
    of_our_own = importlib.util.find_spec("numpy") is not None
    assert (said["numpy"]["version"], said["numpy"]["copies"]) == ("1.26.4", 2 + of_our_own)
    assert said["nvidia-cudnn-cu12"]["version"] == "9.1.0.70"
    assert "requests" not in said


def test_a_companions_build_stands_in_its_code(tmp_path: Path) -> None:
    """The package index has them without the local part of the version."""
    site = tmp_path / "site-packages"
    for name, version, told in (("torchvision", "0.28.0", "0.28.0+cu130"), ("torchaudio", "2.8.0", "2.7.0+cu126")):
        (site / name).mkdir(parents=True)
        (site / name / "version.py").write_text(f"__version__ = '{told}'\ncuda = ask()\n")
        (site / f"{name}-{version}.dist-info").mkdir()
        (site / f"{name}-{version}.dist-info" / "METADATA").write_text("Name: x\n")
    said = {p["name"]: p["version"] for p in ask(tmp_path, PYTHONPATH=str(site))["packages"]}
    assert (said["torchvision"], said["torchaudio"]) == ("0.28.0+cu130", "2.8.0")


def test_an_undecodable_path_survives(tmp_path: Path) -> None:
    assert answer_of(json.dumps({"sys_path": ["\udcff"], "torch": None})).answer.sys_path == ("?",)


def test_environments_by_their_marks(tmp_path: Path) -> None:
    """uv and venv, by making one with the standard library and then marking it."""
    venv = tmp_path / ".venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(venv)], check=True, timeout=60)
    python = str(venv / "bin" / "python") if os.name != "nt" else str(venv / "Scripts" / "python.exe")

    def kind() -> tuple[Any, ...]:
        answer = read_answer(run(python, tmp_path).stdout, NONCE)
        assert answer
        return answer["environment"], answer["manager"], answer["pip"]

    assert kind() == ("venv", "pip", None)
    config = venv / "pyvenv.cfg"
    config.write_text(config.read_text() + "uv = 0.5.1\n")
    assert kind() == ("venv", "uv", None)
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "poetry.lock").touch()
    assert kind() == ("venv", "poetry", None)
    (venv / "pipx_metadata.json").touch()
    assert kind() == ("pipx", "pipx", None)
    (venv / "uv-receipt.toml").write_text('[tool]\nrequirements = [{ name = "app" }]\n')
    assert kind() == ("uv-tool", "uv", None)
    answer = read_answer(run(python, tmp_path).stdout, NONCE)
    assert answer
    assert answer["receipt"] == ["app"]


def test_each_sign_of_each_tool(tmp_path: Path) -> None:
    """The environment and its project, as a tool's file in doctor/fixes/tools declares them."""
    wrong = []
    for number, sign in enumerate(signs()):
        place = tmp_path / str(number)
        part = str(sign["part"]).strip("/")
        prefix = place / "work" / (f"{part}/env" if part else ".pixi/envs/default" if sign["above"] else ".venv")
        prefix.mkdir(parents=True)
        if sign["of_conda"]:
            (prefix / "conda-meta").mkdir()
        else:
            (prefix / "pyvenv.cfg").write_text(f"home = /usr/bin\n{sign['key'] or 'x'} = 1\n")
        folder = place / "work" if sign["above"] else prefix.parent
        made = [prefix / str(sign["file"])] if sign["file"] else []
        made += [folder / str(sign[name]) for name in ("lock", "needs") if sign[name]]
        project = folder / sign["project"][0] if sign["project"] else None  # type: ignore[index]
        for file in (*made, *([project] if project else [])):
            file.touch()
        if sign["points"]:
            (prefix / str(sign["file"])).write_text(f"{folder}\n")
        answer = read_answer(
            run(sys.executable, place, before=f"import sys; sys.prefix = {str(prefix)!r}").stdout, NONCE
        )
        assert answer
        said = (answer["environment"], answer["manager"], answer["project"])
        if said != (sign["kind"], sign["manager"], str(project) if project else None):
            wrong.append((sign, said))
    assert wrong == []


@pytest.mark.parametrize(
    ("history", "tool"),
    [
        ("==> 2026-01-01 <==\n# cmd: /opt/conda/bin/conda create -n x\n# conda version: 25.1.0\n", "conda"),
        ("# cmd: micromamba create -y -p x\n# cmd: micromamba install torch\n", "micromamba"),
        ("# cmd: C:\\miniforge\\Library\\bin\\mamba.exe create -n x\r\n", "mamba"),
        ("# cmd: /opt/conda/bin/conda create -n x\n# cmd: /opt/conda/bin/mamba install numpy\n", "mamba"),
        ("# cmd: micromamba create\n# cmd: /opt/installer.py install\n# cmd:\n", "micromamba"),
        (None, "conda"),
    ],
)
def test_the_tool_of_a_conda_environment_by_its_history(tmp_path: Path, history: str | None, tool: str) -> None:
    (tmp_path / "conda-meta").mkdir()
    if history:
        (tmp_path / "conda-meta" / "history").write_bytes(history.encode())
    answer = read_answer(
        run(sys.executable, tmp_path, before=f"import sys; sys.prefix = {str(tmp_path)!r}").stdout, NONCE
    )
    assert answer
    assert (answer["environment"], answer["manager"]) == ("conda", tool)


RECEIPT = """[tool]
requirements = [
    {{ name = "demo-app", extras = ["x", "y"], specifier = "==1.0" }},
    {{ name = "rich" }},
    {more}
]
{key}
entrypoints = [
    {{ name = "demo-app", install-path = "/home/u/.local/bin/demo-app", from = "demo-app" }},
]

[tool.options]
{option}
"""
WORDS = ["demo-app[x,y]==1.0", "--with", "rich"]
INDEXES = """index = [{ url = "https://a/s", explicit = false, default = true, authenticate = "auto" }, \
{ url = "https://b/s", explicit = false, default = false }, { url = "https://b/s", default = false }]"""


@pytest.mark.parametrize(
    ("more", "key", "option", "words"),
    [
        ("", "", "", WORDS),
        ("", 'python = "3.12"', "", [WORDS[0], "--python", "3.12", *WORDS[1:]]),
        ("", "python = 'C:\\py\\python.exe'", "", [WORDS[0], "--python", "C:\\py\\python.exe", *WORDS[1:]]),
        ('{ name = "z", specifier = ">=1,<2" },', "", "", [*WORDS, "--with", "z>=1,<2"]),
        ("", "", INDEXES, [*WORDS, "--default-index", "https://a/s", "--index", "https://b/s"]),
        ("", "", 'torch-backend = "cu126"', [*WORDS, "--torch-backend", "cu126"]),
        ("", "constraints = []", "", WORDS),
        ("", 'constraints = [{ name = "a", specifier = "<2" }]', "", None),
        ('{ name = "g", git = "https://h/g?rev=1" },', "", "", None),
        ("", "", 'prerelease = "allow"', None),
        ("", "", 'index = [{ url = "https://u@a/s", default = false }]', None),
        ("", "", 'index = [{ url = "https://a/s", explicit = true }]', None),
    ],
)
def test_the_receipt_of_a_tool(tmp_path: Path, more: str, key: str, option: str, words: list[str] | None) -> None:
    assert _receipt_of(tmp_path, RECEIPT.format(more=more, key=key, option=option)) == words


@pytest.mark.parametrize("text", ["", "[tool]\n", "[tool", 'requirements = [{ name = "a', "\x00", "[[a]]\nb = [\n"])
def test_a_receipt_that_says_nothing(tmp_path: Path, text: str) -> None:
    assert _receipt_of(tmp_path, text) is None


def _receipt_of(tmp_path: Path, text: str) -> Any:
    """What collect.py reads from it, asked of its function: the script as a whole exits where it is imported."""
    (tmp_path / "uv-receipt.toml").write_text(text)
    source = SCRIPT.read_text(encoding="ascii")
    start, end = source.index("STRING = "), source.index("def translated()")
    scope: dict[str, Any] = {
        "re": re, "json": json, "os": os, "read": lambda path, limit: Path(path).read_text(encoding="utf-8"),
    }  # fmt: skip
    exec(source[start:end], scope)
    return scope["receipt"](str(tmp_path))
