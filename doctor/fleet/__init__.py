"""Many GPUs, many machines: which node, GPU or link is sick. Start reading at rank/agent.py (what a rank does) and
judge/judgement.py (records → report); docs/design.md, section 15."""
