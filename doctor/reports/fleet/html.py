"""A fleet's report as one HTML file that needs nothing else: what is wrong, the nodes, heat maps of all pairs.

Needs jinja2, which comes with torchdoctor[html].
"""

from __future__ import annotations

from doctor.model.fleet import FleetReport
from doctor.reports.fleet import layout
from doctor.reports.pages import page


def render(report: FleetReport) -> str:
    """The document. All foreign text is escaped by the template's autoescaping, after sinks.py's escapers."""
    tables = [layout.nodes(report, all_of_them=len(report.nodes) <= 256), *layout.classes(report)]
    if report.collectives:
        tables.append(layout.collectives(report))
    if report.drift:
        tables.append(layout.drift(report))
    return page(
        "fleet.html.j2",
        report=report,
        heading=layout.heading(report),
        verdict=layout.verdict(report),
        words=layout.WORDS,
        found=layout.accused(report)[: layout.FINDINGS_SHOWN],
        more=max(0, len(layout.accused(report)) - layout.FINDINGS_SHOWN),
        consequences=layout.consequences(report)[:8],
        tables=tables,
        floors=layout.floors(report),
        links=layout.links(report),
        maps=layout.maps(report),
    )
