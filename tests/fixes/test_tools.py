"""The words of each tool for the same order."""

from __future__ import annotations

from dataclasses import replace

import pytest

from doctor.fixes.plan import plan, script
from doctor.fixes.quoting import comment
from doctor.fixes.situation import situation_of
from doctor.fixes.torch import fix_of_build
from doctor.knowledge.choose import choose
from doctor.model.facts import ABSENT, Facts, Package, TorchCopy
from doctor.model.fix import Plan
from tests.examples import linux, with_amd, with_nvidia, with_packages, with_torch
from tests.fixes.situations import finding

PY = "/home/u/ml/.venv/bin/python"
WHL = "https://download.pytorch.org/whl/"


def lines(
    facts: Facts, tool: str | None = None, remedy: object = "reinstall-torch", id: str = "torch-cpu-only"
) -> list[str]:
    return script(plan([finding(id, remedy)], facts, tool)).splitlines()  # type: ignore[arg-type]


def old_card() -> Facts:
    """A GTX 1080: cu126 has an index of its own that uv knows."""
    facts = with_torch(with_nvidia(linux(), "NVIDIA GeForce GTX 1080", driver="580.95.05"), "2.14.1+cpu")
    return with_packages(facts, torchvision="0.29.1")


EXPECTED = {
    "pip": [
        f"{PY} -m pip uninstall -y torch torchvision",
        f"{PY} -m pip install torch==2.14.1 torchvision==0.29.1 --index-url {WHL}cu126",
    ],
    "uv": [
        f"uv pip install --python {PY} --reinstall-package torch --reinstall-package torchvision "
        "torch==2.14.1 torchvision==0.29.1 --torch-backend=cu126",
    ],
    "conda": ["conda install -c conda-forge pytorch-gpu cuda-version=12.9 torchvision"],
    "micromamba": ["micromamba install -c conda-forge pytorch-gpu cuda-version=12.9 torchvision"],
    "mamba": ["mamba install -c conda-forge pytorch-gpu cuda-version=12.9 torchvision"],
    "pixi": [
        *comment(
            'Let the workspace count on a driver with CUDA. Write into pixi.toml:\n[system-requirements]\ncuda = "12"'
        ),
        "pixi add pytorch-gpu cuda-version=12.9 torchvision",
    ],
    "poetry": [
        f"poetry source add --priority=explicit pytorch-cu126 {WHL}cu126",
        "poetry add torch==2.14.1 torchvision==0.29.1 --source pytorch-cu126",
    ],
    "pdm": [
        *comment(
            "Name the index of that build «pytorch» in pyproject.toml. Write into pyproject.toml:\n"
            f'[[tool.pdm.source]]\nname = "pytorch"\nurl = "{WHL}cu126"\n'
            'include_packages = ["torch", "torchvision"]'
        ),
        f"{PY} -m pip uninstall -y torch torchvision",
        "pdm add torch==2.14.1 torchvision==0.29.1",
    ],
    "hatch": [
        *comment(
            "Name the index of that build in pyproject.toml. Write into pyproject.toml:\n"
            '[tool.hatch.envs.default]\ndependencies = ["torch<=2.14.1", "torchvision<=0.29.1"]\n\n'
            f'[tool.hatch.envs.default.env-vars]\nPIP_EXTRA_INDEX_URL = "{WHL}cu126"'
        ),
        f"{PY} -m pip uninstall -y torch torchvision",
        f"{PY} -m pip install torch==2.14.1 torchvision==0.29.1 --index-url {WHL}cu126",
    ],
    "pipenv": [f"pipenv install torch==2.14.1 torchvision==0.29.1 --index {WHL}cu126"],
}


EXPECTED["pipx"] = [
    "# Remove torch torchvision: pipx runpip APP uninstall -y torch torchvision "
    "where APP is the name that pipx list shows",
    "# Install torch==2.14.1 torchvision==0.29.1: pipx inject APP torch==2.14.1 torchvision==0.29.1 "
    f"--index-url {WHL}cu126 where APP is the name that pipx list shows",
]


