"""Stage 1 from pasted text: pure text in, facts out. Nothing of it is executed, opened or resolved.

START HERE: read.py. One file is one kind of text, recognised by its content; text.py makes the text readable first
(encoding, colours, quoting, wrapping), notes.py gathers what the readers see and settles which source wins.
"""
