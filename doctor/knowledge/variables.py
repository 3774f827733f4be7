"""Environment variables that break or slow torch, and the options of its allocator. The rows are in
tables/variables.json."""

from __future__ import annotations

import re
from typing import Literal

from doctor.knowledge.load import of_tables, table
from doctor.model.values import dataclass


@dataclass(frozen=True, kw_only=True)
class HarmfulVariable:
    """A variable whose `value` (a regular expression for all of it) does harm to builds for `accelerator` ("cuda",
    "rocm", "xpu"). `messages`: what is heard where it breaks something; `effect`: one clause."""

    name: str
    value: str
    harm: Literal["breaks", "slows"]
    accelerator: str
    messages: tuple[str, ...]
    effect: str
    source: str

    def has(self, value: str) -> bool:
        """Whether that value does harm."""
        return re.fullmatch(self.value, value.strip()) is not None


@of_tables
def harmful_variables() -> tuple[HarmfulVariable, ...]:
    """All of them."""
    content = table("variables")
    return tuple(
        HarmfulVariable(
            name=row["name"],
            value=row["value"],
            harm=row["harm"],
            accelerator=row["accelerator"],
            messages=tuple(row["messages"]),
            effect=row["effect"],
            source=content["sources"][row["sources"][0]],
        )
        for row in content["rows"]
    )


def allocator_option_since(name: str) -> str | None:
    """The release that brought an option of PYTORCH_CUDA_ALLOC_CONF; None where the tables do not know it.

    >>> allocator_option_since("expandable_segments"), allocator_option_since("no_such_option")
    ('2.1', None)
    """
    return next((row["since"] for row in table("variables")["allocator_options"] if row["name"] == name), None)