@pytest.mark.parametrize("tool", EXPECTED)
def test_the_same_build_in_every_tool(tool: str) -> None:
    assert lines(old_card(), tool) == EXPECTED[tool]


def test_uv_gets_the_index_itself_where_it_does_not_know_the_backend() -> None:
    facts = with_torch(with_amd(linux(), "AMD Radeon 8060S"), "2.14.1+cpu")
    assert lines(facts, "uv")[-1].endswith(f"torch==2.14.1 --index {WHL}rocm7.14")


def test_in_a_uv_project_the_project_gets_it() -> None:
    """What is only installed would be undone by the next `uv sync`."""
    facts = old_card()
    interpreter = replace(facts.interpreter, manager="uv", project="/home/u/ml/pyproject.toml")
    assert lines(replace(facts, interpreter=interpreter)) == [
        "uv add --project /home/u/ml --upgrade-package torch --upgrade-package torchvision "
        "--reinstall-package torch --reinstall-package torchvision "
        f"torch==2.14.1 torchvision==0.29.1 --index pytorch-cu126={WHL}cu126"
    ]


@pytest.mark.parametrize(
    ("manager", "file", "line"),
    [
        ("uv", "pyproject.toml", "uv sync --project /home/u/ml --inexact"),
        ("poetry", "pyproject.toml", "poetry --directory /home/u/ml install"),
        ("pdm", "pyproject.toml", "pdm install --project /home/u/ml"),
        ("pixi", "pixi.toml", "pixi install --manifest-path /home/u/ml/pixi.toml"),
        ("pipenv", "Pipfile", "pipenv install"),
    ],
)
def test_a_project_that_asks_for_torch_is_installed_as_it_says(manager: str, file: str, line: str) -> None:
    facts = replace(linux(), torch=ABSENT)
    project = f"/home/u/ml/{file}"
    own = replace(facts.interpreter, manager=manager, project=project, prefix="/home/u/ml/.venv")
    asks = replace(facts, interpreter=replace(own, project_has_torch=True))
    (fix,) = plan([finding("torch-missing", "install-torch")], asks).fixes
    assert script(Plan(fixes=(fix,))).splitlines() == [line]
    assert [other.action for other in fix.alternatives] == ["install-torch"], "the build that serves best"
    for other in (replace(own, project_has_torch=False), own):
        assert line not in lines(replace(facts, interpreter=other), None, "install-torch", "torch-missing")
    assert line not in lines(asks, "pip", "install-torch", "torch-missing"), "the user wants pip's"


def test_uv_sync_means_the_projects_own_environment() -> None:
    facts = replace(linux(), torch=ABSENT)
    interpreter = replace(facts.interpreter, manager="uv", project="/home/u/ml/pyproject.toml", project_has_torch=True)
    elsewhere = replace(facts, interpreter=replace(interpreter, prefix="/home/u/ml/venv310"))
    assert not any("sync" in line for line in lines(elsewhere, None, "install-torch", "torch-missing"))


def new_card(torch: str) -> Facts:
    """An RTX 4090, which the default build serves."""
    return with_torch(with_nvidia(linux(), "NVIDIA GeForce RTX 4090", driver="580.95.05"), torch)


@pytest.mark.parametrize("tool", ["poetry", "pdm"])
def test_a_project_that_looks_at_an_index_of_cpu_builds_gets_the_index_of_the_default_build(tool: str) -> None:
    """Its source stays in its file, and would give the CPU build again."""
    assert any(f"{WHL}cu130" in line for line in lines(new_card("2.14.1+cpu"), tool))
    broken = lines(new_card("2.14.1+cu130"), tool, id="torch-install-broken")
    assert not any(WHL in line for line in broken), "the default build's own"


def test_so_does_a_uv_project() -> None:
    facts = new_card("2.14.1+cpu")
    interpreter = replace(facts.interpreter, manager="uv", project="/home/u/ml/pyproject.toml")
    assert lines(replace(facts, interpreter=interpreter))[0].endswith(f"--index pytorch-cu130={WHL}cu130")


