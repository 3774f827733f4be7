"""Stage 1, pasted text: pure text → facts. One file per kind of text; live collection uses the same parsers.

`read` recognises the kinds by their content.
"""
