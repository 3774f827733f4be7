"""What single expressions say about a machine: an OS line, platform.platform(), a Python version line, a GPU's name.

Also reads the tools that describe a system: uname, sw_vers, sysctl, os-release, lscpu, ldd, system_profiler, groups,
ls /dev.
"""

from __future__ import annotations

import re

from doctor.evidence.notes import Notes, Trust
from doctor.evidence.regex import Regex
from doctor.evidence.text import Document
from doctor.formats import cpuinfo, os_release
from doctor.model.facts import ABSENT, Gpu

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
    if "conda-forge" in low or "anaconda" in low or "continuum" in low:
        notes.put("interpreter.manager", "conda", source=source, rank=min(rank, Trust.NAMED), line=line)
    if "free-threading" in low:
        put("free_threaded", True)
    return True


# Who names himself counts before a model's number: Intel has an A770 too.
_VENDORS = (
    ("nvidia", Regex(r"\b(?:nvidia|geforce|quadro|tesla|titan|rtx|gtx)\b")),
    ("amd", Regex(r"\b(?:amd|ati|radeon|instinct|mi\d{2,3}[axp]?|gfx\d+)\b")),
    ("intel", Regex(r"\bintel\b|\barc\b.{0,60}?\b[ab]\d{2,3}|iris|data center gpu max")),
    ("apple", Regex(r"\bapple\b")),
    ("nvidia", Regex(r"\b(?:gh200|gb10|gb200|[hab][12]00|l40s?|l4|t4|v100|p100|p40|a\d{1,2}0?)\b")),
)


def vendor_of(name: str) -> str | None:
    """Who made the GPU of that name.

    >>> vendor_of("Intel(R) Arc(TM) A770 Graphics"), vendor_of("A100-SXM4-80GB"), vendor_of("ASPEED")
    ('intel', 'nvidia', None)
    """
    low = name.lower()
    return next((vendor for vendor, names in _VENDORS if names.search(low)), None)


def note_gpu(
    name: str, notes: Notes, *, group: str, source: str, rank: Trust, line: int | None, **more: object
) -> bool:
    """A GPU by the name that a tool prints. A name cut off by the tool («NVIDIA GeForce ...») is a GPU without a
    name."""
    name = name.strip().strip("'\"")
    vendor = vendor_of(name)
    if vendor is None or len(name) > 120:
        return False
    gfx = re.search(r"\b(gfx[0-9a-f]{3,4})\b", name)
    if gfx:
        more.setdefault("gfx", gfx[1])
    clean = re.sub(r"\s{0,3}\((?:gfx|UUID)[^()]{0,100}\)", "", name).strip()
    known = None if clean.endswith("...") and len(clean.removesuffix("...").split()) <= 2 else clean
    notes.gpu(Gpu(vendor=vendor, name=known, **more), group=group, rank=rank, source=source, line=line)  # type: ignore[arg-type]
    return True


# ---------------------------------------------------------------- the tools that describe a system

