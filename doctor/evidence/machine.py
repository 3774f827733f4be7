"""What single expressions say about a machine: an OS line, platform.platform(), a Python version line, a GPU's name.

Also reads the tools that describe a system: uname, sw_vers, sysctl, os-release, lscpu, ldd, system_profiler, groups,
ls /dev.
"""

from __future__ import annotations

import re
from functools import partial

from doctor.evidence.notes import Notes, Trust
from doctor.evidence.says import By, Says, note
from doctor.evidence.text import Document
from doctor.fixes.tools import all_tools
from doctor.formats import cpuinfo, os_release
from doctor.knowledge import lookup
from doctor.model.facts import ABSENT, Gpu
from doctor.regex import Regex

ARCHITECTURES = {
    "x86_64": "x86_64", "amd64": "x86_64", "x64": "x86_64", "x86-64": "x86_64", "arm64": "arm64", "aarch64": "arm64",
    "arm64e": "arm64", "i386": "x86", "i686": "x86", "x86": "x86", "armv7l": "armv7l", "armv6l": "armv6l",
    "ppc64le": "ppc64le", "riscv64": "riscv64", "s390x": "s390x", "loongarch64": "loongarch64",
}  # fmt: skip
_DISTRIBUTIONS = (
    "ubuntu", "debian", "fedora", "centos", "rhel", "red hat", "rocky", "almalinux", "alpine", "arch", "manjaro",
    "opensuse",
    "suse", "amazon", "oracle", "kali", "mint", "pop!_os", "nixos", "gentoo", "openeuler", "raspbian", "void",
    "endeavouros",
    "cachyos", "zorin", "elementary", "kylin", "uos", "deepin", "anolis", "mariner", "azure linux", "scientific linux",
    "slackware", "garuda", "bazzite", "flatcar", "wolfi", "clear linux",
)  # fmt: skip
_IDS = {
    "red hat": "rhel",
    "amazon": "amzn",
    "oracle": "ol",
    "suse": "sles",
    "mint": "linuxmint",
    "pop!_os": "pop",
    "azure linux": "azurelinux",
    "opensuse": "opensuse",
}
_WINDOWS_11_BUILD = 22000
# The kernel of each L4T: JetPack 4, 5, 6 and 7 (https://developer.nvidia.com/embedded/jetson-linux-archive).
L4T_OF_KERNEL = {"4.9": "32", "5.10": "35", "5.15": "36", "6.8": "38"}
L4T_OF_JETPACK = {"3": "28", "4": "32", "5": "35", "6": "36", "7": "38"}

_VERSION = Regex(r"\d+(?:\.\d+){0,3}")
_ARCH_IN_BRACKETS = Regex(r"\((x86_64|aarch64|arm64|amd64|i386|i686|ppc64le|riscv64|armv7l)\)\s*$")
_LIBC_IN_PLATFORM = Regex(r"-with-(glibc|musl|libc)([\d.]+)?")
_PYTHON = Regex(r"(\d\.\d{1,2}(?:\.\d{1,2}(?:(?:a|b|rc)\d+)?)?\+?)")


def architecture(name: str) -> str | None:
    """A CPU architecture as the model spells it."""
    return ARCHITECTURES.get(name.strip().lower())


