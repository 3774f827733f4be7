"""lshw, its long form (-C display or all) and its short one: the graphics devices. Pure."""

from __future__ import annotations

import re

from doctor.model.values import dataclass
from doctor.regex import Regex

_NODE = Regex(r"^\s*\*-([a-z]+)(?::\d+)?(?: [A-Z]+)?\s*$")
_FIELD = Regex(r"^\s*([a-z][a-z ]{2,20}): (\S.{0,199})")
_SHORT = Regex(r"^/0(?:/\w+)*(?:\.\w+)?\s+(?:/dev/\S+\s+)?display\s+(\S.{2,99})")
_DRIVER = Regex(r"\bdriver=(\S+)")
_DISPLAYS = Regex(r"vga|3d|display", re.I)
_VENDORS = {"nvidia": "nvidia", "advanced micro devices": "amd", "intel": "intel"}


@dataclass(frozen=True, kw_only=True)
class Display:
    """One graphics device. `vendor` is None where it is another one, or, in the short form, not said; `driver` is None
    where no module has the device, or nothing is said. `line`: the index of the line that names it."""

    product: str
    vendor: str | None
    driver: str | None
    line: int


def parse(lines: tuple[str, ...]) -> tuple[Display, ...]:
    """The graphics devices. A listing may be cut: of a device without its head («*-display») the description tells."""
    found: list[Display] = []
    kind, fields, at = "", dict[str, str](), 0

    def close() -> None:
        said = fields.get("product"), fields.get("vendor")
        display = kind == "display" or (not kind and _DISPLAYS.search(fields.get("description", "display")))
        if display and said[0] and said[1]:
            vendor = next((v for name, v in _VENDORS.items() if said[1].lower().startswith(name)), None)
            driver = _DRIVER.search(fields.get("configuration", ""))
            found.append(Display(product=said[0], vendor=vendor, driver=driver[1] if driver else None, line=at))

    for i, line in enumerate(lines):
        if short := _SHORT.match(line):
            found.append(Display(product=short[1].strip(), vendor=None, driver=None, line=i))
        node, field = _NODE.match(line), _FIELD.match(line)
        if node or field is None or field[1] in fields:
            close()
            kind, fields = node[1] if node else "", {}
        if field:
            fields[field[1]] = field[2].strip()
            at = i if field[1] == "product" else at
    close()
    return tuple(found)
