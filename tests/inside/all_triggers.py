"""Run by the interpreter with torch, `all_triggers.py PROBE TRIGGER…`: these triggers of errata on the CPU, as JSON."""

import json
import sys

import torch
from loaded import probe_and_errata

probe, pieces = probe_and_errata(sys.argv[1])
stage = pieces["errata/stage"]
answers = {}
for name in sys.argv[2:]:
    one = probe.open_device(torch, "cpu", 0, "errata:" + name, pieces)
    answers[name] = stage.run(one)
faulty = probe.open_device(torch, "cpu", 0, "errata:vector_times_cube", pieces)
here = stage.Here(faulty, stage)
x = torch.arange(6.0)
helpers = {
    "same": here.differs(x, x.clone()),
    "wrong": here.differs(x + 1, x),
    "shape": here.differs(x, x.view(2, 3)),
    "nan": here.differs(x * float("nan"), x),
    "both nan": here.differs(x * float("nan"), x * float("nan")),
    "integers": here.differs(x.long() + 1, x.long()),
    "error": here.error_of(lambda: x.view(4, 4), "shape"),
    "no error": here.error_of(lambda: x.view(2, 3), "shape"),
}
print(json.dumps({"version": str(torch.__version__), "answers": answers, "helpers": helpers}))
