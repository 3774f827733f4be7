"""What a check declares, in words: where the diagnosis occurs, and what rules it out."""

from __future__ import annotations

from doctor.checks import Check
from doctor.reports.words import SYSTEMS, listed

_VENDORS = {"nvidia": "NVIDIA", "amd": "AMD", "intel": "Intel", "apple": "Apple"}


def declared(check: Check) -> str:
    """Where a diagnosis occurs, and what rules it out, as its check declares it."""
    needs = ", ".join(" or ".join(_need(name) for name in need.split("|")) for need in check.needs)
    sentences = [f"To rule it out takes: {needs}."]
    if check.systems:
        sentences.insert(0, f"Only on {listed([SYSTEMS[s] for s in check.systems], 'and')}.")
    if check.keeps_from:
        gpu = f"every {listed([_VENDORS[v] for v in check.keeps_from], 'or')} GPU"
        sentences.append(
            f"Refuted where {f'the probe of {gpu} passed' if check.even_if_listed else f'torch uses {gpu}'}."
        )
    return " ".join(sentences)


def _need(name: str) -> str:
    return "what the import and the probes of a live run say" if name == "messages" else name
