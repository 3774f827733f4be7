"""What a benchmark's report looks like in each format. `layout.py` says what is in the tables; the others only how."""
