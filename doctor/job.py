"""What ends a child and all that it started on Windows: a job object that kills its processes when its last handle is
closed, which Windows does also for a doctor that was killed.

https://learn.microsoft.com/en-us/windows/win32/procthread/job-objects. A process starts suspended, is put into its job,
and only then runs, so nothing can be started outside of it.
"""

from __future__ import annotations

import ctypes
import sys
from typing import Any

SUSPENDED = 0x4  # CREATE_SUSPENDED
_EXTENDED_LIMITS = 9  # JobObjectExtendedLimitInformation
_KILL_ON_CLOSE = 0x2000  # JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE


class _Basic(ctypes.Structure):
    """JOBOBJECT_BASIC_LIMIT_INFORMATION"""

    _fields_ = [
        ("PerProcessUserTimeLimit", ctypes.c_int64), ("PerJobUserTimeLimit", ctypes.c_int64),
        ("LimitFlags", ctypes.c_uint32), ("MinimumWorkingSetSize", ctypes.c_size_t),
        ("MaximumWorkingSetSize", ctypes.c_size_t), ("ActiveProcessLimit", ctypes.c_uint32),
        ("Affinity", ctypes.c_size_t), ("PriorityClass", ctypes.c_uint32), ("SchedulingClass", ctypes.c_uint32),
    ]  # fmt: skip


class _Extended(ctypes.Structure):
    """JOBOBJECT_EXTENDED_LIMIT_INFORMATION"""

    _fields_ = [
        ("BasicLimitInformation", _Basic), ("IoInfo", ctypes.c_uint64 * 6), ("ProcessMemoryLimit", ctypes.c_size_t),
        ("JobMemoryLimit", ctypes.c_size_t), ("PeakProcessMemoryUsed", ctypes.c_size_t),
        ("PeakJobMemoryUsed", ctypes.c_size_t),
    ]  # fmt: skip


class Job:
    """The job of one child. `take` and `end` say whether it worked: in an old Windows, or inside a job that allows no
    other, it may not, and then the caller has its own way."""

    def __init__(self) -> None:
        self._kernel: Any = None
        self._handle = None
        if sys.platform != "win32":
            return
        self._kernel = ctypes.WinDLL("kernel32", use_last_error=True)
        self._kernel.CreateJobObjectW.restype = ctypes.c_void_p
        self._kernel.CreateJobObjectW.argtypes = (ctypes.c_void_p, ctypes.c_wchar_p)
        self._kernel.SetInformationJobObject.argtypes = (
            ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p, ctypes.c_uint32,
        )  # fmt: skip
        self._kernel.AssignProcessToJobObject.argtypes = (ctypes.c_void_p, ctypes.c_void_p)
        self._kernel.TerminateJobObject.argtypes = (ctypes.c_void_p, ctypes.c_uint32)
        self._kernel.CloseHandle.argtypes = (ctypes.c_void_p,)
        handle = self._kernel.CreateJobObjectW(None, None)
        limits = _Extended()
        limits.BasicLimitInformation.LimitFlags = _KILL_ON_CLOSE
        if handle and self._kernel.SetInformationJobObject(
            handle, _EXTENDED_LIMITS, ctypes.byref(limits), ctypes.sizeof(limits)
        ):
            self._handle = handle

    def take(self, process: int) -> bool:
        """Put a suspended process (its handle) into the job, and let it run."""
        if sys.platform != "win32":
            return False
        taken = bool(self._handle and self._kernel.AssignProcessToJobObject(self._handle, process))
        resume = ctypes.WinDLL("ntdll").NtResumeProcess
        resume.argtypes = (ctypes.c_void_p,)
        resume(process)
        return taken

    def end(self) -> bool:
        """Kill all processes of the job."""
        return bool(self._handle and self._kernel.TerminateJobObject(self._handle, 1))

    def close(self) -> None:
        """The handle, and with it what still runs."""
        if self._handle:
            self._kernel.CloseHandle(self._handle)
            self._handle = None
