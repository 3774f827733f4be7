"""Pieces of the benchmark's child: run by the target interpreter, sent along with inside/probe.py."""
