"""The kernel's log (dmesg, journalctl -k): what the NVIDIA module writes there. Pure."""

from __future__ import annotations

from doctor.regex import Regex

_XID = Regex(r"NVRM: Xid \([^)\n]{0,80}\): (\d{1,3})\b")


def xids(text: str) -> tuple[int, ...]:
    """The numbers of the NVIDIA driver's error reports, each once, in order.

    >>> xids("NVRM: Xid (PCI:0000:01:00): 79, pid=1, GPU has fallen off the bus.")
    (79,)
    """
    return tuple(dict.fromkeys(int(number) for number in _XID.findall(text)))


def first_xid(text: str) -> int:
    """Where the first one begins; -1 without any."""
    found = _XID.search(text)
    return found.start() if found else -1
