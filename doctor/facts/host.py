"""The machine and its operating system."""

from __future__ import annotations

import re
from collections.abc import Callable

from doctor.facts.gpus import windows
from doctor.facts.notes import Notes
from doctor.facts.system import System, architecture
from doctor.formats import cpuinfo, macos, os_release
from doctor.model.facts import ABSENT, Absent, Gap, Limits

Finish = Callable[[Notes], None]
TOOL_LIMIT_S = 5.0
_SYSCTL = ("machdep.cpu.brand_string", "hw.optional.arm64", "kern.hv_vmm_present", "machdep.cpu.features",
           "machdep.cpu.leaf7_features")  # fmt: skip
_LIMITS = {
    "open_files": "Max open files", "processes": "Max processes", "address_space_bytes": "Max address space",
    "data_bytes": "Max data size", "cpu_seconds": "Max cpu time",
}  # fmt: skip
_UNLIMITED = 1 << 60  # cgroup v1 says «no limit» with a number near 2**63
_GVISOR = "Sun Jan 10 15:06:54 PST 2016"  # the build date in gVisor's own /proc/version
_VIRTUAL = {
    "kvm": "kvm", "qemu": "qemu", "vmware": "vmware", "virtualbox": "virtualbox", "innotek": "virtualbox", "xen": "xen",
    "virtual machine": "hyper-v", "amazon ec2": "ec2", "google compute engine": "gce", "openstack": "openstack",
    "parallels": "parallels", "bochs": "bochs", "firecracker": "firecracker",
}  # fmt: skip


def start(system: System, notes: Notes) -> Finish:
    """Write down what files say, start what programs must say."""
    uname = system.uname()
    cpus, usable = system.cpus()
    notes.set("host.system", uname.system or None, "uname")
    notes.set("host.kernel", uname.release or None, "uname")
    notes.set("host.cpus", cpus, "os.cpu_count")
    notes.set("host.cpus_usable", usable, "affinity")
    if usable is None:
        notes.gap("host.cpus_usable", "not-applicable", "this system does not say which CPUs a process may use")
    if (root := system.is_root()) is not None:
        notes.set("host.root", root, "geteuid")
    starter = {"linux": _linux, "darwin": _mac, "windows": _windows}.get(uname.system)
    if starter is None:
        notes.set("host.architecture", architecture(uname.machine), "uname")
        return lambda notes: None
    return starter(system, notes)


def write_room(system: System, notes: Notes) -> None:
    """Memory, and room on the disk of the target's environment; called when it has answered."""
    memory = system.memory()  # on Windows its own query has said it already
    for part, fact in enumerate(("host.memory_bytes", "host.memory_available_bytes")):
        notes.set(fact, memory if isinstance(memory, Gap) else memory[part], "psutil")
    disk = system.disk(notes.get("interpreter.prefix") or system.cwd)
    notes.set("host.disk_free_bytes", disk if isinstance(disk, Gap) else disk[1], "file system")


# ---- Linux


def _linux(system: System, notes: Notes) -> Finish:
    uname = system.uname()
    notes.set("host.architecture", architecture(uname.machine), "uname", uname.machine)
    notes.set("host.macos", ABSENT, "uname")
    notes.gap("host.windows_build", "not-applicable", "this is Linux")
    release = system.read("/etc/os-release")
    if isinstance(release, Gap):
        release = system.read("/usr/lib/os-release")
    if isinstance(release, Gap):
        notes.set("host.os_name", release)
    else:
        said = os_release.parse(release)
        for name, value in (("name", said.name), ("id", said.id), ("version", said.version), ("like", said.like)):
            notes.set(f"host.os_{name}", value, "/etc/os-release")
    _cpu(system, notes)
    _surroundings(system, notes)
    _limits(system, notes)
    return lambda notes: _write_libc(system, notes)


def _write_libc(system: System, notes: Notes) -> None:
    """Where the target could not say it, our own process can: it is the machine's."""
    own = system.libc()
    if own and notes.get("host.libc") is None:
        notes.set("host.libc", own[0], "confstr")
        notes.set("host.libc_version", own[1], "confstr")
    notes.gap("host.libc", "crashed", "the target's Python was to say it")
    notes.gap("host.libc_version", "not-applicable", "this C library does not say its version")


