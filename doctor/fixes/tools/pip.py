"""pip, called through the target's own interpreter, so that the right environment gets the package. It is a part of the
Python rather than of the machine: what any tool's steps may need of it (get it, list, forget) is here for all."""

from __future__ import annotations

import contextlib
import json
import re
import shlex
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from doctor.fixes.tools._tool import REPORT, Asking, Change, Order, Resolution, Tables, Tool, normalised
from doctor.model.facts import ABSENT, Facts
from doctor.model.fix import Step

if TYPE_CHECKING:
    from doctor.fixes.situation import Situation
    from doctor.fixes.sources import Sources

NAME = "pip"
COMMANDS = ("pip", "pip3")
NO_CACHE = "--no-cache-dir"
_REMOVE = "import shutil, sys; [shutil.rmtree(path, True) for path in sys.argv[1:]]"
_INDEX_OPTIONS = ("--index-url", "--extra-index-url", "--index", "--source")
_ANSWERED = r"\s*(Collecting|Downloading|Using cached|Requirement already|Processing|Obtaining) "
_TOO_OLD = re.compile(r"no such option: --(dry-run|report)")


class Pip(Tool):
    programs = (NAME,)
    rank = 0
    manifests = ("requirements.txt", "pyproject.toml")
    tables = Tables(lists=r"project|project\.optional-dependencies|dependency-groups")
    said = (r"pip[\d.]*",)
    tagged = r"pip\d?"
    takes_wheels = True
    pip_options = True
    extra_index = "--extra-index-url"
    makes = "of-this-python"
    quiet = {  # noqa: RUF012
        "PIP_NO_INPUT": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        # pip would install elsewhere, where no snapshot looks
        "PIP_TARGET": None, "PIP_PREFIX": None, "PIP_ROOT": None, "PIP_USER": None,
    }  # fmt: skip

    def install(self, situation: Situation, order: Order) -> tuple[Step, ...]:
        """pip does not replace an installed version that meets the requirement, even if its build differs: remove it
        first."""
        pip = command(situation.python)
        steps = list(get_pip(situation))
        if order.replaces:
            remove = (*pip, "uninstall", "-y", *order.replaces)
            steps.append(Step(text=f"Remove the installed {' '.join(order.replaces)}", argv=remove))
            again = Step(text="Remove the other torch in the same folder", argv=(*pip, "uninstall", "-y", "torch"))
            steps += [again] * torches_beside(situation.facts)  # each call removes one
            for package in situation.facts.packages or ():
                if package.name in order.replaces:
                    again = Step(
                        text=f"Remove the other {package.name}", argv=(*pip, "uninstall", "-y", package.name)
                    )
                    steps += [again] * package.beside
        index = ("--index-url", order.index) if order.index else ()
        steps.append(Step(text=order.text, argv=(*pip, "install", *order.requirements, *index, *past_cache(order))))
        return tuple(steps)

    def remove(self, situation: Situation, packages: tuple[str, ...]) -> tuple[Step, ...]:
        argv = (*command(situation.python), "uninstall", "-y", *packages)
        return (*get_pip(situation), Step(text=f"Remove {' '.join(packages)}", argv=argv))

    def undo(self, situation: Situation, requirement: str, index: str | None) -> tuple[str, ...] | None:
        where = ("--index-url", index) if index else ()
        return (*command(situation.python), "install", "--force-reinstall", requirement, *where)

    def make(self, situation: Situation, python: str, arch: str | None) -> tuple[Step, ...]:
        argv = self.venv(situation.python, str(situation.prefix))
        return (Step(text=f"Make an environment with Python {python}", argv=argv, where="user"),)

    def empty_cache(self, situation: Situation) -> tuple[str, ...] | None:
        return (*command(situation.python), "cache", "purge")

    def redirected(self, words: list[str], sources: Sources) -> list[str]:
        return with_folders(words, sources) if _verb(words) == "install" else words

    def made_by(self, words: Sequence[str]) -> str | None:
        return words[-1] if words[1:3] == ["-m", "venv"] else None

    def owns(self, words: Sequence[str]) -> bool:
        """Also Python's own modules that it shares its work with: venv and ensurepip."""
        return super().owns(words) or (len(words) > 2 and words[1] == "-m" and words[2] in (NAME, "venv", "ensurepip"))

    def dry_run(self, words: Sequence[str], asking: Asking) -> Resolution | None:
        """What an earlier step removes still stands in the way of a dry run. So the index is asked for the packages
        themselves, whatever is installed, and then what they need is resolved against the environment as it is. Where
        something else is removed, too, pip is told to look at the index for all."""
        if _verb(words) != "install":
            return None
        if not asking.removed:
            first, report = _asked(asking, words, ())
            return first if report is None else Resolution(ok=True, changes=_changes(report, asking.installed, False))
        first, wanted = _asked(asking, words, ("--ignore-installed", "--no-deps"))
        if wanted is None:
            return first
        names = {normalised(str(item["metadata"]["name"])) for item in wanted["install"]}
        if not names.issuperset(asking.removed):
            first, report = _asked(asking, words, ("--ignore-installed",))
            return first if report is None else Resolution(ok=True, changes=_changes(report, asking.installed, True))
        needs = [
            text
            for item in wanted["install"]
            for text in item["metadata"].get("requires_dist") or ()
            if normalised(re.split(r"[^A-Za-z0-9._-]", text, maxsplit=1)[0]) not in names
        ]
        words = [word for word in words if not _is_requirement(word, names)]
        second, rest = _asked(asking, [*words, *needs], ()) if needs else (first, {"install": []})
        if rest is None:
            return second
        changes = _changes({"install": [*wanted["install"], *rest["install"]]}, asking.installed, False)
        return Resolution(ok=True, changes=changes)


