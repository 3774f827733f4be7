"""Stage 1, live: one source of facts a file. All go through system.System: a recorded machine can be replayed."""
