"""A program's own errors beside an environment that works: never a fault, and healthy."""

from __future__ import annotations

from dataclasses import replace

import pytest

from doctor.accounting.judgement import judged
from doctor.evidence.read import read
from tests.table import table
from tests.tickets import collect_env

OWN = """\
KeyError: 'learning_rate'
IndexError: list index out of range
IndexError: index 10 is out of bounds for dimension 0 with size 10
IndexError: Target 1000 is out of bounds.
ValueError: not enough values to unpack (expected 3, got 2)
ValueError: Expected input batch_size (32) to match target batch_size (64).
ValueError: optimizer got an empty parameter list
ValueError: num_samples should be a positive integer value, but got num_samples=0
ValueError: could not convert string to float: 'nan?'
TypeError: forward() missing 1 required positional argument: 'mask'
TypeError: unsupported operand type(s) for +: 'int' and 'NoneType'
TypeError: 'NoneType' object is not subscriptable
TypeError: __init__() got an unexpected keyword argument 'hidden'
TypeError: conv2d() received an invalid combination of arguments
AttributeError: 'NoneType' object has no attribute 'shape'
AttributeError: 'Trainer' object has no attribute 'fit_loop'
AttributeError: 'dict' object has no attribute 'input_ids'
NameError: name 'model' is not defined
UnboundLocalError: local variable 'loss' referenced before assignment
ZeroDivisionError: float division by zero
AssertionError: batch size must be divisible by the number of micro batches
AssertionError: expected 3 channels
FileNotFoundError: [Errno 2] No such file or directory: 'data/train.csv'
NotADirectoryError: [Errno 20] Not a directory: 'runs/exp1'
IsADirectoryError: [Errno 21] Is a directory: 'checkpoints'
FileExistsError: [Errno 17] File exists: 'out'
json.decoder.JSONDecodeError: Expecting value: line 1 column 1 (char 0)
UnicodeDecodeError: 'utf-8' codec can't decode byte 0xff in position 0: invalid start byte
StopIteration: the loader is empty
KeyboardInterrupt: stopped
NotImplementedError: Module [Encoder] is missing the required "forward" function
ConnectionError: HTTPSConnectionPool(host='example.org', port=443): Max retries exceeded
requests.exceptions.HTTPError: 404 Client Error: Not Found for url: https://example.org/model
requests.exceptions.ReadTimeout: read timed out
urllib.error.URLError: <urlopen error [Errno -2] Name or service not known>
SyntaxError: invalid syntax
IndentationError: unexpected indent
pydantic_core.ValidationError: 1 validation error for Config
EOFError: Ran out of input
BrokenPipeError: [Errno 32] Broken pipe
ConnectionRefusedError: [Errno 111] Connection refused
RecursionError: maximum recursion depth exceeded while calling a Python object
ModuleNotFoundError: No module named 'my_package.layers'
ModuleNotFoundError: No module named 'wandb'
RuntimeError: mat1 and mat2 shapes cannot be multiplied (32x512 and 256x10)
RuntimeError: shape '[32, 1, 28, 28]' is invalid for input of size 1000
RuntimeError: The size of tensor a (10) must match the size of tensor b (12) at non-singleton dimension 1
RuntimeError: Given groups=1, weight of size [64, 3, 7, 7], expected input[1, 1, 224, 224] to have 3 channels
RuntimeError: element 0 of tensors does not require grad and does not have a grad_fn
RuntimeError: Trying to backward through the graph a second time
RuntimeError: Error(s) in loading state_dict for ResNet: Missing key(s) in state_dict: "fc.weight"
RuntimeError: expected scalar type Float but found Double
""".splitlines()
ENVIRONMENTS = {
    "CUDA": collect_env("2.6.0+cu124"),
    "older CUDA": collect_env("2.1.2+cu121"),
    "CUDA shown by a banner": (
        "Ultralytics 8.3.131  Python-3.11.3 torch-2.7.0+cu128 CUDA:0 (NVIDIA GeForce RTX 4060, 8188MiB)\n"
    ),
    "MPS": ">>> torch.__version__\n'2.6.0'\n>>> torch.backends.mps.is_available()\nTrue\n",
}
TRACEBACK = '''Traceback (most recent call last):
  File "/home/u/project/train.py", line 87, in <module>
    main()
  File "/home/u/project/train.py", line 61, in main
    step(batch)
'''


@pytest.mark.parametrize("environment", ENVIRONMENTS)
@table("error", OWN)
def test_no_fault_beside_a_programs_own_error(environment: str, error: str) -> None:
    text = f"{TRACEBACK}{error}\n\n{ENVIRONMENTS[environment]}"
    made = judged(replace(read((("ticket", text.encode()),)).facts, live=False))
    assert [f.id for f in made.account.findings if f.severity == "fault"] == []
    assert made.verdict.value == "healthy", made.verdict.unproven


def test_there_are_two_hundred_of_them() -> None:
    assert len(OWN) * len(ENVIRONMENTS) >= 200
