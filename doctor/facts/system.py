"""The machine as the collectors see it: files, programs and variables, all through one root prefix.

With TORCHDOCTOR_ROOT set, a folder stands for the whole machine: files are read below it, its `bin/` is the whole PATH,
and its `machine.json` says what isn't a file. Keys, all optional: `uname` {system, release, version, machine},
`environ`, `cwd`, `memory` [total_bytes, available_bytes], `cpus`, `cpus_usable`, `groups`, `denied` (paths without
access), `disks` {path: [size_bytes, free_bytes]}, `links` {path: target} (links that a checkout could not keep), `pid`
(of the doctor), `is_root`.

Nothing here raises for what the machine does: what could not be read is a Gap. This is the only module that reads the
process environment.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import stat
import sys
from collections.abc import Mapping, Sequence
from dataclasses import field
from datetime import datetime, timezone
from functools import cached_property
from typing import Any, NamedTuple

from doctor import process
from doctor.model.facts import Gap, Reason
from doctor.model.values import dataclass

ROOT_VARIABLE = "TORCHDOCTOR_ROOT"
READ_LIMIT = 1 << 20  # bytes
_COLON = "%3A"  # how a recorded machine spells the colon in a file's name: Windows could not check it out otherwise
_NOT_FOR_CHILDREN = ("__PYVENV_LAUNCHER__", "FORCE_COLOR", "CLICOLOR_FORCE")
# Where system tools live that a user's PATH may lack (cron, ssh, containers).
SYSTEM_FOLDERS = ("/usr/bin", "/bin", "/usr/sbin", "/sbin", "/usr/local/bin")


_ARCHITECTURES = {
    "amd64": "x86_64", "x64": "x86_64", "aarch64": "arm64", "arm64e": "arm64", "i386": "x86", "i686": "x86",
    "win32": "x86", "armv6l": "armv7l", "armv8l": "armv7l",
}  # fmt: skip


def utc(seconds: float) -> str:
    """Seconds since 1970 as ISO 8601 in UTC.

    >>> utc(0)
    '1970-01-01T00:00:00Z'
    """
    return datetime.fromtimestamp(seconds, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def architecture(machine: str) -> str | None:
    """One word for a CPU architecture, whoever spelled it: AMD64 -> x86_64, aarch64 -> arm64."""
    word = machine.strip().lower()
    return _ARCHITECTURES.get(word, word) or None


def read_regular(path: str, limit: int) -> bytes:
    """At most `limit` bytes of a regular file: the only place where the doctor opens a file of the machine. A pipe
    would hang us, and a device may do something when it is opened: those end in OSError, and so does what there is no
    memory for."""
    _must_be_regular(os.stat(path), path)
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
    descriptor = os.open(path, flags | getattr(os, "O_NOCTTY", 0))
    try:
        _must_be_regular(os.fstat(descriptor), path)  # it may have become another one
        data = bytearray()
        while len(data) < limit and (piece := os.read(descriptor, min(limit - len(data), 1 << 16))):
            data += piece
        return bytes(data)
    except MemoryError:
        raise OSError(errno.ENOMEM, os.strerror(errno.ENOMEM), path) from None
    finally:
        os.close(descriptor)


def _must_be_regular(status: os.stat_result, path: str) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise OSError(errno.EINVAL, "not a regular file", path)


class Uname(NamedTuple):
    """As platform.uname(), in our words: system is linux, darwin or windows; machine as the kernel spells it."""

    system: str
    release: str
    version: str
    machine: str


@dataclass(frozen=True, kw_only=True)
class System:
    """The live machine (`root == ""`) or a recorded one. `own_python`, `own_prefix`, `own_path`: the doctor's own."""

    root: str = ""
    environ: Mapping[str, str] = field(default_factory=dict)
    cwd: str = "/"
    own_python: str | None = None
    own_prefix: str | None = None
    own_path: tuple[str, ...] = ()
    recorded: Mapping[str, Any] = field(default_factory=dict)  # machine.json
    until: float | None = None  # time.monotonic() at which no process that was started here may run any more

    @classmethod
    def of_this_process(cls) -> System:
        """The machine we run on, or the recorded one that TORCHDOCTOR_ROOT names."""
        root = os.environ.get(ROOT_VARIABLE, "").rstrip("/")
        if root:
            return cls.of_folder(root)
        try:
            cwd = os.getcwd()
        except OSError:  # the folder was removed under us
            cwd = os.path.expanduser("~")
        return cls(
            environ=dict(os.environ),
            cwd=cwd,
            own_python=sys.executable or None,
            own_prefix=sys.prefix,
            own_path=tuple(sys.path),
        )

    @classmethod
    def of_folder(cls, root: str) -> System:
        """A recorded machine."""
        recorded: Mapping[str, Any] = {}
        with contextlib.suppress(FileNotFoundError):
            recorded = json.loads(read_regular(os.path.join(root, "machine.json"), READ_LIMIT))
        return cls(
            root=os.path.abspath(root),
            environ=recorded.get("environ", {}),
            cwd=recorded.get("cwd", "/"),
            recorded=recorded,
        )

    # ---- what it is

    @cached_property
    def _uname(self) -> Uname:
        if self.root:
            said = self.recorded.get("uname", {})
            return Uname(*(said.get(key, "") for key in Uname._fields))
        if sys.platform == "win32":
            import platform

            said = platform.uname()
            # A 32-bit or emulated Python is told another architecture; the variables know the machine's own.
            machine = self.environ.get("PROCESSOR_ARCHITEW6432") or said.machine
            return Uname("windows", said.release, said.version, machine)
        told = os.uname()
        return Uname(told.sysname.lower(), told.release, told.version, told.machine)

    def uname(self) -> Uname:
        """The kernel's own words; system in lower case."""
        return self._uname

    def cpus(self) -> tuple[int | None, int | None]:
        """(logical CPUs, those that this process may use)."""
        if self.root:
            return self.recorded.get("cpus"), self.recorded.get("cpus_usable", self.recorded.get("cpus"))
        affinity = getattr(os, "sched_getaffinity", None)
        count = os.cpu_count()
        with contextlib.suppress(OSError):
            return count, len(affinity(0)) if affinity else count
        return count, None

    @property
    def pid(self) -> int | None:
        """Our own process; of a recorded machine only where it says so."""
        return self.recorded.get("pid") if self.root else os.getpid()

    def is_root(self) -> bool | None:
        """Whether we run as root; None on Windows, and for a recorded machine that doesn't say."""
        if self.root:
            said = self.recorded.get("is_root")
            return said if isinstance(said, bool) else None
        euid = getattr(os, "geteuid", None)
        return euid() == 0 if euid else None

    def groups(self) -> tuple[str, ...] | Gap:
        """Names of the user's groups; a group without a name by its number."""
        if self.root:
            said = self.recorded.get("groups")
            return Gap(fact="amd.groups", reason="not-looked") if said is None else tuple(said)
        try:
            import grp
        except ImportError:
            return Gap(fact="amd.groups", reason="not-applicable", detail="groups are a matter of Unix")
        names = []
        for number in sorted({os.getegid(), *os.getgroups()}):
            try:
                names.append(grp.getgrgid(number).gr_name)
            except KeyError:
                names.append(str(number))
        return tuple(names)

    def libc(self) -> tuple[str, str] | None:
        """("glibc", "2.35") as our own process has it; None for another C library, or for a recorded machine."""
        if self.root or not hasattr(os, "confstr"):
            return None
        with contextlib.suppress(ValueError, OSError):
            name, _, version = (os.confstr("CS_GNU_LIBC_VERSION") or "").partition(" ")
            return (name, version) if version else None
        return None

    # ---- files

    def at(self, path: str) -> str:
        """Where a path of the machine lies for us."""
        if not self.root or path == self.root or path.startswith(self.root + os.sep):
            return path
        return self.root + os.path.join("/", path).replace(":", _COLON)

    def read(self, path: str, limit: int = READ_LIMIT) -> str | Gap:
        """The text of a file, at most `limit` bytes of it; undecodable bytes are replaced."""
        if path in self.recorded.get("denied", ()):
            return Gap(fact=path, reason="permission", detail=f"{path}: permission denied", source=path)
        try:
            return read_regular(self.at(path), limit).decode("utf-8", "replace")
        except (OSError, ValueError) as error:
            return self._gap(path, error)

    def read_bytes(self, path: str, limit: int = 4096) -> bytes:
        """The first bytes of a file; empty where it can't be read."""
        with contextlib.suppress(OSError, ValueError):
            return read_regular(self.at(path), limit)
        return b""

    def listdir(self, path: str) -> tuple[str, ...] | Gap:
        """Sorted names in a folder."""
        try:
            names = os.listdir(self.at(path))
        except (OSError, ValueError) as error:
            return self._gap(path, error)
        return tuple(sorted(name.replace(_COLON, ":") if self.root else name for name in names))

    def _gap(self, path: str, error: OSError | ValueError) -> Gap:
        """Why it could not be read. A ValueError is that of a path with a NUL in it."""
        reason: Reason = "unreadable"
        words = (getattr(error, "strerror", None) or str(error)).lower()
        if isinstance(error, (FileNotFoundError, NotADirectoryError)):
            reason = "not-installed"
        elif isinstance(error, PermissionError):
            reason = "permission"
        return Gap(fact=path, reason=reason, detail=f"{path}: {words}", source=path)

    def exists(self, path: str) -> bool:
        """Whether there is something at the path (a dead link is nothing)."""
        return os.path.exists(self.at(path))

    def changed_at(self, path: str) -> str | None:
        """When a file, or the list of a folder, was last changed, UTC; None where it is not there, and of a recorded
        machine, whose files were copied."""
        if self.root:
            return None
        with contextlib.suppress(OSError, ValueError, OverflowError):  # a time may be any number
            return utc(os.stat(path).st_mtime)
        return None

    def is_folder(self, path: str) -> bool:
        return os.path.isdir(self.at(path))

    def link(self, path: str) -> str | None:
        """What a symbolic link says; None where it is none."""
        if path in self.recorded.get("links", {}):
            return str(self.recorded["links"][path])
        try:
            return os.readlink(self.at(path))
        except (OSError, ValueError):
            return None

    def is_dead_link(self, path: str) -> bool:
        return os.path.islink(self.at(path)) and not self.exists(path)

    def real(self, path: str) -> str:
        """The path with links resolved; inside a recorded machine links are not followed."""
        try:
            return path if self.root else os.path.realpath(path)
        except (OSError, ValueError):  # a NUL in it, or more links than there may be
            return path

    def can_open(self, path: str) -> bool:
        """Whether this user may read and write it (device nodes)."""
        return path not in self.recorded.get("denied", ()) and os.access(self.at(path), os.R_OK | os.W_OK)

    def memory(self) -> tuple[int, int] | Gap:
        """(total, available) bytes of memory."""
        if self.root:
            said = self.recorded.get("memory")
            return (said[0], said[1]) if said else Gap(fact="memory", reason="not-looked", detail="not recorded")
        try:
            import psutil  # has no wheels for some of our patients' platforms
        except ImportError as error:
            return Gap(fact="memory", reason="not-installed", detail=str(error), source="psutil")
        try:
            told = psutil.virtual_memory()
        except (OSError, RuntimeError, ValueError, psutil.Error) as error:  # no /proc, or one that is not readable
            return Gap(fact="memory", reason="unreadable", detail=str(error), source="psutil")
        return told.total, told.available

    def disk(self, path: str) -> tuple[int, int] | Gap:
        """(size, free) in bytes of the file system that holds the path."""
        if self.root:
            said = self.recorded.get("disks", {}).get(path)
            return (
                (said[0], said[1]) if said else Gap(fact=path, reason="not-looked", detail="not recorded", source=path)
            )
        import shutil

        while path and not os.path.exists(path) and os.path.dirname(path) != path:
            path = os.path.dirname(path)
        try:
            usage = shutil.disk_usage(path)
        except (OSError, ValueError) as error:
            return self._gap(path, error)
        return usage.total, usage.free

    # ---- programs

    @property
    def path(self) -> tuple[str, ...]:
        """The folders of PATH."""
        if self.root:
            return ("/bin",)
        return tuple(folder for folder in self.environ.get("PATH", "").split(os.pathsep) if folder)

    @property
    def is_windows(self) -> bool:
        return self.uname().system == "windows"

    def runnable(self, path: str) -> bool:
        """Whether it is a file that may be executed."""
        here = self.at(path)
        try:
            mode = os.stat(here).st_mode
        except (OSError, ValueError):
            return sys.platform == "win32" and os.path.lexists(here)  # an app execution alias can't be opened
        return stat.S_ISREG(mode) and os.access(here, os.X_OK)

    def which(self, name: str, also: Sequence[str] = ()) -> str | None:
        """The program of that name on PATH, or in the folders `also`."""
        names = (name + ".exe", name + ".bat", name + ".cmd", name) if self.is_windows else (name,)
        for folder in (*self.path, *also):
            for one in names:
                candidate = os.path.join(folder, one)
                if self.runnable(candidate):
                    return candidate
        return None

    def tool(self, name: str, also: Sequence[str] = ()) -> str | None:
        """A tool of the system: on PATH, or where systems keep them."""
        return self.which(name, also if self.root or self.is_windows else (*also, *SYSTEM_FOLDERS))

    def child_environ(self, **changes: str | None) -> dict[str, str]:
        """The environment for a child: ours with `changes` (None removes); the target sees what its user's runs see.

        __PYVENV_LAUNCHER__, which macOS sets for one Python only, would make another one believe that it is that one.
        With FORCE_COLOR, which notebooks set, tools and tracebacks colour what is meant for us to read.
        """
        environ = {k: v for k, v in self.environ.items() if k not in _NOT_FOR_CHILDREN}
        if self.root:  # the recorded programs are shell scripts, and need cat
            environ["PATH"] = os.pathsep.join((self.at("/bin"), "/usr/bin", "/bin"))
            environ[ROOT_VARIABLE] = self.root
        for name, value in changes.items():
            if value is None:
                environ.pop(name, None)
            else:
                environ[name] = value
        return environ

    def start(self, argv: Sequence[str], *, limit_s: float, **options: Any) -> process.Child:
        """Start a program of this machine now. A bare name is looked for among the system's tools; one that isn't there
        is a result (`not-found`). Options as for process.Child; the default environment is child_environ()."""
        program = argv[0]
        if os.path.dirname(program):
            program = self.at(program)
        else:
            found = self.tool(program)
            program = self.at(found) if found else os.path.join(self.at("/"), "not-on-path", program)
        options.setdefault("env", self.child_environ())
        options.setdefault("until", self.until)
        if not self.root:
            options.setdefault("cwd", self.cwd)
        return process.start([program, *argv[1:]], limit_s=limit_s, **options)
