"""Every command that `install` prints parses in its tool: in pip's own parser, in uv itself (which is kept from the
network), and in the grammar of those that are not here."""

from __future__ import annotations

import argparse
import itertools
import random
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

from doctor.cli.install import advise
from doctor.fixes.plan import script
from doctor.knowledge.load import table
from doctor.model.facts import ABSENT, Facts
from doctor.model.fix import Plan
from tests.knowledge.machines import MACHINES, NOTHING
from tests.knowledge.random_machines import MAKERS

TOOLS = ("pip", "uv", "conda", "mamba", "pixi", "poetry", "pdm")
REVIEWED = [facts for facts, *_ in (*NOTHING.values(), *MACHINES.values())]
NUMBERS = re.compile(r"\d+(\.\d+)+|cu\d+|gfx\w+")


def machines(tool: str) -> Iterator[Facts]:
    """All reviewed machines and some random ones for the tools that most use, every third for the others."""
    if tool not in ("pip", "uv"):
        yield from REVIEWED[::3]
        return
    yield from REVIEWED
    chance = random.Random(11)
    for _ in range(20):
        yield chance.choice(MAKERS)(chance)[0]


@pytest.fixture(scope="module", params=TOOLS)
def commands(request: pytest.FixtureRequest) -> list[tuple[str, ...]]:
    found = {}
    for facts in machines(request.param):
        facts = replace(facts, torch=ABSENT)
        fix, _ = advise(facts, spec=None, backend=None, companions=("torchvision",), tool=request.param)
        windows = facts.host.system == "windows"
        for line in script(Plan(fixes=(fix,)), windows=windows).splitlines() if fix else ():
            if line and not line.startswith("#"):
                found[tuple(line.replace('"', "").split() if windows else shlex.split(line))] = None
    return list(found)


def parser(*options: str, values: Callable[[str], object], count: str = "+") -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(exit_on_error=False, allow_abbrev=False)
    for option in options:
        made.add_argument(*option.split("|"), action="append")
    made.add_argument("values", nargs=count, type=values)
    return made


def match_spec(text: str) -> str:
    """What conda and pixi call a MatchSpec."""
    assert re.fullmatch(r"[a-z0-9-]+(=\d+(\.\d+)*)?", text), text
    return text


def address_or_name(text: str) -> str:
    assert re.fullmatch(r"pytorch-[a-z0-9.]+|https://[a-z0-9.-]+/[\w./-]+", text), text
    return text


def new_environment(text: str) -> str:
    assert re.fullmatch(r"(\./)?\.venv(-\d\.\d+)?(/bin/activate)?", text), text
    return text


def python_request(text: str) -> str:
    assert re.fullmatch(r"(\.venv-)?\d\.\d+|cpython-\d\.\d+-macos-aarch64-none", text), text
    return text


OF_THE_SYSTEM = [command.split() for row in table("system_packages")["drivers"] for command in row["commands"]]
GRAMMAR = {
    ("conda", "install"): parser("-c", "-p", values=match_spec),
    ("conda", "create"): parser("--platform", "-c", "-p", values=match_spec),
    ("conda", "activate"): parser(values=new_environment),
    (".",): parser(values=new_environment),
    ("pixi", "install"): parser(values=str, count="*"),
    ("pixi", "add"): parser(values=match_spec),
    ("poetry", "add"): parser("--source", values=Requirement),
    ("poetry", "source", "add"): parser("--priority", values=address_or_name),
    ("pdm", "add"): parser(values=Requirement),
    ("uv", "venv"): parser("--python", values=python_request),
    ("uv", "pip", "install"): parser("--python", "--torch-backend", "--index", values=Requirement),
}


def test_each_parses_in_its_tool(commands: list[tuple[str, ...]]) -> None:
    from pip._internal.commands import create_command

    assert commands
    for words in commands:
        if words[0] == "export":
            name, _, value = words[1].partition("=")
            assert name == "HSA_OVERRIDE_GFX_VERSION"
            assert Version(value).release
        elif words[0].endswith("Activate.ps1"):
            assert new_environment(words[0].replace("Scripts\\Activate.ps1", "bin/activate").replace("\\", "/"))
        elif words[0] == "sudo":  # a driver of the distribution, which the tables have
            assert list(words[1:]) in OF_THE_SYSTEM
        elif words[0].endswith("Activate.ps1"):
            assert re.fullmatch(r"(\.\\)?\.venv(-\d\.\d+)?\\Scripts\\Activate\.ps1", words[0])
        elif words[1:3] == ("-m", "pip"):
            options, requirements = create_command(words[3]).parse_args(list(words[4:]))
            assert options.index_url.startswith("https://")
            assert [Requirement(text) for text in requirements]
        else:
            named = ("conda" if words[0] == "mamba" else words[0], *words[1:])
            rule = next(rule for rule in GRAMMAR if named[: len(rule)] == rule)
            GRAMMAR[rule].parse_args(list(named[len(rule) :]))


@pytest.mark.slow
@pytest.mark.parametrize("commands", ["uv"], indirect=True)
def test_uv_takes_each_form(commands: list[tuple[str, ...]], tmp_path: Path) -> None:
    """One of each form, without the network: it may find no wheels, but never a word that it does not know."""
    uv = shutil.which("uv", path=str(Path(sys.executable).parent)) or shutil.which("uv")
    if uv is None:
        pytest.skip("there is no uv")
    forms = {NUMBERS.sub("0", " ".join(words)): words for words in commands if words[:3] == ("uv", "pip", "install")}
    assert len(forms) >= 4
    for words in forms.values():
        own = [sys.executable if before == "--python" else word for before, word in itertools.pairwise(words)]
        argv = [uv, *own, "--dry-run", "--offline", "--no-cache"]
        done = subprocess.run(argv, capture_output=True, text=True, cwd=tmp_path, check=False, timeout=30)
        assert not re.search("Usage:|invalid value", done.stderr), done.stderr
