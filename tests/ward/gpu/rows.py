"""The table: what is broken on a machine with NVIDIA GPUs, and what must be said of it.

Written down before any run; where a first run shows that an expectation was wrong, the commit that changes it says why.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tests.ward.gpu.machine import TOOLKIT, Machine
from tests.ward.gpu.row import EXIT_CODES, Row, over

ROOT = Path(__file__).resolve().parents[3]
STUBS = TOOLKIT / "lib64" / "stubs"
NOBODY = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
FOLDERS, PREFIX = "/var/tmp", "ward-"  # where the rows' own files lie: not in /tmp, which a row closes
NO_HOME = {"HOME": "/nonexistent"}

# Libraries that torch's own ones are linked to, or that the probe's first computations load.
NEEDED_LIBRARIES = (
    "libcublas.so", "libcublasLt.so", "libcudart.so", "libcudnn.so", "libcudnn_ops.so", "libcudnn_graph.so",
    "libcufft.so", "libcurand.so", "libcusolver.so", "libcusparse.so", "libcusparseLt.so", "libnvrtc.so", "libcupti.so",
    "libnvJitLink.so", "libnccl.so", "libnvshmem_host.so", "libcufile.so", "libtorch_cuda.so", "libc10_cuda.so",
)  # fmt: skip

# What nvidia-smi may do wrong, while the driver works.
SMI = {
    "speaks of a mismatch": "echo 'Failed to initialize NVML: Driver/library version mismatch'; exit 18",
    "hangs": "sleep 600",
    "prints nothing": "exit 0",
    "prints three megabytes of noise": "head -c 3000000 /dev/urandom",
    "finds no devices": "echo 'No devices were found'; exit 6",
    "is ended by a signal": "kill -SEGV $$",
}

# Variables that change how torch works, but not whether it does; the finding that must be beside the verdict.
HARMLESS: Mapping[tuple[str, str], tuple[str, ...]] = {
    ("CUDA_LAUNCH_BLOCKING", "1"): ("harmful-variable",),
    ("PYTORCH_NO_CUDA_MEMORY_CACHING", "1"): ("harmful-variable",),
    ("CUDA_MODULE_LOADING", "EAGER"): ("harmful-variable",),
    ("NVIDIA_TF32_OVERRIDE", "1"): ("precision-reduced",),
    ("TORCH_ALLOW_TF32_CUBLAS_OVERRIDE", "1"): ("precision-reduced",),
    ("PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:True"): (),
    ("PYTORCH_CUDA_ALLOC_CONF", "backend:cudaMallocAsync"): (),
    ("PYTORCH_NVML_BASED_CUDA_CHECK", "1"): (),
    ("CUDA_DISABLE_PTX_JIT", "1"): (),
    ("CUDA_CACHE_PATH", "/nonexistent"): (),
    ("CUDA_DEVICE_ORDER", "PCI_BUS_ID"): (),
    ("CUDA_DEVICE_MAX_CONNECTIONS", "1"): (),
    ("CUBLAS_WORKSPACE_CONFIG", ":16:8"): (),
    ("CUDA_HOME", "/nonexistent"): (),
    ("NVIDIA_VISIBLE_DEVICES", "void"): (),
    ("HIP_VISIBLE_DEVICES", ""): (),
    ("HSA_OVERRIDE_GFX_VERSION", "10.3.0"): (),
    ("OMP_NUM_THREADS", "1"): (),
    ("LD_PRELOAD", "/nonexistent/libnothing.so"): (),
    ("TORCHINDUCTOR_CACHE_DIR", "/nonexistent"): (),
    ("LC_ALL", "tr_TR.ISO-8859-9"): (),
}

# Libraries that others open by name when they are first used: the loader then takes another copy.
OPENED_LATE = ("libcudnn_ops.so", "libcudnn_graph.so", "libcusolver.so", "libnvrtc.so")

# Values that hide every GPU. Where one GPU is hidden twice, CUDA refuses all.
HIDING = ("", "-1", "63", "none", "cuda:0", "GPU-deadbeef", "MIG-1234", "0,0")


def rows(here: Machine, folder: Path) -> list[Row]:
    """All rows for this machine. `folder` is an empty one, for the files that rows put before others."""
    found = [
        *_healthy(here), *_variables(here, folder), *_nodes(here, folder), *_driver(here, folder),
        *_libraries(here, folder), *_loader(here, folder), *_limits(here), *_surroundings(here, folder),
        *_tools(folder), *_arguments(), *_shared(here), *_two(here), *_full(here, folder),
    ]  # fmt: skip
    names = [row.name for row in found]
    assert len(set(names)) == len(names), "two rows have one name"
    return found


def _row(name: str, group: str, *ids: str, **more: Any) -> Row:
    """A row: with ids the verdict is «faulty»; the exit code follows from the verdict unless it is given."""
    verdict = "faulty" if ids else more.pop("verdict", "healthy")
    more.setdefault("code", EXIT_CODES[verdict])
    return Row(name=name, group=group, ids=ids, verdict=verdict, **more)


def _mounted(here: Machine, name: str, group: str, *ids: str, mounts: tuple[str, ...], **more: Any) -> Row:
    """A row with a mount namespace."""
    why = "" if here.namespaces else "needs root and mount namespaces"
    more["missing"] = more.get("missing") or why
    return _row(name, group, *ids, mounts=mounts, **more)


def _file(folder: Path, name: str, text: str = "", mode: int = 0o644) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(mode)
    return path


# ---- the groups


def _healthy(here: Machine) -> Iterator[Row]:
    for number in (1, 2, 3):
        yield _row(f"nothing is broken, {number}", "healthy")
    yield _row("user nobody, without a home", "healthy", wrap=NOBODY, environ=NO_HOME)
    yield _row("no new privileges", "healthy", wrap=("setpriv", "--no-new-privs"))
    yield _row("one CPU", "healthy", wrap=("taskset", "-c", "0"), limit_s=180)


def _variables(here: Machine, folder: Path) -> Iterator[Row]:
    visible = "CUDA_VISIBLE_DEVICES"
    for value in HIDING:
        yield _row(f"{visible}={value!r}", "variables", "gpu-hidden", environ={visible: value})
    uuid = here.uuids[0] if here.uuids else ""
    missing = "" if uuid else "nvidia-smi -L names no GPU"
    yield _row(f"{visible}: the GPU's own UUID", "variables", environ={visible: uuid}, missing=missing)
    yield _row(f"{visible}: the start of its UUID", "variables", environ={visible: uuid[:12]}, missing=missing)
    yield _row(f"{visible}='0,-1'", "variables", environ={visible: "0,-1"})
    site = _file(folder, "startup/sitecustomize.py", f"import os\nos.environ[{visible!r}] = ''\n").parent
    yield _row("sitecustomize empties CUDA_VISIBLE_DEVICES", "variables", "gpu-hidden", "accelerator-unusable",
               environ={"PYTHONPATH": str(site)})  # fmt: skip
    harmful = {
        "CUDA_FORCE_PTX_JIT": "1", "PYTORCH_CUDA_ALLOC_CONF": "no_such_option:1",
        "PYTORCH_ALLOC_CONF": "no_such_option:1", "TORCH_LOGS": "no_such_log",
    }  # fmt: skip
    for name, value in harmful.items():
        yield _row(f"{name}={value}", "variables", "harmful-variable", environ={name: value})
    small = {"PYTORCH_CUDA_ALLOC_CONF": "max_split_size_mb:1"}
    yield _row("an option of the allocator that is too small", "variables", "harmful-variable", environ=small)
    for (name, value), noted in HARMLESS.items():
        yield _row(f"{name}={value}", "variables", environ={name: value}, noted=noted)
    pipes = folder / "mps"
    pipes.mkdir()
    for pipe in ("control", "control_privileged", "log"):
        os.mkfifo(pipes / pipe)
    _file(pipes, "nvidia-cuda-mps-control.pid", "999999\n")
    empty = folder / "no-mps"
    empty.mkdir()
    yield _row("an empty CUDA_MPS_PIPE_DIRECTORY", "variables", environ={"CUDA_MPS_PIPE_DIRECTORY": str(empty)})
    yield _row("the pipes of an MPS daemon that is dead", "variables", environ={"CUDA_MPS_PIPE_DIRECTORY": str(pipes)})


def _nodes(here: Machine, folder: Path) -> Iterator[Row]:
    masked, blocked = "nodes", ("gpu-blocked-by-sandbox", "accelerator-unusable")
    regular = _file(folder, "regular")
    null = "/dev/null"
    yield _mounted(here, "/dev/nvidia0 is /dev/null", masked, *blocked, mounts=(over("/dev/nvidia0", null),))
    yield _mounted(here, "/dev/nvidia0 is an ordinary file", masked, *blocked, mounts=(over("/dev/nvidia0", regular),))
    yield _mounted(here, "/dev/nvidiactl is /dev/null", masked, *blocked, mounts=(over("/dev/nvidiactl", null),))
    uvm = ("nvidia-uvm-broken", "gpu-blocked-by-sandbox")
    yield _mounted(here, "/dev/nvidia-uvm is /dev/null", masked, *uvm, mounts=(over("/dev/nvidia-uvm", null),))
    tools = "/dev/nvidia-uvm-tools"
    yield _mounted(here, f"{tools} is /dev/null", masked, mounts=(over(tools, null),),
                   missing="" if tools in here.nodes else f"there is no {tools}")  # fmt: skip
    own = f"{folder}/closed"
    closed = f"mkdir {own} && mount -t tmpfs none {own} && mknod -m 600 {own}/node c 195 0"
    # Where another GPU is left to use, that one was not given to the process: only noted.
    one = here.gpus == 1
    yield _mounted(here, "/dev/nvidia0 is closed to user nobody", masked, *(("gpu-permission-denied",) if one else ()),
                   noted=() if one else ("gpu-blocked-by-sandbox",), wrap=NOBODY, environ=NO_HOME,
                   mounts=(closed, over("/dev/nvidia0", f"{own}/node")))  # fmt: skip
    # Without nodes root's libcuda makes them itself; another user's can't.
    yield _mounted(here, "no nodes at all, user nobody", masked, "container-without-gpu", "accelerator-unusable",
                   wrap=NOBODY, mounts=(_bare_dev(folder),), environ=NO_HOME)  # fmt: skip


def _bare_dev(folder: Path) -> str:
    """A /dev that has what every program needs, and no GPU."""
    new = f"{folder}/dev"
    plain = "null zero full random urandom tty"
    return (
        f"mkdir -p {new} && mount -t tmpfs -o mode=755 none {new} && "
        f"for n in {plain}; do touch {new}/$n && mount --bind /dev/$n {new}/$n; done && "
        f"mkdir {new}/shm {new}/pts && mount -t tmpfs -o mode=1777 none {new}/shm && ln -s /proc/self/fd {new}/fd && "
        f"mount --rbind {new} /dev"
    )


def _driver(here: Machine, folder: Path) -> Iterator[Row]:
    """The driver's own files, one by one without a byte."""
    empty = _file(folder, "driver-empty")
    expected: Mapping[str, tuple[str, ...]] = {
        "libcuda.so.1": ("driver-library-not-found", "library-path-conflict"),
        "libnvidia-ml.so.1": (),
        "libnvidia-ptxjitcompiler.so.1": (),
        "libnvidia-nvvm.so.4": (),
    }
    for name, ids in expected.items():
        file = here.driver_library(name)
        missing = "" if file else f"there is no {name}"
        yield _mounted(here, f"the driver's {name} is empty", "driver", *ids, missing=missing,
                       mounts=(over(file, empty),) if file else ())  # fmt: skip
    yield _mounted(here, "no /proc/driver", "driver", mounts=("mount -t tmpfs none /proc/driver",))
    cache = "" if here.only_cache_knows_libcuda else "the loader finds libcuda without its cache"
    yield _mounted(here, "the loader's cache is empty", "driver", "driver-library-not-found", missing=cache,
                   mounts=(over("/etc/ld.so.cache", empty),))  # fmt: skip