def _cpu(system: System, notes: Notes) -> None:
    text = system.read("/proc/cpuinfo")
    if isinstance(text, Gap):
        for fact in ("host.cpu_model", "host.cpu_flags"):
            notes.set(fact, text)
    else:
        cpu = cpuinfo.parse(text)
        notes.set("host.cpu_model", cpu.model, "/proc/cpuinfo")
        notes.set("host.cpu_flags", cpu.flags, "/proc/cpuinfo")
    shm = system.disk("/dev/shm")
    notes.set("host.shm_bytes", shm if isinstance(shm, Gap) else shm[0], "/dev/shm")


def _text(system: System, path: str) -> str:
    text = system.read(path, 65536)
    return "" if isinstance(text, Gap) else text


def _surroundings(system: System, notes: Notes) -> None:
    """Container, WSL, virtual machine, Jetson, sandbox."""
    release = system.uname().release.lower()
    wsl = ABSENT if "microsoft" not in release else 2 if "wsl2" in release or "standard" in release else 1
    if wsl == 1 and system.exists("/dev/dxg"):
        wsl = 2
    notes.set("host.wsl", wsl, "uname", system.uname().release)
    notes.set("host.dxg", system.exists("/dev/dxg"), "/dev/dxg")
    kind, source = _container(system)
    notes.set("host.container", kind or ABSENT, source)
    notes.set("host.container_gpus", _asked_for_gpus(system) if kind else None, "/dev, /proc/self/mountinfo")
    notes.gap("host.container_gpus", "not-applicable", "this is no container")
    notes.set("host.jetson", _jetson(system) or ABSENT, "/etc/nv_tegra_release")
    version = _text(system, "/proc/version")
    notes.set("host.sandbox", "gvisor" if _GVISOR in version else ABSENT, "/proc/version", version.strip())
    machine, source = _virtual_machine(system)
    if machine or _text(system, "/sys/class/dmi/id/sys_vendor") or notes.get("host.architecture") != "x86_64":
        notes.set("host.virtual_machine", machine or ABSENT, source)
    else:
        notes.gap("host.virtual_machine", "unreadable", "the firmware's names can't be read here", "/sys/class/dmi/id")


def _container(system: System) -> tuple[str | None, str]:
    environ = system.environ
    if environ.get("KUBERNETES_SERVICE_HOST") or system.exists("/var/run/secrets/kubernetes.io"):
        return "kubernetes", "environment"
    if system.exists("/.dockerenv"):
        return "docker", "/.dockerenv"
    if system.exists("/run/.containerenv"):
        return "podman", "/run/.containerenv"
    if environ.get("SINGULARITY_CONTAINER") or environ.get("APPTAINER_CONTAINER"):
        return "apptainer", "environment"
    groups = _text(system, "/proc/1/cgroup")
    for word, kind in (("kubepods", "kubernetes"), ("docker", "docker"), ("libpod", "podman"), ("/lxc", "lxc")):
        if word in groups:
            return kind, "/proc/1/cgroup"
    named = re.search(r"(?:^|\0)container=([\w-]+)", _text(system, "/proc/1/environ"))
    if named or environ.get("container"):
        return (named[1] if named else environ["container"]), "variable «container»"
    return None, "/proc/1/cgroup"


def _asked_for_gpus(system: System) -> bool:
    """Whether the container's start gave it GPUs: by what the runtime left in /dev or mounted.

    NVIDIA_VISIBLE_DEVICES says nothing: CUDA's base images set it for every container made of them.
    """
    if any(system.exists(path) for path in ("/dev/nvidiactl", "/dev/dxg", "/dev/kfd")):
        return True
    mounts = _text(system, "/proc/self/mountinfo")
    return bool(re.search(r" /(proc/driver/nvidia|usr/bin/nvidia-smi|\S*/libcuda\.so)", mounts))


