"""Benchmarks: what is measured, how it is judged, and what it means. Pure; the measuring is in doctor/inside/bench."""
