"""This ROCm build of torch has no code for this AMD GPU.

What it means
    ROCm builds hold code for a list of gfx targets. For others the first kernel fails: «HIP error: invalid device
    function», or rocBLAS finds no TensileLibrary. Some GPUs run the code of a sister target when
    HSA_OVERRIDE_GFX_VERSION says so.

How to see it yourself
    rocminfo | grep gfx; python -c "import torch; print(torch.cuda.get_arch_list())"

What to do
    Install a build that has the target, where there is one; else set HSA_OVERRIDE_GFX_VERSION where that is sound
    (gfx103x as 10.3.0, gfx110x as 11.0.0).

References
    https://rocm.docs.amd.com/projects/install-on-linux/en/latest/reference/system-requirements.html
    https://github.com/ROCm/TheRock
"""

from dataclasses import replace

from doctor.checks import Check, Fit, Judgement
from doctor.checks._machine import heard
from doctor.checks._torch import architectures, gfx_of, gpus_of, installed, kind, quote, served_by
from doctor.knowledge import lookup, vendors
from doctor.model.facts import Facts, Interpreter
from doctor.model.finding import Evidence, Remedy

check = Check(
    severity="fault",
    needs=("gpus", "torch.version", "torch.arch_list"),
    systems=("linux", "windows"),
    keeps_from=("amd",),
    even_if_listed=True,
    usual=(
        Remedy(action="reinstall-torch", details={"backend": "rocm"}),
        Remedy(action="use-other-build", details={"build": "AMD's own wheels for this GPU"}),
    ),
    explains=("device-crashes", "device-wrong-results"),
    instead_of=("program-error", "gpu-permission-denied"),
)

NO_CODE = (
    "hip-invalid-device-function",
    "hip-no-binary-for-gpu",
    "rocblas-tensile-library",
    "hsa-invalid-isa",
    "hipblaslt-unsupported",
)
CPU = Remedy(action="none", details={"reason": "no build of torch serves this GPU: the CPU is what is left"})


@check
def judge(facts: Facts) -> Judgement:
    if kind(facts) in ("cpu", "cuda", "xpu"):
        return _unserved(facts)
    if error := heard(facts, "kfd-refuses-gpu"):
        return check.found(
            facts,
            f"The kernel's compute driver leaves this GPU out: {error.text}",
            evidence=(quote(error), "torch.version"),
            remedies=(
                Remedy(action="none", details={"reason": "the GPU or its slot can't do ROCm: the CPU is what is left"}),
                Remedy(action="reinstall-torch", details={"backend": "cpu"}),
            ),
        )
    torch, archs = installed(facts), architectures(facts)
    message = heard(facts, *NO_CODE)
    targets = [(d.name, d.gfx) for d in (torch.devices if torch else None) or () if d.gfx]
    targets = targets or [(g.name, gfx) for g in gpus_of(facts, "amd") if (gfx := gfx_of(g))]
    overridden = bool((facts.environ or {}).get("HSA_OVERRIDE_GFX_VERSION"))
    for name, gfx in targets:
        if archs is None and message is None:
            continue
        how = lookup.gfx_runs_on(gfx, archs) if archs is not None else "no"
        if how == "native" or (how == "override" and overridden and message is None):
            continue
        may_be_set = how == "override" and facts.environ is None and message is None
        if may_be_set and torch and torch.cuda_available is False:
            continue  # torch lists a GPU that it has no code for, too: something else keeps it away
        return check.found(
            facts,
            f"{name or 'The GPU'} is {gfx}"
            + (f"; this build has {', '.join(archs)}." if archs else ", for which this build has no code."),
            evidence=(
                Evidence(fact="gpu", value=f"{name or 'AMD GPU'}, {gfx}"),
                "torch.version",
                Evidence(fact="torch.arch_list", value=" ".join(archs)) if archs else None,
                quote(message) if message else None,
            ),
            remedies=_remedies(facts, gfx),
            severity="warning" if may_be_set else None,
            confidence="certain" if archs else "likely",
            gpu=name,
            gfx=gfx,
        )
    if message is not None and message.pattern != "hipblaslt-unsupported" and not targets:
        return check.found(
            facts,
            "The ROCm build has no code for this GPU.",
            evidence=(quote(message), "torch.version"),
            remedies=(Remedy(action="reinstall-torch"),),
            confidence="likely",
        )
    return None


