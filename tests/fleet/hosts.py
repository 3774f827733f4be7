"""Hosts made of namespaces: each rank has a host name of its own, and where wanted a network interface of its own,
joined by veth pairs and a bridge. Needs root on Linux; all that is made is removed again."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

PREFIX = "10.213"  # of the addresses; namespaces see nothing but each other


def why_not() -> str:
    """"" where namespaces can be made, else why not."""
    if sys.platform != "linux" or os.geteuid():
        return "it needs root on Linux"
    for program in ("unshare", "ip", "tc"):
        if shutil.which(program) is None:
            return f"{program} is not installed"
    done = subprocess.run(["unshare", "-u", "-m", "true"], capture_output=True, check=False)
    return "" if done.returncode == 0 else "namespaces cannot be made here"


def as_host(words: Sequence[str], name: str, namespace: str = "", before: str = "") -> list[str]:
    """The command line that runs another one as a host of that name, in that network namespace. `before`: a shell
    command that runs first, in the same mount namespace."""
    shell = f'hostname {name} && {before + " && " if before else ""}exec "$@"'
    inside = ["unshare", "-u", "-m", "sh", "-c", shell, "sh", *words]
    return ["ip", "netns", "exec", namespace, *inside] if namespace else inside


def address(number: int, node: int) -> str:
    """Of a node in the network of that number."""
    return f"{PREFIX}.{number % 250}.{node + 1}"


@contextmanager
def network(count: int, number: int, sick: tuple[int, int] | None = None, kind: str = "") -> Iterator[list[str]]:
    """Network namespaces on a bridge, one a node: their names. `sick`: the two nodes whose link is bad in both
    directions; `kind`: "rate" (200 Mbit/s) or "loss". `number` keeps several networks apart."""
    bridge, names = f"tdb{number}", [f"tdf{number}n{i}" for i in range(count)]
    undo: list[list[str]] = []
    try:
        _do("ip", "link", "add", bridge, "type", "bridge")
        undo.append(["ip", "link", "del", bridge])
        _do("ip", "link", "set", bridge, "up")
        for node, name in enumerate(names):
            _do("ip", "netns", "add", name)
            undo.append(["ip", "netns", "del", name])
            _do("ip", "link", "add", f"tdv{number}n{node}", "type", "veth", "peer", "name", "eth0", "netns", name)
            _do("ip", "link", "set", f"tdv{number}n{node}", "master", bridge, "up")
            inside = ("ip", "-n", name)
            _do(*inside, "addr", "add", f"{address(number, node)}/24", "dev", "eth0")
            _do(*inside, "link", "set", "eth0", "up")
            _do(*inside, "link", "set", "lo", "up")
        if sick:
            for one, other in (sick, sick[::-1]):
                _make_bad(names[one], address(number, other), kind)
        yield names
    finally:
        for words in reversed(undo):
            subprocess.run(words, capture_output=True, check=False)


def _do(*words: str) -> None:
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        raise OSError(f"{' '.join(words)}: {done.stderr.strip()}")


def _make_bad(namespace: str, target: str, kind: str) -> None:
    """What this namespace sends to one address goes through a class of its own."""
    tc = ("ip", "netns", "exec", namespace, "tc")
    _do(*tc, "qdisc", "add", "dev", "eth0", "root", "handle", "1:", "htb", "default", "10")
    for name, rate in (("1:10", "10gbit"), ("1:20", "200mbit" if kind == "rate" else "10gbit")):
        _do(*tc, "class", "add", "dev", "eth0", "parent", "1:", "classid", name, "htb", "rate", rate)
    if kind == "loss" and not _drops(*tc, "qdisc", "add", "dev", "eth0", "parent", "1:20"):
        raise OSError("this kernel has neither netem nor tbf")
    _do(*tc, "filter", "add", "dev", "eth0", "parent", "1:", "protocol", "ip", "u32", "match", "ip", "dst",
        f"{target}/32", "flowid", "1:20")  # fmt: skip


def _drops(*tc: str) -> bool:
    """Make a class drop packets: a quarter at random; where the kernel has no netem, all that does not fit in a queue
    of a few packets."""
    ways = (("netem", "loss", "25%"), ("tbf", "rate", "100mbit", "burst", "8k", "limit", "10k"))
    return any(subprocess.run([*tc, *way], capture_output=True, check=False).returncode == 0 for way in ways)
