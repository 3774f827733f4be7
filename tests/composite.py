"""A composite action, run step by step as GitHub's runner does: its expressions, its shell, the GITHUB_* files.

Only what our action uses is here, and an expression that is not understood raises. `uses` is not run: what the step was
given is kept.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

_TOKEN = re.compile(r"\s*(?:(&&|\|\||==|!=|\(|\))|'((?:[^']|'')*)'|always\(\)|([a-z][\w.-]*))")
_OPERATORS = {"&&": " and ", "||": " or ", "==": "==", "!=": "!=", "(": "(", ")": ")"}


@dataclass
class Step:
    """A step that ran: its exit code, or what it would have handed to another action."""

    name: str
    code: int = 0
    said: str = ""
    uses: str = ""
    given: dict[str, str] = field(default_factory=dict)


@dataclass
class Composite:
    """The action in `path` (a folder with action.yml), for a job whose workspace, temporary files and variables these
    are. After `run`: `steps` (those whose condition held), `outputs` (the action's), `failed`."""

    path: Path
    workspace: Path
    temporary: Path
    environ: Mapping[str, str]
    token: str = "ghs_token"
    steps: list[Step] = field(default_factory=list)
    outputs: dict[str, str] = field(default_factory=dict)
    failed: bool = False

    def run(self, **inputs: str) -> None:
        """All steps with these inputs (`fail_on` is the input fail-on)."""
        action = yaml.safe_load((self.path / "action.yml").read_text(encoding="utf-8"))
        given = {name.replace("_", "-"): value for name, value in inputs.items()}
        unknown = set(given) - set(action["inputs"])
        assert not unknown, f"no input of the action: {unknown}"
        context: dict[str, Any] = {
            "github": {"action_path": str(self.path), "token": self.token},
            "inputs": given,
            "steps": {},
        }
        for name, one in action["inputs"].items():
            given.setdefault(name, filled(one.get("default", ""), context))
        for step in action["runs"]["steps"]:
            condition = str(step.get("if", "")).removeprefix("${{").removesuffix("}}").strip()
            if (self.failed and "always()" not in condition) or not _value(condition or "'yes'", context):
                continue
            self._step(step, context)
        self.outputs = {name: filled(one["value"], context) for name, one in action["outputs"].items()}

    def _step(self, step: dict[str, Any], context: dict[str, Any]) -> None:
        ran = Step(step["name"])
        self.steps.append(ran)
        if "uses" in step:
            ran.uses = step["uses"]
            ran.given = {name: filled(str(value), context) for name, value in step["with"].items()}
            return
        assert step["shell"] == "bash"
        script, output = self.temporary / "script.sh", self.temporary / "output"
        script.write_text(filled(step["run"], context), encoding="utf-8")
        output.write_text("", encoding="utf-8")
        environ = {name: filled(value, context) for name, value in step.get("env", {}).items()}
        summary = self.temporary / "summary.md"
        summary.touch()
        environ |= {
            "GITHUB_ACTIONS": "true", "CI": "true", "GITHUB_WORKSPACE": str(self.workspace),
            "RUNNER_TEMP": str(self.temporary), "GITHUB_OUTPUT": str(output), "GITHUB_STEP_SUMMARY": str(summary),
        }  # fmt: skip
        argv = ["bash", "--noprofile", "--norc", "-eo", "pipefail", str(script)]
        done = subprocess.run(argv, cwd=self.workspace, env={**self.environ, **environ}, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=600, check=False)  # fmt: skip
        ran.code, ran.said = done.returncode, done.stdout + done.stderr
        self.failed = self.failed or done.returncode != 0
        said = dict(line.split("=", 1) for line in output.read_text(encoding="utf-8").splitlines())
        context["steps"][step.get("id", "")] = {"outputs": said}

    @property
    def said(self) -> str:
        """The log."""
        return "\n".join(step.said for step in self.steps)

    @property
    def summary(self) -> str:
        return (self.temporary / "summary.md").read_text(encoding="utf-8")


def variables(*folders: Path) -> dict[str, str]:
    """PATH with these folders first and what a shell needs; nothing else of our own environment."""
    kept = {name: os.environ[name] for name in ("HOME", "LANG", "TMPDIR") if name in os.environ}
    return {**kept, "PATH": os.pathsep.join([*map(str, folders), os.environ["PATH"]])}


def filled(text: str, context: dict[str, Any]) -> str:
    """A text with its expressions replaced by their values."""
    return re.sub(r"\$\{\{(.*?)\}\}", lambda m: str(_value(m[1], context)), text)


def _value(expression: str, context: dict[str, Any]) -> Any:
    words, at = [], 0
    expression = expression.strip()
    while at < len(expression):
        match = _TOKEN.match(expression, at)
        assert match, f"not understood: {expression[at:]}"
        operator, text, name = match.groups()
        if operator:
            words.append(_OPERATORS[operator])
        elif name:
            words.append(repr(_looked_up(name, context)))
        else:
            words.append("True" if text is None else repr(text.replace("''", "'")))
        at = match.end()
    return eval("".join(words), {"__builtins__": {}})  # operators and literals only, from our own file


def _looked_up(name: str, context: Any) -> str:
    for part in name.split("."):
        context = context.get(part, "") if isinstance(context, dict) else ""
    return str(context)
