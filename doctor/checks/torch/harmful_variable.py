"""An environment variable breaks or slows torch.

What it means
    Drivers, CUDA, ROCm, the loader and torch itself read variables. Some are for finding errors and make everything
    slow; some make kernels fail that would run without them; an option of the allocator that this torch does not know
    ends with an error as soon as the GPU is used. Variables that hide GPUs are gpu-hidden, LD_LIBRARY_PATH is
    library-path-conflict.

How to see it yourself
    env | grep -E 'CUDA|TORCH|HIP|HSA|LD_PRELOAD', and run the program with the variable unset: env -u NAME python …

What to do
    Unset the variable, and remove it from the shell's start files, the job script or the image.

References
    https://docs.nvidia.com/cuda/cuda-programming-guide/05-appendices/environment-variables.html
    https://docs.pytorch.org/docs/stable/cuda_environment_variables.html
    https://rocm.docs.amd.com/projects/HIP/en/latest/reference/env_variables.html
    https://github.com/pytorch/pytorch/issues/123505 (an allocator option that the installed torch does not know)
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from doctor.checks import Check, Fit, Judgement
from doctor.checks._loader import PRELOAD, preloaded_without_symbol
from doctor.checks._machine import cuda_refused, heard
from doctor.checks._torch import architectures, gfx_of, gpus, import_failure, installed, kind, quote, release_of
from doctor.knowledge import lookup
from doctor.knowledge.versions import numbers
from doctor.model.facts import ErrorText, Facts
from doctor.model.finding import Evidence, Finding, Remedy
from doctor.regex import Regex

WITHOUT = Remedy(
    action="system-setting",
    details={"setting": "environment", "value": "without the variables that CUDA, ROCm and torch read"},
    text="Run the program in a shell without the variables that CUDA, ROCm and torch read.",
)

check = Check(
    severity="fault",
    needs=("environ", "messages"),
    keeps_from=("nvidia", "amd"),
    even_if_listed=True,
    usual=(WITHOUT,),
    explains=("device-crashes", "device-slow", "torch-import-crashes", "device-wrong-results"),
    instead_of=(
        "extension-abi-mismatch",
        "gpu-too-new-for-build",
        "gpu-too-old-for-build",
        "amd-gpu-unsupported",
        "torch-import-crashes",
        "program-error",
    ),
)

ALLOCATORS = ("PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF", "PYTORCH_HIP_ALLOC_CONF")
OVERRIDE = "HSA_OVERRIDE_GFX_VERSION"
NO_CODE = ("hsa-invalid-isa", "hip-invalid-device-function", "hip-no-binary-for-gpu")
MALLOCS = Regex(r"tcmalloc|jemalloc|mimalloc|libiomp5|libgomp|libstdc\+\+|libjpeg|libturbojpeg")  # often wanted


@check.fit
def fits(facts: Facts) -> Fit | None:
    if facts.environ is None:
        return Fit(0.3, "which variables are set is not known, and few do harm")
    rows = {row.name for row in lookup.harmful_variables() if row.harm == "breaks"}
    mine = next((name for name in (*rows, OVERRIDE, PRELOAD, *ALLOCATORS) if name in facts.environ), None)
    return Fit(3, f"{mine} is set") if mine else Fit(0.02, "none of the harmful variables is set")


@check
def judge(facts: Facts) -> Judgement:
    own = (_allocator(facts), _override(facts), _preload(facts), _named_by_torch(facts))
    found = [*_listed(facts), *filter(None, own)]
    return found or None


def _listed(facts: Facts) -> Iterator[Finding]:
    """The variables of the table that are set to a harmful value."""
    for row in lookup.harmful_variables():
        value = (facts.environ or {}).get(row.name)
        if value is None or not row.has(value) or kind(facts) not in (None, row.accelerator):
            continue
        error = heard(facts, *row.messages) if row.messages else None
        if row.harm == "breaks" and error:
            yield _found(facts, row.name, value, row.effect, error)
        elif row.harm == "slows" and facts.live and _works(facts):
            yield _found(facts, row.name, value, row.effect, None, severity="warning")


def _named_by_torch(facts: Facts) -> Finding | None:
    """A variable of torch's own that is set, and that the failed import complains of by name: TORCH_LOGS with the name
    of a log that this torch does not have."""
    failure = import_failure(facts)
    if failure is None or failure.kind != "exception" or failure.exception not in ("ValueError", "RuntimeError"):
        return None
    said = f"{failure.message}\n{failure.traceback}"
    for name, value in (facts.environ or {}).items():
        if name.startswith(("TORCH_", "PYTORCH_", "TORCHINDUCTOR_")) and value and re.search(rf"\b{name}\b", said):
            line = next((line for line in said.splitlines() if name in line), failure.message)
            return check.found(
                facts,
                f"{name}={value}: this torch refuses that value when it is imported.",
                evidence=(
                    Evidence(fact=name, value=value, source="environment"),
                    Evidence(fact="import", value=failure.exception, source="import torch", quote=line.strip()[:300]),
                ),
                remedies=(Remedy(action="unset-env", details={"name": name}),),
                variable=name,
                value=value,
            )
    return None


def _works(facts: Facts) -> bool:
    torch = installed(facts)
    return torch is not None and torch.cuda_available is True


def _allocator(facts: Facts) -> Finding | None:
    """An option that this torch's allocator does not know, or a value that it refuses: torch says so when it starts the
    GPU."""
    if refused := heard(facts, "allocator-value-refused"):
        return _refused_value(facts, refused)
    error = heard(facts, "allocator-option-unknown")
    if error is None:
        return None
    option = next((group for group in error.groups if group), "")
    name = _allocator_variable(facts, option)
    since, release = lookup.allocator_option_since(option), release_of(facts)
    came = f", which came with torch {since}" if since else ""
    unset = Remedy(action="unset-env", details={"name": name})
    newer = since is not None and release is not None and numbers(release) < numbers(since)
    upgrade = (Remedy(action="upgrade-torch", details={"torch": f">={since}"}),) if newer else ()
    return check.found(
        facts,
        f"{name} has the option {option or 'of another torch'}{came}; torch {release or ''} does not know it.".replace(
            "torch  does", "this torch does"
        ),
        evidence=(quote(error), f"environ.{name}", "torch.version"),
        remedies=(unset, *upgrade),
        variable=name,
        option=option,
    )


def _allocator_variable(facts: Facts, option: str) -> str:
    """The variable that sets the option; the usual one where that is not known."""
    environ = facts.environ or {}
    return next((n for n in ALLOCATORS if option and option in environ.get(n, "")), ALLOCATORS[0])


def _refused_value(facts: Facts, error: ErrorText) -> Finding:
    option, how = (*error.groups, "", "")[:2]
    name = _allocator_variable(facts, option)
    what = f"gives {option} a value that is {how}" if option and how else "cannot be understood"
    return check.found(
        facts,
        f"{name} {what}: torch refuses it when it starts the GPU.",
        evidence=(quote(error), f"environ.{name}", "torch.version"),
        remedies=(Remedy(action="unset-env", details={"name": name}),),
        variable=name,
        option=option,
    )


def _override(facts: Facts) -> Finding | None:
    """HSA_OVERRIDE_GFX_VERSION makes the GPU pass for another one; for a GPU that the build has code for, or as one
    that it is not like, kernels crash or compute nonsense."""
    value = (facts.environ or {}).get(OVERRIDE)
    if not value or kind(facts) not in (None, "rocm"):
        return None
    error, archs = heard(facts, *NO_CODE), architectures(facts)
    targets = [gfx for gpu in gpus(facts, "amd") if (gfx := gfx_of(gpu))]
    stands_for = _gfx_of_version(value)
    wrong = [g for g in targets if g != stands_for and value not in (lookup.hsa_override(g, sound=False), None)]
    fails = error is not None or (cuda_refused(facts) and facts.live) or _crashed(facts)
    if targets and not wrong:
        return None
    if not targets and (error is None or error.pattern != "hsa-invalid-isa"):
        return None
    gfx = wrong[0] if wrong else ""
    own = archs is not None and bool(gfx) and lookup.gfx_runs_on(gfx, archs) == "native"
    right = lookup.hsa_override(gfx) if gfx and not own else None
    remedies: tuple[Remedy, ...] = (Remedy(action="unset-env", details={"name": OVERRIDE}),)
    if right:
        remedies = (Remedy(action="set-env", details={"name": OVERRIDE, "value": right}), *remedies)
    return check.found(
        facts,
        f"{OVERRIDE}={value} makes torch take {gfx or 'the GPU'} for {stands_for or 'another GPU'}"
        + (f", and this build has code for {gfx} itself." if own else "."),
        evidence=(quote(error) if error else None, f"environ.{OVERRIDE}", "torch.version",
                  Evidence(fact="gpu", value=gfx) if gfx else None),
        remedies=remedies,
        severity=None if fails else "warning",
        confidence="certain" if gfx and fails else "likely",
        variable=OVERRIDE,
        value=value,
    )  # fmt: skip


def _gfx_of_version(value: str) -> str | None:
    """ "10.3.0" -> "gfx1030"; the last part is a hexadecimal digit.

    >>> _gfx_of_version("9.0.10"), _gfx_of_version("x")
    ('gfx90a', None)
    """
    found = re.fullmatch(r"(\d+)\.(\d+)\.(\d+)", value.strip())
    return f"gfx{int(found[1])}{int(found[2])}{int(found[3]):x}" if found else None


def _crashed(facts: Facts) -> bool:
    return any(p.status == "crashed" for p in facts.probes or () if p.device != "cpu")


def _preload(facts: Facts) -> Finding | None:
    """A preloaded library that can't be loaded, that lacks a symbol which torch needs, or that crashes the import."""
    value = (facts.environ or {}).get(PRELOAD)
    if error := heard(facts, "preload-not-loaded"):
        return _found(
            facts,
            PRELOAD,
            value or error.groups[0],
            "the loader can't load it, and goes on without",
            error,
            severity="warning",
        )
    failure = import_failure(facts)
    if lacking := preloaded_without_symbol(facts):
        error, library = lacking
        effect = f"{library} is loaded in place of torch's own copy, and lacks what torch needs"
        return _found(facts, PRELOAD, str(value), effect, error)
    if not value or failure is None or failure.kind != "signal" or MALLOCS.search(value):
        return None
    return _found(facts, PRELOAD, value, "this library comes before all others, and importing torch crashes", None,
                  confidence="likely")  # fmt: skip


def _found(
    facts: Facts,
    name: str,
    value: str,
    effect: str,
    error: ErrorText | None,
    *,
    severity: str | None = None,
    confidence: str = "certain",
) -> Finding:
    return check.found(
        facts,
        f"{name}={value}: {effect}.",
        evidence=(Evidence(fact=name, value=value, source="environment"), quote(error) if error else None),
        remedies=(Remedy(action="unset-env", details={"name": name}),),
        severity=severity,  # type: ignore[arg-type]
        confidence=confidence,
        variable=name,
        value=value,
    )
