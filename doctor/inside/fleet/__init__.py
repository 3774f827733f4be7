"""What a rank of a fleet runs: see worker.py."""
