"""What was seen of one machine and one Python environment, live or in pasted evidence.

Three states of every fact (design, rule 4):
  * a value, or ABSENT, or an empty tuple: known;
  * None: not known, and `Facts.gaps` says why, by the dotted name of the fact (`nvidia.driver`);
  * never a blank that could mean either.

Versions are strings as the source spells them. CPU architectures are `x86_64`, `arm64` (also for Linux aarch64), `x86`,
`armv7l`, `ppc64le`, `riscv64`. Systems are `linux`, `darwin`, `windows`. Sizes are bytes, times milliseconds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from enum import Enum
from typing import Literal

from doctor.model.values import dataclass


class Absent(Enum):
    """The type of ABSENT: looked for, in the right place, and known not to be there."""

    ABSENT = "absent"

    def __bool__(self) -> Literal[False]:
        return False


ABSENT = Absent.ABSENT

Reason = Literal[
    "not-in-evidence",
    "timed-out",
    "permission",
    "not-installed",
    "crashed",
    "unreadable",
    "not-applicable",
    "not-looked",
]


@dataclass(frozen=True, kw_only=True)
class Gap:
    """Why a fact is not known. `fact` is its dotted name; it also stands for every fact below it."""

    fact: str  # dotted: "nvidia.driver"
    reason: Reason  # why, in a word
    detail: str = ""  # why, in a sentence
    source: str = ""  # who was asked


@dataclass(frozen=True, kw_only=True)
class Origin:
    """Where a fact comes from: a file, a command, a line of a ticket. `quote` is the text as it stood there."""

    source: str  # "/proc/driver/nvidia/version", "nvidia-smi", "collect_env"
    quote: str = ""  # the text as it stood there
    line: int | None = None  # in the text that was read, from 1


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What the system allows this process; ABSENT is «no limit». Soft limits, which are the ones that count."""

    open_files: int | Absent | None = None  # RLIMIT_NOFILE
    processes: int | Absent | None = None  # RLIMIT_NPROC: processes and threads of this user
    address_space_bytes: int | Absent | None = None  # RLIMIT_AS
    data_bytes: int | Absent | None = None  # RLIMIT_DATA
    cpu_seconds: int | Absent | None = None  # RLIMIT_CPU: of each process
    cgroup_processes: int | Absent | None = None  # pids.max: processes and threads in the control group
    cgroup_processes_now: int | None = None  # pids.current


# Values of Host.virtual_machine: machines of a service, which brings the driver along wherever it gives a GPU
SERVICES = ("Google Colab", "Kaggle", "Hugging Face Spaces", "a hosted runner")


@dataclass(frozen=True, kw_only=True)
class Host:
    """The machine and its operating system."""

    system: str | None = None  # "linux", "darwin", "windows"
    os_name: str | None = None  # "Ubuntu 22.04.4 LTS", "macOS 14.5", "Windows 11"
    os_id: str | None = None  # ID of os-release: "ubuntu", "alpine"; "macos", "windows"
    os_like: tuple[str, ...] = ()  # ID_LIKE of os-release
    os_version: str | None = None  # VERSION_ID, ProductVersion, or the Windows version
    macos: str | Absent | None = None  # real macOS version from sw_vers; ABSENT on other systems
    windows_build: int | None = None  # 19045, 22631
    kernel: str | None = None  # uname -r
    architecture: str | None = None  # of the hardware: arm64 on Apple silicon also under Rosetta
    cpu_model: str | None = None  # "Apple M1 Pro", "Intel(R) Xeon(R) ..."
    cpu_flags: tuple[str, ...] | None = None  # ISA extensions that matter: avx avx2 fma avx512f amx_tile neon sve …
    cpus: int | None = None  # logical ones of the machine
    cpus_usable: int | None = None  # by affinity
    cgroup_cpus: float | Absent | None = None  # how many the control group allows
    cgroup_memory_bytes: int | Absent | None = None  # what the control group allows
    libc: str | None = None  # "glibc", "musl"
    libc_version: str | None = None  # "2.35"
    memory_bytes: int | None = None  # of the machine
    memory_available_bytes: int | None = None  # free, or can be freed at once
    disk_free_bytes: int | None = None  # where the environment lives
    shm_bytes: int | None = None  # size of /dev/shm
    container: str | Absent | None = None  # "docker", "podman", "kubernetes", "lxc", "container"
    container_gpus: bool | None = None  # whether GPUs were asked for when it was started
    wsl: int | Absent | None = None  # 1 or 2
    dxg: bool | None = None  # /dev/dxg exists: WSL 2 has a GPU of the Windows host
    virtual_machine: str | Absent | None = None  # "kvm", "vmware", "hyper-v"; "unknown": it is one, of whatever kind
    jetson: str | Absent | None = None  # L4T release "36.4.0"
    sandbox: str | Absent | None = None  # "seatbelt", "gvisor": what confines this process
    limits: Limits | Absent | None = None  # what the system allows this process
    tools: Mapping[str, str] | None = None  # gcc, clang, cmake: the first line of their --version; others are not there
    no_new_privileges: bool | None = None  # Linux: sudo and other setuid programs gain nothing in this process
    root: bool | None = None  # whether this process's user is root (of Windows: not asked)


