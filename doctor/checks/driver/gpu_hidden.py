"""An environment variable hides the GPU from torch.

What it means
    CUDA_VISIBLE_DEVICES (HIP_VISIBLE_DEVICES and ROCR_VISIBLE_DEVICES for AMD, ZE_AFFINITY_MASK for Intel) names the
    GPUs that programs may see. Empty, -1, an index or a UUID that does not exist, or the same GPU twice hides all of
    them; after a first entry that is right, a wrong one hides the rest. nvidia-smi shows them all the same. A program
    or notebook may set it itself. Where some GPUs stay visible, that is a choice, and only a note.
    In MIG mode a GPU is divided, and CUDA sees its instances only: without an instance it sees nothing.

How to see it yourself
    echo "[$CUDA_VISIBLE_DEVICES]"; nvidia-smi -L lists the GPUs and their numbers, and the MIG instances.

What to do
    Unset the variable, or name a GPU that exists; in a program before torch is imported. In MIG mode make an instance,
    or turn the mode off.

References
    https://docs.nvidia.com/cuda/cuda-c-programming-guide/ (CUDA environment variables)
    https://rocm.docs.amd.com/en/latest/conceptual/gpu-isolation.html
    https://docs.nvidia.com/datacenter/tesla/mig-user-guide/
"""

from __future__ import annotations

import re

from doctor.checks import Check, Fit, Judgement
from doctor.checks._machine import (
    absent,
    cuda_refused,
    cuda_works,
    driver_lists_gpus,
    heard,
    in_container,
    named,
    on_mac,
    on_wsl,
    only_others,
    shown,
    sign_of_gpu,
    wants,
)
from doctor.checks._torch import gpus_of, installed, kind, quote
from doctor.model.facts import ErrorText, Facts, Gpu
from doctor.model.finding import Evidence, Remedy
from doctor.model.values import dataclass

check = Check(
    severity="fault",
    needs=("environ", "gpus", "torch.cuda_available"),
    systems=("linux", "windows"),
    keeps_from=("nvidia", "amd", "intel"),
    usual=(Remedy(action="unset-env", details={"name": "CUDA_VISIBLE_DEVICES"}),),
    explains=("device-crashes",),
    instead_of=("no-accelerator", "program-error", "amd-driver-missing", "intel-gpu-driver-missing"),
)

# variable -> (vendor, what a program that misses the GPU says)
VARIABLES = {
    "CUDA_VISIBLE_DEVICES": ("nvidia", "cuda"),
    "HIP_VISIBLE_DEVICES": ("amd", "rocm"),
    "ROCR_VISIBLE_DEVICES": ("amd", "rocm"),
    "ZE_AFFINITY_MASK": ("intel", "xpu"),
}
EMPTY = ("", "-1", "nodevfiles", "none", "void")
PLAIN = ("0", "0,1", "0,1,2,3", "0,1,2,3,4,5,6,7", "all")  # values that hide nothing of importance
MISSING = (
    "no-cuda-device-detected",
    "no-hip-gpus",
    "no-xpu-devices",
    "not-compiled-with-cuda",
    "deserialize-without-cuda",
    "no-cuda-gpus",
)  # messages of a program that finds no GPU
INSTANCE = Remedy(
    action="system-setting",
    details={"setting": "mig", "value": "an instance, or off"},
    text="Make a MIG instance (sudo nvidia-smi mig -lgip lists the profiles, sudo nvidia-smi mig -cgi PROFILE -C makes "
    "one) and let the program see it, or turn MIG mode off: sudo nvidia-smi -mig 0.",
)
NOT_SHOWN = Fit(0.3, "no variable that chooses GPUs is shown")


@dataclass(frozen=True)
class Hidden:
    """A variable that hides GPUs. `outside` is the first entry that names no GPU, `why` says what is wrong with it;
    `left` are the GPUs that stay visible, by their place in the list."""

    name: str
    value: str
    vendor: str
    accelerator: str
    outside: str | None = None
    why: str = "names no GPU,"
    left: tuple[int, ...] = ()


