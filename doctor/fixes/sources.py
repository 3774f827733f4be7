"""Where packages come from, when not from where the tables say: a mirror of PyTorch's index, or a folder of wheels.
Pure."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import replace

from doctor.model.fix import Fix, Plan, Step
from doctor.model.values import dataclass

PYTORCH = "https://download.pytorch.org/whl"
_INDEX_OPTIONS = ("--index-url", "--extra-index-url", "--index", "--source")
_INSTALLERS = (("-m", "pip", "install"), ("pip", "install"), ("tool", "install"))
_PIP_ARGS = "--pip-args="  # of pipx


@dataclass(frozen=True, kw_only=True)
class Sources:
    """`pytorch_index` stands for https://download.pytorch.org/whl; `find_links`: folders or pages of wheels;
    `offline`: nothing but those."""

    pytorch_index: str | None = None
    find_links: tuple[str, ...] = ()
    offline: bool = False

    def __bool__(self) -> bool:
        return bool(self.pytorch_index or self.find_links or self.offline)


def redirected(plan: Plan, sources: Sources) -> Plan:
    """The plan with its commands, texts and details for those sources."""
    return replace(plan, fixes=tuple(_fix(fix, sources) for fix in plan.fixes)) if sources else plan


def _fix(fix: Fix, sources: Sources) -> Fix:
    return replace(
        fix,
        details={key: _address(value, sources) for key, value in fix.details.items()},
        downloads_mb=None if sources.offline else fix.downloads_mb,
        steps=tuple(_step(step, sources) for step in fix.steps),
        alternatives=tuple(_fix(other, sources) for other in fix.alternatives),
    )


def _step(step: Step, sources: Sources) -> Step:
    return replace(
        step,
        text=_address(step.text, sources),
        downloads_mb=None if sources.offline else step.downloads_mb,
        argv=_argv(step.argv, sources) if step.argv else None,
        undo=_argv(step.undo, sources) if step.undo else None,
        edit=replace(step.edit, toml=_address(step.edit.toml, sources)) if step.edit else None,
    )


def _argv(argv: tuple[str, ...], sources: Sources) -> tuple[str, ...]:
    words = [_address(word, sources) for word in argv]
    if sources.pytorch_index:  # uv's own word for an index knows the public one only
        words = [part for word in words for part in _without_backend(word, sources.pytorch_index)]
        if words[1:3] == ["tool", "install"] and "--index" in words and "--index-strategy" not in words:
            words += ["--index-strategy", "unsafe-best-match"]  # as in tools/uv.py
    if any(tuple(words[1 : 1 + len(verb)]) == verb for verb in _INSTALLERS):
        words += _of_folders(words, sources)
        if sources.offline:
            words = _without_indexes(words)
    elif words[:2] == ["pipx", "inject"]:
        words = _pipx(words, sources)
    return tuple(words)


def _pipx(words: Sequence[str], sources: Sources) -> list[str]:
    """pipx takes an index, but folders of wheels only in what it hands on to pip."""
    given = [part for word in words if word.startswith(_PIP_ARGS) for part in shlex.split(word[len(_PIP_ARGS) :])]
    given += _of_folders(given, sources)
    words = [word for word in words if not word.startswith(_PIP_ARGS)]
    if sources.offline:
        words, given = _without_indexes(words), _without_indexes(given)
    return [*words, _PIP_ARGS + shlex.join(given)] if given else words


def _address(text: str, sources: Sources) -> str:
    if not sources.pytorch_index:
        return text
    return text.replace(PYTORCH, sources.pytorch_index.rstrip("/"))


def _without_backend(word: str, index: str) -> tuple[str, ...]:
    option, equals, backend = word.partition("=")
    return ("--index", f"{index.rstrip('/')}/{backend}") if equals and option == "--torch-backend" else (word,)


def _of_folders(words: Sequence[str], sources: Sources) -> list[str]:
    links = [part for place in sources.find_links for part in ("--find-links", place)]
    return links + (["--no-index"] if sources.offline and "--no-index" not in words else [])


def _without_indexes(words: Sequence[str]) -> list[str]:
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
