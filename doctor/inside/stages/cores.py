"""Exact products of whole numbers once on every core that we may use: a single bad core is a known kind of fault."""

import os


def cores(probe):
    if not hasattr(os, "sched_setaffinity"):
        return {"cores_checked": 0, "wrong": []}
    torch, wrong = probe.torch, []
    x, y = probe.odd((96, 512), 13), probe.integers((512, 80), 1)
    expected = torch.mm(x.long(), y.long()).float()
    x, y = x.float(), y.float()
    usable = sorted(os.sched_getaffinity(0))
    try:
        for core in usable:
            os.sched_setaffinity(0, {core})
            if not torch.equal(probe.operations["mm"](torch, x, y), expected):
                wrong.append("float32 mm of whole numbers is wrong on core %d" % core)
    finally:
        os.sched_setaffinity(0, usable)
    return {"cores_checked": len(usable), "wrong": wrong}


STAGES = (("cores", cores, ("full",), ("cpu",)),)
