"""What a rank can read of its machine without a child: limits, /dev/shm, the network, variables, the kernel's log."""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Iterator

from doctor.facts.system import System
from doctor.fleet.judge.configuration import is_compared
from doctor.formats import cpuinfo, kernel_log
from doctor.model.facts import Gap

KMSG_LIMIT = 4000  # lines of the kernel's log
_SECRET = re.compile(r"(?i)token|secret|passw|credential|(?:^|_)key(?:$|_)")
SHOWN = ("CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ZE_AFFINITY_MASK")


def facts(system: System, address: str, port: int) -> dict[str, str]:
    """Facts by name, as words. What is not known is left out."""
    found: dict[str, str] = {"master": f"{address}:{port}", "cpus": str(usable_cpus())}
    found.update(_shared_memory())
    found.update(_locked_memory())
    found.update(_variables(system))
    found.update(_network(system, address))
    found.update(_infiniband(system))
    if xids := " ".join(sorted(set(_xids()), key=int)):
        found["xids"] = xids
    return {name: value[:300] for name, value in found.items() if value != ""}


def usable_cpus() -> int:
    """CPUs that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def cpu_name(system: System) -> str | None:
    """The CPU's model as /proc/cpuinfo says it, at most 100 characters; None where it does not."""
    text = system.read("/proc/cpuinfo")
    if isinstance(text, Gap):
        return None
    model = cpuinfo.parse(text).model
    return " ".join(model[:100].split()) if model else None


def gpus_there(system: System) -> int | None:
    """NVIDIA GPUs that the driver has, whatever the variables hide; None where that is not known."""
    names = system.listdir("/proc/driver/nvidia/gpus")
    return None if isinstance(names, Gap) else len(names)


def _shared_memory() -> dict[str, str]:
    try:
        status = os.statvfs("/dev/shm")
    except (OSError, AttributeError):
        return {}
    return {
        "shm_bytes": str(status.f_frsize * status.f_blocks),
        "shm_free_bytes": str(status.f_frsize * status.f_bavail),
    }


def _locked_memory() -> dict[str, str]:
    try:
        import resource

        soft, _ = resource.getrlimit(resource.RLIMIT_MEMLOCK)
    except (ImportError, OSError, ValueError, AttributeError):
        return {}
    return {} if soft == resource.RLIM_INFINITY else {"memlock_bytes": str(soft)}


def _variables(system: System) -> dict[str, str]:
    """Those that change how ranks speak to each other, and those that hide devices; never a secret."""
    return {
        name: value for name, value in system.environ.items()
        if (is_compared(name) or name in SHOWN) and not _SECRET.search(name)
    }  # fmt: skip


def _network(system: System, address: str) -> dict[str, str]:
    """The interface towards the rendezvous: its MTU and speed. Asking for a route sends nothing."""
    found: dict[str, str] = {}
    own = own_address(address)
    if own:
        found["address"] = own
    interface = _interface_of(own) if own else None
    if interface:
        found["interface"] = interface
        for name, file in (("mtu", "mtu"), ("link_mbps", "speed")):
            text = system.read(f"/sys/class/net/{interface}/{file}")
            if not isinstance(text, Gap) and text.strip().isdecimal():
                found[name] = text.strip()
    found["network_kind"] = "" if interface in (None, "lo") else "ethernet"
    return found


def own_address(towards: str) -> str | None:
    """The address from which this machine speaks to another."""
    for family in (socket.AF_INET, socket.AF_INET6):
        try:
            with socket.socket(family, socket.SOCK_DGRAM) as one:
                one.connect((towards, 9))
                return str(one.getsockname()[0])
        except OSError:
            continue
    return None


def _interface_of(address: str) -> str | None:
    """Which interface has that address."""
    try:
        import fcntl
        import struct
    except ImportError:
        return None
    for _, name in socket.if_nameindex():
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
            try:
                told = fcntl.ioctl(one.fileno(), 0x8915, struct.pack("256s", name[:15].encode()))  # SIOCGIFADDR
            except OSError:
                continue
            if socket.inet_ntoa(told[20:24]) == address:
                return name
    return None


def _infiniband(system: System) -> dict[str, str]:
    """Active ports of InfiniBand and RoCE adapters, and the rate of the slowest."""
    rates = []
    devices = system.listdir("/sys/class/infiniband")
    for device in () if isinstance(devices, Gap) else devices:
        ports = system.listdir(f"/sys/class/infiniband/{device}/ports")
        for port in () if isinstance(ports, Gap) else ports:
            base = f"/sys/class/infiniband/{device}/ports/{port}"
            state, rate = system.read(f"{base}/state"), system.read(f"{base}/rate")
            if not isinstance(state, Gap) and "ACTIVE" in state and not isinstance(rate, Gap):
                rates += [int(word) for word in rate.split()[:1] if word.isdecimal()]
    if not rates:
        return {}
    return {"ib_ports": str(len(rates)), "ib_rate_gbps": str(min(rates)), "network_kind": "infiniband"}


def _xids() -> Iterator[str]:
    """Codes in the kernel's log, where this user may read it. Reads what is there, and never waits for more."""
    try:
        descriptor = os.open("/dev/kmsg", os.O_RDONLY | os.O_NONBLOCK)
    except (OSError, AttributeError):
        return
    try:
        for _ in range(KMSG_LIMIT):
            try:
                line = os.read(descriptor, 8192).decode("utf-8", "replace")
            except BrokenPipeError:  # lines were overwritten meanwhile
                continue
            if not line:
                return
            yield from map(str, kernel_log.xids(line))
    except OSError:  # EAGAIN: that was the last
        return
    finally:
        os.close(descriptor)
