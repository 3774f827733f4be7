"""The Intel GPU's compute runtime is missing.

What it means
    torch's XPU builds reach an Intel GPU through Level Zero, part of Intel's compute runtime (on Windows of the
    graphics driver). A driver that only shows a picture is not enough: torch then counts no XPU devices.

How to see it yourself
    sycl-ls lists a level_zero device if the runtime is there; ls /dev/dri/renderD* the nodes.

What to do
    Install Intel's compute runtime (Linux: intel-compute-runtime with the Level Zero loader; Windows: the current
    graphics driver).

References
    https://docs.pytorch.org/docs/stable/notes/get_start_xpu.html
    https://dgpu-docs.intel.com/
"""

from __future__ import annotations

from doctor.checks import Check, Fit, Judgement
from doctor.checks._machine import XPU_WANTED, heard, in_container, named, on_mac, shown
from doctor.checks._torch import gpus_of, installed, kind, quote
from doctor.model.facts import Facts
from doctor.model.finding import Remedy

RUNTIME = Remedy(action="install-system-package", details={"package": "intel-compute-runtime (Level Zero)"})
DRIVER = Remedy(action="install-driver", details={"vendor": "intel"}, text="Install Intel's current graphics driver.")

check = Check(
    severity="fault",
    needs=("torch.version", "intel.level_zero", "intel.render_accessible|messages"),
    systems=("linux", "windows"),
    keeps_from=("intel",),
    usual=(RUNTIME, DRIVER),
    explains=("device-crashes",),
    instead_of=("no-accelerator", "program-error", "shared-library-missing"),
)

FLAG = Remedy(action="container-flag", details={"flag": "--device=/dev/dri"})


@check
def judge(facts: Facts) -> Judgement:
    torch, gpus = installed(facts), gpus_of(facts, "intel")
    if on_mac(facts) or (torch and torch.xpu_available) or (facts.gpus and not gpus):
        return None
    error = heard(facts, *XPU_WANTED, "sycl-no-device", "level-zero-not-found", "level-zero-entry-point")
    wanted = error is not None or bool(torch and torch.xpu)
    lacking = facts.intel.level_zero is False or error is not None
    if not wanted or not lacking or (facts.intel.level_zero is True and not error):
        return None
    what = f"{named(gpus)} is there" if gpus else "torch's XPU build looks for an Intel GPU"
    state = "is missing" if facts.intel.level_zero is False else "gives no device"
    detail = f"{what}, but its compute runtime (Level Zero) {state}."
    remedies = (DRIVER, RUNTIME) if facts.host.system == "windows" else (RUNTIME, DRIVER)
    return check.found(
        facts,
        detail,
        evidence=(
            quote(error) if error else None,
            shown(facts, "intel"),
            "intel.level_zero",
            "intel.kernel_driver",
            "torch.version",
        ),
        remedies=(FLAG, *remedies) if in_container(facts) else remedies,
        confidence="certain" if gpus and facts.intel.level_zero is False else "likely",
    )


@check.fit
def fits(facts: Facts) -> Fit | None:
    if kind(facts) not in (None, "xpu"):
        return Fit(0.1, f"the installed build is for {kind(facts)}")
    return Fit(0.2, "Level Zero is installed") if facts.intel.level_zero else None