@dataclass(frozen=True, kw_only=True)
class StartFailure:
    """Why the target's Python cannot be run."""

    # what went wrong
    kind: Literal[
        "not-found",
        "not-python",
        "dead-link",
        "missing-base",
        "permission",
        "crashed",
        "timed-out",
        "too-old",
        "exited",
    ]
    message: str  # what the system or the Python said, one line
    exit_code: int | None = None  # of the process
    signal: int | None = None  # that ended it, a positive number
    version: str | None = None  # of a Python too old to be asked more


@dataclass(frozen=True, kw_only=True)
class Kernel:
    """The Jupyter kernel that the target's Python runs. Without a name: the one that torchdoctor was started from."""

    name: str | None = None  # as notebooks name it: "python3"
    file: str | None = None  # its kernel.json
    environ: tuple[str, ...] = ()  # names of the variables that kernel.json sets
    started_at: str | None = None  # UTC, of the one that torchdoctor was started from


@dataclass(frozen=True, kw_only=True)
class OtherEnvironment:
    """Another Python found near the target: what `wrong-environment` needs."""

    python: str  # its path or name
    version: str | None = None  # of Python
    torch: str | Absent | None = None  # its version
    how: str = ""  # "pip on PATH", 'the Jupyter kernel "X"', ".venv of this folder"
    kernel: str | None = None  # the Jupyter kernel that it runs, as notebooks name it


@dataclass(frozen=True, kw_only=True)
class Held:
    """What an environment whose Python does not start was made of, as the names of its files tell."""

    python: str | None = None  # the Python that it was made with: "3.11.9", "3.11"
    torch: str | None = None  # "2.13.0+cpu"
    companions: tuple[str, ...] = ()  # the packages that move along with torch: "torchvision"


@dataclass(frozen=True, kw_only=True)
class Interpreter:
    """The target's Python."""

    executable: str | None = None  # sys.executable
    prefix: str | None = None  # sys.prefix: the folder of the environment
    base_prefix: str | None = None  # sys.base_prefix: the Python that the environment was made from
    version: str | None = None  # "3.12.4", of pre-releases "3.15.0rc1"
    build: str | None = None  # what follows the number in sys.version: "(main, Apr  6 2024, 17:59:24) [GCC 11.4.0]"
    implementation: str | None = None  # "cpython", "pypy"
    free_threaded: bool | None = None  # built without the global lock
    bits: int | None = None  # 64 or 32
    architecture: str | None = None  # of this process: x86_64 under Rosetta
    translated: bool | None = None  # Rosetta: sysctl.proc_translated
    platform_tag: str | None = None  # sysconfig.get_platform(): "macosx-11.0-arm64"
    macos_reported: str | None = None  # platform.mac_ver() as this Python is told it: "10.16" with an old SDK
    environment: str | None = None  # "venv", "conda", "conda-base", "pixi", "pipx", "uv-tool", "system", "embedded"
    manager: str | None = None  # the tool that made it, as --tool calls it
    project: str | None = None  # pyproject.toml, pixi.toml or environment.yml that manages it
    project_has_torch: bool | None = None  # whether that file asks for torch, which is not installed
    # What came after `uv tool install`: the tool, then pairs of option and value. ABSENT: it is no such environment
    receipt: tuple[str, ...] | Absent | None = None
    kernel: Kernel | Absent | None = None  # that it runs; ABSENT: it was not examined as one
    externally_managed: bool | None = None  # PEP 668
    pip: str | Absent | None = None  # version of pip in this environment
    sys_path: tuple[str, ...] | None = None  # sys.path as its user would see it
    shadowed: tuple[tuple[str, str], ...] | None = None  # (standard-library module, the file that hides it)
    shadowed_packages: tuple[tuple[str, str], ...] | None = None  # the same of packages that torch imports
    user_site: bool | None = None  # whether the user's own site-packages are on sys.path
    start_failure: StartFailure | Absent | None = None  # why it cannot be run
    held: Held | Absent | None = None  # what its environment was made of; ABSENT: it can be asked itself
    others: tuple[OtherEnvironment, ...] = ()  # further Pythons near it


