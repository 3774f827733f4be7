"""The report of a fleet in every format: layout.py says what stands in it, the others draw it."""
