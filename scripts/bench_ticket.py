"""How long `torchdoctor ticket` takes where something is broken, beside starting Python with click alone.

python scripts/bench_ticket.py      one line an environment; exit code 1 where one takes more than 10 s or fails
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
LIMIT_S = 10.0


def main() -> int:
    """Print the matrix."""
    from tests.cli.broken import BROKEN, ticket

    started = time.monotonic()
    subprocess.run([sys.executable, "-c", "import click"], check=True)
    base = time.monotonic() - started
    print(f"{'python -c import click':<32}{base:6.1f} s")
    bad = 0
    for name, make in BROKEN.items():
        with tempfile.TemporaryDirectory() as folder:
            broken = make(Path(folder))
            started = time.monotonic()
            done = ticket(broken, Path(folder))
            seconds = time.monotonic() - started
        verdict = next((line for line in done.stdout.splitlines() if line.startswith("**")), "").strip("*")
        bad += done.returncode != 0 or seconds > LIMIT_S
        print(f"{name:<32}{seconds:6.1f} s {seconds / base:6.1f} x  exit {done.returncode}  {verdict[:90]}", flush=True)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
