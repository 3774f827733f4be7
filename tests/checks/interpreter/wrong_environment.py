from dataclasses import replace

from doctor.model.facts import ABSENT, OtherEnvironment
from tests.examples import linux, with_torch

OTHER = OtherEnvironment(
    python="/home/u/miniconda3/bin/python", version="3.11.9", torch="2.6.0+cu124", how="python on PATH"
)
HERE = replace(linux(), torch=ABSENT)
NOTEBOOK = """\
In [1]: import torch
ModuleNotFoundError: No module named 'torch'

$ python3 -c "import torch; print(torch.__version__)"
2.4.1
"""
LISTED = """\
$ pip list | grep torch
torch              2.3.1
torchvision        0.18.1
$ python app.py
Traceback (most recent call last):
  File "/home/u/app.py", line 1, in <module>
    import torch
ModuleNotFoundError: No module named 'torch'
"""

BAD = {
    "another Python has it": replace(HERE, interpreter=replace(HERE.interpreter, others=(OTHER,))),
    "a notebook": NOTEBOOK,
    "pip of another Python": LISTED,
}
GOOD = {
    "nobody has it": HERE,
    "the other has none either": replace(
        HERE, interpreter=replace(HERE.interpreter, others=(replace(OTHER, torch=ABSENT),))
    ),
    "this one has it, too": with_torch(
        replace(linux(), interpreter=replace(linux().interpreter, others=(OTHER,))), "2.6.0+cpu"
    ),
    "it is simply not there": "ModuleNotFoundError: No module named 'torch'\n",
}
