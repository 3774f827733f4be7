"""Scripts run BY the target interpreter: standard library only, nothing of ours."""
