"""Stage 5, when asked: snapshot, run, verify, roll back."""
