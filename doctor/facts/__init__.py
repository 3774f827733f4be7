"""Stage 1, live: one source of facts a file. Everything goes through system.System, so that a recorded machine can be replayed."""