@dataclass(frozen=True, kw_only=True)
class TorchCopy:
    """One installed copy of torch on sys.path, in sys.path order."""

    path: str  # the folder that holds torch/
    version: str | None = None  # of its metadata, else of torch/version.py
    installer: str | None = None  # INSTALLER of its dist-info: "pip", "uv", "conda"
    has_files: bool = True  # False: metadata without a package
    has_metadata: bool = True  # False: a package without metadata


@dataclass(frozen=True, kw_only=True)
class ImportFailure:
    """`import torch` in the child did not succeed."""

    kind: Literal["exception", "signal", "exit", "timed-out"]  # how it ended
    message: str  # the last line of the error, or what faulthandler said
    exception: str | None = None  # "ImportError"
    traceback: str = ""  # the last part of it
    exit_code: int | None = None  # of the child
    signal: int | None = None  # that ended the child, a positive number
    stage: str | None = None  # the last stage that had begun


@dataclass(frozen=True, kw_only=True)
class TorchDevice:
    """One device as torch sees it."""

    backend: str  # "cuda", "mps", "xpu" (ROCm is "cuda", with Torch.hip set)
    index: int  # as in cuda:0
    name: str | None = None  # as torch says it
    capability: str | None = None  # "8.9"
    gfx: str | None = None  # "gfx1100"
    memory_bytes: int | None = None  # in all

    @property
    def id(self) -> str:
        """torch's name of it: "cuda:0"; "mps", of which there is one."""
        return self.backend if self.backend == "mps" else f"{self.backend}:{self.index}"


@dataclass(frozen=True, kw_only=True)
class Torch:
    """The installed torch: first what its files say, then what the import in a child said."""

    version: str | None = None  # "2.6.0+cu124"
    cuda: str | Absent | None = None  # torch.version.cuda
    hip: str | Absent | None = None  # torch.version.hip
    xpu: str | Absent | None = None  # torch.version.xpu
    git: str | None = None  # commit that it was built from
    debug: bool | None = None  # a debug build
    path: str | None = None  # the folder torch/ that is (or would be) imported
    installer: str | None = None  # INSTALLER of its dist-info: "pip", "uv", "conda"
    build: str | None = None  # conda build string, or the tag of the WHEEL file
    copies: tuple[TorchCopy, ...] | None = None  # all copies on sys.path
    missing_files: tuple[str, ...] | None = None  # named by RECORD, not on disk (at most 50)
    leftovers: tuple[str, ...] | None = None  # "~orch" folders, torch folders without __init__
    installed_at: str | None = None  # UTC, when its dist-info was written
    shadowed_by: str | Absent | None = None  # a user's torch.py or torch/ that comes first on sys.path
    libraries: tuple[str, ...] | None = None  # file names in torch/lib
    requires: tuple[str, ...] | None = None  # Requires-Dist, markers evaluated
    missing_requirements: tuple[str, ...] | None = None  # of it and its nvidia-* packages, of which nothing is there
    # from the import in a child:
    imports: bool | None = None  # whether import torch succeeds
    import_failure: ImportFailure | Absent | None = None  # why import torch failed
    import_ms: float | None = None  # what import torch took
    warnings: tuple[str, ...] | None = None  # what import torch warned of
    cuda_built: bool | None = None  # torch.backends.cuda.is_built()
    cuda_available: bool | None = None  # torch.cuda.is_available(); of a ROCm build, too
    cuda_error: str | Absent | None = None  # what torch.cuda.init() raised
    mps_built: bool | None = None  # torch.backends.mps.is_built()
    mps_available: bool | None = None  # torch.backends.mps.is_available()
    xpu_available: bool | None = None  # torch.xpu.is_available()
    arch_list: tuple[str, ...] | None = None  # torch.cuda.get_arch_list(): "sm_86", "compute_90", "gfx1100"
    devices: tuple[TorchDevice, ...] | None = None  # the devices that torch lists
    cudnn: str | Absent | None = None  # torch.backends.cudnn.version()
    numpy_works: bool | None = None  # torch.from_numpy on a small array; None also where NumPy is absent
    numpy_error: str | Absent | None = None  # what it raised
    cpu_capability: str | None = None  # torch.backends.cpu.get_cpu_capability()
    threads: int | None = None  # torch.get_num_threads()
    loaded_libraries: tuple[str, ...] | None = None  # CUDA, cuDNN, NCCL, OpenMP files mapped into the child