def _libraries(here: Machine, folder: Path) -> Iterator[Row]:
    """The libraries that torch needs, one by one without a byte."""
    empty = _file(folder, "library-empty")
    for name in NEEDED_LIBRARIES:
        file = here.library(name)
        missing = "" if file else f"there is no {name}"
        # torch works with another copy, which is warned of.
        works = name in OPENED_LATE and file is not None and file.name in here.cached
        yield _mounted(here, f"{name} is empty", "libraries", *(() if works else ("torch-install-broken",)),
                       noted=("torch-install-broken",), missing=missing,
                       mounts=(over(file, empty),) if file else ())  # fmt: skip
    version = here.site / "torch" / "functional.py"
    yield _mounted(here, "torch/functional.py is empty", "libraries", "torch-install-broken",
                   mounts=(over(version, empty),))  # fmt: skip


def _loader(here: Machine, folder: Path) -> Iterator[Row]:
    """What the loader finds first."""
    group, conflict = "loader", "library-path-conflict"
    empty = _file(folder, "empty/libcuda.so.1").parent
    text = _file(folder, "text/libcuda.so.1", "not a library\n").parent
    stub = folder / "stub"
    stub.mkdir()
    (stub / "libcuda.so.1").symlink_to(STUBS / "libcuda.so")
    without_stub = "" if (STUBS / "libcuda.so").exists() else "the toolkit has no stub of libcuda"

    def path(first: object) -> dict[str, str]:
        return {"LD_LIBRARY_PATH": ":".join(part for part in (str(first), here.loader_path) if part)}

    yield _row("an empty libcuda comes first", group, conflict, environ=path(empty))
    yield _row("a text called libcuda comes first", group, conflict, environ=path(text))
    yield _row("the toolkit's stub of libcuda comes first", group, conflict, environ=path(stub), missing=without_stub)
    preload = {"LD_PRELOAD": str(STUBS / "libcuda.so")}
    yield _row("the toolkit's stub of libcuda is preloaded", group, "harmful-variable", conflict, environ=preload,
               missing=without_stub)  # fmt: skip
    yield _row("an empty library is preloaded", group, environ={"LD_PRELOAD": str(empty / "libcuda.so.1")})
    toolkit = "" if (TOOLKIT / "lib64").is_dir() else "there is no CUDA toolkit"
    yield _row("the toolkit's libraries come first", group, environ=path(TOOLKIT / "lib64"), missing=toolkit)
    compat = TOOLKIT / "compat"
    without_compat = "" if (compat / "libcuda.so.1").exists() else "the toolkit has no compatibility libraries"
    # CUDA refuses compatibility libraries that are older than the driver (error 803).
    yield _row("the toolkit's compatibility libraries come first", group, "cuda-compat-conflict",
               environ=path(compat), missing=without_compat)  # fmt: skip
    own = here.library("libcudart.so")
    yield _row("torch's own libraries come first", group, environ=path(own.parent if own else ""),
               missing="" if own else "there is no libcudart")  # fmt: skip