@check
def judge(facts: Facts) -> Judgement:
    if on_mac(facts) or facts.host.jetson:
        return None
    if error := heard(facts, "container-cli-unknown-device"):
        return check.found(
            facts,
            "The container asks for a GPU that the host does not have (--gpus device=…, NVIDIA_VISIBLE_DEVICES).",
            evidence=(quote(error), shown(facts, "nvidia")),
            remedies=(Remedy(action="container-flag", details={"flag": "--gpus all"}),),
        )
    hidden = _hidden(facts)
    if hidden and not hidden.left and _matters(facts, hidden):
        return _by_variable(facts, hidden)
    if hidden and hidden.left:
        return _partly(facts, hidden)
    if hidden is None and (error := heard(facts, "visible-devices-empty")) and _program_misses_it(facts):
        return _by_assignment(facts, error)
    return _by_mig(facts) or _by_message(facts)


@check.fit
def fits(facts: Facts) -> Fit | None:
    values = {name: value for name in VARIABLES if (value := (facts.environ or {}).get(name)) is not None}
    if not values:
        known = facts.live and facts.environ is not None
        said = [error for error in facts.errors if error.pattern == "no-cuda-device-detected"]
        if said and all(map(_start_failed, said)):
            return Fit(0.05, "the driver's start failed, which no variable that chooses GPUs brings about")
        of_any_cause = heard(facts, "no-cuda-device-detected") and not heard(facts, "no-cuda-gpus")
        return Fit(0, "no variable that chooses GPUs is set") if known else NOT_SHOWN if of_any_cause else None
    name, value = next(((n, v) for n, v in values.items() if v.strip() not in PLAIN), (None, None))
    return Fit(3, f"{name} is {value!r}") if name else Fit(0.1, "the variables that choose GPUs begin with GPU 0")


def _by_mig(facts: Facts) -> Judgement:
    """All GPUs are in MIG mode, and no instance is there."""
    nvidia = facts.nvidia
    if not (nvidia.mig and not nvidia.mig_instances and cuda_refused(facts) and kind(facts) in (None, "cuda")):
        return None
    seen = "there is no MIG instance" if nvidia.mig_instances == 0 else "no MIG instance is shown"
    return check.found(
        facts,
        f"MIG mode is on, and {seen}: CUDA sees instances only.",
        evidence=("nvidia.mig", "nvidia.mig_instances", "torch.cuda_available", shown(facts, "nvidia")),
        remedies=(INSTANCE,),
        confidence="certain" if nvidia.mig_instances == 0 else "likely",
        title="MIG mode hides the GPU from CUDA.",
    )


def _hidden(facts: Facts) -> Hidden | None:
    """The first variable that hides all GPUs of its vendor; else the first that hides some."""
    found = [hidden for name in VARIABLES if (hidden := _hidden_by(facts, name))]
    return next((h for h in found if not h.left), found[0] if found else None)


def _hidden_by(facts: Facts, name: str) -> Hidden | None:
    vendor, accelerator = VARIABLES[name]
    value = (facts.environ or {}).get(name)
    if value is None:
        return None
    if name == "CUDA_VISIBLE_DEVICES" and gpus_of(facts, "amd") and not gpus_of(facts, "nvidia"):
        vendor, accelerator = "amd", "rocm"  # HIP reads it, too
    plain = value.strip().strip("'\"")
    entries = [entry.strip() for entry in plain.split(",")]
    if plain.lower() in EMPTY or entries[0] == "-1":
        return Hidden(name, plain, vendor, accelerator)
    count = facts.nvidia.gpus_seen if vendor == "nvidia" and facts.nvidia.gpus_seen else len(gpus_of(facts, vendor))
    first = entries[0]
    if not count:
        # torch says so where a driver is loaded and shows it nothing.
        told = facts.gpus is None and re.fullmatch(r"[1-9]\d*", first) and heard(facts, "no-cuda-gpus")
        why = f"names GPU {first}, which is not there,"
        return Hidden(name, plain, vendor, accelerator, outside=first, why=why) if told else None
    if len(set(entries)) < len(entries) and name == "CUDA_VISIBLE_DEVICES" and cuda_refused(facts):
        twice = next(entry for entry in entries if entries.count(entry) > 1)
        why = f"names GPU {twice} twice, which CUDA refuses,"
        return Hidden(name, plain, vendor, accelerator, outside=twice, why=why)
    seen: list[int] = []
    for entry in entries:
        place = _place(facts, entry, vendor, count)
        if place is None:
            return None  # what it names is not known
        if place < 0 and _only_named(facts) and not heard(facts, *MISSING):
            return None  # a model is named, and nothing told of how many there are
        if place < 0:
            why = f"names {'GPU ' if entry.lstrip('-').isdigit() else ''}{entry}, which is not there,"
            return Hidden(name, plain, vendor, accelerator, outside=entry, why=why, left=tuple(seen))
        seen.append(place)
    if vendor == "intel" or not 0 < len(set(seen)) < count:
        return None
    return Hidden(name, plain, vendor, accelerator, why="chooses among the GPUs and", left=tuple(seen))


