from dataclasses import replace

from doctor.model.facts import Interpreter
from tests.examples import linux, mac, with_error, with_torch
from tests.tickets import collect_env

NO_KERNEL = (
    "NotImplementedError: Could not run 'aten::empty.memory_format' with arguments from the 'MPS' backend. This could be because "
    "the operator doesn't exist for this backend"
)

BAD = {
    "a build without it": with_torch(mac(), "2.4.0", mps_built=False, mps_available=False),
    "its message": with_error(
        with_torch(mac(), "2.4.0"),
        "not-compiled-with-mps",
        "MPS not available because the current PyTorch install was not built with MPS enabled.",
    ),
    "no kernels at all, of an unknown build": with_error(
        replace(mac(), torch=None), "exception", NO_KERNEL, "NotImplementedError"
    ),
    "pasted: False": (
        collect_env("2.0.1", "mac") + "\n"
        ">>> torch.backends.mps.is_built()\n"
        "False\n"
        ">>> torch.backends.mps.is_available()\n"
        "False\n"
    ),
    "pasted: RuntimeError: PyTorch is not linked with support for mps dev": (
        "RuntimeError: PyTorch is not linked with support for mps devices\n"
        "% sw_vers\n"
        "ProductName: macOS\n"
        "ProductVersion: 13.4\n"
        "% uname -m\n"
        "arm64\n"
        ">>> torch.__version__\n"
        "'2.0.1'\n"
    ),
}
GOOD = {
    "built": with_torch(mac(), "2.4.0", mps_built=True, mps_available=True),
    "too old to have it": with_torch(mac(), "1.11.0", mps_built=False),
    "under Rosetta": with_torch(mac(rosetta=True), "2.2.2", mps_built=False),
    "it is not known which Python it is": replace(
        with_torch(mac(), "2.2.2", mps_built=False), interpreter=Interpreter(executable="/opt/env/bin/python")
    ),
    "an Intel Mac": with_torch(mac(chip="Intel(R) Core(TM) i9-9880H CPU @ 2.30GHz"), "2.2.2", mps_built=False),
    "Linux": with_torch(linux(), "2.4.0+cpu", mps_built=False),
}