def _limits(here: Machine) -> Iterator[Row]:
    limits = {
        "30 open files": ("--nofile=30",),
        "4 GB of addresses": (f"--as={4 << 30}",),
        "512 MB of data": (f"--data={512 << 20}",),
    }
    for name, options in limits.items():
        yield _row(name, "limits", "process-limits", wrap=("prlimit", *options))
    yield _row("20 processes and threads, user nobody", "limits", "process-limits", environ=NO_HOME,
               wrap=("prlimit", "--nproc=20", *NOBODY))  # fmt: skip
    yield _row("no locked memory, user nobody", "limits", wrap=("prlimit", "--memlock=0", *NOBODY), environ=NO_HOME)
    yield _row("32 GB of addresses", "limits", wrap=("prlimit", f"--as={32 << 30}"))  # enough for one context
    yield _row("no core files", "limits", wrap=("prlimit", "--core=0"))


def _surroundings(here: Machine, folder: Path) -> Iterator[Row]:
    group = "surroundings"
    yield _mounted(here, "no /sys", group, mounts=("mount -t tmpfs none /sys",))
    inside = any(str(path).startswith("/tmp/") for path in (ROOT, here.site))
    yield _mounted(here, "/tmp can't be written", group, mounts=("mount -t tmpfs -o ro none /tmp",),
                   missing="what is run lies in /tmp" if inside else "")  # fmt: skip
    yield _mounted(here, "/dev/shm of 64 KB", group, mounts=("mount -t tmpfs -o size=64k none /dev/shm",))
    release = _file(folder, "os-release")
    yield _mounted(here, "an empty /etc/os-release", group, mounts=(over("/etc/os-release", release),))
    namespaces = "" if here.namespaces else "needs root and namespaces"
    yield _row("no network, not even a loopback", group, wrap=("unshare", "-n"), missing=namespaces)
    yield _row("a process namespace of its own", group, missing=namespaces,
               wrap=("unshare", "-p", "--fork", "--mount-proc", "--kill-child"))  # fmt: skip
    memory, why = _in_a_group(here)
    yield _row("6 GB of memory", group, wrap=memory, missing=why)


