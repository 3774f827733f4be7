"""For scripts of this folder that the interpreter with torch runs: the probe and its errata, from the probe's file."""

import glob
import importlib.util
import os


def probe_and_errata(file):
    """(probe.py as a module, the pieces of errata/ as the doctor sends them)."""
    spec = importlib.util.spec_from_file_location("probe", file)
    probe = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(probe)
    sources = []
    for path in sorted(glob.glob(os.path.join(os.path.dirname(file), "errata", "*.py"))):
        with open(path) as source:
            sources.append(("errata/" + os.path.basename(path)[:-3], source.read()))
    return probe, probe.load_pieces(sources)