def _only_named(facts: Facts) -> bool:
    """Whether the GPUs are known from a sentence alone, or a report that names the first."""
    origin = facts.origins.get("gpus")
    named_only = origin is not None and origin.source in ("text", "transcript")
    return named_only and not facts.live and not facts.nvidia.gpus_seen


def _place(facts: Facts, entry: str, vendor: str, count: int) -> int | None:
    """The GPU that an entry names, by its place in the list; -1: none; None: not known."""
    if re.fullmatch(r"-?\d+", entry):
        return int(entry) if 0 <= int(entry) < count else -1
    if vendor == "intel":
        return None  # tiles: "0.1"
    works = facts.live and facts.nvidia.cuinit == 0 and cuda_refused(facts)  # the driver without the variable does
    if entry.upper().startswith("MIG-"):
        return -1 if works and vendor == "nvidia" else None
    if not entry.upper().startswith("GPU-"):
        return -1 if works else None
    uuids = [g.uuid for g in gpus_of(facts, vendor)]
    if not uuids or not all(uuids):
        return -1 if works and vendor == "nvidia" else None
    return next((i for i, uuid in enumerate(uuids) if str(uuid).lower().startswith(entry.lower())), -1)


def _partly(facts: Facts, hidden: Hidden) -> Judgement:
    """Some GPUs stay visible: a choice, of which the reader is told."""
    gpus = gpus_of(facts, hidden.vendor)
    if len(gpus) < 2:
        return None
    rest = _not_used(facts, gpus, hidden.left)
    if not rest:
        return None
    names = ", ".join(f"GPU {place} ({gpus[place].name or hidden.vendor})" for place in rest[:4])
    names += f" and {len(rest) - 4} more" if len(rest) > 4 else ""
    return check.found(
        facts,
        f"{hidden.name}={hidden.value!r} {hidden.why} hides {names}.",
        evidence=(
            Evidence(fact=hidden.name, value=repr(hidden.value), source="environment"),
            shown(facts, hidden.vendor),
            "nvidia.gpus_seen",
        ),
        severity="note",
        remedies=(
            Remedy(action="none", details={"reason": "the GPUs that the variable names can be used"}),
            Remedy(action="unset-env", details={"name": hidden.name}),
        ),
        title="An environment variable hides some of the GPUs.",
        variable=hidden.name,
        value=hidden.value,
        hidden=", ".join(str(place) for place in rest),
    )


def _not_used(facts: Facts, gpus: tuple[Gpu, ...], left: tuple[int, ...]) -> list[int]:
    """The places of the GPUs that stay hidden. CUDA's numbers begin with the fastest: where the GPUs differ, torch's
    own list says which they are."""
    torch = installed(facts)
    names = [d.name for d in (torch.devices if torch else None) or () if d.backend == "cuda"]
    if len({g.name for g in gpus}) == 1 or not names:
        return [place for place in range(len(gpus)) if place not in left]
    rest = []
    for place, gpu in enumerate(gpus):
        same = next((n for n in names if n and gpu.name and n.startswith(gpu.name)), None)
        if same:
            names.remove(same)
        else:
            rest.append(place)
    return rest


def _matters(facts: Facts, hidden: Hidden) -> bool:
    """There is something to hide, or a program misses it; and torch does not see a GPU all the same."""
    if cuda_works(facts) and not heard(facts, *MISSING):
        return False
    if only_others(facts, hidden.vendor):
        return False
    return sign_of_gpu(facts, hidden.vendor) or bool(gpus_of(facts, hidden.vendor)) or wants(facts, hidden.accelerator)


