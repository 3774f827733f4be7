"""The ward for a machine with NVIDIA GPUs: what is broken there, and what must then be said.

row.py declares what a row is, rows.py is the table, machine.py finds what the rows need, run.py runs them, results.py
keeps what came of them and page.py shows it; scripts/ward_gpu.py is the command. Nothing outside a row's own processes
is changed: files are replaced in a mount namespace, variables and limits are those of the row. No setting of a driver
or GPU is touched.
"""
