"""What one rank does, under any launcher: standard library alone, in the target's own Python."""
