"""Packages of the operating system: a command where a source says what the system's package manager calls them, words
where none does."""

from __future__ import annotations

import re
from dataclasses import replace

from doctor.fixes import tools
from doctor.fixes.host import as_root, distribution
from doctor.fixes.situation import Situation, program_of
from doctor.fixes.tools import Order
from doctor.knowledge import lookup
from doctor.knowledge.versions import numbers
from doctor.model.finding import Remedy
from doctor.model.fix import Fix, Step
from doctor.regex import Regex

TOOLKIT_PAGE = "https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/install-guide.html"
FABRIC_MANAGER = "nvidia-fabricmanager"
ON_THE_HOST = ("nvidia-container-toolkit", "Docker Desktop")  # never in the container that was examined
PLACES = {
    "Docker Desktop": "https://docs.docker.com/desktop/release-notes/",
    "vc_redist": "https://aka.ms/vs/17/release/vc_redist.x64.exe",
    "vs_buildtools": "https://visualstudio.microsoft.com/visual-cpp-build-tools/",
    "cuda-toolkit": "https://developer.nvidia.com/cuda-toolkit-archive",
    "cudnn": "https://developer.nvidia.com/cudnn-archive",
}
WORDS = {
    "an older g++": "Install a g++ that this nvcc works with beside the present one, and name it in CC and CXX "
    "(https://docs.nvidia.com/cuda/cuda-installation-guide-linux/#host-compiler-support-policy)",
    "libstdc++6": "Get a newer libstdc++: with a newer release of the distribution, or conda-forge's libstdcxx-ng in a "
    "conda environment",
    "zlibwapi.dll": "Put zlibwapi.dll, which cuDNN 8 needs, into a folder on PATH",
    "libomp140.x86_64.dll": "Get libomp140.x86_64.dll: the C++ workload of Visual Studio's Build Tools brings it",
}
FINDERS = {  # how to ask for the package that holds a file
    "apt": "apt-file search {file}",
    "dnf": "dnf provides '*/{file}'",
    "zypper": "zypper search --provides --file-list {file}",
    "pacman": "pacman -F {file}",
}
_FILE = Regex(r"lib[\w.+-]+\.so[\w.]*\Z")
DISTRIBUTION = "the distribution's package manager"
LAST_NAMED_BRANCH = 580  # from 590 on the packages of a driver don't have the branch in their names


def install_system_package(situation: Situation, finding: str, remedy: Remedy) -> Fix:
    """install-system-package; `package` in the words of the checks, perhaps with a minimum or a remark ("x>=1.14.4",
    "x (Level Zero)")."""
    package = remedy.details.get("package", "the package")
    name = re.split(r">=| \(", package)[0]
    if name in ON_THE_HOST:
        steps = _on_the_host(situation, name, package.partition(">=")[2])
    else:
        steps = _in_conda(situation, name) or _by_manager(situation, name) or (_in_words(situation, name, package),)
    if name == FABRIC_MANAGER:
        start = as_root(situation, ("systemctl", "enable", "--now", name))
        steps = (*steps, Step(text="Start it, now and at every boot", argv=start, where="system", needs_root=True))
    return Fix.of(finding, remedy, _title(name, package, remedy.details.get("minimum")), *steps)


def _title(name: str, package: str, minimum: str | None) -> str:
    if name == "Docker Desktop":
        return f"Update {package.replace('>=', ' to ')} or newer."
    if name == "libstdc++6" and minimum:
        return f"Get a libstdc++ that has {minimum}."
    return f"Install {lookup.what_is(name) or package}."


def _in_conda(situation: Situation, name: str) -> tuple[Step, ...]:
    """Into the conda environment: that needs no root. () where it is none, or conda-forge has no such package."""
    packages = lookup.conda_packages(name)
    environment = situation.facts.interpreter.environment
    by, kind = tools.of_kind(environment), tools.kind(environment)
    if not packages or by is None or not by.channel or (kind and kind.shared):
        return ()
    order = Order(requirements=packages, note=f"Install {' '.join(packages)} into the environment, from {by.channel}")
    return by.install(replace(situation, tool=program_of(situation.facts, by)), order)


def _by_manager(situation: Situation, name: str) -> tuple[Step, ...]:
    """By the system's package manager; () where no source says what it calls the package."""
    facts, what = situation.facts, _what(situation, name)
    if name == "g++" and situation.mac:
        text = "Install Apple's command line tools, which have the compiler"
        return (Step(text=text, argv=("xcode-select", "--install"), where="system"),)
    found = lookup.system_packages(name, distribution(situation), python=_python(situation), branch=_branch(situation))
    if found is None or (situation.windows and facts.interpreter.architecture == "arm64"):
        return ()
    if found.manager in ("brew", "winget"):
        text = f"Install {what}" + (f" (by hand: {PLACES[name]})" if name in PLACES else "")
        root = found.manager == "winget"
        return (Step(text=text, argv=found.command, where="system", needs_root=root),)
    steps: list[Step] = []
    if found.repository:
        text = f"Add NVIDIA's repository, if it is not there: {found.repository}"
        steps.append(Step(text=text, where="system", needs_root=True))
    if facts.host.container and found.manager == "apt":  # images come without the lists of packages
        argv = as_root(situation, ("apt", "update"))
        steps.append(Step(text="Fetch the lists of packages", argv=argv, where="system", needs_root=True))
    again = ", and write it into the image's Dockerfile: it goes with the container" if facts.host.container else ""
    argv = as_root(situation, _unasked(situation, found))
    steps.append(Step(text=f"Install {what}{again}", argv=argv, where="system", needs_root=True))
    return tuple(steps)


