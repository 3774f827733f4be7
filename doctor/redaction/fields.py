"""Which fields of a report may leave the machine, and how. A field that can hold text and is not declared here leaves
empty (and tests/test_laws.py fails): whoever adds one decides in one line what it may say.

Numbers, booleans and closed vocabularies (Literal) are harmless by their type.
"""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Iterator, Mapping
from enum import Enum
from functools import cache
from inspect import get_annotations
from sys import modules
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from doctor.model.bench import BenchReport
from doctor.model.compare import Comparison
from doctor.model.fleet import FleetReport
from doctor.model.report import Report


class How(Enum):
    """How a field leaves."""

    OWN = "a word of torchdoctor's own: kept as it is if it has the shape of one, else as TEXT"
    NAME = "the name of a product, a package, a tool: names of users and hosts are not looked for, all else is"
    VERSION = "a version: as NAME, but four numbers are no address"
    TEXT = "text from outside, or with text from outside in it: everything that is recognised is replaced"
    WORDS = "the words of a command: as TEXT, each seen after those before it"
    LINES = "lines that nobody understood: as TEXT, line by line, few and short"
    COMMIT = "a commit of torch: hexadecimal is kept, anything else is seen as TEXT"
    PATH = "a path from the root of a project: as TEXT, each of its parts also by itself"
    UUID = "an identity as a whole: replaced whatever it is"

    __hash__ = object.__hash__  # each is one object, and asked for with every text


OWN, NAME, VERSION, TEXT, WORDS, LINES, COMMIT, PATH, UUID = How

# By the name of the type: the fields that can hold text.
_DECLARED: dict[str, dict[How, str]] = {
    "Report": {OWN: "schema tool taken_at limits", TEXT: "unproven", LINES: "unread"},
    "Target": {TEXT: "python reason evidence"},
    "PluginRun": {NAME: "name distribution checks messages tables", VERSION: "version", TEXT: "reason"},
    "Other": {TEXT: "name summary"},
    "Outcome": {OWN: "id layer", TEXT: "reason"},
    "Symptom": {OWN: "id causes explained_by", TEXT: "text subject source"},
    "Hypothesis": {OWN: "id symptom", TEXT: "speaks_for speaks_against would_settle"},
    "Question": {TEXT: "text command"},
    "Finding": {OWN: "id layer explained_by", TEXT: "title detail values"},
    "Evidence": {OWN: "fact", TEXT: "value source quote"},
    "Remedy": {OWN: "action", TEXT: "details text"},
    "Plan": {TEXT: "unfixed"},
    "Fix": {OWN: "finding action also_cures", NAME: "changes", TEXT: "title details assumes"},
    "Step": {TEXT: "text shell", WORDS: "argv undo verify"},
    "TomlEdit": {TEXT: "file toml"},
    "Facts": {
        OWN: "as_of asked_devices",
        NAME: "operations signs threads wheels",
        VERSION: "required",
        TEXT: "environ",
    },
    "Declaration": {NAME: "what", PATH: "file"},
    "Gap": {OWN: "fact", TEXT: "detail source"},
    "Origin": {TEXT: "source quote"},
    "Host": {
        OWN: "system os_id os_like architecture libc container sandbox",
        NAME: "os_name cpu_model cpu_flags virtual_machine",
        VERSION: "os_version macos kernel libc_version jetson",
        TEXT: "tools",
    },
    "StartFailure": {VERSION: "version", TEXT: "message"},
    "Kernel": {OWN: "started_at", NAME: "environ", TEXT: "name file"},
    "OtherEnvironment": {VERSION: "version torch", TEXT: "python how kernel"},
    "Held": {VERSION: "python torch", NAME: "companions"},
    "Interpreter": {
        OWN: "implementation architecture platform_tag environment manager",
        VERSION: "version macos_reported pip",
        TEXT: "build executable prefix base_prefix project sys_path shadowed shadowed_packages",
        WORDS: "receipt",
    },
    "TorchCopy": {NAME: "installer", VERSION: "version", TEXT: "path"},
    "ImportFailure": {NAME: "exception", OWN: "stage", TEXT: "message traceback"},
    "TorchDevice": {OWN: "backend", NAME: "name", VERSION: "capability gfx"},
    "Torch": {
        OWN: "installed_at",
        COMMIT: "git",
        VERSION: "version cuda hip xpu build cudnn",
        NAME: "installer libraries requires missing_requirements arch_list cpu_capability",
        TEXT: "path missing_files leftovers shadowed_by warnings cuda_error numpy_error loaded_libraries",
    },
    "Package": {NAME: "name installer requires", VERSION: "version", TEXT: "path"},
    "DamagedFile": {NAME: "distribution", VERSION: "version", TEXT: "file detail"},
    "Gpu": {OWN: "pci_id pci_address driver", NAME: "name", VERSION: "capability gfx", UUID: "uuid"},
    "Source": {TEXT: "name message"},
    "Nvidia": {
        VERSION: "driver driver_cuda kernel_module library smi_version fabric_manager_version toolkit",
        OWN: "fabric_manager compute_mode module_flavour",
        NAME: "packages",
        TEXT: "libcuda libcuda_broken libcuda_elsewhere smi_error device_nodes false_nodes closed_nodes",
    },
    "Amd": {VERSION: "rocm", TEXT: "groups"},
    "Intel": {OWN: "kernel_driver"},
    "Metal": {NAME: "device"},
    "ErrorText": {OWN: "pattern", TEXT: "text groups source path"},
    "InstallAttempt": {OWN: "tool", NAME: "requirements", VERSION: "offered", TEXT: "command indexes wheel message"},
    "Stage": {OWN: "name", TEXT: "data"},
    "ProbeResult": {OWN: "id device stage", TEXT: "reason data stderr_tail"},
    "BenchReport": {OWN: "schema tool taken_at", TEXT: "notes"},
    "BenchMachine": {
        OWN: "system arch virtual_machine",
        NAME: "os_name",
        VERSION: "python torch cuda hip xpu cudnn driver",
        TEXT: "environ",
    },
    "BenchDevice": {OWN: "device", NAME: "name cpu_capability", VERSION: "capability gfx"},
    "BenchOptions": {OWN: "suite devices"},
    "GateCheck": {OWN: "name"},
    "Gate": {TEXT: "why"},
    "Ratio": {OWN: "against"},
    "Conditions": {OWN: "throttles float32_precision", NAME: "cpu_fallback"},
    "Reason": {OWN: "id", TEXT: "text"},
    "Row": {OWN: "key workload device suite unit size", TEXT: "notes"},
    "Mean": {OWN: "device"},
    "FleetReport": {OWN: "schema tool taken_at backend", VERSION: "torch", TEXT: "why run not_judged notes"},
    "FleetClass": {NAME: "name device fabric"},
    "Yardstick": {NAME: "rate unit", TEXT: "floor_source why"},
    "NodeVerdict": {TEXT: "host why", NAME: "of_class"},
    "GpuVerdict": {OWN: "device", NAME: "name of_class", TEXT: "host why"},
    "LinkVerdict": {TEXT: "source_host target_host why"},
    "CollectiveVerdict": {OWN: "name algorithm", TEXT: "why"},
    "FleetFinding": {OWN: "id", TEXT: "subject text hosts evidence remedy"},
    "Comparison": {OWN: "schema tool taken_at"},
    "Machine": {TEXT: "name summary"},
    "Found": {OWN: "id", TEXT: "title"},
    "Value": {TEXT: "text machines"},
    "Explained": {OWN: "finding", TEXT: "machine reference together_with"},
    "Difference": {OWN: "used_by", TEXT: "subject label facts unknown"},
    "Group": {OWN: "findings", TEXT: "machines"},
    "Unexplained": {OWN: "finding", TEXT: "machine why rests_on"},
    "Known": {TEXT: "label text"},
    "Drift": {OWN: "rate", TEXT: "host why"},
}


