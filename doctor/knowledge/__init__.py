"""What is known of torch builds, drivers, GPUs, systems and messages: dated tables, every row with its source.

lookup.py answers questions about them; choose.py picks the build for a machine; the tables are in tables/*.json.
Pure: no processes, no environment, no clock, no network.
"""
