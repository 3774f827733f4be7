"""Stage 5: turns a Report into text. One file per format."""
