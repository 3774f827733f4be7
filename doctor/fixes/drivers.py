"""GPU drivers: the distribution's commands where the tables have them, else the vendor's page; and who must do it where
the driver is not the examined system's own (WSL, containers, Jetson)."""

from __future__ import annotations

from dataclasses import replace

from doctor.fixes.host import RESTART_WSL, as_root, distribution
from doctor.fixes.situation import Situation
from doctor.knowledge import lookup
from doctor.knowledge.versions import numbers
from doctor.model.finding import Remedy
from doctor.model.fix import Fix, Step
from doctor.regex import Regex

NVIDIA_PAGE = "https://www.nvidia.com/en-us/drivers/"
GUIDE = "https://docs.nvidia.com/datacenter/tesla/driver-installation-guide/"
CLOUDS = {
    "ec2": "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/install-nvidia-driver.html",
    "gce": "https://cloud.google.com/compute/docs/gpus/install-drivers-gpu",
}
AMD_PAGE = "https://rocm.docs.amd.com/projects/install-on-linux/en/latest/"
AMD_WSL_PAGE = "https://rocm.docs.amd.com/projects/radeon/en/latest/docs/install/wsl/install-radeon.html"
AMD_WINDOWS_PAGE = "https://www.amd.com/en/support/download/drivers.html"
INTEL_PAGE = "https://dgpu-docs.intel.com/"
INTEL_WINDOWS_PAGE = "https://www.intel.com/content/www/us/en/download/785597/intel-arc-iris-xe-graphics-windows.html"
HEADERS = {
    "apt": ("apt install", "linux-headers-{kernel}"),
    "dnf": ("dnf install", "kernel-devel-{kernel}"),
}
_KERNEL = Regex(r"[\w.+-]+\Z")
OPEN_ONLY = (10,)  # from Blackwell on GPUs run with the open kernel modules alone
RECOMMENDED = 535  # a branch that every Ubuntu that still gets updates has
RESTART = Step(text="Restart the machine", where="system", needs_reboot=True)


def driver(situation: Situation, finding: str, remedy: Remedy) -> Fix:
    """install-driver and upgrade-driver."""
    verb = "Install" if remedy.action == "install-driver" else "Update"
    vendor = _vendor(situation, remedy)
    if vendor == "amd":
        return Fix.of(finding, remedy, f"{verb} the AMD GPU driver.", *_amd(situation, verb))
    if vendor == "intel":
        title = f"{verb} the Intel GPU driver and its compute runtime (Level Zero)."
        return Fix.of(finding, remedy, title, *_intel(situation, verb))
    minimum, last = remedy.details.get("minimum"), remedy.details.get("last") or _last_branch(situation)
    version = "" if not minimum else f"{' to' if verb == 'Update' else ','} {minimum} or newer"
    limit = f", not newer than branch {last}" if last else ""
    what = f"{verb} the NVIDIA driver{version}{limit}"
    steps = _nvidia(situation, remedy, what, minimum, last)
    fix = Fix.of(finding, remedy, f"{what}.", *steps)
    return replace(fix, details={**remedy.details, **({"last": last} if last else {})})


def _vendor(situation: Situation, remedy: Remedy) -> str:
    if vendor := remedy.details.get("vendor"):
        return vendor
    vendors = [g.vendor for g in situation.facts.gpus or ()]
    return vendors[0] if vendors and "nvidia" not in vendors else "nvidia"


# --- NVIDIA ---


def _nvidia(situation: Situation, remedy: Remedy, what: str, minimum: str | None, last: str | None) -> tuple[Step, ...]:
    host = situation.facts.host
    if host.jetson:
        text = f"{what}: it comes with JetPack: https://developer.nvidia.com/embedded/jetpack"
        return (Step(text=text, where="system", needs_root=True, needs_reboot=True),)
    if host.wsl:
        text = f"{what} in Windows, never the Linux driver in WSL ({NVIDIA_PAGE}), then «wsl --shutdown» in PowerShell"
        return (Step(text=text, where="system", needs_root=True, verify=("nvidia-smi",)),)
    if host.container:
        where = "node" if host.container == "kubernetes" else "host"
        text = f"{what} on the {where}, not in the container ({NVIDIA_PAGE}), and start the container again"
        return (Step(text=text, where="system", needs_root=True, needs_reboot=True, verify=("nvidia-smi",)),)
    if situation.windows:
        text = f"{what}: {NVIDIA_PAGE}"
        return (Step(text=text, where="system", needs_root=True, needs_reboot=True, verify=("nvidia-smi",)),)
    before = _headers(situation) if remedy.details.get("headers") else ()
    steps = _of_distribution(situation, what, minimum, last) or _by_hand(situation, remedy.text.rstrip(".") or what)
    return (*before, *steps, replace(RESTART, verify=("nvidia-smi",)))


def _headers(situation: Situation) -> tuple[Step, ...]:
    """What a driver's kernel module is built with; the package's own hooks build it then."""
    kernel, manager = situation.facts.host.kernel, lookup.package_manager(distribution(situation))
    package = HEADERS.get(manager or "")
    if not package or not kernel or not _KERNEL.match(kernel):
        text = "Install the headers of the running kernel (uname -r names it)"
        return (Step(text=text, where="system", needs_root=True),)
    argv = as_root(situation, (*package[0].split(), package[1].format(kernel=kernel)))
    return (Step(text="Install the headers of the running kernel", argv=argv, where="system", needs_root=True),)