def note_os(said: str, notes: Notes, *, source: str, rank: Trust, line: int | None) -> bool:
    """An operating system as a person or a tool names it. Returns whether it was one."""

    def put(fact: str, value: object) -> None:
        notes.put(f"host.{fact}", value, source=source, rank=rank, line=line)

    low = said.lower()
    arch = _ARCH_IN_BRACKETS.search(said)
    bare = _ARCH_IN_BRACKETS.sub("", said).strip()
    version = _VERSION.search(bare)
    if re.search(r"mac\s?os\s?x?|\bos\s?x\b|darwin", low):
        put("system", "darwin")
        put("os_id", "macos")
        put("os_name", bare)
        if version and "darwin" not in low and version[0].split(".")[0] not in ("64", "32"):
            put("os_version", version[0])
            put("macos", version[0])
        if arch:
            _note_mac_process(architecture(arch[1]), notes, source=source, rank=rank, line=line)
        return True
    if "windows" in low and "subsystem" not in low:
        put("system", "windows")
        put("os_id", "windows")
        put("os_name", re.sub(r"\s{0,3}\(10\.0\.[^()]{0,60}\)|Microsoft\s{1,9}", "", bare).strip() or bare)
        put("macos", ABSENT)
        if build := re.search(r"10\.0\.(\d{5})|\bbuild (\d{5})", said, re.I):
            put("windows_build", int(build[1] or build[2]))
        return True
    found = next((d for d in _DISTRIBUTIONS if re.search(rf"\b{re.escape(d)}", low)), None)
    if found is None and "linux" not in low:
        return False
    put("system", "linux")
    put("macos", ABSENT)
    put("os_name", bare)
    if found:
        put("os_id", _IDS.get(found, found.replace(" ", "")))
    if version:
        put("os_version", version[0])
    if found == "alpine":
        put("libc", "musl")
    if arch:
        put("architecture", architecture(arch[1]))
    if "wsl" in low:
        put("wsl", 1 if "wsl1" in low or "wsl 1" in low else 2)
    return True


def _note_mac_process(arch: str | None, notes: Notes, *, source: str, rank: Trust, line: int | None) -> None:
    """On a Mac a tool run by Python reports the architecture of the process: x86_64 also under Rosetta."""
    notes.put("interpreter.architecture", arch, source=source, rank=rank, line=line)
    if arch == "arm64":
        notes.put("host.architecture", arch, source=source, rank=rank, line=line)
        notes.put("interpreter.translated", False, source=source, rank=rank, line=line)


def note_platform(said: str, notes: Notes, *, source: str, rank: Trust, line: int | None) -> bool:
    """platform.platform(): «Linux-6.8.0-51-generic-x86_64-with-glibc2.39», «macOS-14.5-arm64-arm-64bit»."""

    def put(fact: str, value: object, rank: Trust = rank) -> None:
        notes.put(fact, value, source=source, rank=rank, line=line)

    parts = said.split("-")
    kind = parts[0].lower()
    if kind in ("macos", "darwin"):
        put("host.system", "darwin")
        put("host.os_id", "macos")
        arch = next((a for a in map(architecture, parts[1:]) if a), None)
        _note_mac_process(arch, notes, source=source, rank=rank, line=line)
        if kind == "macos" and len(parts) > 1:
            # What the interpreter believes: an old SDK makes it 10.16, so it does not outrank what the system says.
            if not parts[1].startswith("10.16"):
                put("host.macos", parts[1], rank.below())
                put("host.os_version", parts[1], rank.below())
            put("interpreter.macos_reported", parts[1])
            if arch:
                put("interpreter.platform_tag", f"macosx-{parts[1]}-{'arm64' if arch == 'arm64' else arch}")
        elif len(parts) > 1:
            put("host.kernel", parts[1])
        return True
    if kind == "windows":
        put("host.system", "windows")
        put("host.os_id", "windows")
        put("host.macos", ABSENT)
        build = int(m[1]) if (m := re.search(r"10\.0\.(\d{5})", said)) else None
        if build:
            put("host.windows_build", build)
        if len(parts) > 1:
            put(
                "host.os_name",
                "Windows 11" if build and build >= _WINDOWS_11_BUILD else f"Windows {parts[1]}",
                rank.below(),
            )
        return True
    if kind != "linux":
        return False
    put("host.system", "linux")
    put("host.macos", ABSENT)
    kernel = re.match(r"Linux-(.+?)-(x86_64|aarch64|i686|i386|armv7l|ppc64le|riscv64|s390x)\b", said, re.I)
    if kernel:
        put("host.kernel", kernel[1])
        arch = architecture(kernel[2])
        put("host.architecture", arch)
        put("interpreter.architecture", arch)
        note_kernel(kernel[1], notes, source=source, rank=rank, line=line)
    libc = _LIBC_IN_PLATFORM.search(said)
    if libc and libc[1] in ("glibc", "musl") and libc[2] != "2.9":
        put("host.libc", libc[1], rank.below())
        if source != "collect_env":  # beside it stands «Libc version», of the running library
            put("host.libc_version", libc[2], rank.below())
    return True