@cache
def declared(kind: type) -> Mapping[str, How]:
    """How the fields of a type leave; those that hold no text of their own are not in it."""
    return {name: how for how, names in _DECLARED.get(kind.__name__, {}).items() for name in names.split()}


def types_of_report() -> tuple[type, ...]:
    """The four kinds of reports, and every dataclass that they can hold."""
    found: list[type] = []

    def visit(kind: Any) -> None:
        if dataclasses.is_dataclass(kind) and isinstance(kind, type) and kind not in found:
            found.append(kind)
            for hint in hints_of(kind).values():
                visit(hint)
        for part in get_args(kind) if get_origin(kind) is not Literal else ():
            visit(part)

    visit(Report)
    visit(BenchReport)
    visit(FleetReport)
    visit(Comparison)
    return tuple(found)


def undeclared() -> Iterator[str]:
    """Type.field of what can hold text and is not declared, and of what is declared and is not there."""
    kinds = types_of_report()
    for kind in kinds:
        fields = {f.name for f in dataclasses.fields(kind) if holds_text(hints_of(kind)[f.name])}
        yield from (f"{kind.__name__}.{name}" for name in sorted(fields ^ set(declared(kind))))
    yield from sorted(set(_DECLARED) - {kind.__name__ for kind in kinds})


@cache
def hints_of(kind: type) -> Mapping[str, Any]:
    """The types of a dataclass's fields; a name that a module of the model imports for its annotations only is
    found; the type's own module comes first."""
    return get_type_hints(kind, localns=_names(kind.__module__))


@cache
def _names(module: str) -> dict[str, Any]:
    from doctor.model import facts, finding, fix

    return {**vars(facts), **vars(finding), **vars(fix), **vars(modules[module])}


@cache
def can_hold_text(kind: type, name: str) -> bool:
    """Whether a field of a type can hold text that is not in a dataclass of its own. The types of the other fields are
    not worked out, which takes long."""
    owner, said = next((one, said) for one in kind.__mro__ if name in (said := get_annotations(one)))
    alone = types.SimpleNamespace(__annotations__={name: said[name]})
    return holds_text(get_type_hints(alone, _names(owner.__module__))[name])


def holds_text(hint: Any) -> bool:
    """Whether a field of that type can hold text that is not in a dataclass of its own."""
    origin = get_origin(hint)
    if hint in (str, object, Any):
        return True
    if origin is Literal or dataclasses.is_dataclass(hint):
        return False
    if origin in (Union, types.UnionType, tuple, list):
        return any(holds_text(part) for part in get_args(hint) if part is not Ellipsis)
    if origin is not None and issubclass(origin, Mapping):
        return holds_text(get_args(hint)[1])
    return False
