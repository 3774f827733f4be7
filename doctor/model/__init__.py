"""The nouns handed from stage to stage: facts, findings, fixes, the report. No logic, and no imports of ours but each other."""
