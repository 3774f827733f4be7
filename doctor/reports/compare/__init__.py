"""A comparison of machines in each of its formats."""
