"""Checks of others, beside the catalogue's: which are installed, and what they say of the facts.

A plugin is foreign code. It runs in a process of its own (host.py) within a time limit; what it answers is decoded,
bounded and given ids below its name (run.py). It can add findings. One that raises, hangs or answers nonsense is a
Gap, and everything else is as it would be without it.
"""
