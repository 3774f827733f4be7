"""Stage 5: a Report in, text out. One file per format."""
