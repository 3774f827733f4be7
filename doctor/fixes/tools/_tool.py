"""What a package manager is to the doctor: `Tool`. Each has a file beside this one, which holds one object `tool`, and
whatever the rest asks of it, it asks through these names. What a tool does not say keeps the default, «nothing of the
kind»; `install`, `remove`, `programs` and `rank` have none. Pure: a dry run is asked for through `Asking`.
"""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Literal, Protocol

from doctor.model.fix import Step
from doctor.model.values import dataclass

if TYPE_CHECKING:
    from doctor.fixes.situation import Situation
    from doctor.fixes.sources import Sources

Variables = Mapping[str, "str | None"]  # None: the variable is taken away


@dataclass(frozen=True, kw_only=True)
class Order:
    """What to install. `requirements` as for pip; `replaces` names installed packages that the tool would
    otherwise take for good enough, or that are broken: they go first. For torch, `backend` says which build."""

    requirements: tuple[str, ...]
    index: str | None = None
    backend: str | None = None
    replaces: tuple[str, ...] = ()
    cuda: str | None = None  # conda-forge: the CUDA version to ask for
    exact: bool = False  # the version is wanted, not only the newest: conda-forge's are not in the tables
    past_cache: bool = False  # what is installed is broken, and the tool's cache may hold the same files
    note: str = ""  # what the user should know before running it

    @property
    def text(self) -> str:
        return self.note or f"Install {' '.join(self.requirements)}"


@dataclass(frozen=True, kw_only=True)
class Sign:
    """One sign that a tool made an environment: exactly one of `file`, `part`, `lock` and `key`. All paths have /.
    inside/collect.py looks for it in the target."""

    file: str = ""  # is in the environment
    part: str = ""  # is part of its path
    lock: str = ""  # lies beside it, together with one of `project`
    key: str = ""  # stands in its pyvenv.cfg
    kind: str = "venv"
    of_conda: bool = False  # in an environment with conda's records (conda-meta) and no pyvenv.cfg
    project: tuple[str, ...] = ()  # names of the project's file, the likeliest first
    above: str = ""  # the project's folder is the path up to this part; "": the folder that holds the environment
    needs: str = ""  # the project counts only where this file lies beside its own
    points: bool = False  # `file` holds the path of the project's folder, and is a sign only where the project is there


@dataclass(frozen=True, kw_only=True)
class Kind:
    """A kind of environment (Interpreter.environment) that only this tool makes."""

    name: str
    words: str  # for the user
    shared: str = ""  # why it is changed only with --allow NAME
    own_python: bool = True  # the Python in it is the tool's, not the system's
    receipt: str = ""  # the file in it that holds the command it was made by (Interpreter.receipt)


@dataclass(frozen=True, kw_only=True)
class Tables:
    """Expressions for the names of the tables, in a project's TOML, that bring packages in."""

    packages: str = ""  # their keys are packages
    lists: str = ""  # they hold lists of requirements
    indexes: str = ""


@dataclass(frozen=True, kw_only=True)
class Projects:
    """Commands that edit a project's file and bring the environment to what it says; apply/project.py tries them in a
    copy of the project first."""

    folder: tuple[str, ...] = ()  # options that name the project; (): it cannot be told which one is meant
    verbs: tuple[str, ...] = ()  # the commands that do so, where others do not
    leave: str = ""  # the option of add and remove that leaves the environment alone
    sync: str = ""  # the verb that installs what the file asks for, if it knows --dry-run
    instead: Mapping[str, str] | None = None  # verb -> one that only resolves
    verbose: tuple[str, ...] = ()
    answered: str = ""  # lines that show that an index answered; "": it shows nothing, and its own time limits count
    chatter: str = ""  # lines beside the reason of a failure
    python_range: str = "requires-python"  # where the project's file says on which Pythons it runs, in words
    reason: Callable[[Sequence[str]], Sequence[str]] = tuple  # of its lines those that say why it failed
    limits: tuple[tuple[str, str], ...] = ()  # variables for the time of a connection; "{seconds}" stands for it


@dataclass(frozen=True)
class Change:
    """One distribution: its version before and after; None where it isn't there."""

    name: str
    before: str | None
    after: str | None


