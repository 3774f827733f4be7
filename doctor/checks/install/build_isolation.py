"""An extension can't see torch while it is being built.

What it means
    pip and uv build a package from source in a throw-away environment that holds only what the package declares.
    Extensions that import torch in setup.py without declaring it fail there with «No module named 'torch'»,
    although torch is installed.

How to see it yourself
    python -c "import torch" works in the environment itself

What to do
    Install it with --no-build-isolation, after torch, setuptools and wheel (uv: no-build-isolation-package in
    pyproject.toml).

References
    https://pip.pypa.io/en/stable/reference/build-system/
    https://docs.astral.sh/uv/concepts/projects/config/#build-isolation
"""

import re

from doctor.checks import Check, Judgement
from doctor.checks._machine import heard
from doctor.checks._torch import quote, search
from doctor.fixes.tools import pip
from doctor.model.facts import ABSENT, Facts
from doctor.model.finding import Remedy
from doctor.regex import Regex

NO_ISOLATION = Remedy(
    action="install-package",
    details={"flag": "--no-build-isolation"},
    text="Install the package with --no-build-isolation.",
)

check = Check(
    severity="fault",
    needs=("messages",),
    usual=(NO_ISOLATION,),
    instead_of=("torch-missing", "wrong-environment", "program-error", "no-matching-wheel"),
)

SAID = (
    "build-without-torch",
    "build-said-without-torch",
    "undeclared-build-dependency",
    "build-cannot-import-torch",
    "torch-extension-requirements",
)
BUILDING = Regex(
    r"Getting requirements to build wheel|Preparing metadata \(pyproject|build_wheel|"
    r"get_requires_for_build|setup\.py (?:egg_info|bdist_wheel)"
)
NO_TORCH = Regex(r"No module named ['\"]?torch['\"]?(?![\w.])")
NAMED = Regex(
    r"(?:Failed to build|[Bb]uilding wheel for|No module named 'torch'.*?for|"
    r"Failed building wheel for) ['`]?([A-Za-z][\w.-]+)"
)
PACKAGE = Regex(r"^([A-Za-z][\w.-]*)")


@check
def judge(facts: Facts) -> Judgement:
    if facts.torch is ABSENT:
        return None
    error = heard(facts, *SAID)
    if error is None and (found := search(facts, NO_TORCH)) and _while_building(facts, found[0].path):
        error = found[0]
    if error is None:
        return None
    name = _package(facts)
    return check.found(
        facts,
        f"{name or 'The package'} imports torch while it is being built, in an environment that does not have it.",
        evidence=(quote(error), "torch.version"),
        remedies=(
            Remedy(
                action="no-build-isolation",
                details={"package": name} if name else {},
                text=f"Install {name or 'the package'} with --no-build-isolation.",
            ),
            Remedy(
                action="use-other-build",
                details={"build": "a wheel of it that is compiled already, for this torch"},
                text="Use a wheel of it that is compiled already, for this torch.",
            ),
        ),
        confidence="certain" if facts.torch and error.pattern != "torch-extension-requirements" else "likely",
        package=name,
    )


def _while_building(facts: Facts, path: str | None) -> bool:
    """Whether the import failed in pip's or uv's build of a package."""
    if path and re.search(r"pip-(?:build-env|install|req-build)|/builds-v\d|[\\/]\.tmp\w+|overlay", path):
        return True
    return search(facts, BUILDING) is not None


def _package(facts: Facts) -> str | None:
    """The package that was to be built."""
    if found := search(facts, NAMED):
        return found[1][1]
    for attempt in facts.attempts:
        names = [
            m[1]
            for r in attempt.requirements
            if (m := PACKAGE.match(r)) and m[1].lower() not in ("torch", "torchvision", pip.NAME)
        ]
        if len(names) == 1:
            return names[0]
    return None
