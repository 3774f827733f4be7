"""Which Python a text is about, and that its plan speaks of it."""

from __future__ import annotations

import pytest

from doctor.accounting.judgement import judged
from doctor.fixes.plan import plan
from tests.example_case import facts_of

FRAME = '  File "{}", line 310, in _lazy_init\n    raise AssertionError("Torch not compiled with CUDA enabled")\n'
COMFYUI = r"""
** Platform: Windows
** Python version: 3.12.7 (tags/v3.12.7:0b05ead, Oct  1 2024, 03:06:41) [MSC v.1941 64 bit (AMD64)]
** Python executable: D:\ComfyUI_windows_portable\python_embeded\python.exe
pytorch version: 2.6.0+cpu
AssertionError: Torch not compiled with CUDA enabled
"""


def executable(text: str) -> str | None:
    return facts_of(text).interpreter.executable


@pytest.mark.parametrize(
    ("path", "python"),
    [
        ("/home/u/ml/.venv/lib/python3.11/site-packages/torch/cuda/__init__.py", "/home/u/ml/.venv/bin/python"),
        ("/opt/conda/envs/ml/lib/python3.10/site-packages/torch/__init__.py", "/opt/conda/envs/ml/bin/python"),
        (r"D:\Comfy\python_embeded\Lib\site-packages\torch\__init__.py", r"D:\Comfy\python_embeded\python.exe"),
        (r"C:\sd\venv\lib\site-packages\torch\__init__.py", r"C:\sd\venv\Scripts\python.exe"),
        (r"C:\Users\u\miniconda3\envs\a\lib\site-packages\torch\x.py", r"C:\Users\u\miniconda3\envs\a\python.exe"),
        ("/usr/local/lib/python3.10/site-packages/torch/__init__.py", None),
        ("/home/u/.local/lib/python3.10/site-packages/torch/__init__.py", None),
        ("/home/<user>/e/lib/python3.10/site-packages/torch/__init__.py", None),
        ("/tmp/pip-build-env-x1/overlay/lib/python3.10/site-packages/torch/__init__.py", None),
        (r"C:\Users\u\AppData\Roaming\Python\Python310\Lib\site-packages\torch\x.py", None),
    ],
)
def test_the_environment_of_the_frames(path: str, python: str | None) -> None:
    assert executable("Traceback (most recent call last):\n" + FRAME.format(path)) == python


def test_frames_of_two_environments_name_none() -> None:
    both = (FRAME.format(f"/home/u/{name}/lib/python3.11/site-packages/torch/x.py") for name in ("a", "b"))
    assert executable("".join(both)) is None


def test_the_one_that_a_prompt_started_and_where() -> None:
    said = "H:\\AGI\\Fooocus>.\\python_embeded\\python.exe -s Fooocus\\entry.py\nRuntimeError: x\n"
    assert executable(said) == r"H:\AGI\Fooocus\python_embeded\python.exe"
    assert executable('venv "C:\\sd\\venv\\Scripts\\Python.exe"\n') == r"C:\sd\venv\Scripts\Python.exe"


def test_the_plan_speaks_of_that_python() -> None:
    facts = facts_of(COMFYUI)
    (fix,) = plan(judged(facts).account.findings, facts).fixes
    assert {step.argv[0] for step in fix.steps if step.argv} == {
        r"D:\ComfyUI_windows_portable\python_embeded\python.exe"
    }
