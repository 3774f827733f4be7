"""A limit of the process is too low for torch.

What it means
    The system gives each process a number of open files, processes and threads, an address space, and perhaps so many
    seconds of CPU time, after which it is killed. CUDA opens some dozens of files and reserves far more addresses than
    memory; OpenMP and the data loader start threads and processes; importing torch takes seconds. Where a shell, a
    batch system, a service or a container sets these limits low, the start of CUDA ends with «CUDA-capable device(s)
    is/are busy or unavailable», with «out of memory» on an empty GPU, or with a library that can't be mapped; threads
    and workers can't be started; an import is killed.

How to see it yourself
    ulimit -n; ulimit -u; ulimit -v; ulimit -t; cat /sys/fs/cgroup/pids.max, in the shell (or job) that starts Python.

What to do
    Raise the limit where it is set: ulimit in the shell, the options of the batch system or service, --ulimit and
    --pids-limit of the container.

References
    https://man7.org/linux/man-pages/man2/getrlimit.2.html
    https://docs.kernel.org/admin-guide/cgroup-v2.html#pid
    https://docs.nvidia.com/cuda/cuda-c-programming-guide/#unified-memory-programming (the virtual address space)
    https://docs.pytorch.org/docs/stable/multiprocessing.html (file descriptors)
"""

from __future__ import annotations

from collections.abc import Iterator

from doctor.checks import Check, Fit, Judgement
from doctor.checks._machine import heard, named, shown
from doctor.checks._torch import gpus_of, imports_fail, installed, kind, quote
from doctor.model.facts import Absent, ErrorText, Facts, Limits, StartFailure
from doctor.model.finding import Evidence, Remedy
from doctor.model.values import dataclass

check = Check(
    severity="fault",
    needs=(
        "host.limits.open_files",
        "host.limits.address_space_bytes",
        "host.limits.cgroup_processes",
        "messages",
    ),
    systems=("linux", "windows"),
    keeps_from=("nvidia", "amd", "intel"),
    even_if_imported=True,
    even_if_listed=True,
    usual=(Remedy(action="raise-limit", details={"limit": "open-files", "value": "65536"}),),
    explains=(
        "device-crashes",
        "torch-import-crashes",
        "torch-install-broken",
        "shared-library-missing",
        "cuda-out-of-memory",
    ),
    instead_of=(
        "interpreter-broken",
        "gpu-busy",
        "gpu-blocked-by-sandbox",
        "gpu-hidden",
        "gpu-hardware-fault",
        "nvidia-uvm-broken",
        "no-accelerator",
        "torch-import-crashes",
        "library-path-conflict",
        "program-error",
    ),
)

# Below these CUDA's start is known to fail, or not to be sure: it opens dozens of files, and reserves the addresses of
# all GPUs' memory and the machine's.
FEW_FILES = 128
FEW_PROCESSES = 64
SMALL_SPACE = 64 << 30
SHORT = 60  # seconds of CPU time, on all cores: importing torch and a first computation take some
ROOM = 8  # processes that are left before a control group is full
SPACE_WORDS = ("segment-not-mapped", "cuda-out-of-memory", "cuda-devices-busy")
FILE_WORDS = ("too-many-open-files", "cuda-devices-busy")
LITTLE = ("cpu-seconds", "address-space", "data")  # what is measured, not counted
OUT_OF_MEMORY = (2, 46, 999)  # cuInit


@dataclass(frozen=True)
class Low:
    """A limit that is low: its name in the remedies, the sentence, and the value to ask for."""

    limit: str
    said: str
    value: str
    fact: str


@check.fit
def fits(facts: Facts) -> Fit | None:
    if not isinstance(facts.host.limits, Limits):
        return None
    low = next(iter(_low(facts.host.limits)), None)
    return Fit(5, f"this process may have {low.said}") if low else Fit(0.02, "the limits of this process are wide")


@check
def judge(facts: Facts) -> Judgement:
    if not isinstance(facts.host.limits, Limits):
        return _by_message(facts)
    low = list(_low(facts.host.limits))
    for one in low:
        if error := _told(facts, one):
            return _found(facts, one, error, "certain")
    if low and _fails(facts):
        return _found(facts, low[0], None, "likely")
    return _by_message(facts)