def _in_a_group(here: Machine) -> tuple[tuple[str, ...], str]:
    """What starts a program in a memory control group of its own, and removes the group; or why that can't be done."""
    name = f"doctor-ward-{os.getpid()}"
    old, new = Path("/sys/fs/cgroup/memory"), Path("/sys/fs/cgroup")
    control = new / "cgroup.subtree_control"
    if (old / "memory.limit_in_bytes").exists():
        group, file = old / name, "memory.limit_in_bytes"
    elif control.exists() and "memory" in control.read_text().split():
        group, file = new / name, "memory.max"
    else:
        return (), "no control group for memory can be made"
    if not here.namespaces:
        return (), "needs root"
    script = (
        f'mkdir {group} && echo {6 << 30} > {group}/{file} && (echo 0 > {group}/cgroup.procs && exec "$@"); '
        f"code=$?; sleep 1; rmdir {group}; exit $code"
    )
    return ("sh", "-c", script, "sh"), ""


def _tools(folder: Path) -> Iterator[Row]:
    """nvidia-smi is at fault, and the GPU works."""
    path = os.environ.get("PATH", "")
    for number, (what, script) in enumerate(SMI.items()):
        place = _file(folder, f"smi{number}/nvidia-smi", f"#!/bin/sh\n{script}\n", 0o755).parent
        yield _row(f"nvidia-smi {what}", "tools", environ={"PATH": f"{place}:{path}"})


