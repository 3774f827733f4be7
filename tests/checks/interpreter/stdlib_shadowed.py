from dataclasses import replace

from doctor.model.facts import ImportFailure
from tests.example_case import Case
from tests.examples import linux, with_torch

HIDDEN = replace(linux(), interpreter=replace(linux().interpreter, shadowed=(("random", "/home/u/project/random.py"),)))
FAILURE = ImportFailure(
    kind="exception",
    exception="AttributeError",
    message="partially initialized module 'random' has no attribute 'Random' (most likely due to a circular import)",
    traceback='  File "/home/u/project/random.py", line 1, in <module>\n    import torch\n',
)
OLD = """\
  File "/home/u/project/select.py", line 2, in <module>
    import torch
AttributeError: partially initialized module 'select' has no attribute 'epoll' (most likely due to a circular import)
"""
NEW = (
    "AttributeError: module 'types' has no attribute 'GenericAlias' (consider renaming '/home/u/project/types.py' since it has the same "
    "name as the standard library module named 'types' and prevents importing that standard library module)\n"
)

BAD = {
    "live, and the import fails": with_torch(HIDDEN, "2.6.0+cpu", imports=False, import_failure=FAILURE),
    "live, and the import works": Case(with_torch(HIDDEN, "2.6.0+cpu"), severity="warning"),
    "a ticket": OLD,
    "Python 3.13 names the file": NEW,
}
GOOD = {
    "nothing is hidden": with_torch(linux(), "2.6.0+cpu"),
    "torch itself is shadowed": "AttributeError: partially initialized module 'torch' has no attribute 'Tensor' (most likely due to a circular import)\n",
}
BAD["a name that the file does not have"] = """\
  File "/usr/lib/python3.8/secrets.py", line 20, in <module>
    from random import SystemRandom
ImportError: cannot import name 'SystemRandom' from 'random' (/home/u/project/random.py)
"""
BAD["torch's own folder"] = """\
  File "/opt/anaconda3/lib/python3.7/tempfile.py", line 45, in <module>
    from random import Random as _Random
ImportError: cannot import name 'Random' from 'random' (/opt/anaconda3/lib/python3.7/site-packages/torch/random.py)
"""
GOOD["a name that this Python does not have"] = """\
ImportError: cannot import name 'Mapping' from 'collections' (/usr/lib/python3.10/collections/__init__.py)
"""
BAD["another error, in a traceback that leads through the file"] = """\
Traceback (most recent call last):
  File "/usr/lib/python3.8/inspect.py", line 35, in <module>
    import dis
  File "/home/u/project/dis.py", line 10, in <module>
    import torch.nn as nn
AttributeError: module 'torch' has no attribute 'Tensor'
"""
GOOD["the program imports its own file of such a name"] = """\
Traceback (most recent call last):
  File "/home/u/project/main.py", line 3, in <module>
    import profile
  File "/home/u/project/profile.py", line 9, in <module>
    raise ValueError("no user")
ValueError: no user
"""
GOOD["the standard library of an environment on Windows"] = """\
Traceback (most recent call last):
  File "D:\\envs\\a\\lib\\site-packages\\geometry\\download.py", line 3, in <module>
    import ssl
  File "D:\\envs\\a\\lib\\ssl.py", line 100, in <module>
    from _ssl import OPENSSL_VERSION_NUMBER
ImportError: DLL load failed while importing _ssl: The specified module could not be found.
"""
