from dataclasses import replace

from doctor.model.facts import ABSENT, DamagedFile
from tests.example_case import Case
from tests.examples import linux, with_torch


def without_pip(manager: str):
    facts = replace(linux(), torch=ABSENT)
    return replace(facts, interpreter=replace(facts.interpreter, pip=ABSENT, manager=manager))


def with_damaged_pip(torch=ABSENT):
    file = DamagedFile(distribution="pip", version="24.0", file="pip/_internal/cli/__init__.py", what="missing")
    return replace(linux(), torch=torch, damaged=(file,))


BAD = {
    "half of it is gone": Case(with_damaged_pip(), severity="warning"),
    "no module": "$ python3 -m pip install torch\n/usr/bin/python3: No module named pip\n",
    "no ensurepip": "The virtual environment was not created successfully because ensurepip is not available.  On Debian/Ubuntu "
    "systems, you need to install the python3-venv package\n",
    "a venv without it": Case(without_pip("pip"), severity="warning"),
}
GOOD = {
    "pip is there": replace(linux(), torch=ABSENT),
    "uv makes environments without it": without_pip("uv"),
    "torch is there": with_torch(without_pip("pip"), "2.6.0+cpu"),
}
BAD["PowerShell knows no pip"] = """\
PS C:/ml> pip install torch
pip : The term 'pip' is not recognized as the name of a cmdlet, function, script file, or operable program.
"""
BAD["ensurepip fails in a new environment"] = """\
Error: Command '['/home/u/venv/bin/python3', '-m', 'ensurepip', '--upgrade', '--default-pip']' returned non-zero exit status 1.
"""