def _low(limits: Limits) -> Iterator[Low]:
    if _below(limits.open_files, FEW_FILES):
        yield Low("open-files", f"{limits.open_files} open files", "65536", "host.limits.open_files")
    for name, value in (("address_space_bytes", limits.address_space_bytes), ("data_bytes", limits.data_bytes)):
        if _below(value, SMALL_SPACE):
            limit = "address-space" if name == "address_space_bytes" else "data"
            words = "of addresses" if limit == "address-space" else "of data"
            yield Low(limit, f"{_gb(value)} {words}", "unlimited", f"host.limits.{name}")
    if _below(limits.cpu_seconds, SHORT):
        said = f"{limits.cpu_seconds} s of CPU time"
        yield Low("cpu-seconds", said, "unlimited", "host.limits.cpu_seconds")
    if _below(limits.processes, FEW_PROCESSES):
        yield Low("processes", f"{limits.processes} processes and threads", "4096", "host.limits.processes")
    allowed, now = limits.cgroup_processes, limits.cgroup_processes_now
    if _below(allowed, FEW_PROCESSES) or (isinstance(allowed, int) and now is not None and allowed - now < ROOM):
        said = f"{allowed} processes and threads in the control group"
        yield Low("cgroup-processes", said, "4096", "host.limits.cgroup_processes")


def _below(value: int | Absent | None, least: int) -> bool:
    return isinstance(value, int) and value < least


def _gb(value: int | Absent | None) -> str:
    return f"{value / (1 << 30):.3g} GB" if isinstance(value, int) else ""


def _told(facts: Facts, low: Low) -> ErrorText | None:
    """What was heard that this limit explains."""
    words = {
        "open-files": FILE_WORDS,
        "address-space": SPACE_WORDS,
        "data": SPACE_WORDS,
        "cpu-seconds": (),
        "processes": ("thread-not-created",),
        "cgroup-processes": ("thread-not-created",),
    }
    return heard(facts, *words[low.limit])


def _fails(facts: Facts) -> bool:
    """Whether the Python does not start, torch does not import or use the GPU that the driver has, or a probe
    failed."""
    torch = installed(facts)
    refused = torch is not None and torch.cuda_available is False and kind(facts) in ("cuda", "rocm")
    broken = any(p.status in ("failed", "crashed") and not p.data.get("wrong") for p in facts.probes or ())
    driver = bool(facts.nvidia.kernel_module or facts.amd.kfd)
    starts = not isinstance(facts.interpreter.start_failure, StartFailure)
    unasked = facts.live and any(g.fact == "interpreter" and "[Errno 24]" in g.detail for g in facts.gaps)
    if not starts or unasked or imports_fail(facts) or broken:
        return True
    return (refused and driver) or facts.nvidia.cuinit in OUT_OF_MEMORY


def _by_message(facts: Facts) -> Judgement:
    """Words that only a limit gives, where the limits themselves are not known."""
    if error := heard(facts, "too-many-open-files"):
        low = Low("open-files", "", "65536", "host.limits.open_files")
    elif error := heard(facts, "thread-not-created"):
        low = Low("processes", "", "4096", "host.limits.processes")
    elif (error := heard(facts, "segment-not-mapped")) and "Cannot allocate memory" in error.text:
        low = Low("address-space", "", "unlimited", "host.limits.address_space_bytes")
    else:
        return _memory_full(facts)
    return _found(facts, low, error, "likely")


def _memory_full(facts: Facts) -> Judgement:
    """An allocation of the machine's own memory that was refused."""
    error = heard(facts, "cpu-memory-full", "memory-error-or-killed", "out-of-memory-killer")
    if error is None or facts.live:
        return None
    return check.found(
        facts,
        "The machine's own memory, not that of a GPU, was not enough for what the program asked for.",
        evidence=(quote(error), "host.memory_bytes"),
        remedies=(Remedy(action="reduce-memory"),),
        confidence="likely",
    )


def _found(facts: Facts, low: Low, error: ErrorText | None, confidence: str) -> Judgement:
    gpus = gpus_of(facts, "nvidia")
    detail = (
        f"This process may have {low.said}, too {'little' if low.limit in LITTLE else 'few'} for torch"
        f"{f' and {named(gpus)}' if gpus else ''}."
        if low.said
        else "The process came to a limit that the system sets it: " + (error.text if error else "")
    )
    limits = facts.host.limits if isinstance(facts.host.limits, Limits) else Limits()
    others = [one for one in _low(limits) if one.limit != low.limit]
    return check.found(
        facts,
        detail,
        evidence=(
            quote(error) if error else None,
            low.fact,
            *(Evidence(fact=one.fact, value=one.said, source="/proc/self/limits") for one in others),
            "nvidia.cuinit",
            shown(facts, "nvidia"),
        ),
        remedies=tuple(
            Remedy(action="raise-limit", details={"limit": one.limit, "value": one.value}) for one in (low, *others)
        ),
        confidence=confidence,
        limit=low.limit,
    )