_UNAME = Regex(r"^(?:.*?\s)?(Linux|Darwin) \S+ (\S+) (.*)$", re.M)
_SW_VERS = Regex(
    r"(?:^[ \t]*ProductVersion(?:Extra)?:|\bsw_vers[ \t]+--?productVersion[ \t]*\n)[ \t]*(\d+(?:\.\d+)*)", re.M
)
_OS_RELEASE = Regex(r"^[ \t]*(PRETTY_NAME|ID|ID_LIKE|VERSION_ID)=[\"']?([^\"'\n]{1,100})[\"']?[ \t]{0,9}$", re.M)
_LDD = Regex(
    r"^[ \t]*ldd \([^)\n]*\) (\d\.\d+)|GNU C Library .{0,60}? version (\d\.\d+)|^[ \t]*musl libc(?: \((\w+)\))?", re.M
)
_MUSL_VERSION = Regex(r"^Version (\d\.\d+\.\d+)", re.M)
_LSCPU_MODEL = Regex(r"^[ \t]*Model name[ \t]*:[ \t]*(.+)$|^Name=(.+(?:CPU|Processor|Core).*)$", re.M)
_LSCPU_ARCH = Regex(r"^[ \t]*Architecture[ \t]*[:=][ \t]*(\w+)[ \t]*$", re.M)
_FLAGS = Regex(r"^[ \t]*(?:Flags|flags|Features)[ \t]*:[ \t]*([a-z0-9_.-][a-z0-9_. -]{39,})$", re.M)
_HYPERVISOR = Regex(r"^[ \t]*Hypervisor vendor[ \t]*:[ \t]*(\S.*)$", re.M)
_BRAND = Regex(
    r"^[ \t]*(?:machdep\.cpu\.brand_string:[ \t]*|Chip:[ \t]*|Chipset Model:[ \t]*|CPU:[ \t]*|Processor:[ \t]*)?"
    r"((?:Apple (?:M\d\w*(?: (?:Pro|Max|Ultra))?(?: \(Virtual\))?|processor))|VirtualApple @ [\d.]+GHz.*|"
    r"Intel\(R\) (?:Core|Xeon|Pentium|Celeron|Atom)\S* .{0,60}|AMD (?:Ryzen|EPYC|Athlon) .{0,60})[ \t]*$",
    re.M,
)
_TRANSLATED = Regex(r"^[ \t]*(?:sysctl\.proc_translated|proc_translated):[ \t]*([01])[ \t]*$", re.M)
_MEMORY = Regex(r"^[ \t]*hw\.memsize:[ \t]*(\d+)", re.M)
_GROUPS = Regex(r"^uid=\d+\([^\s()]{1,64}\)[^\n]{0,300}?groups=(\S[^\n]*)$", re.M)
_DEV = Regex(
    r"^(?:[cl][rwxst-]{9}[.+@]?[ \t].*)?(/dev/(?:nvidia[\w-]*|kfd|dri/\w+)|nvidia-uvm|nvidiactl|kfd|renderD\d+)[ \t]*$",
    re.M,
)
_OWNER_ONLY = Regex(r"c[rw-]{3}------[.+@]?[ \t]+\d+[ \t]+root\b")
_JETSON = Regex(
    r"# R(\d+) \(release\), REVISION: ([\d.]+)|\bL4T[ :_-]*(?:r|R)?(\d{2}\.\d+(?:\.\d+)?)|\br(3[2-9]\.\d+(?:\.\d+)?)"
    r"\b.{0,120}?tegra|"
    r"\bJetPack[ :]*(\d(?:\.\d){0,2})(?![\w.])|\b(Jetson (?:device\b|board\b|(?:AGX )?(?:Orin|Xavier|Nano|TX[12]|Thor))"
    r"[\w ]{0,20})|^[\w-]+@(jetson[\w-]*):",
    re.I | re.M,
)
_SHM = Regex(r"^shm[ \t]+(\d+(?:\.\d+)?)([KMG])?[ \t].*?/dev/shm[ \t]*$", re.M)


def read(document: Document, notes: Notes) -> None:
    """Note what uname, sw_vers, sysctl, os-release, lscpu, ldd and their like say."""
    text = document.text

    def put(fact: str, value: object, match: re.Match[str], source: str, rank: Trust = Trust.TOOL) -> None:
        notes.put(fact, value, source=source, rank=rank, line=document.line_at(match.start()))

    if document.has("linux", "darwin"):
        for m in _UNAME.finditer(text):
            if "#" not in m[3] and "Darwin Kernel" not in m[3]:
                continue
            system = m[1].lower()
            put("host.system", system, m, "uname")
            put("host.kernel", m[2], m, "uname")
            arch = next((a for a in map(architecture, reversed(m[3].split())) if a), None)
            if system == "linux":
                put("host.architecture", arch, m, "uname")
                note_kernel(m[2], notes, source="uname", rank=Trust.TOOL, line=document.line_at(m.start()))
            elif "RELEASE_ARM64" in m[3]:
                put("host.architecture", "arm64", m, "uname")
            elif "RELEASE_X86_64" in m[3] and "ARM64" not in m[3]:
                put("host.architecture", "x86_64", m, "uname")
    if document.has("productversion"):
        for m in _SW_VERS.finditer(text):
            put("host.system", "darwin", m, "sw_vers")
            put("host.os_id", "macos", m, "sw_vers")
            put("host.macos", m[1], m, "sw_vers", Trust.ANSWERED)
            put("host.os_version", m[1], m, "sw_vers", Trust.ANSWERED)
            put("host.os_name", f"macOS {m[1]}", m, "sw_vers")
    if document.has("pretty_name", "version_id", "id="):
        for m in _OS_RELEASE.finditer(text):
            said = os_release.parse(m[0])
            put("host.system", "linux", m, "/etc/os-release")
            put("host.os_name", said.name, m, "/etc/os-release")
            put("host.os_id", said.id, m, "/etc/os-release")
            put("host.os_like", said.like or None, m, "/etc/os-release")
            put("host.os_version", said.version, m, "/etc/os-release")
            put("host.libc", "musl" if said.id == "alpine" else None, m, "/etc/os-release")
    if document.has("ldd (", "gnu c library", "musl libc"):
        for m in _LDD.finditer(text):
            put("host.libc", "musl" if m[0].lstrip().startswith("musl") else "glibc", m, "ldd --version")
            put("host.libc_version", m[1] or m[2], m, "ldd --version", Trust.ANSWERED)
            if m[0].lstrip().startswith("musl") and (version := _MUSL_VERSION.search(text, m.end())):
                put("host.libc_version", version[1], version, "ldd --version", Trust.ANSWERED)
    _cpu(document, notes)
    if document.has("tegra", "l4t", "jetson", "jetpack", "(release), revision"):
        for m in _JETSON.finditer(text):
            release = f"{m[1]}.{m[2]}" if m[1] else m[3] or m[4]
            jetpack = L4T_OF_JETPACK.get((m[5] or "")[:1])
            put(
                "host.jetson",
                release or jetpack or "unknown",
                m,
                "L4T",
                Trust.TOOL if release else Trust.LISTED if jetpack else Trust.NAMED,
            )
            put("host.system", "linux", m, "L4T", Trust.NAMED)
            put("host.architecture", "arm64", m, "L4T", Trust.NAMED)
    if document.has("uid="):
        for m in _GROUPS.finditer(text):
            put("amd.groups", tuple(re.findall(r"\(([\w-]+)\)", m[1])), m, "id")
    if document.has("/dev/nvidia", "/dev/kfd", " kfd", "/dev/dri", "nvidiactl", "renderd"):
        _devices(document, notes)
    if document.has("/dev/shm"):
        for m in _SHM.finditer(text):
            put(
                "host.shm_bytes",
                int(float(m[1]) * {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30, None: 1 << 10}[m[2]]),
                m,
                "df",
            )