def command(python: str) -> tuple[str, ...]:
    return (python, "-m", NAME)


def freeze(python: str) -> tuple[str, ...]:
    """The command that lists what is installed."""
    return (*command(python), "freeze")


def runs(argv: Sequence[str]) -> bool:
    """Whether a command needs the environment's pip."""
    return tuple(argv[1:3]) == ("-m", NAME)


def brings(argv: Sequence[str]) -> bool:
    """Whether a command gives the environment its pip."""
    return tuple(argv[1:3]) == ("-m", "ensurepip")


def forget(situation: Situation, packages: tuple[str, ...]) -> tuple[Step, ...]:
    """The steps that remove what a project's tool would take for good enough. The tools' own `remove` is no help: it
    leaves what another package needs, and knows only what the project's file names."""
    argv = (*command(situation.python), "uninstall", "-y", *packages)
    return (*get_pip(situation), Step(text="Forget the present build", argv=argv))


def get_pip(situation: Situation) -> tuple[Step, ...]:
    """A step that gives the environment a pip, where it has none."""
    if not has_no_pip(situation.facts):
        return ()
    return (
        *_without_damaged(situation),
        Step(
            text="Give the environment a pip",
            argv=(situation.python, "-m", "ensurepip", "--upgrade"),
            verify=(*command(situation.python), "--version"),
        ),
    )


def has_no_pip(facts: Facts) -> bool:
    """Whether the environment is known to lack a pip that works."""
    return facts.interpreter.pip is ABSENT or _is_damaged(facts)


def _is_damaged(facts: Facts) -> bool:
    return any(file.distribution == NAME and file.what != "changed" for file in facts.damaged or ())


def _without_damaged(situation: Situation) -> tuple[Step, ...]:
    """ensurepip takes the metadata of a damaged pip for a pip, and a damaged pip cannot remove itself: its folders
    go."""
    if not _is_damaged(situation.facts):
        return ()
    pip = next((p for p in situation.facts.packages or () if p.name == NAME and p.path), None)
    if pip is None or not pip.path:
        return (Step(text="Remove the damaged pip: its folders pip and pip-*.dist-info in site-packages"),)
    site = situation.path(pip.path)
    folders = (str(site / NAME), str(site / f"{NAME}-{pip.version}.dist-info"))
    return (Step(text="Remove the damaged pip", argv=(situation.python, "-c", _REMOVE, *folders)),)


