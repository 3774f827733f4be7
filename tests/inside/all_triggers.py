"""Run by the interpreter with torch, `all_triggers.py PROBE`: every trigger of errata on the CPU, as JSON."""

import importlib.util
import json
import os
import sys

import torch

spec = importlib.util.spec_from_file_location("probe", sys.argv[1])
probe = importlib.util.module_from_spec(spec)
spec.loader.exec_module(probe)
sources = []
for name in ("silent", "errata"):
    with open(os.path.join(os.path.dirname(sys.argv[1]), "stages", name + ".py")) as source:
        sources.append((name, source.read()))
pieces = probe.load_pieces(sources)
answers = {}
for name in pieces["errata"].TRIGGERS:
    one = probe.open_device(torch, "cpu", 0, "errata:" + name, pieces)
    answers[name] = pieces["errata"].run(one)
faulty = probe.open_device(torch, "cpu", 0, "errata:vector_times_cube", pieces)
here = pieces["errata"].Here(faulty)
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
