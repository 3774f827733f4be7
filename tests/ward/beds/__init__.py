"""The beds, by what is broken. Expectations were written down before the first run; results.json keeps that run."""
