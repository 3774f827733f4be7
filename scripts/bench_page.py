"""Write the measured tables of docs/bench.md from reports of `torchdoctor bench --json`.

python scripts/bench_page.py REPORT.json …
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from doctor.bench.compare import setting_of  # noqa: E402
from doctor.decode import Refused  # noqa: E402
from doctor.model.bench import BenchReport  # noqa: E402
from doctor.reports.bench import layout  # noqa: E402
from doctor.reports.bench.json import parse  # noqa: E402
from doctor.reports.bench.markdown import table_lines  # noqa: E402

PAGE = ROOT / "docs" / "bench.md"
BEGIN, END = "<!-- begin: measured -->", "<!-- end: measured -->"


def main(arguments: list[str]) -> int:
    """Exit code 0; 2 where a report cannot be used."""
    if not arguments:
        print(__doc__)
        return 2
    reports = []
    for name in arguments:
        try:
            reports.append(parse(Path(name).read_bytes()))
        except (OSError, Refused) as error:
            print(f"{name}: {error}", file=sys.stderr)
            return 2
    PAGE.write_text(filled(PAGE.read_text(encoding="utf-8"), reports), encoding="utf-8", newline="\n")
    return 0


def filled(page: str, reports: Iterable[BenchReport]) -> str:
    """The page with the tables of these reports between its marks."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise SystemExit(f"{PAGE.name} has no section between {BEGIN} and {END}")
    return f"{before}{BEGIN}\n" + "\n".join(line for report in reports for line in section(report)) + f"\n{END}{after}"


def section(report: BenchReport) -> Iterator[str]:
    """One run: when, on what, with what, and its table without the published figures."""
    names = " and ".join(d.name or d.device for d in report.machine.devices)
    settings = ", ".join(dict.fromkeys(s for row in report.rows if (s := setting_of(row)) and row.scale == 1))
    title = (report.options.suite or "tour") + (f", {settings}" if settings else "")
    yield f"### {names}: {title}"
    yield ""
    yield f"{report.taken_at[:10]}, {report.tool}, {layout.environment(report)}."
    yield ""
    for line in layout.devices(report):
        yield f"- {line}"
    yield ""
    for table in layout.tables(report):
        if not table.title.startswith("published"):
            yield from table_lines(table)
            yield ""
    for line in layout.means(report):
        yield f"- {line}"
    yield from ("",) if report.means else ()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
