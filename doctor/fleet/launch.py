"""How ranks are started: scripts for torchrun and srun (text, never run), and the ranks of this machine.

A script starts torchrun on each node alone: its own meeting point would make every node wait for the last one, and a
node that is down would keep all others from being heard.
"""

from __future__ import annotations

import re
import shlex
import socket
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from doctor import process
from doctor.facts.system import System
from doctor.fleet import folder
from doctor.fleet.rank.options import Options, arguments

MAIN = Path(__file__).parent / "__main__.py"
PORT = 29511  # of the fleet's own meeting point; 29500 is torchrun's
START_S = 300.0  # torchrun and the imports of torch
STEPS_S = 30.0  # beyond the limits of the steps
_HOST = re.compile(r"[A-Za-z0-9_](?:[A-Za-z0-9._-]{0,252}[A-Za-z0-9_])?\Z|\[?[0-9A-Fa-f:.]{2,45}\]?\Z")


class BadHosts(ValueError):
    """Why a list of hosts cannot be used, in one line."""


def hosts_of(text: str) -> tuple[str, ...]:
    """The hosts of `a,b` or of a hostfile: one a line, comments after #; "slots=8" of MPI's form is left out.

    >>> hosts_of("a,b"), hosts_of("n1 slots=8\\n# none\\nn2")
    (('a', 'b'), ('n1', 'n2'))
    """
    hosts = []
    for line in text.splitlines():
        words = line.partition("#")[0].replace(",", " ").split()
        hosts += [word for word in words if "=" not in word]
    for host in hosts:
        if not _HOST.match(host):
            raise BadHosts(f"{host[:60]!r} is no host name")
    if not hosts:
        raise BadHosts("it names no host")
    if len(set(hosts)) < len(hosts):
        twice = next(host for host in hosts if hosts.count(host) > 1)
        raise BadHosts(f"{twice} is named twice")
    return tuple(hosts)


def torchrun_script(hosts: Sequence[str], options: Options, gpus: int, port: int = PORT) -> str:
    """A script to be run on every node (pdsh, clush, ssh, a job), which finds its own number by the host's name."""
    own = replace(options, nodes=len(hosts), master=f"{hosts[0]}:{port}", node_rank=None)
    rest = arguments(own)
    cases = "\n".join(f"  {_pattern(host)}) node={number} ;;" for number, host in enumerate(hosts))
    return f"""#!/bin/sh
# torchdoctor fleet on {len(hosts)} nodes with {gpus} ranks each. Run it on every node at the same time, for example:
#   pdsh -w {','.join(hosts[:3])}{',...' if len(hosts) > 3 else ''} sh {shlex.quote(options.output + '/fleet.sh')}
# A node that is down keeps no other from being heard. The report of what all have left:
#   torchdoctor fleet --merge {shlex.quote(options.output)}
node=
case "$(hostname)" in
{cases}
esac
if [ -z "$node" ]; then echo "$(hostname) is not one of the nodes of this script" >&2; exit 2; fi
exec torchrun --standalone --nnodes 1 --nproc-per-node {gpus} -m doctor.fleet \\
  --node-rank "$node" {shlex.join(rest)}
"""


def _pattern(host: str) -> str:
    """A host's name in `case`, with or without its domain."""
    short = host.partition(".")[0]
    return f"{shlex.quote(host)}" if ":" in host or host.replace(".", "").isdecimal() else f"{short}|{short}.*"


def srun_script(hosts: Sequence[str], options: Options, gpus: int, port: int = PORT) -> str:
    """A script for a login node or a batch job: srun starts all ranks, and goes on where one ends badly."""
    names = ",".join(hosts)
    return f"""#!/bin/sh
# torchdoctor fleet on {len(hosts)} nodes with {gpus} ranks each, by Slurm.
export MASTER_ADDR={shlex.quote(hosts[0])} MASTER_PORT={port}
srun --nodes={len(hosts)} --nodelist={shlex.quote(names)} --ntasks-per-node={gpus} --gpus-per-node={gpus} \\
  --kill-on-bad-exit=0 --no-kill --wait=0 python3 -m doctor.fleet {shlex.join(arguments(options))}
# The bad nodes of this check, for the next job: srun --exclude="$(cat {shlex.quote(options.output)}/bad_nodes.txt)"
"""


# ---- this machine


def local(
    system: System, python: str, ranks: int, options: Options, tell: Callable[[str], None], *, torchrun: bool
) -> process.Result:
    """Run all ranks of this machine, by the target's torchrun or, where it has none, one by one. `tell` hears what the
    ranks say of themselves. Records of earlier runs in the same folder go first."""
    _clear(options.output)
    limit = seconds(ranks, options)
    words = [str(MAIN), *arguments(replace(options, merge=False))]

    def hear(line: str) -> None:
        if line.startswith("torchdoctor fleet: "):
            tell(line.rstrip())

    if torchrun:
        argv = [python, "-m", "torch.distributed.run", "--standalone", "--nnodes", "1", "--nproc-per-node", str(ranks)]
        return system.start([*argv, *words], limit_s=limit, on_error_line=hear).result()
    port = free_port()
    children = []
    for rank in range(ranks):
        environ = system.child_environ(
            RANK=str(rank), WORLD_SIZE=str(ranks), LOCAL_RANK=str(rank), LOCAL_WORLD_SIZE=str(ranks),
            MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), TORCHELASTIC_USE_AGENT_STORE=None,
        )  # fmt: skip
        children.append(
            system.start([python, "-B", *words], limit_s=limit, env=environ, on_error_line=hear)
        )
    results = [child.result() for child in children]
    return next((r for r in results if not r.ok), results[0])


def seconds(ranks: int, options: Options) -> float:
    """The sum of all limits: after it nothing of ours runs."""
    rounds = ranks + options.between + 12  # within nodes, between them, again, collectives, meetings
    steps = rounds * 2 * (options.limit_s + STEPS_S / 3)
    return START_S + options.device_s + options.join_s + steps + 60 * (options.soak_minutes or 0) * 2


def _clear(path: str) -> None:
    """A record of an earlier run on this machine must not speak for a rank that does not come up."""
    try:
        old = [p for p in Path(path).iterdir() if folder.is_record(p.name)]
    except OSError:
        return
    for one in old:
        one.unlink(missing_ok=True)


def free_port() -> int:
    """A port that nobody has at this moment."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def has_torchrun(torch_folder: str | None) -> bool:
    """Whether the target's torch has it: 1.9 and newer, where torch.distributed is built in."""
    return bool(torch_folder) and (Path(str(torch_folder)) / "distributed" / "run.py").is_file()