def note_system(said: str, notes: Notes, *, source: str, rank: Trust, line: int | None) -> bool:
    """An operating system, or platform.platform()."""
    as_it_says = {"source": source, "rank": rank, "line": line}
    return note_os(said, notes, **as_it_says) or note_platform(said, notes, **as_it_says)  # type: ignore[arg-type]


def note_kernel(release: str, notes: Notes, *, source: str, rank: Trust, line: int | None) -> None:
    """What a Linux kernel's release tells: WSL, Jetson, a cloud's kernel tells nothing."""
    low = release.lower()
    if "microsoft" in low:
        old = re.search(r"^4\.4\.0-\d+-microsoft", low)
        notes.put("host.wsl", 1 if old else 2, source=source, rank=rank, line=line)
    if "tegra" in low:
        l4t = L4T_OF_KERNEL.get(".".join(low.split(".")[:2]), "unknown")
        notes.put("host.jetson", l4t, source=source, rank=min(rank, Trust.NAMED), line=line)


def note_python(said: str, notes: Notes, *, source: str, rank: Trust, line: int | None) -> bool:
    """sys.version or a part of it: «3.10.14 | packaged by conda-forge | (main, …) [GCC 12.3.0] (64-bit runtime)»."""

    def put(fact: str, value: object) -> None:
        notes.put(f"interpreter.{fact}", value, source=source, rank=rank, line=line)

    match = _PYTHON.search(said)
    if match is None:
        return False
    put("version", match[1].rstrip("+"))
    low = said.lower()
    put("implementation", "pypy" if "pypy" in low else "cpython")
    if re.search(r"\(?32[- ]bit", low) or "32 bit (intel)" in low:
        put("bits", 32)
    elif "64-bit" in low or "64 bit" in low or "(amd64)" in low or "(arm64)" in low:
        put("bits", 64)
    if "(amd64)" in low or "(arm64)" in low:
        put("architecture", "arm64" if "(arm64)" in low else "x86_64")
    if "msc v." in low:
        notes.put("host.system", "windows", source=source, rank=min(rank, Trust.NAMED), line=line)
    elif "clang" in low and "apple" in low:
        notes.put("host.system", "darwin", source=source, rank=min(rank, Trust.NAMED), line=line)
    if maker := next((tool for tool in all_tools() if any(word in low for word in tool.builds)), None):
        notes.put("interpreter.manager", maker.name, source=source, rank=min(rank, Trust.NAMED), line=line)
    if "free-threading" in low:
        put("free_threaded", True)
    return True


# Who names himself counts before a model's number, which the tables know: Intel has an A770 too.
_VENDORS = (
    ("nvidia", Regex(r"\b(?:nvidia|geforce|quadro|tesla|titan|rtx|gtx)\b")),
    ("amd", Regex(r"\b(?:amd|ati|radeon|instinct|mi\d{2,3}[axp]?|gfx\d+)\b")),
    ("intel", Regex(r"\bintel\b|\barc\b.{0,60}?\b[ab]\d{2,3}|iris|data center gpu max")),
    ("apple", Regex(r"\bapple\b")),
)


def vendor_of(name: str) -> str | None:
    """Who made the GPU of that name.

    >>> vendor_of("Intel(R) Arc(TM) A770 Graphics"), vendor_of("A100-SXM4-80GB"), vendor_of("ASPEED")
    ('intel', 'nvidia', None)
    """
    low = name.lower()
    named = next((vendor for vendor, names in _VENDORS if names.search(low)), None)
    return named or ((model := lookup.gpu_model(name)) and model.vendor) or None


