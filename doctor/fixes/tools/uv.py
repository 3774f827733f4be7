"""uv, on the target's interpreter: `--torch-backend` where uv knows the backend, else the index itself. In a uv
project `uv add`, which writes the index and the versions into pyproject.toml: the next `uv sync` would undo anything
else. In an environment of `uv tool` the same installation again, with torch: its receipt keeps that, and an upgrade
keeps to it."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from doctor.fixes.tools import pip
from doctor.fixes.tools._tool import (
    Asking,
    Change,
    Kind,
    Order,
    Projects,
    Resolution,
    Sign,
    Tables,
    Tool,
    Variables,
    normalised,
    of_list,
    requirement_name,
    table_at,
)
from doctor.knowledge import vendors
from doctor.model.fix import Step

if TYPE_CHECKING:
    from doctor.fixes.situation import Situation
    from doctor.fixes.sources import Sources

_RECEIPT = "uv-receipt.toml"  # what `uv tool` keeps in an application's environment
_LOCK = "uv.lock"
_OF_A_TOOL = "uv-tool"
_OF_INDEXES = ("--torch-backend", "--index-strategy")  # the new build has its own
_ANY_INDEX = ("--index-strategy", "unsafe-best-match")
_ANSWERED = r"DEBUG (Selecting|Tried|Found (stale|fresh|installed)|Fetching metadata)|Resolved |Would "
_CHANGE = re.compile(r"\s*([+~-]) ([A-Za-z0-9._-]+)==(\S+)")
_CHATTER = r"\s*(DEBUG|TRACE|WARN) |\s*\d+: |\s*(Requested|Existing): "


class Uv(Tool):
    programs = ("uv",)
    rank = 10
    page = "https://docs.astral.sh/uv/getting-started/installation/"
    signs = (
        Sign(file=_RECEIPT, kind=_OF_A_TOOL),
        Sign(key="uv", project=("pyproject.toml",), needs=_LOCK),
    )
    kinds = (Kind(name=_OF_A_TOOL, words="uv tool environment", receipt=_RECEIPT),)
    manifests = ("pyproject.toml",)
    locks = (_LOCK,)
    tables = Tables(packages=r"tool\.uv\.sources", lists=r"tool\.uv", indexes=r"tool\.uv\.(?:index|pip)")
    said = ("uv pip", "uv")
    failed = (
        r"No solution found when resolving dependencies|has no wheels with a matching|doesn't have a source "
        r"distribution or wheel"
    )
    takes_wheels = True
    pip_options = True
    extra_index = "--index"
    needs_pip = False
    makes = "of-any-python"
    homes = ((".local", "bin"), (".cargo", "bin"))
    projects = Projects(
        folder=("--project", "--directory"), verbs=("add", "remove", "sync"), leave="--no-sync", sync="sync",
        verbose=("--verbose",),
        answered=r"DEBUG (Selecting|Tried)|Resolved ", chatter=_CHATTER, 
        limits=(("UV_HTTP_TIMEOUT", "{seconds}"), ("UV_HTTP_RETRIES", "1")),
    )  # fmt: skip

    def install(self, situation: Situation, order: Order) -> tuple[Step, ...]:
        text = order.text
        fresh = tuple(word for name in order.replaces for word in ("--reinstall-package", name))
        if project := _project(situation):
            index = ("--index", f"pytorch-{order.backend or 'index'}={order.index}") if order.index else ()
            # The lock file would keep the present build of the same version.
            names = (requirement.partition("=")[0] for requirement in order.requirements)
            anew = tuple(word for name in names for word in ("--upgrade-package", name)) if order.index else ()
            words = (*anew, *fresh, *order.requirements, *index, *pip.past_cache(order))
            return (Step(text=text, argv=("uv", "add", "--project", project, *words)),)
        if again := _tool_install(situation, order):
            return (Step(text=text, argv=(*again, *fresh, *pip.past_cache(order))),)
        if situation.facts.interpreter.environment == _OF_A_TOOL:
            text = f"{text} (until «uv tool» installs its tool anew)"
        words = (*fresh, *order.requirements, *_index(order), *pip.past_cache(order))
        return (Step(text=text, argv=("uv", "pip", "install", "--python", situation.python, *words)),)

    def remove(self, situation: Situation, packages: tuple[str, ...]) -> tuple[Step, ...]:
        argv = ("uv", "pip", "uninstall", "--python", situation.python, *packages)
        return (Step(text=f"Remove {' '.join(packages)}", argv=argv),)

    def sync(self, situation: Situation) -> Step | None:
        """Without --inexact uv would remove what the lock file does not name. uv means the project's .venv; None for an
        environment of another name."""
        project = _project(situation)
        if project is None or situation.prefix != str(situation.path(project) / ".venv"):
            return None
        return Step(text="Install what the project asks for", argv=("uv", "sync", "--project", project, "--inexact"))

    def unasked(self, project: Mapping[str, object]) -> Iterator[str]:
        """Source: https://docs.astral.sh/uv/concepts/projects/dependencies/#default-groups."""
        groups, own = table_at(project, "dependency-groups"), table_at(project, "tool", "uv")
        default = own.get("default-groups", ["dev"])
        for name, listed in groups.items():
            if default == "all" or (isinstance(default, list) and name in default):
                yield from of_list(listed)
        yield from of_list(own.get("dev-dependencies"))

    def make(self, situation: Situation, python: str, arch: str | None) -> tuple[Step, ...]:
        argv = ("uv", "venv", "--python", _request(situation, python, arch), str(situation.prefix))
        return (
            Step(text=f"Get uv, if it is not there: {self.page}", where="user"),
            Step(text=f"Make an environment with Python {python}", argv=argv, where="user"),
        )

    def venv(self, python: str, folder: str) -> tuple[str, ...]:
        return ("uv", "venv", "--python", python, folder)

    def again(self, situation: Situation, python: str, arch: str | None) -> tuple[str, ...] | None:
        name = situation.path(situation.prefix or "").name
        return ("uv", "tool", "upgrade", "--python", _request(situation, python, arch), name)

    def empty_cache(self, situation: Situation) -> tuple[str, ...] | None:
        return ("uv", "cache", "clean")

    def redirected(self, words: list[str], sources: Sources) -> list[str]:
        """uv's own word for an index knows the public one only."""
        if sources.pytorch_index:
            words = [part for word in words for part in _without_backend(word, sources.pytorch_index)]
            if words[1:3] == ["tool", "install"] and "--index" in words and _ANY_INDEX[0] not in words:
                words += _ANY_INDEX
        return pip.with_folders(words, sources) if words[1:3] in (["pip", "install"], ["tool", "install"]) else words

    def placed(self, prefix: str, has: Callable[[str], bool]) -> Variables:
        said = {"UV_PROJECT_ENVIRONMENT": prefix} if has("pyvenv.cfg") else {}
        return said | ({"UV_TOOL_DIR": os.path.dirname(prefix)} if has(_RECEIPT) else {})

    def made_by(self, words: Sequence[str]) -> str | None:
        return words[-1] if words[1:2] == ["venv"] else None

    def dry_run(self, words: Sequence[str], asking: Asking) -> Resolution | None:
        """`uv tool` has none: `uv pip` is asked the same for its environment."""
        words = list(words)
        if words[1:3] == ["tool", "install"]:
            words = pip_install(words[0], asking.python, _without_option([w for w in words[3:] if w != "--with"]))
        if words[1:3] != ["pip", "install"]:
            return None
        again = [word for name in asking.removed for word in ("--reinstall-package", name)]
        limits = {"UV_HTTP_TIMEOUT": str(asking.connect_s), "UV_HTTP_RETRIES": "1"}
        said = asking.ask([*words[:3], "--dry-run", "--verbose", *again, *words[3:]], _ANSWERED, limits)
        if not said.ok:
            return said.failure([line for line in said.lines if not re.match(r"\s*(DEBUG|TRACE|WARN) ", line)])
        after: dict[str, str | None] = {}
        for line in said.lines:
            if match := _CHANGE.match(line):
                name = normalised(match[2])
                if match[1] == "-":
                    after.setdefault(name, None)
                else:
                    after[name] = match[3]
        changes = tuple(Change(n, asking.installed.get(n), a) for n, a in sorted(after.items()))
        return Resolution(ok=True, changes=changes)


