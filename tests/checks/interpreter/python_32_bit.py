from dataclasses import replace

from doctor.model.facts import ABSENT
from tests.example_case import Case
from tests.examples import linux, windows, with_torch

NARROW = replace(windows(python="3.11.5"), torch=ABSENT)
NARROW = replace(NARROW, interpreter=replace(NARROW.interpreter, bits=32, architecture="x86", platform_tag="win32"))
PIP = """\
Python 3.11.5 (tags/v3.11.5:cce6ba9, Aug 24 2023, 14:20:38) [MSC v.1936 32 bit (Intel)] on win32
C:\\> pip install torch
ERROR: Could not find a version that satisfies the requirement torch (from versions: none)
ERROR: No matching distribution found for torch
"""

BAD = {
    "live": NARROW,
    "its banner and pip": PIP,
    "not the Python's version": Case(PIP.replace("3.11.5", "3.14.0"), first="python-32-bit", as_of="2024-01"),
    "WinError 193": "OSError: [WinError 193] %1 is not a valid Win32 application\n",
}
GOOD = {
    "64 bits": with_torch(windows(), "2.6.0+cpu"),
    "built by hand": with_torch(replace(linux(), interpreter=replace(linux().interpreter, bits=32)), "2.1.0"),
    "a 64-bit banner": "Python 3.11.5 (tags/v3.11.5:cce6ba9, Aug 24 2023, 14:38:34) [MSC v.1936 64 bit (AMD64)] on win32\n",
}
BAD["uv names the platform"] = """\
error: Distribution `torch==2.6.0` can't be installed because it doesn't have a source distribution or wheel for the current platform
hint: You're on Linux (`linux_armv7l`), but `torch` (v2.6.0) only has wheels for the following platforms: `manylinux1_x86_64`, `manylinux_2_28_aarch64`, `win_amd64`
"""
GOOD["a file of the torch that is installed is damaged"] = """\
  File "C:\\app\\env\\lib\\site-packages\\torch\\__init__.py", line 122, in <module>
    raise err
OSError: [WinError 193] %1 is not a valid Win32 application. Error loading "C:\\app\\env\\lib\\site-packages\\torch\\lib\\cublas64_11.dll" or one of its dependencies.
"""
