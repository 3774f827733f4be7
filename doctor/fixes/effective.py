"""Whether a fix can cure: it must change what its finding rests on. Pure, and the one place that knows.

plan.py asks it about every fix and every alternative, and leaves out what would change nothing: the same build again,
the flag or the value that is set already, a driver that is no newer, a build without code for the GPU. What is not
known is never held against a fix.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from doctor.fixes.situation import situation_of
from doctor.knowledge import choose as choosing
from doctor.knowledge import lookup
from doctor.knowledge.versions import numbers
from doctor.model.facts import Facts
from doctor.model.finding import Finding
from doctor.model.fix import Fix

# Findings that rest on files which are damaged, missing, doubled or replaced: the same version again restores them.
RESTS_ON_FILES = (
    "torch-install-broken",
    "torch-duplicate-install",
    "torch-shadowed",
    "torch-import-crashes",
    "dependency-broken",
    "shared-library-missing",
    "nvidia-packages-mixed",
    "windows-dll-missing",
    "interpreter-broken",
)
# Findings that another build of torch cures, be it of the same release.
RESTS_ON_BUILD = (
    "nvidia-driver-too-old",
    "gpu-too-new-for-build",
    "gpu-too-old-for-build",
    "torch-cpu-only",
    "torch-wrong-backend",
    "device-crashes",
    "device-wrong-results",
    "mps-wrong-results",
)
DRIVERS = ("upgrade-driver", "install-driver")

Rule = Callable[[Fix, Finding, Facts], "str | None"]


def cannot_cure(fix: Fix, finding: Finding, facts: Facts) -> str | None:
    """Why the fix would leave what the finding rests on as it is, as one clause; None where nothing speaks against it.
    `facts` are those that the fix starts from."""
    for rule in (*_RULES.get(fix.action, ()), *_OF_EVERY_BUILD):
        if reason := rule(fix, finding, facts):
            return reason
    return None


def facts_after(fix: Fix, facts: Facts) -> Facts:
    """The facts from which the fixes that follow start: with the driver that this one installs."""
    if fix.action not in DRIVERS or facts.nvidia.driver is None:
        return facts
    return replace(facts, nvidia=replace(facts.nvidia, driver=fix.details.get("minimum"), driver_cuda=None))


# --- torch ---


def _same_build(fix: Fix, finding: Finding, facts: Facts) -> str | None:
    """The build that is installed, for a finding that does not rest on damaged files."""
    torch, release = facts.torch, fix.details.get("torch", "")
    if not torch or not torch.version or not release or finding.id in RESTS_ON_FILES or fix.changes:
        return None
    if lookup.release_of(torch.version) != release or lookup.build_of(torch.version).nightly:
        return None
    if len(torch.copies or ()) > 1 or torch.missing_files or torch.leftovers:
        return None
    backend = fix.details.get("backend")
    if backend != installed_backend(facts) or finding.id == "mps-not-built":  # a build of that name that lacks it
        return None
    return f"torch {release} ({backend}) is installed already"


def installed_backend(facts: Facts) -> str | None:
    """The backend of the installed build ("cu124"), as far as it is known."""
    torch = facts.torch
    if not torch or not torch.version:
        return None
    platform = lookup.platform_of(facts.host.system, facts.interpreter.architecture or facts.host.architecture)
    return lookup.build_of(torch.version, cuda=torch.cuda, hip=torch.hip, xpu=torch.xpu, platform=platform).backend


def _older_again(fix: Fix, finding: Finding, facts: Facts) -> str | None:
    """An upgrade must install a newer release, a downgrade an older one."""
    torch, release = facts.torch, fix.details.get("torch", "")
    if not torch or not torch.version or not release:
        return None
    have, new = numbers(lookup.release_of(torch.version)), numbers(release)
    if fix.action == "upgrade-torch" and new < have:
        return f"torch {release} is older than the installed {torch.version}"
    if fix.action == "downgrade-torch" and new > have:
        return f"torch {release} is newer than the installed {torch.version}"
    return None


def _without_gpu(fix: Fix, finding: Finding, facts: Facts) -> str | None:
    """A CPU build cannot fix a finding that the build has no code for a GPU."""
    if finding.id == "torch-cpu-only" and fix.details.get("backend") == "cpu":
        return "it is a CPU build, too"
    return None


def _no_code(fix: Fix, finding: Finding, facts: Facts) -> str | None:
    """The GPU that the finding names, and all that are known: at least one must run the build's code."""
    release, backend = fix.details.get("torch", ""), fix.details.get("backend", "")
    cuda = lookup.cuda_of_backend(backend) if backend.startswith("cu") else None
    if not release or not cuda:
        return None
    archs = lookup.arch_list_of(release, backend, choosing.platform_of(facts))
    named = finding.values.get("capability")
    if not archs or facts.host.jetson:
        return None
    if named and lookup.runs_on(named, archs, cuda) == "no":
        return f"torch {release} ({backend}) has no code for {finding.values.get('gpu') or 'this GPU'} either"
    known = [c for g in facts.gpus or () if g.vendor == "nvidia" and (c := _capability(g))]
    if known and all(lookup.runs_on(c, archs, cuda) == "no" for c in known):
        return f"torch {release} ({backend}) has no code for these GPUs"
    return None