def pip_install(uv: str, python: str, rest: Sequence[str]) -> list[str]:
    """The command that installs into another's environment."""
    return [uv, "pip", "install", "--python", python, *rest]


def _without_option(words: list[str], option: str = "--python") -> list[str]:
    at = words.index(option) if option in words else len(words)
    return words[:at] + words[at + 2 :]


def _without_backend(word: str, index: str) -> tuple[str, ...]:
    option, equals, backend = word.partition("=")
    return ("--index", f"{index.rstrip('/')}/{backend}") if equals and option == "--torch-backend" else (word,)


def _project(situation: Situation) -> str | None:
    """The folder of the uv project that the environment belongs to."""
    return situation.project_folder if situation.facts.interpreter.manager == "uv" else None


def _tool_install(situation: Situation, order: Order) -> tuple[str, ...]:
    """The `uv tool install` of the receipt with the order in it; () where the receipt can't be repeated."""
    interpreter = situation.facts.interpreter
    if interpreter.environment != _OF_A_TOOL or not interpreter.receipt:
        return ()
    main, *rest = interpreter.receipt
    names = {requirement_name(requirement) for requirement in order.requirements}
    if requirement_name(main) in names:
        return ()
    options = list(zip(rest[::2], rest[1::2], strict=True))
    kept = [
        word
        for option, value in options
        if not (option == "--with" and requirement_name(value) in names) and not (order.index and option in _OF_INDEXES)
        for word in (option, value)
    ]
    python = () if "--python" in rest else ("--python", _base(situation))  # another one would make a new environment
    wanted = (word for requirement in order.requirements for word in ("--with", requirement))
    index = _index(order)
    if "--index" in index:  # what the application needs besides is not to come from an old copy there
        index += _ANY_INDEX
    return ("uv", "tool", "install", main, *kept, *python, *wanted, *index)


def _base(situation: Situation) -> str:
    """The Python that the environment was made from."""
    prefix = situation.path(situation.facts.interpreter.base_prefix or "")
    program = ("python.exe",) if situation.windows else ("bin", f"python{situation.python_version or '3'}")
    return str(prefix.joinpath(*program))


def _request(situation: Situation, python: str, arch: str | None) -> str:
    """A Python as uv is asked for it."""
    if arch == "arm64":
        return f"cpython-{python}-macos-aarch64-none"
    return f"cpython-{python}-windows-x86_64-none" if arch == "64-bit" and situation.windows else python


def _index(order: Order) -> tuple[str, ...]:
    """--index goes before all that the user's variables and uv.toml name; --index-url would come after UV_DEFAULT_INDEX
    and after every index."""
    if order.index is None:
        return ()
    if (
        order.backend
        and vendors.uv_knows(order.backend)
        and order.index.startswith("https://download.pytorch.org/whl/")
    ):
        return (f"--torch-backend={order.backend}",)
    return ("--index", order.index)


tool = Uv()
