"""Where a fix will be carried out: the target's interpreter, the tool that made its environment, the user's shell."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import PurePath, PurePosixPath, PureWindowsPath

from doctor.fixes import quoting, tools
from doctor.fixes.quoting import Shell, shell_of
from doctor.fixes.tools import Tool
from doctor.model.facts import Facts, Gpu
from doctor.model.finding import Finding
from doctor.model.values import dataclass

_SYSTEM_OF = (
    ("intel-mac", "darwin"), ("macos-", "darwin"), ("mps-", "darwin"), ("python-under-rosetta", "darwin"),
    ("windows-", "windows"), ("wsl-", "linux"),
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Situation:
    """`tool` is the program whose words are used, `python` the one to call; `prefix` the environment's folder; `shell`
    is whose lines the steps give for what is no program: variables, activation."""

    facts: Facts
    tool: str
    python: str
    prefix: str | None = None
    windows: bool = False
    shell: Shell = "sh"

    @property
    def by(self) -> Tool:
        return tools.tool(self.tool)

    @property
    def mac(self) -> bool:
        return self.facts.host.system == "darwin"

    @property
    def python_version(self) -> str:
        """ "3.12"; "" where it is not known."""
        return ".".join((self.facts.interpreter.version or "").split(".")[:2])

    @property
    def project_folder(self) -> str | None:
        """The folder of the project that the environment belongs to."""
        project = self.facts.interpreter.project
        return str(self.path(project).parent) if project else None

    def path(self, text: str) -> PurePath:
        """A path on the examined machine, whose system may differ from ours."""
        return PureWindowsPath(text) if self.windows else PurePosixPath(text)

    def command(self, argv: Sequence[str]) -> str | None:
        """The command as a line of the user's shell; None where it cannot be written safely."""
        return quoting.command(argv, self.shell)

    def set_variable(self, name: str, value: str) -> str | None:
        """The line of the user's shell that sets the variable; None where it cannot be written safely."""
        return quoting.set_variable(name, value, shell=self.shell)

    def installed(self, package: str) -> str | None:
        """Version of an installed package; None where it isn't there, or that is not known."""
        found = next((p for p in self.facts.packages or () if p.name == package), None)
        return found.version if found else None


def as_found(facts: Facts, findings: Iterable[Finding]) -> Facts:
    """The facts with what the findings say of a machine whose system, GPU or Python a ticket does not tell."""
    host, gpus, interpreter = facts.host, facts.gpus, facts.interpreter
    for finding in findings:
        id, capability = finding.id, finding.values.get("capability")
        if gpus is None and capability:
            gpus = (Gpu(vendor="nvidia", name=finding.values.get("gpu"), capability=capability),)
        if interpreter.version is None and id == "python-unsupported" and (python := finding.values.get("python")):
            interpreter = replace(interpreter, version=python)
        system = next((system for start, system in _SYSTEM_OF if id.startswith(start)), None)
        if system and host.system is None:
            host = replace(host, system=system)
        if id == "intel-mac" and host.architecture is None:
            host = replace(host, architecture="x86_64")
    if host is facts.host and gpus is facts.gpus and interpreter is facts.interpreter:
        return facts  # with what was worked out of them
    return replace(facts, host=host, gpus=gpus, interpreter=interpreter)


def situation_of(facts: Facts, tool: str | None = None, shell: Shell | None = None) -> Situation:
    """The situation of the target; `tool` and `shell` are what the user wants the commands for (None: the tool that
    made it, the system's usual shell)."""
    interpreter = facts.interpreter
    windows = facts.host.system == "windows"
    return Situation(
        facts=facts,
        tool=tool or _tool_of(facts),
        python=interpreter.executable or ("python" if windows else "python3"),
        prefix=interpreter.prefix,
        windows=windows,
        shell=shell or shell_of(windows=windows),
    )


def _tool_of(facts: Facts) -> str:
    """The tool that made the environment, but where wheels in it may be another one's, the one that installed torch."""
    interpreter, torch = facts.interpreter, facts.torch
    makers = [tool for tool in (tools.of_kind(interpreter.environment), tools.find(interpreter.manager)) if tool]
    if any(tool.beside for tool in makers):
        by = tools.find(torch.installer if torch else None)
        return by.name if by and by.pip_options else program_of(facts, next(tool for tool in makers if tool.beside))
    return str(interpreter.manager) if tools.find(interpreter.manager) else (makers[0] if makers else tools.base()).name


def program_of(facts: Facts, tool: Tool) -> str:
    """The program of a tool that has several: the one that the environment was made with."""
    manager = facts.interpreter.manager
    return manager if manager in tool.programs else tool.name
