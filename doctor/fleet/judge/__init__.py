"""From what the ranks left to a report. Pure: it works the same after a run and on records of another day."""
