"""What the watchdog of torch's NCCL process group said before it ended a process. Pure.

It ends the whole process, by SIGABRT, for three reasons (torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp): an
operation took too long, NCCL or the device reported an error meanwhile, or the watchdog itself got stuck. Only an error
of its own device speaks against such a process; else it was waiting for another one.
"""

from __future__ import annotations

import re

from doctor.model.fleet import StageState

_TIMEOUT = re.compile(r"[Ww]atchdog caught collective operation timeout: WorkNCCL\(([^()\n]{0,300})")
_OPERATION = re.compile(r"\bOpType=(\w{1,40})")
_LIMIT = re.compile(r"\bTimeout\(ms\)=(\d{1,12})")
_ENDED = re.compile(r"watchdog thread terminated with exception: ([^\n]{1,300})")
_STUCK = re.compile(r"ProcessGroupNCCL's watchdog got stuck for (\d{1,9}) seconds")


BEGIN = "NCCL's watchdog ended it: "


def is_its(why: str) -> bool:
    """Whether a stage's reason is one that `ending` gave."""
    return why.startswith(BEGIN)


def ending(stderr: str) -> tuple[StageState, str] | None:
    """(how a process ended, why) where the watchdog ended it, else None."""
    if "watchdog" not in stderr and "Watchdog" not in stderr:
        return None
    if (ended := _ENDED.search(stderr)) and "CUDA error" in ended[1]:
        return "died", f"{BEGIN}{ended[1].strip()}"
    # The arguments of WorkNCCL may hold brackets: "Timeout(ms)=600000".
    if timeout := _TIMEOUT.search(stderr):
        line = stderr[timeout.start() : stderr.find("\n", timeout.start()) + 1 or None][:600]
        operation, limit = _OPERATION.search(line), _LIMIT.search(line)
        what = operation[1].lower().replace("_", "-") if operation else "an operation"
        return "failed", f"{BEGIN}{what} did not end" + (
            f" within {int(limit[1]) / 1000:g} s" if limit else " in time"
        )
    if stuck := _STUCK.search(stderr):
        return "failed", f"{BEGIN}a call of CUDA or NCCL hung for {stuck[1]} s"
    if ended:
        return "failed", f"{BEGIN}{ended[1].strip()}"
    return None
