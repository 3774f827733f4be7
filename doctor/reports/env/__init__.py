"""The fields of other programs' reports on an environment, under their own names: what maintainers have always asked
for. Each module makes the text of one program from a report; the key lists and their sources stand with each of them.

Whoever reads such a text (doctor/evidence/collect_env.py does) must not conclude more from it than the report says, so
"Could not collect" stands for what is not known, and never a word that means "there is none".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from doctor.model.report import Report
from doctor.reports.env import collect_env, hugging_face, vllm
from doctor.reports.text import safe


def _inert(render: Callable[[Report], str]) -> Callable[[Report], str]:
    return lambda report: safe(render(report).replace("\r\n", "\n"), keep_lines=True)


SHAPES: Mapping[str, Callable[[Report], str]] = {
    "collect_env": _inert(collect_env.render),
    "transformers": _inert(hugging_face.transformers),
    "accelerate": _inert(hugging_face.accelerate),
    "diffusers": _inert(hugging_face.diffusers),
    "vllm": _inert(vllm.render),
}


def others(report: Report) -> dict[str, str]:
    """All fields that collect_env does not have: those of the Hugging Face tools and of vLLM, each name once."""
    fields = {**hugging_face.all_fields(report), **vllm.own_fields(report)}
    known = collect_env.fields(report)
    return {name: value for name, value in fields.items() if name not in known}