def _of_distribution(situation: Situation, what: str, minimum: str | None, last: str | None) -> tuple[Step, ...]:
    """The distribution's own commands; () where the tables have none that work here."""
    system, capabilities = distribution(situation), _capabilities(situation)
    found = lookup.distribution_driver(system, capabilities, minimum, int(last) if last else None)
    if found and (system.family == "ubuntu" or situation.facts.host.architecture in ("x86_64", None)):
        before = (Step(text=found.before, where="system", needs_root=True),) if found.before else ()
        which = f"branch {found.branch}" if found.branch else "the distribution's newest"
        text = f"Install the driver ({which}){_note(situation)}"
        steps = [
            Step(text=text, argv=as_root(situation, argv), where="system", needs_root=True) for argv in found.commands
        ]
        if len(steps) > 1:
            steps[0] = replace(steps[0], text="Choose NVIDIA's open kernel modules")
        return (*before, *steps)
    if system.family in ("ubuntu", "ubuntu-like") and not last and _is_recommended(system, minimum):
        argv = as_root(situation, ("ubuntu-drivers", "install"))
        text = f"{what}: this takes the one that Ubuntu recommends{_note(situation)}"
        return (Step(text=text, argv=argv, where="system", needs_root=True),)
    return ()


def _is_recommended(system: lookup.Distribution, minimum: str | None) -> bool:
    old = system.family == "ubuntu" and numbers(system.version or "20.04") < (20, 4)
    return not old and (numbers(minimum or "") or (0,))[0] <= RECOMMENDED


def _by_hand(situation: Situation, what: str) -> tuple[Step, ...]:
    unknown = not situation.facts.host.os_id  # then it may be Ubuntu
    where = "on Ubuntu with «sudo ubuntu-drivers install», elsewhere " if unknown else ""
    text = f"{what}: {where}from the distribution's packages if they have it, else from NVIDIA's repository: {GUIDE}"
    return (Step(text=text + _note(situation), where="system", needs_root=True),)


def _note(situation: Situation) -> str:
    """What else to know about the driver on this machine."""
    notes = []
    if any(numbers(c) >= OPEN_ONLY for c in _capabilities(situation)):
        notes.append("with the open kernel modules: these GPUs run with no others")
    if page := CLOUDS.get(str(situation.facts.host.virtual_machine)):
        notes.append(f"which driver this cloud's GPUs take: {page}")
    return f" ({'; '.join(notes)})" if notes else ""


def _capabilities(situation: Situation) -> tuple[str, ...]:
    """Of all NVIDIA GPUs; () where one is not known."""
    found = _of_each(situation)
    return tuple(c for c in found if c) if all(found) else ()


def _of_each(situation: Situation) -> list[str | None]:
    """The compute capability of each NVIDIA GPU."""
    found: list[str | None] = []
    for gpu in situation.facts.gpus or ():
        if gpu.vendor == "nvidia":
            model = lookup.gpu_model(gpu.name, gpu.pci_id)
            found.append(gpu.capability or (model.capability if model else None))
    return found


def _last_branch(situation: Situation) -> str | None:
    """The last driver branch that supports all NVIDIA GPUs here; None where support has not ended for any."""
    lasts = [last for c in _of_each(situation) if c and (last := lookup.branches_of(c)[1])]
    return str(min(lasts)) if lasts else None


# --- AMD, Intel ---


def _amd(situation: Situation, verb: str) -> tuple[Step, ...]:
    host = situation.facts.host
    if host.wsl:
        text = f"{verb} AMD's driver in Windows, and ROCm for WSL: {AMD_WSL_PAGE}"
        return (_page(text), replace(RESTART, text=RESTART_WSL, needs_reboot=False))
    if situation.windows:
        return (_page(f"{verb} the AMD GPU driver: {AMD_WINDOWS_PAGE}", reboot=True),)
    if host.container:
        return (_page(f"{verb} the AMD GPU driver on the host, not in the container: {AMD_PAGE}", reboot=True),)
    found = lookup.system_packages("amdgpu-dkms", distribution(situation))
    if found is None:
        text = f"Update the kernel and its firmware (linux-firmware): the driver amdgpu comes with them. See {AMD_PAGE}"
        return (_page(text), RESTART)
    return (
        _page(f"Add AMD's repository of the driver, if it is not there: {found.repository}"),
        Step(
            text="Install the driver", argv=as_root(situation, found.command), where="system", needs_root=True
        ),
        RESTART,
    )  # fmt: skip


def _intel(situation: Situation, verb: str) -> tuple[Step, ...]:
    if situation.windows or situation.facts.host.wsl:
        return (_page(f"{verb} Intel's graphics driver in Windows: {INTEL_WINDOWS_PAGE}", reboot=True),)
    found = lookup.system_packages("intel-compute-runtime", distribution(situation))
    if found is None:
        return (_page(f"{verb} the Intel GPU driver and its compute runtime (Level Zero): {INTEL_PAGE}"), RESTART)
    text = "Install the compute runtime (the driver itself, i915 or xe, comes with the kernel)"
    argv = as_root(situation, found.command)
    return (Step(text=text, argv=argv, where="system", needs_root=True), RESTART)


def _page(text: str, *, reboot: bool = False) -> Step:
    return Step(text=text, where="system", needs_root=True, needs_reboot=reboot)