@dataclass(frozen=True, kw_only=True)
class Package:
    """One installed distribution that matters to torch. Names are normalised (PEP 503)."""

    name: str  # normalised (PEP 503)
    version: str | None = None  # as its metadata says
    path: str | None = None  # the folder that it is installed in
    installer: str | None = None  # INSTALLER of its dist-info
    requires: tuple[str, ...] = ()  # its Requires-Dist on torch, numpy, triton, nvidia-*
    copies: int = 1  # how often it is on sys.path
    beside: int = 0  # how many more metadata of it lie in the same folder: one was put over the other


@dataclass(frozen=True, kw_only=True)
class DamagedFile:
    """A file of an installed distribution that is not as RECORD says it was installed."""

    distribution: str  # whose RECORD names it
    version: str | None = None  # of that distribution
    file: str  # as RECORD names it: "nvidia/cudnn/lib/libcudnn.so.9"
    # unreadable: by this user; foreign: no library of this system, processor and Python; changed: a .py, looked at only
    # where the import failed or all was asked for
    what: Literal["missing", "empty", "truncated", "unreadable", "foreign", "changed"]  # what is wrong with it
    detail: str = ""  # sizes, or the processor it is for


@dataclass(frozen=True, kw_only=True)
class Gpu:
    """One GPU of the machine, whoever named it. `capability` may come from the tables, by name or PCI id."""

    vendor: Literal["nvidia", "amd", "intel", "apple"]  # who made it
    name: str | None = None  # the model: "NVIDIA GeForce RTX 4090"
    capability: str | None = None  # NVIDIA compute capability "8.9"
    gfx: str | None = None  # AMD "gfx1100"
    pci_id: str | None = None  # "10de:2684"
    pci_address: str | None = None  # "0000:01:00.0"
    memory_bytes: int | None = None  # in all
    memory_used_bytes: int | None = None  # in use by all programs
    uuid: str | None = None  # the driver's id of it
    integrated: bool | None = None  # part of the processor, with its memory
    driver: str | None = None  # kernel driver bound to it: "nvidia", "nouveau", "amdgpu", "i915", "xe", "vfio-pci"


@dataclass(frozen=True, kw_only=True)
class Source:
    """How one source of the driver's facts answered."""

    name: str  # "nvidia-smi", "libcuda", "/proc/driver/nvidia/version"
    status: Literal["ok", "timed-out", "failed", "absent", "permission"]  # how it ended
    message: str = ""  # what it said where it failed
    stuck: bool = False  # its process could not be killed (state D)