@check.fit
def fits(facts: Facts) -> Fit | None:
    archs, known = architectures(facts), [gfx for gpu in gpus_of(facts, "amd") if (gfx := gfx_of(gpu))]
    if kind(facts) not in (None, "rocm"):
        return Fit(0.1, f"the installed build is for {kind(facts)}")
    if archs is None or not known:
        return None
    ways = {gfx: lookup.gfx_runs_on(gfx, archs) for gfx in known}
    if without := next((gfx for gfx, how in ways.items() if how == "no"), None):
        return Fit(6, f"the build has no code for {without}")
    return Fit(0.05, f"the build has code for {known[0]}") if set(ways.values()) == {"native"} else None


def _unserved(facts: Facts) -> Judgement:
    """Another build is installed, and no official one would serve the GPU: a note that says so."""
    torch = installed(facts)
    here = [g for g in gpus_of(facts, "amd") if g.driver not in ("vfio-pci", "pci-stub")]
    targets = [(g, gfx) for g in here if (gfx := gfx_of(g))]
    others = any(g.vendor != "amd" for g in facts.gpus or ())
    if not targets or others or (torch and torch.cuda_available) or facts.host.system == "darwin":
        return None
    unknown = replace(facts, interpreter=Interpreter())  # with any Python
    if served_by(unknown, "rocm"):
        return None  # torch-cpu-only, torch-wrong-backend
    gpu, gfx = targets[0]
    system = {"windows": "Windows", "linux": "Linux"}.get(facts.host.system or "", "this system")
    vendor_has = _at_amd(facts, gfx)
    where = f"; AMD's own index lists it ({vendors.therock()['index']})" if vendor_has else ""
    own = Remedy(
        action="none",
        details={"reason": f"PyTorch's indexes have no build for {gfx} on {system}; AMD's own index lists it"},
    )
    return check.found(
        facts,
        f"{gpu.name or 'The GPU'} is {gfx}, and PyTorch's indexes have no build for it on {system}{where}.",
        evidence=(Evidence(fact="gpu", value=f"{gpu.name or 'AMD GPU'}, {gfx}"), "torch.version", "host.os_name"),
        severity="note",
        remedies=(own, _wheels(gfx)) if vendor_has else (CPU,),
        title="No official build of torch serves this AMD GPU.",
        gpu=gpu.name,
        gfx=gfx,
    )


def _at_amd(facts: Facts, gfx: str) -> bool:
    """Whether AMD's own index lists the target, on this system or, where it is not known, on any."""
    theirs, target = vendors.therock(), gfx.partition(":")[0]
    systems = (facts.host.system,) if facts.host.system else ("linux", "windows")
    return any(target in theirs.get(f"{system}{more}", ()) for system in systems for more in ("", "_unproven"))


def _wheels(gfx: str) -> Remedy:
    return Remedy(action="use-other-build", details={"build": f"AMD's own wheels for {gfx}"})


def _remedies(facts: Facts, gfx: str) -> tuple[Remedy, ...]:
    """One line is tried before a download of gigabytes."""
    override = lookup.hsa_override(gfx)
    remedies = []
    if override and facts.host.system != "windows":
        remedies.append(Remedy(action="set-env", details={"name": "HSA_OVERRIDE_GFX_VERSION", "value": override}))
    if served_by(facts, "rocm"):
        remedies.append(Remedy(action="reinstall-torch"))
    others = Remedy(action="use-other-build", details={"build": f"a build that was made for {gfx}"})
    remedies.append(_wheels(gfx) if _at_amd(facts, gfx) else others)
    if override is None and (stopgap := lookup.hsa_override(gfx, sound=False)) and facts.host.system != "windows":
        remedies.append(
            Remedy(
                action="set-env",
                details={"name": "HSA_OVERRIDE_GFX_VERSION", "value": stopgap},
                text=f"Or try HSA_OVERRIDE_GFX_VERSION={stopgap}: it works for some, results may be wrong.",
            )
        )
    return tuple(remedies)