def _by_variable(facts: Facts, hidden: Hidden) -> Judgement:
    gpus = gpus_of(facts, hidden.vendor)
    error = heard(facts, *MISSING)
    unset = Remedy(action="unset-env", details={"name": hidden.name})
    name_one = Remedy(action="set-env", details={"name": hidden.name, "value": "0"})
    return check.found(
        facts,
        f"{hidden.name}={hidden.value!r} {hidden.why} and so hides {named(gpus)}.",
        evidence=(
            Evidence(fact=hidden.name, value=repr(hidden.value), source="environment"),
            shown(facts, hidden.vendor),
            "nvidia.gpus_seen",
            "torch.cuda_available",
            quote(error) if error else None,
        ),
        remedies=(name_one, unset) if hidden.outside else (unset, name_one),
        confidence="likely" if hidden.outside and facts.gpus is None else "certain",
        variable=hidden.name,
        value=hidden.value,
    )


def _by_assignment(facts: Facts, error: ErrorText) -> Judgement:
    """The program itself empties the variable."""
    found = re.match(r"\w+", error.text)
    name = found[0] if found and found[0] in VARIABLES else "CUDA_VISIBLE_DEVICES"
    return check.found(
        facts,
        f"{name} is set to no GPU: {error.text}",
        evidence=(quote(error), shown(facts, "nvidia"), "torch.cuda_available"),
        remedies=(
            Remedy(action="unset-env", details={"name": name}),
            Remedy(action="set-env", details={"name": name, "value": "0"}),
        ),
        variable=name,
    )


def _no_device(facts: Facts) -> ErrorText | None:
    """CUDA counts no GPU. Where its start fails, that may have any reason, unless nvidia-smi lists the GPU."""
    listed = driver_lists_gpus(facts)
    said = (e for e in facts.errors if e.pattern == "no-cuda-device-detected")
    return next((e for e in said if listed or not _start_failed(e)), None)


def _start_failed(error: ErrorText) -> bool:
    return "driver initialization failed" in error.text


def _program_misses_it(facts: Facts) -> bool:
    torch = installed(facts)
    return heard(facts, *MISSING) is not None or bool(torch and torch.cuda_available is False and kind(facts) != "cpu")


def _by_message(facts: Facts) -> Judgement:
    """No variable is known, but torch misses GPUs that the driver shows."""
    known_unset = facts.environ is not None and not any(name in facts.environ for name in VARIABLES)
    elsewhere = in_container(facts) or on_wsl(facts) or bool(facts.nvidia.smi_error) or absent(facts.nvidia.driver)
    if elsewhere or kind(facts) == "cpu" or only_others(facts, "nvidia"):
        return None
    if facts.nvidia.cuinit:  # asked without the variable, the driver shows no GPU either
        return None
    listed = any(g.uuid for g in gpus_of(facts, "nvidia"))  # as nvidia-smi -L does
    driver = bool(facts.nvidia.driver or facts.nvidia.gpus_seen or listed)
    if error := heard(facts, "cuda-error-101"):  # of CUDA's start: a kernel's "invalid device ordinal" is the program's
        if known_unset and facts.live:
            return None
        detail = "CUDA's start asks for a GPU with a number beyond those that there are."
    elif (
        (error := _no_device(facts) or (heard(facts, "no-cuda-gpus") if driver else None))
        and gpus_of(facts, "nvidia")
        and not (known_unset and facts.live)
    ):
        detail = f"CUDA sees no GPU, while {named(gpus_of(facts, 'nvidia'))} is there."
    else:
        return None
    name = "CUDA_VISIBLE_DEVICES"
    return check.found(
        facts,
        f"{detail} Most often {name} hides it.",
        evidence=(quote(error), "nvidia.driver", shown(facts, "nvidia")),
        remedies=(
            Remedy(action="unset-env", details={"name": name}),
            Remedy(action="set-env", details={"name": name, "value": "0"}),
        ),
        confidence="likely",
        variable=name,
    )
