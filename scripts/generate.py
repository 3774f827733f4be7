"""Make what follows from the code: pages of docs/, the schemas of the reports, the manual page, the help in README.md.

python scripts/generate.py           write them
python scripts/generate.py --check   exit 1 and name what is not current
"""

from __future__ import annotations

import json
import os
import re
import sys
import textwrap
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))


def catalogue() -> str:
    """The page of all diagnoses, from the docstrings of doctor/checks."""
    from doctor.checks import all_checks
    from doctor.model.finding import LAYERS
    from doctor.reports import markdown

    parts = [
        "# The diagnoses\n",
        "Made by scripts/generate.py from the docstrings in doctor/checks; change them there. The same page on the "
        "command line: `torchdoctor explain ID`. The layers are in causal order: a cause in an earlier one explains "
        "symptoms in later ones.\n",
    ]
    for layer in LAYERS:
        checks = [c for c in all_checks() if c.layer == layer]
        if checks:
            parts.append(f"## {layer}\n")
            parts.extend(markdown.render_page(c) for c in checks)
    return "\n".join(parts)


def schema() -> str:
    """doctor/reports/report-1.schema.json."""
    from doctor.reports.json import schema

    return json.dumps(schema(), indent=2) + "\n"


def bench_schema() -> str:
    """doctor/reports/bench-1.schema.json."""
    from doctor.reports.bench.json import schema

    return json.dumps(schema(), indent=2) + "\n"


def fleet_schema() -> str:
    """doctor/reports/fleet-1.schema.json."""
    from doctor.reports.fleet.json import schema

    return json.dumps(schema(), indent=2) + "\n"


def compare_schema() -> str:
    """doctor/reports/compare-1.schema.json."""
    from doctor.reports.compare.json import schema

    return json.dumps(schema(), indent=2) + "\n"


def fleet_page() -> str:
    """docs/fleet.md with the fleet's own findings between its marks."""
    from doctor.fleet.judge.catalogue import OWN

    lines = ["| id | means | what to do |", "| --- | --- | --- |"]
    lines += [f"| `{id}` | {own.title} | {own.remedy} |" for id, own in OWN.items()]
    text = (ROOT / "docs" / "fleet.md").read_text(encoding="utf-8")
    return _between(text, "findings", "\n".join(lines))


def bench_page() -> str:
    """docs/bench.md with the tolerances in force between its marks."""
    from doctor.bench import verdicts

    depths = (10, 50, 200)
    elsewhere = ("float32 elsewhere", verdicts.DEVICE_BITS)
    kinds = (("float32 on a CPU", 24), elsewhere, ("TF32 and float16", 11), ("bfloat16", 8))
    heads = ("norm of the error, at most", *(f"depth {depth}" for depth in depths))
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for what, tolerance in (("outputs", verdicts.outputs_tolerance), ("gradients", verdicts.gradients_tolerance)):
        lines += [
            f"| {what}, {kind} | " + " | ".join(_tolerance(tolerance(bits, depth)) for depth in depths) + " |"
            for kind, bits in kinds
        ]
    lines += [
        "",
        f"The loss at the end of the short training may be as far from the middle of the CPU's seeds as "
        f"{verdicts.BAND_REACH:g} times their range and {100 * verdicts.BAND_MARGIN:g} % of their middle.",
    ]
    text = (ROOT / "docs" / "bench.md").read_text(encoding="utf-8")
    return _between(text, "tolerances", "\n".join(lines))


def _tolerance(value: float | None) -> str:
    return "not judged" if value is None else f"{value:.2g}"


def help_text() -> str:
    """What `torchdoctor --help` prints at 80 columns."""
    from click import Context

    from doctor.cli.main import cli

    with Context(cli, info_name="torchdoctor", terminal_width=80, **cli.context_settings) as context:
        return cli.get_help(context)


def readme() -> str:
    """README.md with the current help and exit codes between their marks."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    text = _between(text, "torchdoctor --help", f"```text\n{help_text()}\n```")
    return _between(text, "torchdoctor help exit-codes", exit_codes())


def _between(text: str, mark: str, made: str) -> str:
    """The page with what was made between the two marks of that name."""
    first, last = f"<!-- begin: {mark} -->", f"<!-- end: {mark} -->"
    before, begin, rest = text.partition(first)
    _, end, after = rest.partition(last)
    if not begin or not end:
        raise SystemExit(f"there is no section between {first} and {last}")
    return f"{before}{first}\n{made}\n{last}{after}"


def knowledge() -> str:
    """docs/knowledge.md: what the tables hold, and the last proofs of it."""
    from scripts import prove_knowledge

    return prove_knowledge.docs_text()


def report() -> str:
    """docs/report.md: every field of a report, with what it means."""
    from scripts import report_page

    return report_page.text()


def needs() -> str:
    """doctor/needs.py: what each regular expression needs in a text."""
    from scripts import needs

    return needs.text()


def literals() -> str:
    """doctor/knowledge/_literals.py: the literals of the messages by their rarest part, and the harmless ones."""
    from doctor.knowledge.load import BUILT_IN, table
    from doctor.knowledge.messages import literals_of
    from doctor.regex import PART, by_part

    rows = table("messages")["rows"]
    parts = by_part(literals_of(rows), rarest=True).split(PART)
    harmless = sorted(row["id"] for row in rows if row.get("means"))
    return "\n".join(
        [
            '"""The literals of the built-in messages, each with the places of its rows, by the part that the fewest',
            'others hold (see Vocabulary of regex.py). Made by scripts/generate.py; do not edit."""',
            "",
            "# ruff: noqa: E501",
            f"SIZE = {(BUILT_IN / 'messages.json').stat().st_size}  # bytes of the table of which this was made",
            "BY_PART = (",
            *(f"    {part!r}" for part in (parts[0], *(PART + part for part in sorted(parts[1:])))),
            ")",
            "# The ids of harmless warnings.",
            "HARMLESS = frozenset(",
            f"    {harmless!r}",
            ")",
            "",
        ]
    )


