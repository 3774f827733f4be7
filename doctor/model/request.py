"""What an examination is asked to do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Literal

from doctor.model.facts import Origin
from doctor.model.values import dataclass


@dataclass(frozen=True, kw_only=True)
class Stated:
    """Facts that a person or a program read and hands over, each with what it was read from
    (doctor/evidence/stated.py)."""

    name: str  # of the file, for origins
    values: Mapping[str, object] = field(default_factory=dict)  # dotted fact -> value, of the type that Facts declares
    origins: Mapping[str, Origin] = field(default_factory=dict)
    messages: tuple[str, ...] = ()  # error lines, verbatim


@dataclass(frozen=True, kw_only=True)
class Request:
    """What the user asked for. A limit of None takes the default of doctor/probes."""

    python: str | None = None  # --python: a path or an environment's folder
    evidence: tuple[tuple[str, bytes], ...] = ()  # (name, content) of each --from; empty: look at the live machine
    stated: Stated | None = None  # facts that somebody read and hands over: with evidence they overrule it
    as_of: str | None = None  # ISO date by which to judge
    probe: bool = True
    devices: tuple[str, ...] = ()  # --device: limits the probe
    mode: str = "quick"  # of the probe: "quick", "full", "soak:MINUTES"
    only: tuple[str, ...] = ()  # --only: ids
    require: tuple[str, ...] = ()  # --require: demands such as "torch>=2.5" (doctor/checks/_required.py)
    plugins: tuple[str, ...] | None = ()  # --plugin: names; None: all that are installed beside
    limit_s: float | None = None  # --timeout: for each stage of a child
    run_limit_s: float | None = None  # --time-limit: for all that is started to look at the machine
    every_file: bool = False  # -v: each .py of torch's family is compared with what was installed
    fixes: bool = True  # whether to plan what to do about the findings
    tool: str | None = None  # --tool: pip, uv, conda, … for the commands
    shell: Literal["sh", "fish", "powershell", "cmd"] | None = None  # --shell: whose lines the commands are

    @property
    def is_text(self) -> bool:
        """Whether what was read is judged, and not this machine."""
        return bool(self.evidence or self.stated)
