"""A file or folder hides the installed torch, or a package that torch imports.

What it means
    Python looks in the folder of the script, or the working folder, before it looks in site-packages. A torch.py,
    or a folder torch/ such as the source tree of PyTorch, is imported instead of the package. The same goes for what
    torch itself imports: a numpy.py, a typing_extensions.py or a folder numpy/ of yours makes torch look broken. (Where
    the name is one of Python's own modules, it is stdlib-shadowed.)

How to see it yourself
    python -c "import torch; print(torch.__file__, torch.__path__)"; for a package, python -c "import numpy;
    print(numpy.__file__)" in the same folder.

What to do
    Run Python in another folder if it is a source tree; rename the file if it is your own.

References
    https://docs.python.org/3/library/sys_path_init.html
"""

import re

from doctor.checks import Check, Judgement
from doctor.checks._machine import heard
from doctor.checks._torch import installed, owner, quote, search
from doctor.knowledge.interfaces import TORCH_IMPORTS
from doctor.model.facts import ErrorText, Facts, Torch
from doctor.model.finding import Evidence, Remedy
from doctor.regex import Regex

check = Check(
    severity="fault",
    needs=("torch.shadowed_by", "interpreter.shadowed_packages", "torch.version"),
    usual=(Remedy(action="change-directory"),),
    explains=("torch-import-crashes", "torch-install-broken", "torch-too-old", "torch-cpu-only", "companion-mismatch"),
    instead_of=(
        "torch-install-broken",
        "torch-import-crashes",
        "torch-missing",
        "torch-too-old",
        "program-error",
        "numpy-abi-mismatch",
        "compiler-missing",
    ),
)

PACKAGES = "|".join(TORCH_IMPORTS)
# a message that names the file which was imported as the package
NAMES_THE_FILE = (
    Regex(rf"cannot import name '\w+' from (?:partially initialized module )?'({PACKAGES})[\w.]*' \(([^()\n]+)\)"),
    Regex(rf"module '({PACKAGES})' has no attribute '\w+' \(consider renaming '([^'\n]+)'"),
)
INSTALLED = Regex(r"[/\\](?:site|dist)-packages[/\\]|\.egg[/\\]|^unknown")

INCOMPLETE = Regex(
    r"No module named 'torch\.\w+|"
    r"cannot import name .* from (?:partially initialized module )?'torch|"
    r"module 'torch' has no attribute"
)


@check
def judge(facts: Facts) -> Judgement:
    torch = facts.torch
    by = _hiding(torch) if isinstance(torch, Torch) else None
    halfway = heard(facts, "torch-partially-initialized")
    error = halfway if halfway and owner(halfway.path) is None else _from_a_source_tree(facts)
    if not by and error is None:
        return _dependency(facts)
    path = by or _path(error)
    tree = bool(path) and not str(path).endswith("torch.py")
    move = Remedy(action="change-directory", details={"path": str(path)} if path else {})
    rename = Remedy(action="rename-file", details={"path": str(path)} if path else {})
    return check.found(
        facts,
        f"{path or 'A file of your own'} is imported as torch, before the installed package.",
        evidence=("torch.shadowed_by" if by else None, quote(error) if error else None),
        remedies=(*_off_the_path(facts, path), *((move, rename) if tree else (rename, move))),
        confidence="certain" if by else "likely",
        path=path,
    )


def _off_the_path(facts: Facts, path: str | None) -> tuple[Remedy, ...]:
    """Where the variable PYTHONPATH leads to the file, another working folder changes nothing."""
    file = re.sub(r"[/\\]__init__\.py$", "", path or "")
    folder = re.sub(r"[/\\][^/\\]*$", "", file)
    entries = re.split(r"[:;]", (facts.environ or {}).get("PYTHONPATH", ""))
    if not folder or folder not in [entry.rstrip("/\\") for entry in entries]:
        return ()
    return (Remedy(action="unset-env", details={"name": "PYTHONPATH"}),)


def _dependency(facts: Facts) -> Judgement:
    """A user's file or folder that is imported instead of a package of torch's."""
    torch, hidden = installed(facts), facts.interpreter.shadowed_packages or ()
    said = _imported_as_a_package(facts)
    if not said and not (hidden and torch):
        return None
    module, file = said[1:] if said else hidden[0]
    works = said is None and not (torch and torch.imports is False)
    path = re.sub(r"[/\\]__init__\.py$", "", file)
    return check.found(
        facts,
        f"{path} is imported as {module}, before the installed package"
        f"{'; torch imports all the same' if works else ', which torch needs'}.",
        evidence=(
            *(Evidence(fact=m, value=f, source="sys.path") for m, f in hidden[:5]),
            quote(said[0]) if said else None,
            "torch.version",
        ),
        remedies=(
            *_off_the_path(facts, path),
            Remedy(action="rename-file", details={"path": path}),
            Remedy(action="change-directory", details={"path": path}),
        ),
        severity="warning" if works else None,
        title="A file or folder hides a package that torch imports.",
        module=module,
        path=path,
    )


def _imported_as_a_package(facts: Facts) -> tuple[ErrorText, str, str] | None:
    """The message, the package, and the user's file that was read in its place."""
    if error := heard(facts, "package-imported-elsewhere"):
        return error, error.groups[1], error.groups[2]
    for regex in NAMES_THE_FILE:
        if (found := search(facts, regex)) and not INSTALLED.search(found[1][2]):
            return found[0], found[1][1], found[1][2]
    return None


def _hiding(torch: Torch) -> str | None:
    """The file or folder that is imported instead of the package: torch itself is never a single file."""
    if torch.shadowed_by:
        return torch.shadowed_by
    return torch.path if torch.path and re.search(r"[/\\]torch\.py$", torch.path) else None


def _from_a_source_tree(facts: Facts) -> ErrorText | None:
    """An error in a torch folder that lies in no environment."""
    error = heard(facts, "no-torch-c-extension", "torch-is-hollow")
    if error is None or not error.path:
        found = search(facts, INCOMPLETE)
        error = found[0] if found else error
    path = error.path if error else None
    return error if path and owner(path) is None and re.search(r"[/\\]torch(?:[/\\]|\.py$)", path) else None


def _path(error: ErrorText | None) -> str | None:
    """The torch.py or the folder torch/ that a message names."""
    for text in (error.path or "", error.text) if error else ():
        if found := re.search(r"(?:[A-Za-z]:)?[/\\][^\s'\"()]*?[/\\]torch(?:\.py\b|(?=[/\\]))", text):
            return found[0]
    return None