@dataclass(frozen=True, kw_only=True)
class Resolution:
    """What a dry run said. `known`: the tool could be asked; `message`: its reason where `ok` is False."""

    ok: bool
    changes: tuple[Change, ...] = ()
    message: str = ""
    unreachable: bool = False
    known: bool = True


@dataclass(frozen=True, kw_only=True)
class Said:
    """What a program said in a dry run. `report`: the file that it was told to write; `failure`: why it did not
    succeed, in its last lines, or in those that are given."""

    ok: bool
    lines: tuple[str, ...]
    stdout: str
    report: str = ""
    failure: Callable[[Sequence[str]], Resolution]


class Asking(Protocol):
    """What a dry run may use. `installed`: name -> version; `removed`: what earlier steps will have removed by then;
    `python`: that of the environment; `connect_s`: seconds for a connection, of which the tool gets two."""

    @property
    def installed(self) -> Mapping[str, str]: ...
    @property
    def removed(self) -> Sequence[str]: ...
    @property
    def python(self) -> str: ...
    @property
    def connect_s(self) -> int: ...

    def ask(self, argv: Sequence[str], answered: str, variables: Variables | None = None) -> Said:
        """Run it. `answered`: lines that show that an index answered; REPORT in `argv` becomes a file's path."""
        ...

    def has(self, pattern: str) -> bool:
        """Whether the environment has a file that a glob names."""
        ...


REPORT = "{report}"
_ONLY_SOMETIMES = ("optional", "markers", "python", "platform", "sys_platform", "os_name")

# What a tool can make: a virtual environment of the Python at hand, one of any Python, which it fetches, or one of a
# kind of its own with a Python of its own.
Makes = Literal["", "of-this-python", "of-any-python", "own"]


