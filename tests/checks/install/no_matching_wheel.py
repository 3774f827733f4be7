from dataclasses import replace

from doctor.model.facts import InstallAttempt
from tests.examples import linux, mac, windows, with_error, with_torch

NONE = "ERROR: No matching distribution found for torch"
attempt = InstallAttempt(
    tool="pip", command="pip install torch", requirements=("torch",), failed=True, offered=(), message=NONE
)
unknown = replace(linux(), interpreter=replace(linux().interpreter, version=None, bits=None), torch=None)

BAD = {
    "pip finds nothing, and nothing is known of the machine": replace(
        with_error(unknown, "no-matching-torch", NONE), attempts=(attempt,)
    ),
    "a platform without wheels": with_error(linux(architecture="riscv64"), "no-matching-torch", NONE),
    "uv": with_error(unknown, "uv-no-solution", "torch==2.6.0 has no wheels with a matching platform tag"),
    "pasted: ╰─▶ Because all versions of torch have no wheels with a matc": (
        "$ uv pip install torch\n"
        "  × No solution found when resolving dependencies:\n"
        "  ╰─▶ Because all versions of torch have no wheels with a matching platform tag (e.g., `linux_riscv64`) and you require torch, we can conclude that your requirements are unsatisfiable.\n"
    ),
}
musl = replace(
    linux(), host=replace(linux().host, libc="musl", libc_version="1.2.4", os_id="alpine", os_name="Alpine Linux")
)
bits_32 = replace(windows(), interpreter=replace(windows().interpreter, bits=32, architecture="x86"))
intel_mac = replace(
    mac(chip="Intel(R) Core(TM) i9-9880H CPU @ 2.30GHz"),
    attempts=(replace(attempt, requirements=("torch==2.3.0",), offered=("2.1.2", "2.2.0", "2.2.2")),),
)

GOOD = {
    "musl": with_error(musl, "no-matching-torch", NONE),
    "32 bits": with_error(bits_32, "no-matching-torch", NONE),
    "an Intel Mac": with_error(
        intel_mac, "no-matching-torch", "ERROR: No matching distribution found for torch==2.3.0"
    ),
    "the Python version explains it": replace(
        with_error(linux(python="3.13.0"), "no-matching-torch", NONE), as_of="2024-09-01"
    ),
    "another package": with_error(linux(), "exception", "ERROR: No matching distribution found for torch-scatter==9"),
    "installed": with_torch(linux(), "2.6.0+cpu"),
}
