"""Windows' paging file is too small to load torch.

What it means
    Windows reserves memory for every DLL that a process loads, and torch's CUDA libraries are large; several
    processes (DataLoader workers) multiply that. WinError 1455 says that the paging file has no room for it.

How to see it yourself
    System properties, Advanced, Performance, Virtual memory

What to do
    Make the paging file larger, on the drive of the environment (or let Windows manage it); use fewer worker
    processes.

References
    https://learn.microsoft.com/en-us/windows/win32/debug/system-error-codes--1300-1699- (1455)
"""

from doctor.checks import Check, Rule
from doctor.model.finding import Remedy

REMEDIES = (
    Remedy(
        action="system-setting",
        details={"setting": "paging-file", "value": "larger, on the drive of the environment"},
        text="Make the paging file larger: System Properties, Advanced, Performance, Settings, Advanced, "
        "Virtual memory.",
    ),
    Remedy(action="reduce-memory", details={"reason": "fewer worker processes"}),
)

check = Check(
    severity="fault",
    needs=("messages",),
    systems=("windows",),
    usual=REMEDIES,
    explains=("torch-import-crashes",),
    instead_of=("windows-dll-missing", "torch-import-crashes", "program-error"),
    rule=Rule(
        errors=("winerror-1455",),
        detail="Windows has no room left in its paging file to load a library of torch.",
        facts=("host.memory_bytes", "host.os_name"),
        remedies=REMEDIES,
    ),
)
