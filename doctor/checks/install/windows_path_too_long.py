"""A path in the installation is longer than Windows allows.

What it means
    Without long paths Windows takes 260 characters, and torch's header files lie deep. The installation ends with
    WinError 206 or with «No such file or directory» for a very long name.

How to see it yourself
    reg query HKLM\\SYSTEM\\CurrentControlSet\\Control\\FileSystem /v LongPathsEnabled

What to do
    Switch long paths on (LongPathsEnabled = 1, then a new session), or make the environment in a folder with a
    short path.

References
    https://learn.microsoft.com/en-us/windows/win32/fileio/maximum-file-path-limitation
    https://pip.pypa.io/warnings/enable-long-paths
"""

from doctor.checks import Check, Rule
from doctor.model.finding import Remedy

REMEDIES = (
    Remedy(action="enable-long-paths"),
    Remedy(
        action="system-setting",
        details={"setting": "environment-folder", "value": "a shorter path"},
        text="Make the environment in a folder with a shorter path, such as C:\\venv.",
    ),
)

check = Check(
    severity="fault",
    needs=("messages",),
    systems=("windows",),
    usual=REMEDIES,
    explains=("torch-install-broken", "torch-missing", "no-matching-wheel"),
    instead_of=("torch-missing", "program-error"),
    rule=Rule(
        errors=("windows-path-too-long",),
        detail="The installer met a path longer than 260 characters.",
        when=lambda facts, error: facts.host.system in ("windows", None),
        facts=("host.os_name",),
        remedies=REMEDIES,
    ),
)
