"""The output of one tool a file: `parse(text) -> record`, the only reader of that tool, for the live machine and for a
pasted text alike. Pure; knows neither facts nor where the text came from."""
