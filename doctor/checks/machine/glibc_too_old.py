"""The system's C library is not one that torch's wheels run with.

What it means
    Linux wheels are built for glibc of a minimum version: 2.17 for long, 2.28 since torch 2.7 (2.6 on ARM). On an
    older distribution pip passes them over, or the loader says «version GLIBC_2.28 not found». A musl system (Alpine)
    has no glibc at all, and no torch wheels.

How to see it yourself
    ldd --version prints the C library and its version.

What to do
    On musl take a base image with glibc (Debian, Ubuntu, or Python's «slim» images). On an old glibc use a newer
    distribution or container, or an older torch.

References
    https://peps.python.org/pep-0600/
    https://github.com/pytorch/pytorch/issues/123649 (the move to manylinux_2_28)
"""

from __future__ import annotations

import re

from doctor.checks import Check, Fit, Judgement
from doctor.checks._machine import heard, older, refused_tag, wanted_release, wheel_platform
from doctor.checks._torch import installed, quote, release_of
from doctor.knowledge import lookup
from doctor.model.facts import ABSENT, ErrorText, Facts
from doctor.model.finding import Evidence, Remedy
from doctor.regex import Regex

check = Check(
    severity="fault",
    needs=("host.libc", "host.libc_version", "messages"),
    systems=("linux",),
    keeps_from=("nvidia", "amd", "intel"),
    usual=(
        Remedy(action="upgrade-os", details={"minimum": "a distribution with glibc 2.28"}),
        Remedy(action="downgrade-torch"),
    ),
    explains=("torch-missing", "torch-import-crashes"),
    instead_of=(
        "shared-library-missing",
        "torch-install-broken",
        "no-matching-wheel",
        "index-misconfigured",
        "libstdcxx-too-old",
        "python-unsupported",
    ),
)

MUSL = Remedy(
    action="use-other-build",
    details={"build": "a base image with glibc (python:3.12-slim) instead of a musl one"},
    text="Use a base image with glibc (python:3.12-slim) instead of a musl one.",
)


NEEDED = "2.28"  # by the wheels of torch 2.7 and newer, the highest so far
MANYLINUX = Regex(r"manylinux_2_(\d+)_(x86_64|aarch64)\b")


@check
def judge(facts: Facts) -> Judgement:
    if facts.host.system not in (None, "linux"):
        return None
    return _musl(facts) or _missing_version(facts) or _refused_wheel(facts) or _too_new_release(facts)


@check.fit
def fits(facts: Facts) -> Fit | None:
    if facts.host.libc == "musl":
        return Fit(6, "the C library is musl")
    have = facts.host.libc_version
    return Fit(0.02, f"glibc {have} is new enough") if have and not older(have, NEEDED) else None


def _musl(facts: Facts) -> Judgement:
    """No wheel of torch is for musl; the distribution's own package (Alpine's py3-torch) may still work."""
    torch, error = installed(facts), heard(facts, "musl-libc")
    if torch and torch.imports and error is None:
        return None
    wanted = (
        facts.torch is ABSENT
        or (torch and torch.imports is False)
        or heard(
            facts,
            "torch-from-versions-none",
            "no-matching-torch",
            "uv-no-solution",
            "module-not-found-torch",
            "no-module-named-torch",
            "manylinux-wheel-refused",
        )
    )
    musl = facts.host.libc == "musl"
    musl = musl or (refused_tag(facts) or "").startswith("musllinux")
    if not (musl and wanted) and not (error and "relocating" in error.text):
        return None
    return check.found(
        facts,
        "The C library is musl; all wheels of torch are built for glibc.",
        evidence=("host.libc", "host.os_name", quote(error) if error else None),
        remedies=(MUSL,),
        libc="musl",
    )


def _missing_version(facts: Facts) -> Judgement:
    error = heard(facts, "glibc-version-not-found")
    if error is None:
        return None
    found = re.search(r"GLIBC_(2\.\d+)", error.text)
    need = found[1] if found else ""
    have = facts.host.libc_version if facts.host.libc in (None, "glibc") else None
    if have and not older(have, need):
        return None
    return _found(facts, need, error)


def _refused_wheel(facts: Facts) -> Judgement:
    """A wheel with a newer manylinux tag was refused, and the glibc is known to be older."""
    if found := _older_tag(facts):
        return found
    error, have = heard(facts, "manylinux-wheel-refused"), facts.host.libc_version
    tag = re.search(r"manylinux_(2)_(\d+)|manylinux(2014)", error.text) if error else None
    if error is None or tag is None or facts.host.libc != "glibc" or not have:
        return None
    need = "2.17" if tag[3] else f"{tag[1]}.{tag[2]}"
    return _found(facts, need, error) if older(have, need) else None


def _older_tag(facts: Facts) -> Judgement:
    """uv looked for wheels of an older manylinux tag than all those that there are for this processor."""
    error, mine = heard(facts, "uv-platform-without-wheel"), MANYLINUX.fullmatch(refused_tag(facts) or "")
    if error is None or mine is None:
        return None
    offered = [int(t[1]) for t in MANYLINUX.finditer(error.text) if t[2] == mine[2] and t[0] != mine[0]]
    if not offered or min(offered) <= int(mine[1]):
        return None
    return _found(facts, f"2.{min(offered)}", error)


def _too_new_release(facts: Facts) -> Judgement:
    """The release that was asked for, or is installed and fails, is for a newer glibc."""
    have, platform = facts.host.libc_version, wheel_platform(facts)
    if facts.host.libc != "glibc" or not have or platform is None:
        return None
    torch = installed(facts)
    releases = [wanted_release(a) for a in facts.attempts if a.failed]
    if torch and torch.imports is False:
        releases.append(release_of(facts))
    for release in releases:
        need = lookup.wheel_minimum_glibc(release, platform) if release else None
        if need and older(have, need):
            return _found(facts, need, None, release)
    return None


def _found(facts: Facts, need: str, error: ErrorText | None, release: str | None = None) -> Judgement:
    have = (
        f"; this system has {facts.host.libc_version}"
        if facts.host.libc_version
        else ", which this system's does not have"
    )
    what = f"torch {release}" if release else "The binary"
    return check.found(
        facts,
        f"{what} needs glibc {need} or newer{have}.",
        evidence=(
            "host.libc_version",
            "host.os_name",
            Evidence(fact="needed", value=need, source="the loader's message" if error else "wheel tag"),
            quote(error) if error else None,
        ),
        remedies=(
            Remedy(action="upgrade-os", details={"minimum": f"a distribution with glibc {need}"}),
            Remedy(action="downgrade-torch"),
            Remedy(
                action="use-other-build",
                details={"build": f"a container image with glibc {need} or newer"},
                text=f"Use a container image with glibc {need} or newer.",
            ),
        ),
        needed=need,
        glibc=facts.host.libc_version,
    )
