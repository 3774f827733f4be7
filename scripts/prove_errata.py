"""Run the triggers of all errata with a torch, and compare what they say with what the rows say of its version.

prove_errata.py --python PYTHON [--device cpu] [--only ID]… [--jobs 4] [--json FILE]

Every row with a trigger is tried on the device, also those of other releases and backends. One that finds something
where its row does not hold (another release, system or library) accuses a torch wrongly: exit code 1. One that finds
nothing where it holds "misses": it is too weak, or this build is patched.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from doctor.checks._errata import place_of  # noqa: E402
from doctor.knowledge import lookup  # noqa: E402
from doctor.knowledge.errata import Match  # noqa: E402
from doctor.model.facts import Torch  # noqa: E402
from doctor.pipeline import Request, examine  # noqa: E402
from doctor.probes.errata import Trial, Tried, attempt  # noqa: E402


def said(tried: Tried, here: Mapping[str, Match]) -> str:
    """What a trial comes to beside its row: "agrees", "accuses", "misses", "untried". `here`: the rows that hold on
    this machine and device, or may, by id. Rows may share a trigger (one fault, on CUDA and on ROCm): what it finds is
    right where one of them holds."""
    match = here.get(tried.match.erratum.id)
    if tried.outcome == "untried":
        return "untried"
    if tried.outcome == "confirmed":
        return "agrees" if any(m.erratum.trigger == tried.match.erratum.trigger for m in here.values()) else "accuses"
    return "misses" if match and match.applies else "agrees"


def main(arguments: list[str]) -> int:
    """Exit code 0; 1 where a trigger accuses a release outside of its row's range; 3 where torch does not import."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--python", required=True)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--jobs", type=int, default=1, help="triggers that run at the same time")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args(arguments)
    request = Request(python=options.python, probe=False)
    facts = examine(request).facts
    torch = facts.torch
    if not isinstance(torch, Torch) or not torch.imports or torch.version is None:
        print("torch does not import there")
        return 3
    wanted = [
        Trial(Match(erratum=e, backends=e.backends), options.device)
        for e in lookup.errata()
        if e.trigger and (not options.only or e.id in options.only)
    ]
    tried = attempt(wanted, request, lambda text: print(text, file=sys.stderr), options.jobs)
    kind = options.device.partition(":")[0]
    backend = "rocm" if kind == "cuda" and torch.hip else kind
    place = replace(place_of(facts), backends=(backend,), imported=False)
    here = {m.erratum.id: m for m in lookup.errata_for(place)}
    rows = [(said(t, here), t) for t in tried]
    for verdict, t in sorted(rows, key=lambda row: (row[0], row[1].match.erratum.id)):
        print(f"{verdict:<8} {t.match.erratum.id:<44} {t.outcome:<10} {t.detail[:100]}")
    counts = Counter(verdict for verdict, _ in rows)
    print(f"torch {torch.version} on {options.device}: {dict(counts)}")
    if options.json:
        made = [{"id": t.match.erratum.id, "verdict": v, "outcome": t.outcome, "detail": t.detail} for v, t in rows]
        options.json.write_text(json.dumps({"torch": torch.version, "device": options.device, "rows": made}, indent=1))
    return 1 if counts["accuses"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
