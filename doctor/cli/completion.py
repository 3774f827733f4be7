"""`torchdoctor completion`: a script that completes commands, options, diagnoses, errata and devices in a shell.

The script asks `torchdoctor` itself at each Tab, in the way of click's own shell completion; PowerShell, which click
does not know, gets a completer of the same protocol.
"""

from __future__ import annotations

import os
import re

import click
from click.shell_completion import (
    BashComplete,
    CompletionItem,
    FishComplete,
    ShellComplete,
    ZshComplete,
    shell_complete,
)

from doctor.cli import output

VARIABLE = "_TORCHDOCTOR_COMPLETE"
_POWERSHELL = """\
Register-ArgumentCompleter -Native -CommandName %(prog_name)s -ScriptBlock {
    param($word, $line, $position)
    $env:COMP_WORDS = $line.ToString()
    $env:COMP_WORD = $word
    $env:%(complete_var)s = "powershell_complete"
    try {
        & %(prog_name)s 2>$null | ForEach-Object {
            $value, $help = $_ -split "`t", 2
            if (-not $help) { $help = $value }
            [System.Management.Automation.CompletionResult]::new($value, $value, 'ParameterValue', $help)
        }
    } finally {
        "COMP_WORDS", "COMP_WORD", "%(complete_var)s" | ForEach-Object { Remove-Item "Env:$_" }
    }
}
"""


class PowerShellComplete(ShellComplete):
    """The words so far come in COMP_WORDS, the one that is typed in COMP_WORD; a line of the answer is
    VALUE<tab>HELP."""

    name = "powershell"
    source_template = _POWERSHELL

    def get_completion_args(self) -> tuple[list[str], str]:
        """(the words before, the word that is being typed), without their quotes."""
        incomplete = os.environ.get("COMP_WORD", "")
        words = re.findall(r"\"[^\"]*\"?|'[^']*'?|\S+", os.environ.get("COMP_WORDS", ""))
        words = [word.strip("\"'") for word in words[1:]]
        if incomplete and words and words[-1] == incomplete.strip("\"'"):
            words.pop()
        return words, incomplete.strip("\"'")

    def format_completion(self, item: CompletionItem) -> str:
        """A line of the answer."""
        return f"{item.value}\t{' '.join((item.help or '').split())}"


class _Bash(BashComplete):
    """Without the look at bash's version, which starts a bash: the script itself works since bash 4.4."""

    @staticmethod
    def _check_version() -> None:
        pass


SHELLS: dict[str, type[ShellComplete]] = {
    "bash": _Bash, "zsh": ZshComplete, "fish": FishComplete, "powershell": PowerShellComplete,
}  # fmt: skip
WHERE = {
    "bash, in ~/.bashrc": 'eval "$(torchdoctor completion bash)"',
    "zsh, in ~/.zshrc, after compinit": 'eval "$(torchdoctor completion zsh)"',
    "fish, once": "torchdoctor completion fish > ~/.config/fish/completions/torchdoctor.fish",
    "powershell, in $PROFILE": "torchdoctor completion powershell | Out-String | Invoke-Expression",
}


@click.command(epilog="\b\n" + "\n".join(f"{where}:\n  {line}" for where, line in WHERE.items()))
@click.argument("shell", type=click.Choice(tuple(SHELLS)))
@click.pass_context
def command(context: click.Context, shell: str) -> int:
    """Print the script that completes torchdoctor's commands in a shell."""
    output.emit(SHELLS[shell](context.find_root().command, {}, "torchdoctor", VARIABLE).source().lstrip("\n"))
    return 0


def answer(cli: click.Group, instruction: str) -> int:
    """What the script of a shell asks at each Tab: `SHELL_complete`, or `SHELL_source` for the script."""
    shell, _, deed = instruction.partition("_")
    if shell == "powershell" and deed == "complete":
        click.echo(PowerShellComplete(cli, {}, "torchdoctor", VARIABLE).complete())
        return 0
    return shell_complete(cli, {}, "torchdoctor", VARIABLE, instruction)


def ids(context: click.Context, parameter: click.Parameter, typed: str) -> list[CompletionItem]:
    """Diagnoses that begin with what was typed."""
    from doctor.checks import all_checks

    return [CompletionItem(c.id, help=c.title) for c in all_checks() if c.id.startswith(typed)]


def ids_and_errata(context: click.Context, parameter: click.Parameter, typed: str) -> list[CompletionItem]:
    """Diagnoses and findings of a fleet; where none begins with what was typed, errata."""
    from doctor.fleet.judge.catalogue import OWN
    from doctor.knowledge import lookup

    found = [CompletionItem(id, help=own.title) for id, own in OWN.items() if id.startswith(typed)]
    return [*ids(context, parameter, typed), *found] or [
        CompletionItem(e.id, help=e.title) for e in lookup.errata() if e.id.startswith(typed)
    ]


def devices(context: click.Context, parameter: click.Parameter, typed: str) -> list[CompletionItem]:
    """The kinds of devices, and those of NVIDIA that have a device node. Nothing is started: a Tab must not wait."""
    found = ["cpu", "cuda", "mps", "xpu"]
    try:
        nodes = sorted(int(m[1]) for name in os.listdir("/dev") if (m := re.fullmatch(r"nvidia(\d{1,3})", name)))
    except OSError:
        nodes = []
    found += [f"cuda:{number}" for number, _ in enumerate(nodes)]
    return [CompletionItem(device) for device in found if device.startswith(typed)]
