"""What each field of a report means: the comments beside the fields in doctor/model, which are the only place where it
is written. docs/report.md and the descriptions in the schemas are made of them.

A comment stands at the end of the field's line, or on lines of its own above it. A comment that ends with a colon
opens a group, and says nothing of the field below it.
"""

from __future__ import annotations

import ast
import inspect
import io
import tokenize
from collections.abc import Mapping
from functools import cache


@cache
def meanings(kind: type) -> Mapping[str, str]:
    """{field: meaning} of a dataclass; a field without a comment is not in it."""
    source = inspect.getsource(kind)
    comments = {
        token.start[0]: (token.string.lstrip("# "), token.line.strip().startswith("#"))
        for token in tokenize.generate_tokens(io.StringIO(source).readline)
        if token.type == tokenize.COMMENT
    }
    body = ast.parse(source).body[0]
    assert isinstance(body, ast.ClassDef)
    found = {}
    for node in body.body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            said = [text for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)
                    if (text := comments.get(line, ("", False))[0])]  # fmt: skip
            above, line = list[str](), node.lineno - 1
            while line in comments and comments[line][1]:
                above.insert(0, comments[line][0])
                line -= 1
            if above and not above[-1].endswith(":"):
                said = [*above, *said]
            if said:
                found[node.target.id] = " ".join(said)
    return found


@cache
def summary(kind: type) -> str:
    """What a type is: its docstring as one paragraph."""
    return " ".join((inspect.getdoc(kind) or "").split())
