"""A pure test of many rows as one test: it runs all of them and names every row that fails.

pytest's own parametrisation makes a test of each row, at 3 ms each in two workers; the tables here have thousands.
"""

from __future__ import annotations

import functools
import inspect
import os
import traceback
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import pytest

Test = TypeVar("Test", bound=Callable[..., None])
ONLY = os.environ.get("TORCHDOCTOR_TEST_ROW", "")  # only the rows with this in their name


def table(
    names: str, rows: Iterable[Any] | Callable[[], Iterable[Any]], ids: Callable[[Any], str] | Iterable[str] = str
) -> Callable[[Test], Test]:
    """As pytest.mark.parametrize, for a test whose fixtures do not change from row to row.

    `names` are those of the arguments, "a, b"; a row is a tuple of their values, or the value where there is one. Rows
    may be pytest.param(…, id=…), and a function that makes them is called when the test runs, not when it is collected.
    """
    arguments = [name.strip() for name in names.split(",")]

    def decorated(test: Test) -> Test:
        @functools.wraps(test)
        def run(**fixtures: Any) -> None:
            made = list(rows() if callable(rows) else rows)
            titles = None if callable(ids) else list(ids)
            assert made, "a table without rows tests nothing"
            failed, ran = [], 0
            for number, row in enumerate(made):
                values = row.values if hasattr(row, "marks") else row if len(arguments) > 1 else (row,)
                title = getattr(row, "id", None) if hasattr(row, "marks") else None
                title = title or (titles[number] if titles else " ".join(ids(value)[:60] for value in values))  # type: ignore[operator]
                if ONLY not in title:
                    continue
                ran += 1
                try:
                    test(**dict(zip(arguments, values, strict=True)), **fixtures)
                except (Exception, pytest.fail.Exception) as error:
                    lines = [f.lineno for f in traceback.extract_tb(error.__traceback__) if f.filename.endswith(".py")]
                    failed.append(f"[{title}] line {lines[1:2] or lines}: {type(error).__name__}: {error}")
            if failed:
                pytest.fail(f"{len(failed)} of {ran} rows:\n" + "\n".join(failed), pytrace=False)

        signature = inspect.signature(test)
        kept = [p for name, p in signature.parameters.items() if name not in arguments]
        run.__signature__ = signature.replace(parameters=kept)  # type: ignore[attr-defined]
        del run.__wrapped__
        return run  # type: ignore[return-value]

    return decorated