def test_poetry_removes_a_build_only_where_its_lock_file_names_the_same_one() -> None:
    broken = lines(with_packages(new_card("2.14.1+cu130")), "poetry", id="torch-install-broken")
    assert broken[0] == f"{PY} -m pip uninstall -y torch"
    assert not any("uninstall" in line for line in lines(new_card("2.14.1+cpu"), "poetry"))


def test_pip_removes_a_package_as_often_as_it_is_on_record_in_a_folder() -> None:
    facts = with_torch(linux(), "2.14.1+cpu")
    facts = replace(facts, packages=(Package(name="numpy", version="2.4.6", copies=2, beside=1),))
    remedy = ("reinstall-package", {"package": "numpy", "spec": "==2.4.6"})
    said = lines(facts, "pip", remedy, id="dependency-broken")
    assert said == [f"{PY} -m pip uninstall -y numpy"] * 2 + [f"{PY} -m pip install numpy==2.4.6"]


def test_pip_removes_each_torch_that_is_on_record_in_a_folder() -> None:
    """A call of `pip uninstall` removes one; uv removes all."""
    site = "/home/u/ml/.venv/lib/python3.12/site-packages"
    copies = tuple(
        TorchCopy(path=site, version=v, installer="pip", has_files=v == "2.14.1") for v in ("2.14.1", "2.6.0", "2.5.0")
    )
    facts = new_card("2.14.1+cu130")
    assert facts.torch
    twice = replace(facts, torch=replace(facts.torch, copies=copies))
    removals = [line for line in lines(twice, "pip", id="torch-duplicate-install") if "uninstall" in line]
    assert removals == [f"{PY} -m pip uninstall -y torch"] * 3
    assert not any("uninstall" in line for line in lines(twice, "uv", id="torch-duplicate-install"))


@pytest.mark.parametrize("tool", ["poetry", "pdm"])
def test_a_broken_build_goes_first_even_where_there_is_no_pip_and_the_project_does_not_name_it(tool: str) -> None:
    facts = new_card("2.14.1+cu130")
    bare = replace(facts, interpreter=replace(facts.interpreter, pip=ABSENT))
    assert lines(bare, tool, id="torch-install-broken") == [
        f"{PY} -m ensurepip --upgrade", f"{PY} -m pip uninstall -y torch", f"{tool} add torch==2.14.1",
    ]  # fmt: skip


def test_poetry_finds_what_a_rocm_build_needs_besides() -> None:
    facts = with_torch(with_amd(linux(), "AMD Instinct MI300X"), "2.14.1+cpu")
    assert lines(facts, "poetry")[0].startswith("poetry source add --priority=supplemental pytorch-rocm")


def test_conda_cannot_give_an_exact_version() -> None:
    """conda-forge's versions are not in the tables: what wants one gets it by pip, in that environment."""
    made = lines(old_card(), "conda", ("reinstall-torch", {"torch": "==2.6.*"}))
    assert made[-1] == f"{PY} -m pip install torch==2.6.0 torchvision==0.21.0"


def test_conda_names_the_environment_only_where_it_is_one_of_its_own() -> None:
    facts = old_card()
    for kind, named in (("venv", False), ("conda", True), ("conda-base", True), (None, True)):
        interpreter = replace(facts.interpreter, environment=kind, prefix="/e")
        assert ("-p /e" in lines(replace(facts, interpreter=interpreter), "conda")[-1]) is named


def test_conda_is_told_of_a_driver_where_an_image_is_built() -> None:
    build = choose(linux(), backend="cu126").best
    assert build
    made = script(Plan(fixes=(fix_of_build(situation_of(linux(), "conda"), "install", "install-torch", build),)))
    assert made.splitlines()[-2:] == [
        "export CONDA_OVERRIDE_CUDA=12.9",
        "conda install -c conda-forge pytorch-gpu cuda-version=12.9",
    ]
    assert "OVERRIDE" not in " ".join(lines(new_card("2.14.1+cpu"), "conda"))