@dataclass(frozen=True, kw_only=True)
class Nvidia:
    """The NVIDIA driver stack."""

    driver: str | Absent | None = None  # version of the driver, the best source
    driver_cuda: str | None = None  # highest CUDA the driver says it supports: "12.4"
    kernel_module: str | Absent | None = None  # version of the loaded module
    module_flavour: str | None = None  # "open", "proprietary": which of NVIDIA's two kernel modules is loaded
    library: str | Absent | None = None  # version of the user-space libraries
    libcuda: str | Absent | None = None  # path of the libcuda that the loader takes
    libcuda_broken: str | Absent | None = None  # why that file cannot be used: "….so.1: file too short"
    libcuda_elsewhere: tuple[str, ...] | None = None  # files of libcuda in folders that the loader does not search
    cuinit: int | None = None  # result of cuInit in a child: 0, 100, 802, 803, 804, 999
    smi_error: str | Absent | None = None  # the error line of nvidia-smi
    packages: tuple[str, ...] | None = None  # the distribution's packages of a driver: "nvidia-utils-525"
    smi_version: str | None = None  # "NVIDIA-SMI 525.60.13" of the header: in WSL not the driver's version
    gpus_seen: int | None = None  # how many the driver lists
    device_nodes: tuple[str, ...] | None = None  # /dev/nvidia*
    uvm_node: bool | None = None  # /dev/nvidia-uvm exists
    nodes_accessible: bool | None = None  # this process may open the device nodes
    false_nodes: tuple[str, ...] | None = None  # those of device_nodes that are not the driver's devices: masked ones
    closed_nodes: tuple[str, ...] | None = None  # those that this process was not allowed to open
    nouveau: bool | None = None  # the nouveau module is loaded
    fabric_manager: str | Absent | None = None  # "running", "stopped", "unfinished" (the fabric is not set up yet)
    fabric_manager_version: str | None = None  # must equal the driver's
    toolkit: str | Absent | None = None  # nvcc: says nothing about the driver
    compute_mode: str | None = None  # "Default", "Exclusive_Process", "Prohibited"
    mig: bool | None = None  # MIG mode is on for all GPUs that nvidia-smi lists: CUDA sees MIG instances only
    mig_instances: int | None = None  # how many of them it lists
    xids: tuple[int, ...] | None = None  # Xid errors in the kernel log
    processes: int | None = None  # compute processes of others
    sources: tuple[Source, ...] = ()  # how each source of these facts answered


@dataclass(frozen=True, kw_only=True)
class Amd:
    """The AMD GPU stack."""

    kernel_driver: bool | None = None  # amdgpu loaded
    kfd: bool | None = None  # /dev/kfd exists
    kfd_accessible: bool | None = None  # this process may open /dev/kfd
    render_accessible: bool | None = None  # this process may open the render nodes of AMD GPUs
    groups: tuple[str, ...] | None = None  # groups of the user
    rocm: str | Absent | None = None  # system-wide ROCm, /opt/rocm/.info/version
    sources: tuple[Source, ...] = ()  # how each source of these facts answered


@dataclass(frozen=True, kw_only=True)
class Intel:
    """The Intel GPU stack."""

    kernel_driver: str | Absent | None = None  # "i915", "xe"
    level_zero: bool | None = None  # libze_loader and libze_intel_gpu are there
    render_accessible: bool | None = None  # this process may open the render nodes of Intel GPUs
    sources: tuple[Source, ...] = ()  # how each source of these facts answered


@dataclass(frozen=True, kw_only=True)
class Metal:
    """Apple's Metal."""

    device: str | Absent | None = None  # "Apple M1 Pro", "Apple Paravirtual device"
    gpu_cores: int | None = None  # of the GPU


# The `pattern` of messages that no reader understood: a line that may tell of a failure; where there is none, the first
# thing that a person says (evidence/remarks.py)
REMARK, STATEMENT = "remark", "statement"


@dataclass(frozen=True, kw_only=True)
class ErrorText:
    """A recognised message. `pattern` is its id in doctor/knowledge; what it means is for the checks to say."""

    pattern: str  # its id: a row of messages.json, or a kind such as "exception"
    text: str  # the matched text, one line, at most 500 characters
    groups: tuple[str, ...] = ()  # what the pattern took out of it
    source: str = ""  # the file or the stage that it is from
    line: int | None = None  # in that file, from 1
    path: str | None = None  # a file path named near it (last frame of the traceback)


@dataclass(frozen=True, kw_only=True)
class InstallAttempt:
    """A failed or quoted installation: what was asked for and what was on offer."""

    tool: str  # as --tool calls it
    command: str | None = None  # as it was typed
    requirements: tuple[str, ...] = ()  # what was asked for
    indexes: tuple[str, ...] = ()  # addresses of the package indexes
    failed: bool | None = None  # whether it failed; null: the text does not show it
    offered: tuple[str, ...] | None = None  # pip's «from versions: …»; () is «none»
    wheel: str | None = None  # a wheel file named in the attempt
    message: str = ""  # the line that says why


