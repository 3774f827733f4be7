from dataclasses import replace

from doctor.model.facts import ProbeResult
from tests.example_case import Case
from tests.examples import linux, with_failures, with_torch

CPU = with_torch(linux(), "2.13.0+cpu")
NAMED = replace(CPU, environ={"TORCHINDUCTOR_CACHE_DIR": "/cache", "TMPDIR": "/scratch"})

BAD = {
    "the compiler's cache is read-only": Case(
        with_failures(
            NAMED, "compile", "torch.compile: OSError: [Errno 30] Read-only file system: '/cache/torchdoctor-x1'"
        ), severity="warning",
    ),
    "the disk is full": Case(
        with_failures(CPU, "io", "torch.save to a file: OSError: [Errno 28] No space left on device: '/tmp'"),
        severity="fault",
    ),
    "TMPDIR can't be written, and Python takes another folder": Case(
        with_failures(
            NAMED, "io",
            "the folder of TMPDIR: PermissionError: [Errno 13] Permission denied: '/scratch/torchdoctor-q'",
        ), severity="warning",
    ),
    "TMPDIR is not there": Case(
        with_failures(
            NAMED, "io",
            "the folder of TMPDIR: FileNotFoundError: [Errno 2] No such file or directory: '/scratch/torchdoctor-q'",
        ), severity="warning",
    ),
    "no folder for temporary files at all": Case(
        with_failures(
            CPU, "io",
            "torch.save to a file: FileNotFoundError: [Errno 2] No usable temporary directory found in ['/tmp', "
            "'/var/tmp', '/usr/tmp', '/home/u']",
        ), severity="fault",
    ),
}  # fmt: skip
BAD["the cache ends the probe itself: torch makes it when an optimizer is made"] = Case(
    replace(NAMED, probes=(
        ProbeResult(id="cpu", device="cpu", status="failed", stage="silent",
                    reason="FileNotFoundError: [Errno 2] No such file or directory: '/cache'"),
    )), severity="fault",
)  # fmt: skip
GOOD = {
    "the probe misses a file that no variable names": replace(CPU, probes=(
        ProbeResult(id="cpu", device="cpu", status="failed", stage="silent",
                    reason="FileNotFoundError: [Errno 2] No such file or directory: '/dev/kfd'"),
    )),
    "all could be written": with_failures(NAMED, "io"),
    "only the quick probe": NAMED,
    "a header file is not there": with_failures(
        CPU, "compile", "torch.compile: Compiler: CppCompileError: fatal error: Python.h: No such file or directory"
    ),
}
