from dataclasses import replace

from doctor.model.facts import StartFailure
from tests.example_case import Case
from tests.examples import linux, with_torch


def failing(kind: str, message: str, **more: object):
    facts = linux()
    return replace(
        facts,
        interpreter=replace(
            facts.interpreter, version=None, start_failure=StartFailure(kind=kind, message=message, **more)
        ),
    )


BAD = {
    "a dead link": failing("dead-link", "bin/python3 -> /opt/python3.10/bin/python3, which does not exist"),
    "the base is gone": failing("missing-base", "pyvenv.cfg: home = /usr/local/opt/python@3.9/bin"),
    "it crashes": failing("crashed", "ended by signal 11", signal=11),
    "a shim": failing("exited", "pyenv: python: command not found", exit_code=127),
    "PYTHONHOME": replace(failing("crashed", "No module named 'encodings'"), environ={"PYTHONHOME": "/opt/old"}),
    "an old shebang": "bash: /home/u/env/bin/pip: /home/u/old/bin/python3: bad interpreter: No such file or directory\n",
    "no encodings": "Fatal Python error: init_fs_encoding: failed to get the Python codec of the filesystem encoding\n"
    "ModuleNotFoundError: No module named 'encodings'\n",
    "Windows": "No Python at '\"C:\\Users\\u\\AppData\\Local\\Programs\\Python\\Python310\\python.exe'\n",
    "an upgrade by Homebrew": Case(
        "dyld[1234]: Library not loaded: /opt/homebrew/Cellar/python@3.9/3.9.13/Frameworks/Python.framework/Versions/3.9/Python\n"
        "  Referenced from: /Users/u/env/bin/python3.9\n",
        first="interpreter-broken",
    ),
}
GOOD = {
    "pasted: a library of torch's, in a Python that is a framework": (
        "ImportError: dlopen(/Library/Frameworks/Python.framework/Versions/3.8/lib/python3.8/site-packages/torch/_C.so, 2): "
        "Library not loaded: @rpath/libc++.1.dylib Referenced from: /Library/Frameworks/Python.framework/Versions/3.8/lib/"
        "python3.8/site-packages/torch/_C.so Reason: image not found\n"
    ),
    "it starts": with_torch(linux(), "2.6.0+cpu"),
    "nothing is there": failing("not-found", "no such file"),
    "a text file": failing("not-python", "not an executable"),
    "Python 2": failing("too-old", "Python 2.7.18", version="2.7.18"),
}
BAD["uv finds a dangling link"] = """\
error: Failed to inspect Python interpreter from active virtual environment at `.venv/bin/python3`
  Caused by: Broken symlink at `.venv/bin/python3`, was the underlying Python interpreter removed?
"""
BAD["the launcher of Windows"] = """\
Fatal error in launcher: Unable to create process using '"C:/Python39/python.exe"  "C:/ml/venv/Scripts/pip.exe" install torch': The system cannot find the file specified.
"""
