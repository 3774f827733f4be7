"""What redaction cannot know from a report itself: who we are, and on which machine."""

from __future__ import annotations

import contextlib
import os


def names_of_this_machine() -> tuple[tuple[str, str], ...]:
    """(kind, text) of the user, the home folder and the host."""
    import getpass
    import platform

    names = [("host", platform.node()), ("home", os.path.expanduser("~"))]
    with contextlib.suppress(Exception):  # no such user in the container's passwd
        names.append(("user", getpass.getuser()))
    return tuple(names)