def named_gpu(name: str, **more: object) -> Gpu | None:
    """A GPU by the name that a tool prints; None where no vendor has it. A name that was cut off («NVIDIA GeForce ...»)
    is a GPU without a name."""
    name = name.strip().strip("'\"")
    vendor = vendor_of(name)
    if vendor is None or len(name) > 120:
        return None
    if gfx := re.search(r"\b(gfx[0-9a-f]{3,4})\b", name):
        more.setdefault("gfx", gfx[1])
    clean = re.sub(r"\s{0,3}\((?:gfx|UUID)[^()]{0,100}\)", "", name).strip()
    known = None if clean.endswith("...") and len(clean.removesuffix("...").split()) <= 2 else clean
    return Gpu(vendor=vendor, name=known, **more)  # type: ignore[arg-type]


def note_gpu(
    name: str, notes: Notes, *, group: str, source: str, rank: Trust, line: int | None, **more: object
) -> bool:
    """Note a GPU by its name. Returns whether it was one."""
    gpu = named_gpu(name, **more)
    if gpu:
        notes.gpu(gpu, group=group, rank=rank, source=source, line=line)
    return gpu is not None


# ---------------------------------------------------------------- the tools that describe a system

_UNAME = Regex(r"^(?:.*?\s)?(Linux|Darwin) \S+ (\S+) (.*)$", re.M)
_LDD = Regex(
    r"^[ \t]*ldd \([^)\n]*\) (\d\.\d+)|GNU C Library .{0,60}? version (\d\.\d+)|^[ \t]*musl libc(?: \((\w+)\))?", re.M
)
_MUSL_VERSION = Regex(r"^Version (\d\.\d+\.\d+)", re.M)
_DEV = Regex(
    r"^(?:[cl][rwxst-]{9}[.+@]?[ \t].*)?(/dev/(?:nvidia[\w-]*|kfd|dri/\w+)|nvidia-uvm|nvidiactl|kfd|renderD\d+)[ \t]*$",
    re.M,
)
_OWNER_ONLY = Regex(r"c[rw-]{3}------[.+@]?[ \t]+\d+[ \t]+root\b")
_JETSON = Regex(
    r"# R(\d+) \(release\), REVISION: ([\d.]+)|\bL4T[ :_-]*(?:r|R)?(\d{2}\.\d+(?:\.\d+)?)|\br(3[2-9]\.\d+(?:\.\d+)?)"
    r"\b.{0,120}?tegra|"
    r"\bJetPack[ :]*(\d(?:\.\d){0,2})(?![\w.])|\b(Jetson (?:device\b|board\b|(?:AGX )?(?:Orin|Xavier|Nano|TX[12]|Thor))"
    r"[\w ]{0,20}|jetbot(?:_\w{1,20})?\b)|^[\w-]+@(jetson[\w-]*):",
    re.I | re.M,
)
_UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30, None: 1 << 10}


def _of_os_release(m: re.Match[str], field: str) -> object:
    said = os_release.parse(m[0])
    return ("musl" if said.id == "alpine" else None) if field == "libc" else getattr(said, field) or None


