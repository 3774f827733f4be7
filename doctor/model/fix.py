"""The remedy as data: fixes made of steps, and the plan that orders them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Literal

from doctor.model.values import dataclass

if TYPE_CHECKING:
    from doctor.model.finding import Remedy


@dataclass(frozen=True, kw_only=True)
class TomlEdit:
    """What a project's file must say, where its tool has no command that writes it. `toml` is merged into `file`:
    tables by their keys, arrays by what they lack, a table in an array into the one of the same «name»."""

    file: str  # its path, from the folder of the project
    toml: str  # what it must hold


@dataclass(frozen=True, kw_only=True)
class Step:
    """One thing to do: a command (`argv`), or an edit of a file. A manual step has neither; then `text` says it all."""

    text: str  # what it does, one line
    argv: tuple[str, ...] | None = None  # the command, a word each
    edit: TomlEdit | None = None  # a change of a file
    where: Literal["environment", "user", "system"] = "environment"  # what it changes
    shell: str | None = None  # a line for the user's shell that argv can't say (export X=…, conda activate …)
    needs_root: bool = False  # administrator rights are needed
    needs_reboot: bool = False  # the machine must be restarted
    downloads_mb: int | None = None  # about, into an environment that has nothing of it; None: not known
    undo: tuple[str, ...] | None = None  # the command that takes it back
    verify: tuple[str, ...] | None = None  # the command that shows whether it worked


@dataclass(frozen=True, kw_only=True)
class Fix:
    """The cure of one finding (or of several: `also_cures`). An alternative has no alternatives of its own."""

    finding: str  # id of the finding that it cures
    action: str  # of the closed vocabulary: "upgrade-driver", "install-torch"
    title: str  # one sentence
    # what the action needs: "torch", "backend", "package", "name", "value"
    details: Mapping[str, str] = field(default_factory=dict)
    steps: tuple[Step, ...] = ()  # what to do, in order
    assumes: tuple[str, ...] = ()  # what was taken for granted, one sentence each
    alternatives: tuple[Fix, ...] = ()  # other fixes of the same finding
    also_cures: tuple[str, ...] = ()  # ids of further findings that go with it
    # its price, what its steps need:
    needs_root: bool = False  # administrator rights are needed
    needs_reboot: bool = False  # the machine must be restarted
    downloads_mb: int | None = None  # about, in MB; null: not known
    changes: tuple[str, ...] = ()  # the other installed packages that it changes: "torchvision 0.22.1"

    @classmethod
    def of(cls, finding: str, remedy: Remedy, title: str, *steps: Step) -> Fix:
        """What a remedy becomes: its own sentence, where it has one, is the title."""
        return cls(
            finding=finding, action=remedy.action, title=remedy.text or title, details=dict(remedy.details), steps=steps
        )


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Fixes in the order in which to do them. `unfixed`: (finding id, the reason why no fix is known)."""

    fixes: tuple[Fix, ...] = ()  # in the order in which to do them
    unfixed: tuple[tuple[str, str], ...] = ()  # finding and the reason why no fix is known
