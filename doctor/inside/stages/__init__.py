"""Further stages of the probe. The parent sends their text along with probe.py, which says what a piece is."""
