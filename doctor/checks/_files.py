"""Files that are not as they were installed: what the checks of broken installations share."""

from __future__ import annotations

import re
from collections.abc import Callable

from doctor.checks._torch import import_failure
from doctor.fixes.tools import pip
from doctor.model.facts import DamagedFile, Facts, ImportFailure
from doctor.model.finding import Evidence, Remedy
from doctor.regex import Regex

# The packages that bring the libraries of torch's builds for GPUs; python packages of the same names hold none.
RUNTIMES = ("nvidia-", "cuda-", "intel-", "mkl", "onemkl", "dpcpp", "tbb", "umf", "tcmlib", "impi-rt", "oneccl", "rocm")
NO_CACHE = "--no-cache-dir"  # of pip and uv
UNREADABLE = Regex(r"SyntaxError|IndentationError|TabError|null bytes|codec can't decode|bad marshal data")
WORDS = {
    "missing": "is missing", "empty": "is empty", "truncated": "is cut off", "changed": "is not as installed",
    "unreadable": "may not be read by this user",
}  # fmt: skip


def is_part_of_torch(name: str) -> bool:
    return name == "torch" or name.startswith(RUNTIMES)


def is_pip(name: str) -> bool:
    return name == pip.NAME


def is_for_another_python(file: DamagedFile) -> bool:
    return file.what == "foreign" and file.detail.endswith("this Python is another")


def damaged(facts: Facts, of: Callable[[str], bool]) -> list[DamagedFile]:
    """The files that are known to be broken, of such distributions. A .py that was changed, perhaps on purpose, counts
    only where the failed import names it or what it holds can't be read."""
    failure = import_failure(facts)
    return [
        d for d in facts.damaged or () if of(d.distribution) and (d.what != "changed" or _is_named(d.file, failure))
    ]


def _is_named(file: str, failure: ImportFailure | None) -> bool:
    if failure is None:
        return False
    text = f"{failure.exception}: {failure.message}\n{failure.traceback}".replace("\\", "/")
    module = re.sub(r"(/__init__)?\.py$", "", file).replace("/", ".")
    return bool(UNREADABLE.search(text) or file in text or re.search(rf"\b{re.escape(module)}\b(?!\.)", text))


def described(file: DamagedFile) -> str:
    """ "libcudnn.so.9 of nvidia-cudnn-cu13 9.24.0.43 is cut off (4096 bytes, of 124632)"."""
    name = file.file.rpartition("/")[2]
    how = WORDS.get(file.what)
    detail = f" ({file.detail})" if file.detail and how else ""
    said = f"{how}{detail}" if how else f"can't be used: {file.detail}"
    return f"{file.file if name == '__init__.py' else name} of {_distribution(file)} {said}"


def _distribution(file: DamagedFile) -> str:
    return f"{file.distribution} {file.version or ''}".strip()


def summed_up(files: list[DamagedFile]) -> str:
    """The first in full, the others by number."""
    more = len(files) - 1
    others = f"; {more} more file{'s are' if more > 1 else ' is'} broken, too" if more else ""
    return f"{described(files[0])}{others}."


def evidence_of(files: list[DamagedFile]) -> tuple[Evidence, ...]:
    return tuple(
        Evidence(fact=d.file, value=": ".join(filter(None, (d.what, d.detail))), source=f"RECORD of {d.distribution}")
        for d in files[:5]
    )


def readable(facts: Facts, files: list[DamagedFile]) -> Remedy | None:
    """What helps where the first of the files may not be read: no installation does, for its owner is another user."""
    if files[0].what != "unreadable":
        return None
    torch = facts.torch.path if facts.torch else None
    site = torch.rpartition("/torch")[0] if torch else "site-packages"
    return Remedy(
        action="system-setting",
        details={"setting": "file-mode", "value": "a+rX"},
        text=f"Let the owner of the environment make its files readable: chmod -R a+rX {site}",
    )


def reinstalled(files: list[DamagedFile]) -> Remedy:
    """Their distributions again, each at its version, and no others; past the cache, where the broken file may lie."""
    wanted = list(dict.fromkeys((d.distribution, f"=={d.version}" if d.version else "") for d in files))
    (package, spec), *also = wanted
    details = {"package": package, "flag": NO_CACHE}
    if spec:
        details["spec"] = spec
    if also:
        details["also"] = " ".join(f"{name}{spec}" for name, spec in also)
    return Remedy(action="reinstall-package", details=details)