_SYSTEM = (
    Says(
        Regex(
            r"(?:^[ \t]*ProductVersion(?:Extra)?:|\bsw_vers[ \t]+--?productVersion[ \t]*\n)[ \t]*(\d+(?:\.\d+)*)", re.M
        ),
        "sw_vers", Trust.ANSWERED,
        {"host.system": By(Trust.TOOL, "darwin"), "host.os_id": By(Trust.TOOL, "macos"), "host.macos": "{1}",
         "host.os_version": "{1}", "host.os_name": By(Trust.TOOL, "macOS {1}")},
        words=("productversion",),
    ),
    Says(
        os_release.LINE, "/etc/os-release", Trust.TOOL,
        {"host.system": "linux", **{f"host.{fact}": partial(_of_os_release, field=field) for fact, field in (
            ("os_name", "name"), ("os_id", "id"), ("os_like", "like"), ("os_version", "version"), ("libc", "libc"))}},
        words=("pretty_name", "version_id", "id="),
    ),
)  # fmt: skip
_CPU = (
    Says(
        Regex(
            r"^[ \t]*(?:machdep\.cpu\.brand_string:[ \t]*|Chip:[ \t]*|Chipset Model:[ \t]*|CPU:[ \t]*|"
            r"Processor:[ \t]*)?((?:Apple (?:M\d\w*(?: (?:Pro|Max|Ultra))?(?: \(Virtual\))?|processor))|"
            r"VirtualApple @ [\d.]+GHz.*|Intel\(R\) (?:Core|Xeon|Pentium|Celeron|Atom)\S* .{0,60}|"
            r"AMD (?:Ryzen|EPYC|Athlon) .{0,60})[ \t]*$",
            re.M,
        ),
        "CPU", Trust.LISTED,
        {"host.cpu_model": By(Trust.TOOL, "{1}"),
         "host.system": lambda m: "darwin" if "Apple" in m[1] else None,
         "host.architecture": By(Trust.ANSWERED, lambda m: "arm64" if "Apple" in m[1] else None),
         "interpreter.translated": lambda m: m[1].startswith("VirtualApple") or None},
        words=("apple m", "virtualapple", "intel(r) ", "amd ryzen", "amd epyc", "apple processor"),
    ),
    Says(
        cpuinfo.MODEL, "lscpu", Trust.TOOL, {"host.cpu_model": "{1}{2}"}, words=("model name", "name=", "name: "),
    ),
    Says(
        Regex(r"^[ \t]*Architecture[ \t]*[:=][ \t]*(\w+)[ \t]*$", re.M),
        "lscpu", Trust.TOOL, {"host.architecture": lambda m: architecture(m[1])}, words=("architecture",),
    ),
    Says(
        cpuinfo.FLAGS, "lscpu", Trust.TOOL, {"host.cpu_flags": lambda m: cpuinfo.flags_that_matter(m[1])},
        words=("flags", "features"),
    ),
    Says(
        Regex(r"^[ \t]*Hypervisor vendor[ \t]*:[ \t]*(\S.*)$", re.M),
        "lscpu", Trust.TOOL, {"host.virtual_machine": "{1}"}, words=("hypervisor vendor",),
    ),
    Says(
        Regex(r"^[ \t]*(?:sysctl\.proc_translated|proc_translated):[ \t]*([01])[ \t]*$", re.M),
        "sysctl", Trust.TOOL,
        {"interpreter.translated": By(Trust.ANSWERED, lambda m: m[1] == "1"), "host.architecture": "arm64",
         "host.system": "darwin"},
        words=("proc_translated",),
    ),
    Says(
        Regex(r"^[ \t]*hw\.memsize:[ \t]*(\d{1,18})", re.M),
        "sysctl", Trust.TOOL, {"host.memory_bytes": lambda m: int(m[1])}, words=("hw.memsize",),
    ),
)  # fmt: skip
_RIGHTS = (
    Says(
        Regex(r"^uid=\d+\([^\s()]{1,64}\)[^\n]{0,300}?groups=(\S[^\n]*)$", re.M),
        "id", Trust.TOOL, {"amd.groups": lambda m: tuple(re.findall(r"\(([\w-]+)\)", m[1]))}, words=("uid=",),
    ),
    Says(
        Regex(r"^shm[ \t]+(\d{1,15}(?:\.\d+)?)([KMG])?[ \t].*?/dev/shm[ \t]*$", re.M),
        "df", Trust.TOOL, {"host.shm_bytes": lambda m: int(float(m[1]) * _UNITS[m[2]])}, words=("/dev/shm",),
    ),
)  # fmt: skip