def _arguments() -> Iterator[Row]:
    group = "arguments"
    yield _row("--device cuda:7", group, "requested-device-missing", arguments=("--device", "cuda:7"))
    yield _row("--device cuda:0", group, verdict="unknown", code=0, arguments=("--device", "cuda:0"))
    yield _row("--no-probe", group, verdict="unknown", code=0, arguments=("--no-probe",))
    yield _row("--time-limit 1", group, verdict="unknown", arguments=("--time-limit", "1"))
    yield _row("--require 'cuda>=99'", group, "requirement-unmet", arguments=("--require", "cuda>=99"))
    yield _row("--require 'cuda>=1'", group, arguments=("--require", "cuda>=1"))


def _shared(here: Machine) -> Iterator[Row]:
    """Others use the GPU, too. All GPUs are filled: else a probe of another one passes."""
    group = "shared"
    full = tuple(f"hold cuda:{gpu} 1.0" for gpu in range(here.gpus))
    yield _row("another process holds all memory", group, "cuda-out-of-memory", beside=full)
    yield _row("another process holds half of the memory", group, beside=("hold cuda:0 0.5",))
    yield _row("another process computes", group, beside=("compute cuda:0",))
    yield _row("two other processes compute", group, beside=("compute cuda:0", "compute cuda:0"))
    yield _row("a stopped process holds a context", group, beside=("stop cuda:0",))
    yield _row("16 doctors at once", group, copies=16, limit_s=240)


