"""`torchdoctor knowledge`: what the tables hold and where they have it from; newer tables without a new release."""

from __future__ import annotations

import json
import os
import sys
from typing import Any

import click

from doctor.cli.codes import USAGE

FOLDER_VARIABLE = "TORCHDOCTOR_KNOWLEDGE"
MAX_BYTES = 32 << 20
TIMEOUT_S = 30


class BadTables(click.ClickException):
    """The user's tables cannot be used; the current ones stay in force."""

    exit_code = USAGE

    def format_message(self) -> str:
        """What click prints: the message, harmless, and that nothing changed."""
        from doctor.reports.text import safe

        return safe(f"{self.message} The tables in force are unchanged.")


def updated_tables() -> str | None:
    """The folder of updated tables: TORCHDOCTOR_KNOWLEDGE, else the platform's folder for a user's data."""
    if named := os.environ.get(FOLDER_VARIABLE):
        return named
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA")
    elif sys.platform == "darwin":
        base = os.path.expanduser("~/Library/Application Support")
    else:
        base = os.environ.get("XDG_DATA_HOME") or os.path.expanduser("~/.local/share")
    if not base or not os.path.isabs(base):  # no home folder
        return None
    return os.path.join(base, "torchdoctor", "knowledge")


def use_updated_tables() -> None:
    """Use the tables of an earlier --update, if there are any."""
    folder = updated_tables()
    if folder and os.path.isdir(folder):
        from doctor.knowledge import load

        load.use(folder)


@click.command()
@click.option("--update", "source", metavar="FILE|URL", help="Use newer tables: a file, or an https address.")
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
def command(source: str | None, as_json: bool) -> int:
    """Print what the tables know: their date, the newest releases, and where every fact is from."""
    if source is not None:
        _update(source)
    known = summary()
    click.echo(json.dumps(known, indent=2, ensure_ascii=False) if as_json else _text(known))
    return 0


def summary() -> dict[str, Any]:
    """What the tables hold, as --json prints it."""
    from doctor.knowledge import load, lookup

    tables = [_summary_of(name, load.table(name)) for name in load.TABLES]
    newest = lookup.newest_torch()
    sources = {key: text for name in load.TABLES for key, text in load.table(name)["sources"].items()}
    return {
        "schema": "1",
        "date": lookup.tables_date(),
        "newest": {
            "torch": newest,
            "released": lookup.release_date(newest),
            **{p: lookup.companion(newest, p) for p in ("torchvision", "torchaudio")},
            "backends": {
                p: lookup.backends_of(newest, p) for p in ("linux_x86_64", "linux_aarch64", "macos_arm64", "win_amd64")
            },
        },
        "tables": tables,
        "sources": dict(sorted(sources.items())),
        "refused": [str(error) for error in lookup.refused()],
    }


def _summary_of(name: str, table: dict[str, Any]) -> dict[str, Any]:
    from doctor.knowledge import load

    rows = [row for _, row in load.rows_of(table)]
    return {
        "name": name,
        "date": table["date"],
        "rows": len(rows),
        "verified": sum(row["status"] == "verified" for row in rows),
        "origin": "updated" if load.is_updated(name) else "built-in",
    }


def _text(known: dict[str, Any]) -> str:
    newest = known["newest"]
    lines = [
        f"Tables of {known['date']}.",
        f"Newest torch: {newest['torch']} ({newest['released']}), with torchvision {newest['torchvision']}, "
        f"torchaudio {newest['torchaudio']}.",
        "",
        *(f"  {platform:<14} {', '.join(backends)}" for platform, backends in newest["backends"].items()),
        "",
        f"  {'table':<12} {'date':<11} {'rows':>5} {'verified':>9}",
    ]
    for table in known["tables"]:
        origin = "  (updated)" if table["origin"] == "updated" else ""
        lines.append(f"  {table['name']:<12} {table['date']:<11} {table['rows']:>5} {table['verified']:>9}{origin}")
    lines += [
        "",
        "A row is verified by the published thing itself, by the vendor's page, or by two sources.",
        "",
        "Sources:",
    ]
    lines += [f"  {key}: {text}" for key, text in known["sources"].items()]
    lines += [f"Not used, the built-in table is: {message}" for message in known["refused"]]
    return "\n".join(lines)


def _update(source: str) -> None:
    """Install those of the given tables that are newer: all of them, or none."""
    from doctor.knowledge import load
    from doctor.knowledge.form import KnowledgeError
    from doctor.reports.text import safe

    folder = updated_tables()
    if folder is None:
        raise BadTables(f"There is no folder for a user's data here; name one with {FOLDER_VARIABLE}.")
    try:
        given = load.parse_update(_read(source))
    except KnowledgeError as error:
        raise BadTables(f"{source}: {error}.") from None
    newer = {name: data for name, data in given.items() if data["date"] > load.table(name)["date"]}
    if not newer:
        click.echo(safe(f"{source} has nothing newer than the tables in force."), err=True)
        return
    try:
        load.store(newer, folder)
    except OSError as error:
        raise BadTables(f"{folder} cannot be written: {error.strerror}.") from None
    load.use(folder)
    click.echo(safe(f"Updated: {', '.join(newer)}, in {folder}; remove that folder to go back."), err=True)


def _read(source: str) -> bytes:
    if "://" in source:
        return _download(source)
    try:
        with open(source, "rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise BadTables(f"{source} cannot be read: {error.strerror}.") from None
    return _within_limit(data, source)


def _download(url: str) -> bytes:
    """The bytes at an https address, redirections included: no other scheme, and no more than the limit."""
    import urllib.error
    import urllib.request
    from http.client import HTTPException

    if not url.startswith("https://"):
        raise BadTables(f"{url}: only files and https addresses are read.")
    try:
        with urllib.request.urlopen(url, timeout=TIMEOUT_S) as answer:
            if not answer.geturl().startswith("https://"):
                raise BadTables(f"{url} leads to an address that is not https.")
            data: bytes = answer.read(MAX_BYTES + 1)
    except (OSError, HTTPException, ValueError) as error:  # URLError is an OSError
        raise BadTables(f"{url} cannot be read: {getattr(error, 'reason', error)}.") from None
    return _within_limit(data, url)


def _within_limit(data: bytes, source: str) -> bytes:
    if len(data) > MAX_BYTES:
        raise BadTables(f"{source} is larger than {MAX_BYTES >> 20} MiB: these are no tables.")
    return data
