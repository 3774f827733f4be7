"""Stage 2: which probe is wanted when, its limits, and how to read its lines. The probes themselves are inside/probe.py."""
