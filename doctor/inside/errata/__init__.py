"""The triggers of errata, by subject: run by the target interpreter, sent along with inside/probe.py."""
