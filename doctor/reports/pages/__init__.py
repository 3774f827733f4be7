"""What all HTML pages share: the skeleton, the stylesheet and the script, filled into one file that needs nothing else.

Nothing of a page can load anything or run anything but the one script of ours: its Content-Security-Policy allows the
style and the script by their hashes alone. Without the script everything is there; it adds copy buttons and filters.

Needs jinja2, which comes with torchdoctor[html].
"""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from importlib.resources import files

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup

from doctor.reports import sinks


def page(name: str, **values: object) -> str:
    """A template of this folder, filled in. Foreign text is escaped by the template's autoescaping, after the filters
    of sinks.py."""
    style, script = (f"\n{_source(file)}" for file in ("style.css", "script.js"))
    policy = (
        f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    template = _environment().get_template(name)
    return template.render(style=Markup(style), script=Markup(script), policy=Markup(policy), **values)


@cache
def _environment() -> Environment:
    """With the templates that were compiled in it: that takes longer than filling one in."""
    environment = Environment(
        loader=FunctionLoader(_source), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters.update(safe_text=sinks.html, safe_cell=sinks.html_cell, safe_lines=sinks.html_lines)
    return environment


def _source(name: str) -> str:
    return files("doctor.reports.pages").joinpath(name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
