"""The nouns handed from stage to stage: facts, findings, fixes, the report. No logic, no imports but each other."""
