"""The CPU lacks instructions that the binary uses.

What it means
    A program that meets an instruction its CPU does not have is ended with SIGILL («Illegal instruction»). Prebuilt
    libraries beside torch need AVX or AVX2, on ARM newer instructions than the oldest cores have; a virtual machine
    with a generic CPU model hides what the host's CPU could do.

How to see it yourself
    On Linux grep -o -w -E 'avx|avx2' /proc/cpuinfo | sort -u, on an Intel Mac sysctl machdep.cpu.leaf7_features.

What to do
    In a virtual machine pass the host's CPU model through. On an old CPU use a build without these instructions
    (conda-forge, an older torch).

References
    https://github.com/pytorch/pytorch/issues/22338
    https://en.wikipedia.org/wiki/Advanced_Vector_Extensions
"""

from __future__ import annotations

from doctor.checks import Check, Fit, Judgement
from doctor.checks._machine import apple_silicon, heard
from doctor.checks._torch import import_failure, quote
from doctor.model.facts import Facts
from doctor.model.finding import Evidence, Remedy

check = Check(
    severity="fault",
    needs=("messages",),
    usual=(
        Remedy(action="use-other-build", details={"build": "conda-forge's, or one made on this machine"}),
        Remedy(action="downgrade-torch"),
    ),
    explains=("device-crashes",),
    instead_of=("torch-import-crashes", "torch-install-broken"),
)

SIGILL = 4
EXIT_CODES = (132, 0xC000001D, 0xC000001D - (1 << 32))  # of a shell; of Windows, unsigned and signed
GENERIC = ("QEMU Virtual CPU", "Common KVM processor", "Common 32-bit KVM", "kvm64", "qemu64", "Virtual CPU")


@check
def judge(facts: Facts) -> Judgement:
    error = heard(facts, "illegal-instruction")
    where = _illegal_instruction(facts)
    if (error is None and where is None) or apple_silicon(facts):
        return None  # under Rosetta the Python is the cause
    flags, x86 = facts.host.cpu_flags, facts.host.architecture in (None, "x86_64", "x86")
    lacking = [f.upper() for f in ("avx", "avx2") if flags is not None and f not in flags] if x86 else []
    if x86 and flags is not None and not lacking:
        return None  # a binary for AVX-512 or a defect: the crash itself is named by torch-import-crashes
    guest = _generic_model(facts)
    if lacking:
        cpu = facts.host.cpu_model or "The CPU"
        detail = f"{cpu} has no {' and no '.join(lacking)}, and the program was ended for an illegal instruction."
    else:
        detail = "The program was ended for an illegal instruction: the CPU does not have all that the binary uses."
    change = Remedy(
        action="system-setting",
        details={"setting": "vm-cpu-model", "value": "host-passthrough"},
        text="Let the virtual machine show the host's CPU (CPU model «host»), so that AVX and AVX2 are there.",
    )
    other = Remedy(action="use-other-build", details={"build": "conda-forge's, or one made on this machine"})
    older = Remedy(action="downgrade-torch")
    return check.found(
        facts,
        detail,
        evidence=(
            "host.cpu_model",
            "host.cpu_flags",
            "host.virtual_machine",
            quote(error) if error else None,
            Evidence(fact="ended by", value="SIGILL", source=where) if where else None,
        ),
        remedies=(change, other, older) if guest else (other, older),
        confidence="certain" if lacking else "likely",
        lacking=" ".join(lacking) or None,
    )


@check.fit
def fits(facts: Facts) -> Fit | None:
    if "avx2" in (facts.host.cpu_flags or ()):
        return Fit(0.1, "the CPU has AVX2")
    return Fit(3, f"the CPU is {facts.host.cpu_model}") if facts.host.cpu_model in GENERIC else None


def _illegal_instruction(facts: Facts) -> str | None:
    """Where SIGILL ended one of our children."""
    failure = import_failure(facts)
    if failure and (failure.signal == SIGILL or failure.exit_code in EXIT_CODES):
        return "import torch"
    for probe in facts.probes or ():
        if probe.signal == SIGILL or (probe.status == "crashed" and probe.exit_code in EXIT_CODES):
            return f"probe of {probe.device}, stage {probe.stage}"
    return None


def _generic_model(facts: Facts) -> bool:
    return any(name in (facts.host.cpu_model or "") for name in GENERIC) or bool(facts.host.virtual_machine)