def _jetson(system: System) -> str | None:
    """L4T release: `# R36 (release), REVISION: 4.0, …` is 36.4.0."""
    match = re.search(r"R(\d+) \(release\), REVISION: ([\d.]+)", _text(system, "/etc/nv_tegra_release"))
    if match:
        return f"{match[1]}.{match[2]}"
    compatible = _text(system, "/proc/device-tree/compatible")
    return "unknown" if "nvidia,tegra" in compatible else None


def _virtual_machine(system: System) -> tuple[str | None, str]:
    for name in ("sys_vendor", "product_name", "bios_vendor"):
        path = f"/sys/class/dmi/id/{name}"
        said = _text(system, path).lower()
        for word, kind in _VIRTUAL.items():
            if word in said:
                return kind, path
    kind = _text(system, "/sys/hypervisor/type").strip()
    if kind:
        return kind, "/sys/hypervisor/type"
    if re.search(r"^flags\s*:.*\bhypervisor\b", _text(system, "/proc/cpuinfo"), re.M):
        return "unknown", "/proc/cpuinfo"
    return None, "/sys/class/dmi/id"


def _limits(system: System, notes: Notes) -> None:
    """What the cgroup (version 2 or 1) allows; ABSENT is «no limit»."""
    notes.set("host.cgroup_cpus", cgroup_cpus(system) or ABSENT, "/sys/fs/cgroup")
    notes.set("host.cgroup_memory_bytes", cgroup_memory(system) or ABSENT, "/sys/fs/cgroup")
    privileges = re.search(r"^NoNewPrivs:\s*([01])", _text(system, "/proc/self/status"), re.M)
    notes.set("host.no_new_privileges", privileges[1] == "1" if privileges else None, "/proc/self/status")
    said = system.read("/proc/self/limits", 8192)
    if isinstance(said, Gap):
        notes.set("host.limits", said)
        return
    allowed, now = _cgroup_processes(system)
    limits = Limits(
        **{name: _soft_limit(said, words) for name, words in _LIMITS.items()},
        cgroup_processes=ABSENT if allowed is None else allowed,
        cgroup_processes_now=now,
    )
    notes.set("host.limits", limits, "/proc/self/limits")


def _soft_limit(text: str, words: str) -> int | Absent | None:
    """`Max open files            1024                 1048576              files`: 1024."""
    found = re.search(rf"^{words}\s+(unlimited|\d+)", text, re.M)
    if found is None:
        return None
    return ABSENT if found[1] == "unlimited" else int(found[1])


def _cgroup_processes(system: System) -> tuple[int | None, int | None]:
    """How many processes and threads the control group may have, and how many it has: the tightest group's."""
    tightest: tuple[int | None, int | None] = (None, None)
    for folder in _cgroup_folders(system, "pids"):
        allowed, now = (_text(system, f"{folder}/pids.{name}").strip() for name in ("max", "current"))
        if allowed.isdigit() and (tightest[0] is None or int(allowed) < tightest[0]):
            tightest = int(allowed), int(now) if now.isdigit() else None
    return tightest


def _cgroup_folders(system: System, controller: str) -> tuple[str, ...]:
    """Our own group and the root of what we see: inside a container the path of the host may not exist."""
    folders = []
    for line in _text(system, "/proc/self/cgroup").splitlines():
        _, names, path = (*line.split(":", 2), "", "")[:3]
        if names == "":
            folders += [f"/sys/fs/cgroup{path.rstrip('/')}", "/sys/fs/cgroup"]
        elif controller in names.split(","):
            folders += [f"/sys/fs/cgroup/{names}{path.rstrip('/')}", f"/sys/fs/cgroup/{controller}"]
    return tuple(folders) or ("/sys/fs/cgroup", f"/sys/fs/cgroup/{controller}")


def cgroup_cpus(system: System) -> float | None:
    """How many CPUs our control groups allow; None: all."""
    limits = []
    for folder in _cgroup_folders(system, "cpu"):
        words = _text(system, f"{folder}/cpu.max").split()
        if len(words) != 2:
            words = [_text(system, f"{folder}/cpu.cfs_{name}_us").strip() for name in ("quota", "period")]
        if all(word.isdecimal() for word in words) and int(words[1]):
            limits.append(int(words[0]) / int(words[1]))
    return min(limits, default=None)


