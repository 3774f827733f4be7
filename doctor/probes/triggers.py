"""Which piece of inside/ holds which trigger of an erratum."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from functools import cache
from pathlib import Path

INSIDE = Path(__file__).parent.parent / "inside"
SILENT = "silent"  # the silent-fault pack, stages/silent.py


@cache
def triggers() -> Mapping[str, str]:
    """Trigger to piece: every function of inside/errata/ whose only parameter is `here` ("errata/mps"), and every
    computation of the silent-fault pack ("silent"). Read from the sources: what is in them is nowhere listed again."""
    found = {}
    for path in sorted((INSIDE / "errata").glob("*.py")):
        for function in _functions(path):
            if ast.unparse(function.args) == "here":
                found[function.name] = f"errata/{path.stem}"
    for function in _functions(INSIDE / "stages" / f"{SILENT}.py"):
        if any(isinstance(d, ast.Call) and getattr(d.func, "id", "") == "silent" for d in function.decorator_list):
            found[function.name] = SILENT
    return found


def _functions(path: Path) -> list[ast.FunctionDef]:
    return [n for n in ast.parse(path.read_text(encoding="utf-8")).body if isinstance(n, ast.FunctionDef)]