def only_on() -> str:
    """doctor/checks/_only_on.py: the systems to which checks limit themselves."""
    from doctor.checks import check_of, layers

    checks = (check for id in layers() if (check := check_of(id)))
    rows = [f"    {check.id!r}: {check.systems!r},".replace("'", '"') for check in checks if check.systems]
    return "\n".join(
        [
            '"""The systems to which checks limit themselves, so that what cannot occur need not be loaded. Made by',
            'scripts/generate.py from `systems` of each check; do not edit."""',
            "",
            "ONLY_ON: dict[str, tuple[str, ...]] = {",
            *rows,
            "}",
            "",
        ]
    )


def known_words() -> str:
    """doctor/redaction/known.txt: the words of the knowledge tables that words.txt lacks; not those of tickets,
    among which names may be."""
    tables = sorted((ROOT / "doctor" / "knowledge" / "tables").glob("*.json"))
    tables = [table for table in tables if table.stem not in ("words", "phrases")]
    found = {word for table in tables for word in re.findall(r"[a-z]{2,}", table.read_text(encoding="utf-8").lower())}
    found -= set((ROOT / "doctor" / "redaction" / "words.txt").read_text(encoding="utf-8").split())
    said = "# Words of the knowledge tables. Made by scripts/generate.py; do not edit.\n"
    return said + "\n".join(textwrap.wrap(" ".join(sorted(found)), 118)) + "\n"


def machines() -> str:
    """docs/machines.md: what install says to the reviewed machines."""
    from scripts import machines_page

    return machines_page.text()


def errata() -> str:
    """docs/errata.md: what is known to be broken, by release and by backend."""
    from doctor.knowledge import lookup
    from doctor.reports.errata import page

    return page(lookup.errata(), lookup.torch_versions())


def man_page() -> str:
    """docs/torchdoctor.1: the manual page, which wheels install."""
    from scripts import man_page

    return man_page.text()


def picture() -> str:
    """docs/terminal.svg: a report as a terminal shows it."""
    from scripts import terminal_picture

    return terminal_picture.svg()


def exit_codes() -> str:
    """README.md's table of exit codes, from what `torchdoctor help exit-codes` says."""
    from doctor.cli.topics import TOPICS

    return "\n".join(["| code | meaning |", "| --- | --- |", *(f"| {c} | {m} |" for c, m in TOPICS["exit-codes"].rows)])


MADE = {
    "doctor/needs.py": needs,  # first: what others are made of reads it
    "doctor/knowledge/_literals.py": literals,
    "doctor/checks/_only_on.py": only_on,
    "doctor/redaction/known.txt": known_words,
    "docs/bench.md": bench_page,
    "docs/checks.md": catalogue,
    "docs/errata.md": errata,
    "docs/fleet.md": fleet_page,
    "docs/knowledge.md": knowledge,
    "docs/machines.md": machines,
    "docs/torchdoctor.1": man_page,
    "docs/report.md": report,
    "docs/terminal.svg": picture,
    "doctor/reports/report-1.schema.json": schema,
    "doctor/reports/bench-1.schema.json": bench_schema,
    "doctor/reports/fleet-1.schema.json": fleet_schema,
    "doctor/reports/compare-1.schema.json": compare_schema,
    "README.md": readme,
}


def main(arguments: list[str]) -> int:
    """Exit code 0; with --check 1 where a file is not current."""
    os.environ.pop("COLUMNS", None)
    stale = []
    for name, make in MADE.items():
        path, text = ROOT / name, make()
        if path.exists() and path.read_text(encoding="utf-8") == text:
            continue
        stale.append(name)
        if "--check" not in arguments:
            path.write_text(text, encoding="utf-8", newline="\n")
            print(f"wrote {name}")
    if "--check" in arguments and stale:
        print(f"not current: {', '.join(stale)}; run python scripts/generate.py")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
