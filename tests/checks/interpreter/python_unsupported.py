from dataclasses import replace

from doctor.model.facts import ABSENT, StartFailure
from tests.example_case import Case
from tests.examples import linux, mac, windows, with_error, with_torch

NONE = "ERROR: Could not find a version that satisfies the requirement torch (from versions: none)"
PYPY = replace(linux(python="3.10.14"), torch=ABSENT)
PY2 = linux()
PY2 = replace(
    PY2,
    interpreter=replace(
        PY2.interpreter, version=None, start_failure=StartFailure(kind="too-old", message="2.7.18", version="2.7.18")
    ),
)
OFFER = """\
$ pip install torch==1.13.1
ERROR: Could not find a version that satisfies the requirement torch==1.13.1 (from versions: 2.2.0, 2.2.1, 2.2.2, 2.3.0, 2.3.1)
ERROR: No matching distribution found for torch==1.13.1
"""
WINDOWS = """\
C:\\Users\\u> C:\\Python313\\python.exe -m pip install torch==2.3.1
ERROR: Could not find a version that satisfies the requirement torch==2.3.1 (from versions: 2.6.0, 2.7.0, 2.7.1)
ERROR: No matching distribution found for torch==2.3.1
"""

BAD = {
    "too new, by the date of the ticket": Case(
        with_error(replace(mac(python="3.13.0"), torch=ABSENT), "torch-from-versions-none", NONE), as_of="2024-12-31"
    ),
    "too old, live": replace(linux(python="3.7.17"), torch=ABSENT, attempts=())
    and with_error(replace(linux(python="3.5.10"), torch=ABSENT), "torch-from-versions-none", NONE),
    "PyPy": replace(PYPY, interpreter=replace(PYPY.interpreter, implementation="pypy")),
    "Python 2": PY2,
    "the wanted release has none": Case(WINDOWS, as_of="2025-07"),
    "the offer tells the Python": Case(OFFER, as_of="2024-06-30"),
    "torch.compile": with_error(
        with_torch(linux(python="3.12.1"), "2.2.2+cpu"),
        "dynamo-unsupported-python",
        "RuntimeError: Dynamo is not supported on Python 3.12+",
    ),
    "pip says so": "ERROR: Package 'torch' requires a different Python: 3.6.9 not in '>=3.7.0'\n",
    "conda says so": "UnsatisfiableError: The following specifications were found to be incompatible with the existing python installation\n"
    "  - pytorch==1.7.1 -> python[version='>=3.6,<3.7.0a0|>=3.7,<3.8.0a0|>=3.8,<3.9.0a0']\nYour python: python=3.11\n",
    "uv says so": "  hint: You're using CPython 3.14 (`cp314`), but `torch` (v2.5.1) only has wheels with the following Python ABI tags: `cp39`, `cp310`\n",
}
GOOD = {
    "pasted: what is on offer is another package's": (
        "$ pip install kaolin==0.13.0\n"
        "ERROR: Could not find a version that satisfies the requirement kaolin==0.13.0 (from versions: 0.0)\n"
        "ERROR: No matching distribution found for kaolin==0.13.0\n"
    ),
    "no wheel for Windows in those days": Case(
        "Windows 10, Python 3.7.3\n$ pip install torch\n"
        "ERROR: Could not find a version that satisfies the requirement torch (from versions: 0.1.2, 0.1.2.post1)\n"
        "ERROR: No matching distribution found for torch\n",
        as_of="2019-09-10",
    ),
    "pasted: a CUDA build on a Mac": (
        "macOS 13.4.1, python 3.11\n$ pip install torch==1.13.1+cu117\n"
        "ERROR: Could not find a version that satisfies the requirement torch==1.13.1+cu117 (from versions: 2.0.0)\n"
        "ERROR: No matching distribution found for torch==1.13.1+cu117\n"
    ),
    "torch is there": with_torch(linux(), "2.6.0+cpu"),
    "no torch yet": replace(linux(), torch=ABSENT),
    "built for it by others (conda-forge)": with_torch(linux(python="3.14.0"), "2.5.1"),
    "the Python is not known": NONE + "\n",
    "the index has not the release": Case(
        "> pip install torch==2.7.0 --index-url https://download.pytorch.org/whl/cu124\n"
        "ERROR: Could not find a version that satisfies the requirement torch==2.7.0 (from versions: 2.4.0+cu124, 2.5.1+cu124, 2.6.0+cu124)\n",
        as_of="2025-06-28",
    ),
    "Windows with a Python that fits": replace(windows(python="3.12.4"), torch=ABSENT),
}
BAD["only the placeholders are on offer"] = """\
ERROR: Could not find a version that satisfies the requirement torch==1.7.0 (from versions: 0.1.2, 0.1.2.post1, 0.1.2.post2)
ERROR: No matching distribution found for torch==1.7.0
"""
