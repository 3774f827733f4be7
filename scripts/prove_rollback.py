#!/usr/bin/env python3
"""Kill -9 torchdoctor, or the tool that it runs, at random moments of `fix --run`, or of `install --env NEW --run`;
undo; compare everything.

python scripts/prove_rollback.py [--mode fix|install] [--trials 50] [--seed 1] [--tool pip|uv|both]

Each trial starts from the same environment (real pip or uv, stub wheels from an index on the loopback, a recorded
machine with a GPU). It has data files outside of site-packages, files of other owners (where root runs this), hard
links, extended attributes, and links that leave it, for pip to another file system. A trial ends with `fix --undo` and
a comparison of all that is in the environment and behind its links (content, mode, owner, times, attributes, inodes),
and of the packages in uv's cache, with what was there. A killed install is undone, or made again, and its folder and
its journal must be gone. Exit code 1 where something differs.
"""

from __future__ import annotations

import argparse
import atexit
import os
import random
import shutil
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.index.killing import full_apply_s, full_install_s, install_trial, trial
from tests.index.patient import make_patient, make_wheels
from tests.index.server import serving


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--tool", choices=("pip", "uv", "both"), default="both")
    parser.add_argument("--mode", choices=("fix", "install"), default="fix")
    options = parser.parse_args()
    tools = ("pip", "uv") if options.tool == "both" else (options.tool,)
    failed = 0
    print("| no. | tool | killed | after ms | last line of the journal | undo | as it was |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for place, tool in enumerate(tools):
        count = options.trials // len(tools) + (place < options.trials % len(tools))
        failed += prove(options.mode, tool, count, options.seed + place)
    print(f"\n{options.trials - failed} of {options.trials}: all was exactly as before.")
    return 1 if failed else 0


def elsewhere(folder: Path, tool: str) -> Path | None:
    """For pip a new folder, on another file system if there is one to write to; removed at the end. None for uv, which
    links from its cache, and does not uninstall what lies behind a link."""
    if tool == "uv":
        return None
    shm = Path("/dev/shm")
    far = shm if os.access(shm, os.W_OK) else folder
    made = Path(tempfile.mkdtemp(prefix=f"prove-rollback-{tool}-", dir=far))
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return made


def prove(mode: str, tool: str, count: int, seed: int) -> int:
    """Make `count` trials with a tool; how many failed."""
    chance = random.Random(seed)
    failed = 0
    with tempfile.TemporaryDirectory(prefix="prove-rollback-") as name:
        folder = Path(name).resolve()
        with serving(make_wheels(folder / "wheels", files=1500)) as index:
            patient = make_patient(folder, index.url, pip=tool == "pip")
            patient.install("torch==2.13.0", "torchvision", backend="cpu")
            if mode == "fix":
                patient.make_hard(elsewhere(folder, tool))
            before = patient.exact() if mode == "fix" else patient.content()
            if mode == "install" and tool == "pip":
                (patient.root / "bin" / "uv").unlink()
            took = full_apply_s(patient) if mode == "fix" else full_install_s(patient)
            attempt = trial if mode == "fix" else install_trial
            for number in range(1, count + 1):
                one = attempt(patient, chance, took, before)
                row = (number, tool, one.victim, one.moment_ms, one.phase, one.undo, "yes" if one.ok else "NO")
                print("| " + " | ".join(str(cell) for cell in row) + " |", flush=True)
                if not one.ok:
                    failed += 1
                    print(one.detail, file=sys.stderr)
                    return failed + count - number  # the next trial would start from another state
    return failed


if __name__ == "__main__":
    sys.exit(main())