def _what(situation: Situation, name: str) -> str | None:
    driver = situation.facts.nvidia.driver
    if name == FABRIC_MANAGER and driver:
        return f"the fabric manager, of exactly the driver's version {driver}"
    return lookup.what_is(name)


def _unasked(situation: Situation, found: lookup.Packages) -> tuple[str, ...]:
    """The command; in a container, where nobody may be there to answer, without questions."""
    if not situation.facts.host.container or found.manager not in ("apt", "dnf", "zypper"):
        return found.command
    return (*found.command[:2], "-y", *found.command[2:])


def _python(situation: Situation) -> str | None:
    """ "3.12" where the Python is the system's own, as far as is known: only of that one the system has packages."""
    interpreter = situation.facts.interpreter
    kind = tools.kind(interpreter.environment)
    if not interpreter.version or (kind and kind.own_python) or interpreter.base_prefix not in (None, "/usr"):
        return None
    return situation.python_version


def _branch(situation: Situation) -> int | None:
    """Of the installed driver, where its packages are called by it."""
    branch = (numbers(str(situation.facts.nvidia.driver or "")) or (0,))[0]
    return branch if 0 < branch <= LAST_NAMED_BRANCH else None


def _on_the_host(situation: Situation, name: str, minimum: str) -> tuple[Step, ...]:
    newer = f" {minimum} or newer" if minimum else ""
    if name == "Docker Desktop":
        text = f"Update Docker Desktop{f' to{newer}' if newer else ''}: {PLACES[name]}"
        return (Step(text=text, where="system", needs_root=True),)
    container = situation.facts.host.container
    podman = container == "podman"
    spec = "sudo nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml"
    docker = "sudo nvidia-ctk runtime configure --runtime=docker"
    restart = "sudo systemctl restart docker"
    found = lookup.system_packages(name, distribution(situation))
    if container or found is None:  # the host's system is not known
        where = "on the node" if container == "kubernetes" else "on the host" if container else "where Docker runs"
        then = spec if podman else f"{docker} and {restart}"
        if container == "kubernetes":
            then = "NVIDIA's device plugin (https://github.com/NVIDIA/k8s-device-plugin)"
        text = f"Install NVIDIA's container toolkit{newer} {where} ({TOOLKIT_PAGE}), then {then}"
        return (Step(text=text, where="system", needs_root=True),)
    steps = []
    if found.repository:
        text = f"Add NVIDIA's repository of the container toolkit, if it is not there: {found.repository}"
        steps.append(Step(text=text, where="system", needs_root=True))
    rest = [(f"Install {name}{newer}", found.command), ("Tell Docker of it", tuple(docker.split()[1:])),
            ("Restart Docker", tuple(restart.split()[1:]))]  # fmt: skip
    steps += [Step(text=text, argv=as_root(situation, argv), where="system", needs_root=True) for text, argv in rest]
    return tuple(steps)


def _in_words(situation: Situation, name: str, package: str) -> Step:
    root = not situation.mac
    if package in WORDS:
        return Step(text=WORDS[package], where="system", needs_root=root)
    manager = lookup.package_manager(distribution(situation))
    if _FILE.match(package) and (manager in FINDERS or manager is None):
        finders = [FINDERS[manager]] if manager else list(FINDERS.values())
        text = f"Install the package that holds {package}: {' or '.join(finders).format(file=package)} finds it"
        return Step(text=text, where="system", needs_root=True)
    page = PLACES.get(package) or PLACES.get(package.rstrip("-0123456789"))
    if page:
        return Step(text=f"Install {package}: {page}", where="system", needs_root=root)
    if manager is None and not situation.facts.host.os_id and (elsewhere := _elsewhere(situation, name)):
        return Step(text=f"Install {_what(situation, name)}: {elsewhere}", where="system", needs_root=True)
    how = "its installer" if situation.windows else "Homebrew" if situation.mac else manager
    text = f"Install {package} with {how or DISTRIBUTION}"
    return Step(text=text, where="system", needs_root=root)


def _elsewhere(situation: Situation, name: str) -> str:
    """The commands of all distributions that the tables know, where it is not known which one this is."""
    commands = [f"{whose} «{command}»" for whose, command in lookup.commands_elsewhere(name, branch=_branch(situation))]
    if commands and (packages := lookup.conda_packages(name)):
        by = tools.with_channel()
        (step,) = by.from_channel(replace(situation, tool=by.name, prefix=None), packages)
        commands.append(f"in a {by.kinds[0].words} «{' '.join(step.argv or ())}»")
    return ", ".join(commands)