@dataclass(frozen=True, kw_only=True)
class Stage:
    """One stage of a probe: `data` holds what it measured, with units in the names."""

    name: str  # "import", "open", "allocate", "correct" (docs/probes.md)
    ok: bool  # whether it passed
    ms: float  # how long it took
    data: Mapping[str, object] = field(default_factory=dict)  # what it measured (docs/probes.md)


@dataclass(frozen=True, kw_only=True)
class ProbeResult:
    """What the probe of one device gave. `stage` is where it ended (of a skipped one: why it never came to the
    device); a signal is the positive number (11)."""

    id: str  # "cpu", "cuda:0"
    device: str  # as torch names it
    # "ok": all stages passed and the results were right
    status: Literal["ok", "failed", "crashed", "timed-out", "skipped"]
    stage: str | None = None  # where it ended
    reason: str = ""  # for failed and skipped: one sentence
    stages: tuple[Stage, ...] = ()  # all that were begun, in order
    data: Mapping[str, object] = field(default_factory=dict)  # what was measured over the whole probe (docs/probes.md)
    exit_code: int | None = None  # of the child
    signal: int | None = None  # that ended the child
    stderr_tail: str = ""  # the last lines that it wrote
    stuck: bool = False  # its process could not be killed


@dataclass(frozen=True, kw_only=True)
class Declaration:
    """A line of the project's own files that brings torch, or what belongs to it, into the environment."""

    file: str  # from the root of the repository, with slashes: "docker/Dockerfile"
    line: int  # in that file, from 1
    what: str  # "torch", the name of another package, "python", "index" (the address of one), "image" (of a container)


@dataclass(frozen=True, kw_only=True)
class Facts:
    """Everything known of one machine. `torch` and `metal` may be ABSENT; `gpus == ()` means: known to have none."""

    live: bool = True  # False: read from pasted evidence
    as_of: str | None = None  # ISO date by which to judge; None: everything the tables know
    wheels: tuple[str, ...] | None = None  # names of the wheel files that alone can be installed; None: any
    host: Host = field(default_factory=Host)  # the machine and its operating system
    interpreter: Interpreter = field(default_factory=Interpreter)  # the target's Python
    torch: Torch | Absent | None = None  # the installed torch
    packages: tuple[Package, ...] | None = None  # the distributions beside torch that matter to it
    damaged: tuple[DamagedFile, ...] | None = None  # files of torch and of what it needs (at most 50)
    gpus: tuple[Gpu, ...] | None = None  # the GPUs, whether torch uses them or not
    nvidia: Nvidia = field(default_factory=Nvidia)  # the NVIDIA driver stack
    amd: Amd = field(default_factory=Amd)  # the AMD GPU stack
    intel: Intel = field(default_factory=Intel)  # the Intel GPU stack
    metal: Metal = field(default_factory=Metal)  # Apple's Metal
    environ: Mapping[str, str] | None = None  # allow-listed variables that are set; {} is «none of them is set»
    errors: tuple[ErrorText, ...] = ()  # messages that were recognised, of a text or said live
    attempts: tuple[InstallAttempt, ...] = ()  # installations that were tried
    operations: tuple[str, ...] = ()  # of torch, that a text names, as the table of errata spells them
    threads: tuple[str, ...] = ()  # that a text cites: "pytorch/pytorch#122016"
    signs: tuple[str, ...] = ()  # how a fault shows in a text, in the words of evidence/signs.py
    probes: tuple[ProbeResult, ...] | None = None  # what computing on each device gave; null: nothing was probed
    gaps: tuple[Gap, ...] = ()  # why facts are not known
    declared: tuple[Declaration, ...] | None = None  # what the project's files ask for, nearest file first
    asked_devices: tuple[str, ...] = ()  # devices named by --device
    required: tuple[str, ...] | None = None  # what --require demands: "torch>=2.5"; null: nothing
    origins: Mapping[str, Origin] = field(default_factory=dict)  # dotted fact -> its source
