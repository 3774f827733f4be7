"""Where packages come from, when not from where the tables say: a mirror of PyTorch's index, or a folder of wheels.
Pure."""

from __future__ import annotations

from dataclasses import replace

from doctor.fixes import tools
from doctor.model.fix import Fix, Plan, Step
from doctor.model.values import dataclass

PYTORCH = "https://download.pytorch.org/whl"


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
    tool = tools.of_argv(words)
    return tuple(tool.redirected(words, sources) if tool else words)


def _address(text: str, sources: Sources) -> str:
    if not sources.pytorch_index:
        return text
    return text.replace(PYTORCH, sources.pytorch_index.rstrip("/"))
