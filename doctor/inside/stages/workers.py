"""A DataLoader with two worker processes, forked and started anew, on GPUs with pinned memory: every batch must come.

It runs in an interpreter of its own: a worker that finds no room in /dev/shm is ended by a signal, and so is a process
that puts the data set there for workers that are started anew.
"""

import sys

LIMIT_S = 140.0  # each worker that is started anew imports torch
SCRIPT = r"""
import torch

method, device = sys.argv[1], sys.argv[2]
SIDE, COUNT, BATCH = 96, 48, 8  # a batch has 288 KB


def work():
    numbers = torch.arange(COUNT, dtype=torch.float32)
    data = torch.utils.data.TensorDataset(numbers.reshape(-1, 1, 1).repeat(1, SIDE, SIDE), torch.arange(COUNT))
    pinned = device != "cpu"
    loader = torch.utils.data.DataLoader(
        data, BATCH, num_workers=2, multiprocessing_context=method, timeout=120, pin_memory=pinned
    )
    seen, wrong = [], 0
    for images, labels in loader:
        if pinned and not images.is_pinned():
            raise RuntimeError("the batch is not in pinned memory")
        images, labels = images.to(device), labels.to(device)
        wrong += int((images != labels.reshape(-1, 1, 1)).sum())
        seen += labels.tolist()
    if sorted(seen) != list(range(COUNT)):
        return "%d of %d samples came" % (len(set(seen)), COUNT)
    return "%d elements differ" % wrong if wrong else None


if __name__ == "__main__":
    attempt("load", work)
"""


def workers(probe):
    tries = probe.pieces["tries"]
    data = tries.blank()
    methods = [("spawn", "started anew")] if probe.is_cpu else []
    if sys.platform.startswith("linux"):
        methods.insert(0, ("fork", "forked"))
    pinned = "" if probe.is_cpu else ", pinned memory"
    for method, words in methods:
        tries.attempt(data, "DataLoader, workers %s%s" % (words, pinned), lambda m=method: load(probe, m))
    return data


def load(probe, method):
    apart = probe.pieces["apart"]
    lines, ended = apart.run(SCRIPT, [method, probe.device], apart.within(probe, LIMIT_S, parts=2))
    said = dict((word, text) for word, _, text in lines)
    if "ok" in said:
        return [said["ok"]] if said["ok"] else []
    raise Workers(probe.pieces["tries"].shortened(said.get("raised") or in_words(ended)))


def in_words(ended):
    """A bus error is what touching /dev/shm gives when it is full."""
    bus = "unable to write to shared memory: " if ended and "SIGBUS" in ended else ""
    return bus + (ended or "the script said nothing")


class Workers(Exception):
    """What the loader raised: its own class stands in the message."""


STAGES = (("workers", workers, ("full",), ("cpu", "cuda")),)