class Tool(Protocol):
    programs: tuple[str, ...]  # its command line's names, the usual one first: also for --tool and Interpreter.manager
    rank: int  # its place where tools are listed, and where their signs are equally strong
    page: str = ""  # where to get it
    installer: str = ""  # what brings it, where that has another name

    # --- how its environments and files are recognised, live and in a text
    signs: tuple[Sign, ...] = ()
    kinds: tuple[Kind, ...] = ()
    manifests: tuple[str, ...] = ()  # a project's files by which packages come in
    manifests_like: str = ""  # an expression for other names of them, in lower case
    locks: tuple[str, ...] = ()
    tables: Tables = Tables()
    said: tuple[str, ...] = ()  # expressions for its name in a command of a text; (): such commands are not read
    tagged: str = ""  # an expression for the word in [ ] before its packages in PyTorch's collect_env
    failed: str = ""  # an expression for the line that says that it could not; groups `name` and `version`, if it names
    missed: str = ""  # an expression whose first group lists what it did not find
    builds: tuple[str, ...] = ()  # words in sys.version of the Pythons that it brings
    path_said: str = ""  # an expression for its environments' paths; with a first group of kinds[0], else of kinds[1]

    # --- what it can do
    channel: str = ""  # it installs libraries, too, by the names that this channel has for them
    beside: str = ""  # the tool that brings wheels into its environments, where it is another one
    takes_wheels: bool = False  # from any index that its command line names
    pip_options: bool = False  # its command line knows --no-build-isolation and --no-cache-dir
    extra_index: str = ""  # the option for one more index
    keeps_index: bool = False  # an index once named for a package stays in the project's file
    needs_pip: bool = True  # in the environment
    makes: Makes = ""
    scripts: str = "Scripts"  # the folder of python.exe in what it makes
    batches: tuple[str, ...] = ()  # its programs that are batch files on Windows

    # --- how it is run
    quiet: Variables = {}  # noqa: RUF012 - a Protocol's default, never changed
    homes: tuple[tuple[str, ...], ...] = ()  # folders below the user's home where its program may lie
    projects: Projects | None = None

    @property
    def name(self) -> str:
        return self.programs[0]

    @abstractmethod
    def install(self, situation: Situation, order: Order) -> tuple[Step, ...]:
        """The steps that install what is ordered."""

    @abstractmethod
    def remove(self, situation: Situation, packages: tuple[str, ...]) -> tuple[Step, ...]:
        """The steps that remove packages."""

    def sync(self, situation: Situation) -> Step | None:
        """The project's own command, which installs what its file asks for; None where it has none."""
        return None

    def unasked(self, project: Mapping[str, object]) -> Iterator[str]:
        """The packages that this command installs, whatever the system, beside [project] dependencies. `project`: the
        content of the project's file."""
        return iter(())

    def undo(self, situation: Situation, requirement: str, index: str | None) -> tuple[str, ...] | None:
        """The command that brings the present build back; None where one command can't."""
        return None

    def from_channel(self, situation: Situation, packages: Sequence[str]) -> tuple[Step, ...]:
        """The steps that install packages of its channel; () where it has none."""
        return ()

    def from_scratch(self, packages: Sequence[str]) -> tuple[Step, ...]:
        """The steps that do so on a machine that lacks the tool."""
        return ()

    def again(self, situation: Situation, python: str, arch: str | None) -> tuple[str, ...] | None:
        """The command that makes an application's environment anew with another Python; None: it has none."""
        return None

    def make(self, situation: Situation, python: str, arch: str | None) -> tuple[Step, ...]:
        """The steps that make the environment `situation.prefix`; the last one makes it."""
        return ()

    def venv(self, python: str, folder: str) -> tuple[str, ...]:
        """The command that makes a virtual environment of a Python."""
        return (python, "-m", "venv", folder)

    def activate(self, situation: Situation) -> str | None:
        """The line that makes the shell use an environment of its own kind; None where it cannot be written."""
        return None

    def empty_cache(self, situation: Situation) -> tuple[str, ...] | None:
        """The command that empties its cache; None: what it downloads lies in pip's."""
        return None

    def redirected(self, words: list[str], sources: Sources) -> list[str]:
        """Its command with other sources of packages."""
        return words

    def names_environment(self, folder: str, real: str, prefix: str) -> bool:
        """Whether the environment of the project in a folder is called so by it. `real`: the folder, without links."""
        return False

    def placed(self, prefix: str, has: Callable[[str], bool]) -> Variables:
        """Variables that let its commands find an environment. `has`: whether a file is in the environment."""
        return {}

    def made_by(self, words: Sequence[str]) -> str | None:
        """The folder of the environment that its command makes; None where it makes none."""
        return None

    def owns(self, words: Sequence[str]) -> bool:
        """Whether a command is its own."""
        return program_name(words) in self.programs

    def dry_run(self, words: Sequence[str], asking: Asking) -> Resolution | None:
        """What an installation would change; None where the command is none, or the tool has no dry run."""
        return None


def requirement_name(requirement: str) -> str:
    """ "torch" of "torch[extra]==2.6.0"."""
    return re.split(r"[^A-Za-z0-9._-]", requirement, maxsplit=1)[0]


def normalised(name: str) -> str:
    """The name of a distribution as PEP 503 compares it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def table_at(project: Mapping[str, object], *keys: str) -> Mapping[str, object]:
    """A table of a project's file; {} where there is none."""
    for key in keys:
        found = project.get(key)
        project = found if isinstance(found, Mapping) else {}
    return project


def of_list(value: object) -> Iterator[str]:
    """The names in a list of requirements, of those without a marker."""
    for one in value if isinstance(value, list) else ():
        if isinstance(one, str) and ";" not in one and (match := re.match(r"\s*([A-Za-z0-9][\w.-]*)", one)):
            yield match[1]


def of_table(value: object) -> Iterator[str]:
    """The keys of a table of dependencies, of those that are always wanted: one is written as a table of its own where
    it may be optional, or holds for some systems only."""
    for name, how in value.items() if isinstance(value, Mapping) else ():
        if isinstance(how, str) or (isinstance(how, Mapping) and not any(key in how for key in _ONLY_SOMETIMES)):
            yield name


def program_name(argv: Sequence[str]) -> str:
    """The program's bare name: "uv" of "C:\\bin\\uv.exe"."""
    return re.split(r"[/\\]", argv[0])[-1].lower().removesuffix(".exe")


def option(words: Sequence[str], name: str) -> str | None:
    """The word after an option."""
    return words[words.index(name) + 1] if name in words[:-1] else None
