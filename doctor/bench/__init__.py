"""The benchmark's judgement, pure: what is run (suites.py, plan.py), what a child said (said.py), statistics, and
whether a time may be shown (verdicts.py). The work is done by inside/bench/, in children that probes/benching.py
starts."""
