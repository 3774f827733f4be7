"""Write the names of torch's modules into tables/interfaces.json, group "present": scripts/refresh_interfaces.py PYTHON

PYTHON is one that has a published wheel of the newest torch; it is asked for dir() of each module, for the names that
are torch's own. A name that is there, and not in the torch of a ticket, tells that the ticket's torch is older.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

TABLE = Path(__file__).resolve().parent.parent / "doctor" / "knowledge" / "tables" / "interfaces.json"
MODULES = (
    "", "nn", "nn.functional", "nn.init", "nn.utils", "nn.parallel", "cuda", "cuda.amp", "utils", "utils.data",
    "distributed", "optim", "optim.lr_scheduler", "backends", "autograd", "jit", "linalg", "fft", "special", "amp",
    "compiler", "library", "export", "fx", "distributions",
)  # fmt: skip
ASK = """
import importlib, json, sys, types, warnings
warnings.simplefilter("ignore")
import torch
FOREIGN = ("typing", "collections", "functools", "enum", "abc", "contextlib", "warnings", "itertools", "dataclasses",
           "math", "operator")
def own(module, name):
    value = getattr(module, name, None)
    if isinstance(value, types.ModuleType):
        return value.__name__.startswith("torch")
    maker = getattr(value, "__module__", None)
    return value is not None and (not isinstance(maker, str) or maker.split(".")[0] not in FOREIGN)
found = {}
for name in json.loads(sys.argv[1]):
    module = importlib.import_module(("torch." + name).rstrip("."))
    found[name] = [n for n in dir(module) if (not n.startswith("_") or n == "_assert") and own(module, n)]
print(json.dumps({"release": torch.__version__.split("+")[0], "names": found}))
"""


def main() -> None:
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    done = subprocess.run([sys.argv[1], "-c", ASK, json.dumps(MODULES)], capture_output=True, text=True, check=True)
    said = json.loads(done.stdout)
    rows = [
        json.dumps({"module": f"torch.{module}".rstrip("."), "release": said["release"], "names": names,
                    "sources": ["wheel"], "status": "verified"})
        for module, names in said["names"].items()
    ]  # fmt: skip
    text = TABLE.read_text(encoding="utf-8")
    head = text.partition(',\n "present": [')[0].rstrip().removesuffix("}").rstrip()
    TABLE.write_text(head + ',\n "present": [\n  ' + ",\n  ".join(rows) + "\n ]\n}\n", encoding="utf-8")
    print(f"wrote {sum(len(names) for names in said['names'].values())} names of torch {said['release']}")


if __name__ == "__main__":
    main()
