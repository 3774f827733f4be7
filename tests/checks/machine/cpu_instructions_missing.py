from dataclasses import replace

from doctor.model.facts import ImportFailure, ProbeResult
from tests.examples import linux, mac, with_error, with_torch

QEMU = linux(cpu_model="QEMU Virtual CPU version 2.5+", cpu_flags=("sse4_2",), virtual_machine="kvm")
PENTIUM = linux(cpu_model="Intel(R) Pentium(R) CPU G4400", cpu_flags=())
PI = linux(architecture="arm64", cpu_model="Cortex-A72")
SIGILL = ImportFailure(kind="signal", message="Fatal Python error: Illegal instruction", signal=4, stage="import")
LSCPU = """\
$ lscpu
Architecture:        x86_64
Model name:          Intel(R) Celeron(R) CPU N3350 @ 1.10GHz
Flags:               fpu vme de pse tsc msr pae mce cx8 apic sep mtrr sse sse2 ssse3 sse4_1 sse4_2 rdrand lahf_lm
$ python -c "import torch"
Illegal instruction (core dumped)
"""

BAD = {
    "a generic virtual CPU": with_torch(QEMU, "2.6.0+cpu", imports=False, import_failure=SIGILL),
    "a Pentium without AVX": with_torch(PENTIUM, "2.6.0+cpu", imports=False, import_failure=SIGILL),
    "a probe that dies": replace(
        with_torch(PENTIUM, "2.6.0+cpu"),
        probes=(ProbeResult(id="cpu", device="cpu", status="crashed", stage="matmul", signal=4),),
    ),
    "a ticket with lscpu": LSCPU,
    "an old ARM core": with_error(PI, "illegal-instruction", "Illegal instruction (core dumped)"),
}
GOOD = {
    "no AVX, and torch works": with_torch(PENTIUM, "2.6.0+cpu"),
    "AVX2 is there: another crash": with_error(linux(), "illegal-instruction", "Illegal instruction (core dumped)"),
    "a segmentation fault": with_torch(
        PENTIUM,
        "2.6.0+cpu",
        imports=False,
        import_failure=ImportFailure(kind="signal", message="Segmentation fault", signal=11),
    ),
    "a Mac": with_torch(mac(), "2.9.0"),
}
BAD["on Windows"] = """\
>>> import torch
Process finished with exit code -1073741795 (0xC000001D)
"""
