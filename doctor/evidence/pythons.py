"""Which Python a text is about: the program that a log names or a prompt started, else the one to whose site-packages
the frames of its tracebacks belong. A plan then speaks of that Python, in that folder."""

from __future__ import annotations

import re
from pathlib import PurePosixPath, PureWindowsPath

from doctor.evidence.notes import Notes, Trust
from doctor.evidence.text import Document
from doctor.evidence.tracebacks import frames
from doctor.regex import Regex

_NAMED = Regex(  # ComfyUI names it, the web UIs start with the one of their venv
    r"^[* \t]{0,8}(?:Python executable: ?|venv )\"?([^\"\n]{1,300}[/\\][Pp]ython[\d.]{0,5}(?:\.exe)?)\"?[ \t]*$", re.M
)
_STARTED = Regex(  # C:\portable>.\python_embeded\python.exe -s main.py
    r"^(?:PS )?([A-Za-z]:\\[^\n<>|\"]{0,200})> ?\.?\\?([\w. -]{1,60}\\(?:[\w. -]{1,60}\\){0,3}python\.exe) ", re.M
)
_SITE_POSIX = Regex(r"(/[^\n\"':]{1,200}?)/lib(?:64)?/python3\.\d{1,2}t?/site-packages/")
_SITE_WINDOWS = Regex(r"([A-Za-z]:\\[^\n\"':]{1,200}?)\\lib\\site-packages\\", re.I)
# folders that are shared with other environments, or gone when the ticket is read
_SHARED = Regex(r"/(?:usr|tmp|opt/homebrew|Library|System|nix)\b|.*/(?:\.local|\.cache|Cellar)\b")
_HIDDEN = Regex(r"[<>*…\[\]{}$%]|\.\.\.|xxx")  # the writer took names out
_BESIDE = Regex(r"python_?embed\w*|python3\d{1,2}|(?:ana|mini)conda3?|miniforge3?|mambaforge", re.I)
_USERS = Regex(r"\\AppData\\Roaming\\", re.I)


def read(document: Document, notes: Notes) -> None:
    """Note the program of the Python, and its folder."""
    if not document.has("python", "site-packages"):
        return
    if m := _NAMED.search(document.text):
        notes.put("interpreter.executable", m[1], source="log", rank=Trust.TOOL, line=document.line_at(m.start()))
    for m in _STARTED.finditer(document.text):
        path = str(PureWindowsPath(m[1]) / m[2])
        notes.put("interpreter.executable", path, source="prompt", rank=Trust.LISTED, line=document.line_at(m.start()))
    found: dict[str, int] = {}
    for frame in frames(document):
        if site := _SITE_WINDOWS.match(frame.path) or _SITE_POSIX.match(frame.path):
            found.setdefault(site[1], frame.line)
    if len(found) == 1:
        ((prefix, line),) = found.items()
        if program := program_in(prefix):
            notes.put("interpreter.executable", program, source="traceback", rank=Trust.NAMED, line=line)


def program_in(prefix: str) -> str | None:
    r"""The Python in the folder of an environment; None where the folder is shared with others, or its form is not
    known.

    >>> program_in("/home/u/ml/.venv"), program_in("/usr/local"), program_in(r"D:\Comfy\python_embeded")
    ('/home/u/ml/.venv/bin/python', None, 'D:\\Comfy\\python_embeded\\python.exe')
    >>> program_in(r"C:\ml\venv"), program_in(r"C:\Users\u\AppData\Roaming\Python\Python310")
    ('C:\\ml\\venv\\Scripts\\python.exe', None)
    """
    if _HIDDEN.search(prefix):
        return None
    if prefix.startswith("/"):
        return None if _SHARED.match(prefix) else str(PurePosixPath(prefix) / "bin" / "python")
    folder = PureWindowsPath(prefix)
    if _USERS.search(prefix):
        return None
    if _BESIDE.fullmatch(folder.name) or folder.parent.name.lower() == "envs":
        return str(folder / "python.exe")
    return str(folder / "Scripts" / "python.exe") if "env" in folder.name.lower() else None
