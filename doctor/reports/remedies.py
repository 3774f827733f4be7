"""A fix in words: what to type, what it needs, what it costs."""

from __future__ import annotations

from collections.abc import Iterator

from doctor.fixes import quoting
from doctor.model.fix import Fix, Step
from doctor.reports.words import megabytes


def step_command(step: Step, *, windows: bool = False) -> str | None:
    """What to type for a step, be it into a file; None for a manual one."""
    if step.shell:
        return step.shell
    if step.edit:
        return step.edit.toml
    return quoting.line(step.argv, windows=windows) if step.argv else None


def hints(step: Step) -> str:
    """ "root, reboot, downloads about 3.1 GB"."""
    return ", ".join(_needs(step))


def price(fix: Fix) -> str:
    """What to know before choosing a fix: "root, reboot"; "downloads about 3.1 GB, also changes torchvision 0.22.1"."""
    changes = f"also changes {', '.join(fix.changes)}" if fix.changes else ""
    return ", ".join((*_needs(fix), *([changes] if changes else [])))


def offer(fix: Fix) -> str:
    """An alternative in one sentence, with its price: "Update the NVIDIA driver (root, reboot)."."""
    return f"{fix.title.rstrip('.')} ({cost})." if (cost := price(fix)) else fix.title


def says_more(step: Step, fix: Fix) -> bool:
    """Whether a manual step of an alternative says more than the title and the price do."""
    only_restarts = step.needs_reboot and not step.needs_root
    return not only_restarts and step.text.rstrip(".") != fix.title.rstrip(".")


def _needs(what: Step | Fix) -> Iterator[str]:
    if what.needs_root:
        yield "root"
    if what.needs_reboot:
        yield "reboot"
    if what.downloads_mb:
        yield f"downloads about {megabytes(what.downloads_mb)}"