def cgroup_memory(system: System) -> int | None:
    """How many bytes our control groups allow; None: all."""
    limits = []
    for folder in _cgroup_folders(system, "memory"):
        for name in ("memory.max", "memory.limit_in_bytes"):
            text = _text(system, f"{folder}/{name}").strip()
            if text.isdecimal() and int(text) < _UNLIMITED:
                limits.append(int(text))
    return min(limits, default=None)


# ---- macOS


def _mac(system: System, notes: Notes) -> Finish:
    uname = system.uname()
    for fact in ("wsl", "container", "jetson"):
        notes.set(f"host.{fact}", ABSENT, "uname")
    for fact in ("cgroup_cpus", "cgroup_memory_bytes"):
        notes.set(f"host.{fact}", ABSENT, "uname")
    for fact in ("libc", "libc_version", "shm_bytes", "windows_build", "limits"):
        notes.gap(f"host.{fact}", "not-applicable", "this is macOS")
    notes.set("host.os_id", "macos", "uname")
    environ = system.environ
    seatbelt = environ.get("CODEX_SANDBOX") == "seatbelt" or environ.get("APP_SANDBOX_CONTAINER_ID")
    notes.set("host.sandbox", "seatbelt" if seatbelt else ABSENT, "environment")
    # Without it, a program built with an old SDK is told the compatibility version, 10.16.
    environ_of_tool = system.child_environ(SYSTEM_VERSION_COMPAT="0")
    versions = system.start(["sw_vers"], limit_s=TOOL_LIMIT_S, env=environ_of_tool)
    numbers = system.start(["sysctl", "-i", *_SYSCTL], limit_s=TOOL_LIMIT_S)

    def finish(notes: Notes) -> None:
        result = versions.result()
        version = macos.product_version(result.stdout)
        for fact in ("macos", "os_version"):
            notes.set(f"host.{fact}", version, "sw_vers", result.stdout.strip().replace("\n", "; "))
            if version is None:
                notes.unanswered(f"host.{fact}", result, "sw_vers")
        notes.set("host.os_name", f"macOS {version}" if version else None, "sw_vers")
        result = numbers.result()
        said = macos.parse(result.stdout)
        chip = said.get("machdep.cpu.brand_string")
        notes.set("host.cpu_model", chip, "sysctl machdep.cpu.brand_string", chip or "")
        # uname says x86_64 under Rosetta; the chip and hw.optional.arm64 do not.
        arm = (
            said.get("hw.optional.arm64") == "1"
            or (chip or "").startswith("Apple")
            or architecture(uname.machine) == "arm64"
        )
        notes.set("host.architecture", "arm64" if arm else architecture(uname.machine), "sysctl" if chip else "uname")
        words = f"{said.get('machdep.cpu.features', '')} {said.get('machdep.cpu.leaf7_features', '')}"
        notes.set("host.cpu_flags", cpuinfo.flags_that_matter("neon asimd" if arm else words), "sysctl")
        guest = said.get("kern.hv_vmm_present")
        if guest is not None:
            notes.set("host.virtual_machine", "macos-guest" if guest == "1" else ABSENT, "sysctl kern.hv_vmm_present")
        for fact in ("cpu_model", "virtual_machine"):
            notes.unanswered(f"host.{fact}", result, "sysctl")

    return finish


# ---- Windows


def _windows(system: System, notes: Notes) -> Finish:
    for fact in ("macos", "wsl", "jetson", "container", "cgroup_cpus", "cgroup_memory_bytes", "sandbox", "limits"):
        notes.set(f"host.{fact}", ABSENT, "uname")
    for fact in ("libc", "libc_version", "shm_bytes", "cpu_flags"):
        notes.gap(f"host.{fact}", "not-applicable", "this is Windows")
    notes.set("host.os_id", "windows", "uname")
    notes.set("host.architecture", architecture(system.uname().machine), "uname")
    return windows.start(system, notes)
