"""`torchdoctor errata`: what is known to be broken in the torch that is here, or in the one that is named; and
`torchdoctor probe --errata`, which tries it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import click

from doctor.cli import output
from doctor.cli.codes import FAULT, NO_VERDICT
from doctor.cli.options import chosen_format, machine_options, read_all, request_from
from doctor.cli.progress import watching
from doctor.knowledge.errata import BACKENDS, Erratum, Match, Place, stands_for
from doctor.model.facts import Facts, Torch
from doctor.model.report import Report

_LEFT_OPEN = ("the device", "the model of the device", "the system")
_DEVICE_TOKEN = re.compile(r"sm_\d{2,3}|gfx[0-9a-f]{3,4}|M\d{1,2}", re.IGNORECASE)


@click.command()
@machine_options(formats=("terminal", "json", "markdown"), probes=False)
@click.option("--torch", "torch", metavar="VERSION", help="List the errata of this release, not of the installed one.")
@click.option("--backend", type=click.Choice(BACKENDS), help="Only errata of this backend.")
@click.option("--device", "device", metavar="NAME", help="Only errata of this device: RTX 4090, M1 Pro, sm_90, gfx1100")
def command(**options: Any) -> int:
    """List the known defects (errata) of the installed torch that apply to this machine.

    \b
    torchdoctor errata                                the installed torch
    torchdoctor errata --torch 2.8.0 --backend mps    another release
    torchdoctor errata --device "RTX 4090"            all releases on this GPU

    With --torch, --backend or --device, this machine is not examined. -v also lists errata that may apply, and what is
    missing to tell.
    """
    named = options["torch"] or options["backend"] or options["device"]
    if named and (options["sources"] or options["python"]):
        raise click.UsageError("--torch, --backend and --device name a torch of their own: no --python, no --from.")
    if named:
        return _show(_of_options(options), f"torch {options['torch'] or 'of any version'}", options, None)
    report = _looked_at(options)
    if (problem := output.wrong_target(report)) is not None:
        output.complain(f"torchdoctor: {problem}")
        return NO_VERDICT
    torch = report.facts.torch
    if not isinstance(torch, Torch) or torch.version is None:
        output.complain("Which torch is here is not known. Name one with --torch.")
        return NO_VERDICT
    from doctor.checks._errata import matches

    return _show(matches(report.facts), f"torch {torch.version}", options, report.facts)


def _looked_at(options: dict[str, Any]) -> Report:
    """The report on the machine, without probing its devices."""
    from doctor.pipeline import examine

    with watching(quiet=options["quiet"]) as tell:
        request = request_from(**{**options, "device": (), "no_probe": True, "evidence": read_all(options["sources"])})
        return examine(request, tell)


def _of_options(options: dict[str, Any]) -> tuple[Match, ...]:
    """The errata of a torch and a device that are named. What is not named is left open, and does not count."""
    from doctor.knowledge import lookup

    version, backend, device = options["torch"], options["backend"], options["device"]
    if version is not None and not stands_for(version):
        raise click.BadParameter(f"'{version}' is no version of torch such as 2.8.0.", param_hint="--torch")
    token, of_device = _device(device, backend) if device else (None, None)
    backend = backend or of_device
    place = Place(
        version=version,
        backends=(backend,) if backend else None,
        devices={backend: (token,)} if backend and token else {},
    )
    return lookup.errata_for(place)


def _device(name: str, backend: str | None) -> tuple[str, str]:
    """(the name that the rows use for the device, its backend)."""
    from doctor.checks._errata import BACKEND_OF, device_name
    from doctor.knowledge import lookup

    if _DEVICE_TOKEN.fullmatch(name):
        return name, {"s": "cuda", "g": "rocm", "m": "mps"}[name[0].lower()]
    if chip := device_name("mps", name, None, None):
        return chip, "mps"
    model = lookup.gpu_model(name)
    of_model = BACKEND_OF.get(model.vendor) if model else None
    token = device_name(of_model, name, None, None) if of_model else None
    if of_model is None or token is None:
        raise click.BadParameter(f"'{name}' is no device that the tables know.", param_hint="--device")
    if backend not in (None, of_model):
        raise click.BadParameter(f"{name} is not a device of {backend}.", param_hint="--device")
    return token, of_model


def _show(found: tuple[Match, ...], what: str, options: dict[str, Any], facts: Facts | None) -> int:
    """Print those that hold, and with -v those that may. Where the torch is named, what only the machine would tell
    (its system, its libraries) is no reason to leave one out."""
    backend = options["backend"]
    found = tuple(m for m in found if backend is None or backend in m.backends)
    held = [m for m in found if _holds(m, named=facts is None)]
    may = [m for m in found if m not in held]
    format = chosen_format(options)
    if format == "json":
        output.emit(json.dumps(_as_json(what, held, may), indent=2, ensure_ascii=False), options["output"])
        return 0
    if format == "markdown":
        from doctor.reports import errata

        output.emit("\n".join(errata.markdown_page(m.erratum) for m in held), options["output"])
        return 0
    from doctor.reports import errata
    from doctor.reports.terminal import pages

    serving = errata.serving(facts, [m.erratum for m in held]) if facts is not None and held else {}
    sections: list[tuple[str, Iterable[tuple[Erratum, str]]]] = []
    if held:
        heading = f"Known errata of {what}: {len(held)}"
        sections.append((heading, [(m.erratum, _remark(m, serving)) for m in held]))
    if may and options["verbose"]:
        sections.append(("These may apply", [(m.erratum, _remark(m, {})) for m in may]))
    text = pages.render_errata(
        sections, color=output.wants_color(options["color"], to_file=bool(options["output"])), width=output.width()
    )
    if not held:
        text += f"No erratum is known for {what}.\n"
    if may and not options["verbose"]:
        text += f"\n{len(may)} more may apply: -v lists them, and what is missing to tell.\n"
    output.emit(text, options["output"])
    return 0


def _holds(match: Match, *, named: bool) -> bool:
    """Whether it is to be shown as one that holds: of a torch that is named, whatever only a machine would tell."""
    if match.applies:
        return match.erratum.status != "unclear"
    return named and all(u in _LEFT_OPEN or u.startswith("the version of") for u in match.unknown)


def _remark(match: Match, serving: dict[str, str]) -> str:
    parts = [serving.get(match.erratum.id, "")]
    if depends := [u for u in match.unknown if u not in _LEFT_OPEN and u != "the version of torch"]:
        parts.append(f"Depends on {' and '.join(depends)}.")
    if not match.exact and not match.unknown:
        parts.append("Judged by the releases closest to this build, which may be patched.")
    if match.erratum.status == "unclear":
        parts.append("It is uncertain which releases are affected.")
    return " ".join(p for p in parts if p)


def _as_json(what: str, held: Iterable[Match], may: Iterable[Match]) -> dict[str, Any]:
    from doctor.reports.errata import as_json

    return {
        "schema": "1",
        "of": what,
        "errata": [{**as_json(m.erratum), "exact": m.exact, "unknown": list(m.unknown)} for m in held],
        "may_hold": [{**as_json(m.erratum), "exact": m.exact, "unknown": list(m.unknown)} for m in may],
    }


# ---- probe --errata


def try_them(options: dict[str, Any]) -> int:
    """Run the triggers of the errata that hold here or may. Exit code 1 where one is confirmed, 3 where none could be
    tried although there are some."""
    from doctor.checks._errata import matches
    from doctor.pipeline import examine
    from doctor.probes import errata

    with watching(quiet=options["quiet"]) as tell:
        request = request_from(**{**options, "no_probe": True})
        report = examine(request, tell)
        if (problem := output.wrong_target(report)) is not None:
            output.complain(f"torchdoctor: {problem}")
            return NO_VERDICT
        if not isinstance(report.facts.torch, Torch) or not report.facts.torch.imports:
            output.complain("torch does not import here: no erratum can be tried. See: torchdoctor check")
            return NO_VERDICT
        found = matches(report.facts)
        wanted = errata.trials(found, report.facts, options["device"])
        tried = errata.attempt(wanted, replace(request, probe=True), tell)
    without = len({m.erratum.id for m in found if m.applies} - {t.match.erratum.id for t in wanted})
    if chosen_format(options) == "json":
        output.emit(json.dumps(_tried_as_json(report, tried, without), indent=2, ensure_ascii=False), options["output"])
    else:
        output.emit(_tried_as_table(report, tried, without, options), options["output"])
    if any(t.outcome == "confirmed" for t in tried):
        return FAULT
    return NO_VERDICT if tried and all(t.outcome == "untried" for t in tried) else 0


_OUTCOMES = {"confirmed": "confirmed here", "not here": "not here", "untried": "can't be tried"}


def _tried_as_table(report: Report, tried: Iterable[Any], without: int, options: dict[str, Any]) -> str:
    from doctor.reports.terminal import pages

    unseen = "it was not seen: this build may be patched"
    rows = [
        (t.match.erratum.id, t.device, _OUTCOMES[t.outcome], t.detail or (unseen if t.match.applies else ""))
        for t in tried
    ]
    color = output.wants_color(options["color"], to_file=bool(options["output"]))
    text = pages.render_table(rows, heads=("erratum", "device", "", ""), color=color) if rows else ""
    torch = report.facts.torch
    version = torch.version if isinstance(torch, Torch) else None
    if not rows:
        text = f"No erratum that can be tried is known for torch {version} here.\n"
    if without:
        text += f"\n{without} more hold for torch {version} here that no computation shows: torchdoctor errata\n"
    return text


def _tried_as_json(report: Report, tried: Iterable[Any], without: int) -> dict[str, Any]:
    torch = report.facts.torch
    return {
        "schema": "1",
        "torch": torch.version if isinstance(torch, Torch) else None,
        "tried": [
            {
                "id": t.match.erratum.id, "device": t.device, "applies": t.match.applies, "outcome": t.outcome,
                "detail": t.detail, "ms": t.ms,
            }
            for t in tried
        ],
        "without_trigger": without,
    }  # fmt: skip