def _two(here: Machine) -> Iterator[Row]:
    """Rows for two GPUs."""
    group, visible = "two GPUs", "CUDA_VISIBLE_DEVICES"
    missing = "" if here.gpus >= 2 else "needs two GPUs"
    blocked = ("gpu-blocked-by-sandbox", "accelerator-unusable")
    mask = (over("/dev/nvidia1", "/dev/null"),)
    yield _mounted(here, "/dev/nvidia1 is /dev/null", group, *blocked, mounts=mask, missing=missing)
    for value in ("0,7", "1"):
        yield _row(f"one of two is hidden: {value}", group, environ={visible: value}, noted=("gpu-hidden",),
                   missing=missing)  # fmt: skip
    yield _row("two GPUs in another order", group, environ={visible: "1,0"}, missing=missing)
    yield _row("another process holds the second GPU's memory", group, "cuda-out-of-memory",
               beside=("hold cuda:1 1.0",), missing=missing)  # fmt: skip
    yield _row("another process computes on the second GPU", group, beside=("compute cuda:1",), missing=missing)


def _full(here: Machine, folder: Path) -> Iterator[Row]:
    """Features of torch that the full probe tries: torch.compile, workers, files."""
    group = "full probe"

    def row(name: str, *ids: str, **more: Any) -> Row:
        return _mounted(here, name, group, *ids, full=True, limit_s=240, **{"mounts": (), **more})

    words = "ptxas fatal : Value 'sm_90a' is not defined for option 'gpu-name'"
    # Triton passes over one that does not tell its version, and takes its own.
    says = 'case "$*" in *--version*) echo "Cuda compilation tools, release 11.0, V11.0.194"; exit 0;; esac'
    false = _file(folder, "ptxas", f'#!/bin/sh\n{says}\necho "{words}" >&2\nexit 255\n', 0o755)
    yield row("the full probe of a healthy machine")
    yield row("the full probe without a C compiler", noted=("compiler-missing",),
              environ={"CC": "/nonexistent/cc", "CXX": "/nonexistent/c++"})  # fmt: skip
    yield row("the full probe with an old ptxas", noted=("feature-fails",), environ={"TRITON_PTXAS_PATH": str(false)})
    yield row("the full probe with a /dev/shm of 64 KB", "shared-memory-too-small",
              mounts=("mount -t tmpfs -o size=64k none /dev/shm",))  # fmt: skip
    cache = {"TORCHINDUCTOR_CACHE_DIR": "/proc/nothing"}
    # torch makes that folder already where a program makes an optimizer, so that training fails, too.
    yield row("the full probe with a cache that can't be written", "folder-not-writable", environ=cache)


def shown(row: Row) -> str:
    """What is broken, in one line, for the page and --list."""
    parts = [f"{name}={shlex.quote(value)}" for name, value in row.environ.items() if name != "PATH"]
    parts += [shlex.join(row.wrap)] if row.wrap else []
    parts += list(row.mounts) + list(row.beside)
    parts += [shlex.join(row.arguments)] if row.arguments else []
    parts += [f"{row.copies} at once"] if row.copies > 1 else []
    parts += ["probe --full"] if row.full else []
    return re.sub(rf"{FOLDERS}/{PREFIX}\w+", "FOLDER", "; ".join(parts)) or "as it is"