def past_cache(order: Order) -> tuple[str, ...]:
    """pip's option, which uv knows by the same name: uv links its cache's files into environments, so that what was
    damaged here is damaged there."""
    return (NO_CACHE,) if order.past_cache else ()


def torches_beside(facts: Facts) -> int:
    """How many other torches are only on record in the folder of the one that is imported."""
    copies = (facts.torch.copies if facts.torch else None) or ()
    return sum(copy.path == copies[0].path and not copy.has_files for copy in copies[1:])


# ---- its options for other sources, which others share


def with_folders(words: Sequence[str], sources: Sources) -> list[str]:
    """A command that knows --find-links, with the folders, and offline without any index."""
    words = [*words, *folders(words, sources)]
    return without_indexes(words) if sources.offline else words


def folders(words: Sequence[str], sources: Sources) -> list[str]:
    links = [part for place in sources.find_links for part in ("--find-links", place)]
    return links + (["--no-index"] if sources.offline and "--no-index" not in words else [])


def without_indexes(words: Sequence[str]) -> list[str]:
    kept: list[str] = []
    skip = False
    for word in words:
        if skip:
            skip = False
        elif word in _INDEX_OPTIONS:
            skip = True
        elif not word.startswith("--torch-backend="):
            kept.append(word)
    return kept


def handed_on(words: Sequence[str], option: str) -> Iterator[str]:
    """The words for pip in the options of another program."""
    for word in words:
        if word.startswith(option):
            yield from shlex.split(word[len(option) :])


# ---- its dry run


def _verb(words: Sequence[str]) -> str:
    return words[3] if runs(words) and len(words) > 3 else ""


def _is_requirement(word: str, names: Collection[str]) -> bool:
    return normalised(re.split(r"[=<>!~ \[]", word, maxsplit=1)[0]) in names


def _asked(
    asking: Asking, words: Sequence[str], options: Sequence[str]
) -> tuple[Resolution, dict[str, Any] | None]:
    """One dry run: its report, or None and why there is none."""
    dry = ("--dry-run", "--report", REPORT, *options, "--retries", "1", "--timeout", str(asking.connect_s))
    said = asking.ask([*words[:4], *dry, *words[4:]], _ANSWERED)
    if said.ok:
        with contextlib.suppress(ValueError):
            return Resolution(ok=True), json.loads(said.report)
    if any(_TOO_OLD.search(line) for line in said.lines):
        return Resolution(ok=True, known=False, message="this pip is too old for a dry run"), None
    return said.failure(said.lines), None


def _changes(report: Mapping[str, Any], installed: Mapping[str, str], all_new: bool) -> tuple[Change, ...]:
    """What pip will change. With --ignore-installed it lists everything: what is there and good enough will stay."""
    items = [(item.get("metadata", {}), bool(item.get("requested"))) for item in report.get("install", ())]
    changes = []
    for metadata, requested in items:
        name, after = normalised(str(metadata.get("name", ""))), str(metadata.get("version", ""))
        before = installed.get(name)
        if all_new and not requested and before and _serves(before, name, [m for m, _ in items]):
            continue
        changes.append(Change(name, before, after))
    return tuple(changes)


def _serves(version: str, name: str, all_metadata: Sequence[Mapping[str, Any]]) -> bool:
    """Whether an installed version meets what every package of the report asks of it."""
    from packaging.requirements import InvalidRequirement, Requirement

    for metadata in all_metadata:
        for text in metadata.get("requires_dist") or ():
            with contextlib.suppress(InvalidRequirement):
                requirement = Requirement(text)
                if normalised(requirement.name) == name and not requirement.specifier.contains(version, True):
                    return False
    return True


tool = Pip()
