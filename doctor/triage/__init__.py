"""What `torchdoctor triage` answers to an issue: event.py reads the issue, comment.py writes the answer, labels.py says
which labels it gets. Pure. Nothing is posted here or anywhere: the answer is printed."""