def _capability(gpu: object) -> str | None:
    told = getattr(gpu, "capability", None)
    model = lookup.gpu_model(getattr(gpu, "name", None), getattr(gpu, "pci_id", None))
    return told or (model.capability if model else None)


def _driver_cannot_run_it(fix: Fix, finding: Finding, facts: Facts) -> str | None:
    """The build's CUDA must run on the installed driver, or on the one that the plan installs first."""
    backend = fix.details.get("backend", "")
    cuda = lookup.cuda_of_backend(backend) if backend.startswith("cu") else None
    if not cuda or facts.host.jetson:
        return None
    driver = fix.details.get("minimum") if fix.action in DRIVERS else facts.nvidia.driver
    whose = "windows" if facts.host.system == "windows" or facts.host.wsl else "linux"
    if driver and lookup.driver_runs(str(driver), cuda, whose) is False:
        return f"driver {driver} cannot run CUDA {cuda}"
    needed, need = finding.values.get("needed", ""), lookup.driver_need(cuda, whose)
    if finding.id == "nvidia-driver-too-old" and not driver and fix.action not in DRIVERS and need:
        if not needed:  # then only a build for much older drivers may help
            return "which CUDA the driver runs is not known" if numbers(cuda) >= (12,) else None
        return f"CUDA {cuda} needs driver {need.minimum}, too" if numbers(need.minimum) >= numbers(needed) else None
    return None


# --- the machine ---


def _no_newer_driver(fix: Fix, finding: Finding, facts: Facts) -> str | None:
    driver, minimum, last = facts.nvidia.driver, fix.details.get("minimum"), fix.details.get("last")
    if not driver or not minimum or fix.details.get("vendor") in ("amd", "intel"):
        return None
    if numbers(str(driver)) < numbers(minimum) or (last and numbers(str(driver))[0] > int(last)):
        return None
    return f"driver {driver} is installed already"


def _same_value(fix: Fix, finding: Finding, facts: Facts) -> str | None:
    name, environ = fix.details.get("name", ""), facts.environ or {}
    if fix.action == "set-env" and environ.get(name) is not None and environ[name] == fix.details.get("value"):
        return f"{name} is {environ[name]} already"
    if fix.action == "unset-env" and facts.live and facts.environ is not None and name not in environ:
        return f"{name} is not set"
    return None


def _same_flag(fix: Fix, finding: Finding, facts: Facts) -> str | None:
    flag = fix.details.get("flag", "")
    if flag.startswith("--gpus") and facts.host.container_gpus:
        return "the container was started with the GPUs"
    given = " ".join(" ".join(e.groups) for e in facts.errors if e.pattern == "container-run")
    if flag and all(part.replace("=", " ") in given.replace("=", " ") for part in flag.split(" --")):
        return f"it was started with {flag}"
    return None


def _same_system(fix: Fix, finding: Finding, facts: Facts) -> str | None:
    have, minimum = facts.host.macos, fix.details.get("minimum")
    return f"macOS {have} is installed already" if have and minimum and numbers(have) >= numbers(minimum) else None


# --- Python and packages ---


def _same_python(fix: Fix, finding: Finding, facts: Facts) -> str | None:
    """Another Python of the same version is a cure only where the old one is of another kind, or does not work."""
    interpreter, python = facts.interpreter, fix.details.get("python", "")
    if finding.id in RESTS_ON_FILES or not interpreter.version or interpreter.start_failure:
        return None
    if ".".join(interpreter.version.split(".")[:2]) != python or interpreter.free_threaded:
        return None
    if fix.details.get("arch") or interpreter.implementation not in (None, "cpython"):
        return None
    return f"Python {python} is what is there"


def _same_environment(fix: Fix, finding: Finding, facts: Facts) -> str | None:
    path = fix.details.get("path")
    same = path and path == facts.interpreter.executable and finding.id != "pip-missing"  # the shell's PATH is at fault
    return f"{path} is what runs" if same else None


def _same_package(fix: Fix, finding: Finding, facts: Facts) -> str | None:
    """pip keeps an installed version that satisfies the requirement, so a reinstallation removes it first."""
    package, spec = fix.details.get("package", ""), fix.details.get("spec", "")
    have = situation_of(facts).installed(package)
    if not have or fix.details.get("flag"):
        return None
    from packaging.specifiers import InvalidSpecifier, SpecifierSet
    from packaging.version import InvalidVersion

    try:
        suits = not spec or SpecifierSet(spec).contains(have, prereleases=True)
    except (InvalidSpecifier, InvalidVersion):
        return None
    return f"{package} {have} is installed already" if suits else None


_TORCH: tuple[Rule, ...] = (_same_build, _older_again, _without_gpu)
_OF_EVERY_BUILD: tuple[Rule, ...] = (_no_code, _driver_cannot_run_it)
_RULES: Mapping[str, tuple[Rule, ...]] = {
    **dict.fromkeys(("install-torch", "reinstall-torch", "upgrade-torch", "downgrade-torch", "fix-index"), _TORCH),
    **dict.fromkeys(DRIVERS, (_no_newer_driver,)),
    "set-env": (_same_value,),
    "unset-env": (_same_value,),
    "container-flag": (_same_flag,),
    "upgrade-os": (_same_system,),
    "replace-interpreter": (_same_python,),
    "activate-environment": (_same_environment,),
    "install-package": (_same_package,),
    "pin-package": (_same_package,),
}