def _cpu(document: Document, notes: Notes) -> None:
    text = document.text

    def put(fact: str, value: object, match: re.Match[str], source: str, rank: Trust = Trust.TOOL) -> None:
        notes.put(fact, value, source=source, rank=rank, line=document.line_at(match.start()))

    if document.has("apple m", "virtualapple", "intel(r) ", "amd ryzen", "amd epyc", "apple processor"):
        for m in _BRAND.finditer(text):
            put("host.cpu_model", m[1].strip(), m, "CPU")
            if "Apple" in m[1]:
                put("host.system", "darwin", m, "CPU", Trust.LISTED)
                put("host.architecture", "arm64", m, "CPU", Trust.ANSWERED)
                if m[1].startswith("VirtualApple"):
                    put("interpreter.translated", True, m, "CPU", Trust.LISTED)
    if document.has("model name", "name="):
        for m in _LSCPU_MODEL.finditer(text):
            put("host.cpu_model", (m[1] or m[2]).strip(), m, "lscpu")
    if document.has("architecture"):
        for m in _LSCPU_ARCH.finditer(text):
            put("host.architecture", architecture(m[1]), m, "lscpu", Trust.TOOL)
    if document.has("flags", "features"):
        for m in _FLAGS.finditer(text):
            put("host.cpu_flags", cpuinfo.flags_that_matter(m[1]), m, "lscpu")
    if document.has("hypervisor vendor"):
        for m in _HYPERVISOR.finditer(text):
            put("host.virtual_machine", m[1].strip(), m, "lscpu")
    if document.has("proc_translated"):
        for m in _TRANSLATED.finditer(text):
            put("interpreter.translated", m[1] == "1", m, "sysctl", Trust.ANSWERED)
            put("host.architecture", "arm64", m, "sysctl", Trust.TOOL)
            put("host.system", "darwin", m, "sysctl")
    if document.has("hw.memsize"):
        for m in _MEMORY.finditer(text):
            put("host.memory_bytes", int(m[1]), m, "sysctl")


def _devices(document: Document, notes: Notes) -> None:
    nodes: list[str] = []
    for m in _DEV.finditer(document.text):
        node = m[1] if m[1].startswith("/dev/") else f"/dev/{m[1]}"
        line = document.line_at(m.start())
        if node.startswith("/dev/nvidia"):
            nodes.append(node)
            notes.put(
                "nvidia.uvm_node", True if node == "/dev/nvidia-uvm" else None, source="ls", rank=Trust.TOOL, line=line
            )
        elif node == "/dev/kfd":
            notes.put("amd.kfd", True, source="ls", rank=Trust.TOOL, line=line)
            if _OWNER_ONLY.match(m[0]):
                notes.put("amd.kfd_accessible", False, source="ls", rank=Trust.LISTED, line=line)
    if nodes:
        notes.put("nvidia.device_nodes", tuple(dict.fromkeys(nodes)), source="ls", rank=Trust.TOOL)
        if "/dev/nvidia-uvm" not in nodes and "/dev/nvidiactl" in nodes:
            notes.put("nvidia.uvm_node", False, source="ls", rank=Trust.TOOL)
