"""A simple index on the loopback, and stub wheels named and tagged as the real ones."""
