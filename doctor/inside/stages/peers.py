"""Copies between every ordered pair of GPUs: a pattern of addresses, read back over the host on the far side.

With an IOMMU or PCIe ACS in the way, such copies give zeros or garbage although the call succeeds
(github.com/pytorch/pytorch/issues/84803). Rates are of 256 MiB, the best of several.
"""

import time

PATTERN_BYTES = 8 << 20
RATE_BYTES = 256 << 20
REPEATS = 5


def peers(probe):
    """pairs: from, to, whether the driver allows direct access, GB/s. `wrong` names pairs whose copies differ."""
    torch = probe.torch
    count = probe.ask("cuda.device_count") or 0
    data = {"wrong": [], "pairs": []}
    for source in range(count):
        for target in range(count):
            if source != target:
                probe.tell(len(data["pairs"]) / float(count * (count - 1)))
                found = pair(torch, "cuda:%d" % source, "cuda:%d" % target, data["wrong"])
                found["peer_access"] = probe.ask("cuda.can_device_access_peer", source, target)
                data["pairs"].append(found)
    return data


def pair(torch, here, there, wrong):
    """Copies from one device to another: contents and rate."""
    pattern = torch.arange(PATTERN_BYTES // 4, dtype=torch.int32) ^ 0x5A5A5A00
    first = pattern.to(here)
    got = copied(torch, first, there).cpu()
    differ = int((got != pattern).sum())
    if differ:
        wrong.append("copy from %s to %s: %d of %d words differ" % (here, there, differ, pattern.numel()))
    big = torch.ones(RATE_BYTES // 4, dtype=torch.int32, device=here)
    out = torch.zeros(RATE_BYTES // 4, dtype=torch.int32, device=there)
    best = None
    for _ in range(REPEATS):
        wait(torch, here, there)
        started = time.perf_counter()
        out.copy_(big)
        wait(torch, here, there)
        took = time.perf_counter() - started
        best = took if best is None else min(best, took)
    bad = int((out != 1).sum())
    if bad and not differ:
        wrong.append("copy from %s to %s: %d of %d words of %d MiB differ" % (
            here, there, bad, out.numel(), RATE_BYTES >> 20))
    return {"from": here, "to": there, "gbs": round(RATE_BYTES / best / 1e9, 2)}


def copied(torch, tensor, device):
    """A copy on another device. A function of its own, so that a faulty one can be put to the test."""
    return tensor.to(device)


def wait(torch, *devices):
    for device in devices:
        if device.startswith("cuda"):
            torch.cuda.synchronize(device)


STAGES = (("peers", peers, ("peers",), ("cuda",)),)
