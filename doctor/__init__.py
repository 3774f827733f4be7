"""torchdoctor: why PyTorch does not use this machine as it should, and which commands mend it.

Start reading at pipeline.py; docs/design.md tells the rest.
"""

__version__ = "1.0.0.dev0"