def test_rocm_in_a_conda_environment_comes_by_pip_after_conda_let_go() -> None:
    facts = with_torch(with_amd(linux(), "AMD Instinct MI100"), "2.14.1", installer="conda")
    interpreter = replace(facts.interpreter, manager="conda", environment="conda", prefix="/opt/conda/envs/ml")
    made = lines(replace(facts, interpreter=interpreter))
    assert made[0] == "conda remove -p /opt/conda/envs/ml pytorch"
    assert "rocm7" in made[-1]


@pytest.mark.parametrize(
    ("environment", "manager", "installer", "tool"),
    [
        ("venv", "pip", "pip", "pip"),
        ("venv", "uv", "uv", "uv"),
        ("venv", None, None, "pip"),
        ("conda", "conda", "conda", "conda"),
        ("conda", "conda", "pip", "pip"),
        ("conda", "conda", None, "conda"),
        ("conda-base", "mamba", "conda", "mamba"),
        ("conda", "micromamba", None, "micromamba"),
        ("pixi", "pixi", "uv", "pixi"),
        ("venv", "poetry", "pip", "poetry"),
        ("uv-tool", None, None, "uv"),
        ("pipx", "pipx", "pip", "pipx"),
        ("system", "spack", "pip", "pip"),
    ],
)
def test_the_tool_is_that_of_the_environment(
    environment: str, manager: str | None, installer: str | None, tool: str
) -> None:
    facts = linux()
    facts = replace(facts, interpreter=replace(facts.interpreter, environment=environment, manager=manager))
    facts = with_torch(facts, "2.6.0", installer=installer) if installer else replace(facts, torch=ABSENT)
    assert situation_of(facts).tool == tool
    assert situation_of(facts, "pixi").tool == "pixi"


def test_a_companion_comes_from_the_index_of_its_torch() -> None:
    facts = with_packages(with_torch(linux(), "2.6.0+cu118"), torchvision="0.20.0")
    made = lines(facts, None, ("reinstall-package", {"package": "torchvision"}))
    assert made[-1] == f"{PY} -m pip install torchvision==0.21.0 --index-url {WHL}cu118"


def of_application(facts: Facts, environment: str, **interpreter: object) -> Facts:
    """The machine with the environment of an application, which pipx or uv made."""
    manager = {"pipx": "pipx", "uv-tool": "uv"}[environment]
    place = {"prefix": "/home/u/apps/my-app", "executable": "/home/u/apps/my-app/bin/python"}
    changes = {"environment": environment, "manager": manager, **place, **interpreter}
    return replace(facts, interpreter=replace(facts.interpreter, **changes))  # type: ignore[arg-type]


def test_pipx_is_told_so_that_it_remembers() -> None:
    assert lines(of_application(old_card(), "pipx", pip="25.0")) == [
        "pipx runpip my-app uninstall -y torch torchvision",
        f"pipx inject my-app torch==2.14.1 torchvision==0.29.1 --index-url {WHL}cu126",
    ]
    newer = with_torch(of_application(old_card(), "pipx", pip="25.0"), "2.13.0+cpu")
    assert lines(newer)[0] == "pipx runpip my-app uninstall -y torch torchvision", "inject leaves any version as it is"


def test_pipx_with_uv_behind_it() -> None:
    made = lines(of_application(old_card(), "pipx", pip=ABSENT))
    assert made[-1] == f"pipx inject my-app torch==2.14.1 torchvision==0.29.1 '--pip-args=--index {WHL}cu126'"


def test_a_package_is_removed_by_pipx() -> None:
    facts = with_packages(of_application(old_card(), "pipx"), bitsandbytes="0.40")
    assert lines(facts, None, ("remove-package", {"package": "bitsandbytes"})) == [
        "pipx runpip my-app uninstall -y bitsandbytes"
    ]


BASE = "/usr/lib/py"


