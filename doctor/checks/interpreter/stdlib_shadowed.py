"""A file hides a module of Python's standard library that torch imports.

What it means
    Python looks in the program's folder first. A file random.py, types.py or select.py there is imported by torch
    instead of the standard library's, and the import fails in a way that looks like a broken torch.

How to see it yourself
    python -c "import random; print(random.__file__)" in the same folder shows a file of yours.

What to do
    Rename the file (and remove its __pycache__), or run from another folder.

References
    https://docs.python.org/3/tutorial/modules.html#the-module-search-path
    https://docs.python.org/3/whatsnew/3.13.html (error messages that name the file)
"""

from __future__ import annotations

import re

from doctor.checks import Check, Judgement
from doctor.checks._machine import heard
from doctor.checks._torch import imports_fail, quote
from doctor.model.facts import ErrorText, Facts
from doctor.model.finding import Evidence, Remedy
from doctor.regex import Regex

check = Check(
    severity="fault",
    needs=("interpreter.shadowed",),
    usual=(Remedy(action="change-directory"),),
    instead_of=(
        "torch-import-crashes",
        "torch-install-broken",
        "torch-shadowed",
        "program-error",
        "shared-library-missing",
    ),
)

# /usr/lib/python3.8/random.py, C:\\Python311\\Lib\\random.py, …/lib/python3.10/asyncio/__init__.py, and frozen ones.
STANDARD_LIBRARY = Regex(
    r"(?:[/\\]lib(?:64)?[/\\]python\d\.\d+[a-z]?|[/\\]Lib|^[A-Za-z]:\\[^/]*\\lib|python\d+\.zip)"
    r"[/\\](?!(?:site|dist)-packages)|^(?:frozen|unknown)"
)


WITH_FILE = ("stdlib-cannot-import-name", "stdlib-imported-elsewhere")  # group 1 is the module, group 2 its file


@check
def judge(facts: Facts) -> Judgement:
    hidden = facts.interpreter.shadowed or ()
    error = heard(facts, "stdlib-partially-initialized", "consider-renaming-module") or _imported_from_elsewhere(facts)
    if hidden:
        module, file = hidden[0]
        works = error is None and not imports_fail(facts)
        more = f" ({len(hidden) - 1} more)" if len(hidden) > 1 else ""
        return check.found(
            facts,
            f"{file} is found before Python's own module "
            f"{module}{more}{'; torch imports all the same' if works else ''}.",
            evidence=(
                *(Evidence(fact=m, value=f, source="sys.path") for m, f in hidden[:5]),
                quote(error) if error else None,
            ),
            severity="warning" if works else None,
            remedies=_remedies(file),
            module=module,
            file=file,
        )
    if error is None:
        return None
    culprit: str | None
    if error.pattern in WITH_FILE:
        module, culprit = error.groups[1], error.groups[2]
    else:
        module = _module(error.text)
        culprit = _file(error.text) or (
            error.path if error.path and re.search(rf"(^|[/\\]){module}\.py$", error.path) else None
        )
    return check.found(
        facts,
        f"{culprit or f'A file {module}.py'} is imported instead of Python's own module {module}.",
        evidence=(quote(error),),
        remedies=_remedies(culprit or f"{module}.py"),
        module=module,
        file=culprit,
    )


def _imported_from_elsewhere(facts: Facts) -> ErrorText | None:
    """«cannot import name 'Random' from 'random' (FILE)», or an import in a
    traceback that reads such a FILE; FILE is not the standard library's own."""
    error = heard(facts, *WITH_FILE)
    return None if error is None or STANDARD_LIBRARY.search(error.groups[2]) else error


def _module(text: str) -> str:
    """The module that the message names: between the first quotes, or the name of the file to be renamed."""
    if file := _file(text):
        return re.split(r"[/\\]", file)[-1].removesuffix(".py")
    found = re.search(r"'([A-Za-z_]\w*)'", text)
    return found[1] if found else "of that name"


def _file(text: str) -> str | None:
    found = re.search(r"consider renaming '([^']+\.py)'", text)
    return found[1] if found else None


def _remedies(path: str) -> tuple[Remedy, ...]:
    """A package's own file keeps its name: only the folder from which Python was started is wrong."""
    leave = Remedy(action="change-directory")
    if re.search(r"[/\\](?:site|dist)-packages[/\\]", path):
        return (leave, Remedy(action="unset-env", details={"name": "PYTHONPATH"}))
    return (Remedy(action="rename-file", details={"path": path}), leave)
