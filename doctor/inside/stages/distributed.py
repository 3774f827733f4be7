"""Two processes that add their numbers: gloo on the loopback, NCCL where there are two GPUs (github.com/pytorch/gloo,
docs.nvidia.com/deeplearning/nccl). The sum has a closed form, so it must be right to the bit."""

import os
import socket
import sys

LIMIT_S = 120.0
SCRIPT = r"""
import datetime
import torch

backend, rank, port = sys.argv[1], int(sys.argv[2]), sys.argv[3]


def work():
    dist = torch.distributed
    limit = datetime.timedelta(seconds=90)
    device = "cpu"
    if backend == "nccl":
        torch.cuda.set_device(rank)
        device = "cuda:%d" % rank
    dist.init_process_group(backend, init_method="tcp://127.0.0.1:" + port, rank=rank, world_size=2, timeout=limit)
    numbers = torch.arange(1 << 16, dtype=torch.float32, device=device) + rank
    dist.all_reduce(numbers)
    expected = 2 * torch.arange(1 << 16, dtype=torch.float32) + 1
    differ = int((numbers.cpu() != expected).sum())
    dist.destroy_process_group()
    return "%d sums are wrong" % differ if differ else None


attempt("reduce", work)
"""


def gloo(probe):
    return tried(probe, "gloo")


def nccl(probe):
    return tried(probe, "nccl")


def tried(probe, backend):
    tries = probe.pieces["tries"]
    data = tries.blank()
    tries.attempt(data, "all-reduce by %s" % backend, lambda: reduce(probe, backend))
    return data


def reduce(probe, backend):
    tries, apart, torch = probe.pieces["tries"], probe.pieces["apart"], probe.torch
    if not probe.ask("distributed.is_available"):
        raise tries.NotHere("this torch was built without torch.distributed")
    if not probe.ask("distributed.is_%s_available" % backend) and hasattr(
            torch.distributed, "is_%s_available" % backend):
        raise tries.NotHere("this torch was built without %s" % backend)
    port = free_port()
    if port is None:
        raise tries.NotHere("there is no loopback network")
    environ = {}
    if backend == "gloo" and "GLOO_SOCKET_IFNAME" not in os.environ and not sys.platform.startswith("win"):
        environ["GLOO_SOCKET_IFNAME"] = "lo0" if sys.platform == "darwin" else "lo"
    limit_s = apart.within(probe, LIMIT_S)
    ranks = [apart.start(SCRIPT, [backend, rank, port], environ) for rank in (0, 1)]
    wrong, failed = [], []
    for rank, child in enumerate(ranks):
        lines, ended = apart.finish(child, limit_s if not failed else 1.0)
        said = dict((word, text) for word, _, text in lines)
        if "ok" not in said:
            failed.append(said.get("raised") or ended or "the script said nothing")
        elif said["ok"]:
            wrong.append("rank %d: %s" % (rank, said["ok"]))
    if failed:
        # Who waits for the other one only times out: what the other one says is the cause.
        failed.sort(key=lambda text: "Timeout" in text or "timed out" in text.lower())
        raise Collective(tries.shortened(failed[0]))
    return wrong


class Collective(Exception):
    """What a rank raised: its own class stands in the message."""


def free_port():
    """A port of the loopback on which two sockets just met; None where there is no loopback."""
    listener, caller = socket.socket(), socket.socket()
    try:
        listener.bind(("127.0.0.1", 0))
        listener.listen(1)
        caller.settimeout(5.0)
        caller.connect(listener.getsockname())
        return listener.getsockname()[1]
    except OSError:
        return None
    finally:
        caller.close()
        listener.close()


STAGES = (
    ("distributed", gloo, ("full",), ("cpu",)),
    ("distributed", nccl, ("peers",), ("cuda",)),
)