@pytest.mark.parametrize(
    ("receipt", "words"),
    [
        (("app==1.0",), f"app==1.0 --python {BASE}/bin/python3.12 {{with}}"),
        (("app[x]", "--python", "3.12"), "'app[x]' --python 3.12 {with}"),
        (
            ("app", "--with", "torch==2.0", "--with", "rich>=9", "--torch-backend", "cu118"),
            f"app --with 'rich>=9' --python {BASE}/bin/python3.12 {{with}}",
        ),
        (("app", "--index", "https://a.b"), f"app --index https://a.b --python {BASE}/bin/python3.12 {{with}}"),
    ],
)  # fmt: skip
def test_a_tool_of_uv_is_installed_again_as_it_was(receipt: tuple[str, ...], words: str) -> None:
    facts = of_application(old_card(), "uv-tool", receipt=receipt, base_prefix=BASE, version="3.12.4")
    wanted = "--with torch==2.14.1 --with torchvision==0.29.1 --torch-backend=cu126"
    fresh = " --reinstall-package torch --reinstall-package torchvision"
    assert lines(facts) == ["uv tool install " + words.replace("{with}", wanted) + fresh]


def test_a_tool_of_uv_with_an_index_of_its_own_right() -> None:
    facts = with_torch(with_amd(linux(), "AMD Radeon 8060S"), "2.14.1+cpu")
    made = lines(of_application(facts, "uv-tool", receipt=("app", "--index-strategy", "first-index"), base_prefix=BASE))
    assert f"--index {WHL}rocm7.14 --index-strategy unsafe-best-match" in made[-1]
    assert "first-index" not in made[-1]


@pytest.mark.parametrize("receipt", [None, ("torch==2.14.1",)], ids=["unreadable", "torch itself"])
def test_a_tool_of_uv_that_cannot_be_said_again(receipt: tuple[str, ...] | None) -> None:
    facts = of_application(old_card(), "uv-tool", receipt=receipt)
    (fix,) = plan([finding("torch-cpu-only", "reinstall-torch")], facts).fixes
    assert fix.steps[0].argv is not None
    assert fix.steps[0].argv[:4] == ("uv", "pip", "install", "--python")
    assert fix.steps[0].text.endswith("(until «uv tool» installs its tool anew)")


@pytest.mark.parametrize(
    ("environment", "line"),
    [
        ("pipx", "pipx reinstall --python python3.12 my-app"),
        ("uv-tool", "uv tool upgrade --python 3.12 my-app"),
    ],
)
def test_an_application_gets_another_python_in_its_own_environment(environment: str, line: str) -> None:
    facts = of_application(old_card(), environment, version="3.7.1")
    (fix,) = plan([finding("python-unsupported", ("replace-interpreter", {"python": "3.12"}))], facts).fixes
    assert [(step.argv, step.shell) for step in fix.steps] == [(None, line)], "left to the user"


@pytest.mark.parametrize(
    ("prefix", "project", "table"),
    [
        ("/home/u/.local/share/hatch/env/virtual/demo/jGLQC8Bt/demo", "/p/pyproject.toml", "tool.hatch.envs.default"),
        ("/home/u/.local/share/hatch/env/virtual/demo/jGLQC8Bt/gpu", "/p/pyproject.toml", "tool.hatch.envs.gpu"),
        ("/home/u/.local/share/hatch/env/virtual/demo/jGLQC8Bt/gpu", "/p/hatch.toml", "envs.gpu"),
        ("/home/u/my_demo/.hatch/my-demo", "/home/u/my_demo/pyproject.toml", "tool.hatch.envs.default"),
        ("/home/u/demo/.hatch/gpu", "/home/u/demo/pyproject.toml", None),  # or a project called gpu in another folder
        ("/home/u/demo/hatch/env/virtual/gpu", None, None),
        (None, None, "tool.hatch.envs.default"),
    ],
)
def test_which_environment_of_hatch_it_is(prefix: str | None, project: str | None, table: str | None) -> None:
    facts = old_card()
    interpreter = replace(facts.interpreter, prefix=prefix, project=project, manager="hatch")
    made = plan([finding("torch-cpu-only", "reinstall-torch")], replace(facts, interpreter=interpreter))
    step = made.fixes[0].steps[0]
    if table is None:
        assert "in the table of this environment («hatch env show» lists them): dependencies = [" in step.text
        return
    assert step.edit is not None
    assert (step.edit.file, step.edit.toml.splitlines()[0]) == (project or "pyproject.toml", f"[{table}]")