def read(document: Document, notes: Notes) -> None:
    """Note what uname, sw_vers, sysctl, os-release, lscpu, ldd and their like say."""
    if document.has("linux", "darwin"):
        _uname(document, notes)
    note(_SYSTEM, document, notes)
    if document.has("ldd (", "gnu c library", "musl libc"):
        _libc(document, notes)
    note(_CPU, document, notes)
    if document.has("tegra", "l4t", "jetson", "jetpack", "(release), revision"):
        _jetson(document, notes)
    note(_RIGHTS, document, notes)
    if document.has("/dev/nvidia", "/dev/kfd", " kfd", "/dev/dri", "nvidiactl", "renderd"):
        _devices(document, notes)


def _uname(document: Document, notes: Notes) -> None:
    for m in _UNAME.finditer(document.text):
        if "#" not in m[3] and "Darwin Kernel" not in m[3]:
            continue
        put = partial(notes.put, source="uname", rank=Trust.TOOL, line=document.line_at(m.start()))
        put("host.system", m[1].lower())
        put("host.kernel", m[2])
        if m[1] == "Linux":
            put("host.architecture", next((a for a in map(architecture, reversed(m[3].split())) if a), None))
            note_kernel(m[2], notes, source="uname", rank=Trust.TOOL, line=document.line_at(m.start()))
        elif "RELEASE_ARM64" in m[3]:
            put("host.architecture", "arm64")
        elif "RELEASE_X86_64" in m[3] and "ARM64" not in m[3]:
            put("host.architecture", "x86_64")


def _libc(document: Document, notes: Notes) -> None:
    for m in _LDD.finditer(document.text):
        musl = m[0].lstrip().startswith("musl")
        version = _MUSL_VERSION.search(document.text, m.end()) if musl else m
        put = partial(notes.put, source="ldd --version", line=document.line_at(m.start()))
        put("host.libc", "musl" if musl else "glibc", rank=Trust.TOOL)
        put("host.libc_version", m[1] or m[2], rank=Trust.ANSWERED)
        if musl and version:
            put("host.libc_version", version[1], rank=Trust.ANSWERED, line=document.line_at(version.start()))


def _jetson(document: Document, notes: Notes) -> None:
    for m in _JETSON.finditer(document.text):
        release = f"{m[1]}.{m[2]}" if m[1] else m[3] or m[4]
        jetpack = L4T_OF_JETPACK.get((m[5] or "")[:1])
        trust = Trust.TOOL if release else Trust.LISTED if jetpack else Trust.NAMED
        put = partial(notes.put, source="L4T", line=document.line_at(m.start()))
        put("host.jetson", release or jetpack or "unknown", rank=trust)
        put("host.system", "linux", rank=Trust.NAMED)
        put("host.architecture", "arm64", rank=Trust.NAMED)


def _devices(document: Document, notes: Notes) -> None:
    nodes: list[str] = []
    for m in _DEV.finditer(document.text):
        node = m[1] if m[1].startswith("/dev/") else f"/dev/{m[1]}"
        put = partial(notes.put, source="ls", rank=Trust.TOOL, line=document.line_at(m.start()))
        if node.startswith("/dev/nvidia"):
            nodes.append(node)
            put("nvidia.uvm_node", True if node == "/dev/nvidia-uvm" else None)
        elif node == "/dev/kfd":
            put("amd.kfd", True)
            if _OWNER_ONLY.match(m[0]):
                put("amd.kfd_accessible", False, rank=Trust.LISTED)
    if nodes:
        notes.put("nvidia.device_nodes", tuple(dict.fromkeys(nodes)), source="ls", rank=Trust.TOOL)
        if "/dev/nvidia-uvm" not in nodes and "/dev/nvidiactl" in nodes:
            notes.put("nvidia.uvm_node", False, source="ls", rank=Trust.TOOL)
