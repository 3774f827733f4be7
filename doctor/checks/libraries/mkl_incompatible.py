"""The installed MKL does not fit this torch.

What it means
    conda's torch before 2.3 links against MKL dynamically and needs symbols (iJIT_NotifyEvent) that MKL left out
    from 2024.1 on; or MKL was told to use Intel's OpenMP in a process that holds GNU's.

How to see it yourself
    conda list mkl; python -c "import torch"

What to do
    Take MKL back to a version before 2024.1, or install a newer torch. For the threading layer:
    MKL_THREADING_LAYER=GNU.

References
    https://github.com/pytorch/pytorch/issues/123097
    https://www.intel.com/content/www/us/en/docs/onemkl/developer-guide-linux/current/dynamic-select-the-interface-and-threading-layer.html
"""

from doctor.checks import Check, Judgement
from doctor.checks._machine import heard
from doctor.checks._torch import quote, search
from doctor.model.facts import Facts
from doctor.model.finding import Remedy
from doctor.regex import Regex

SYMBOL = Regex(r"undefined (?:symbol: |reference to [`'\"])(iJIT_\w+|mkl_\w+)")

check = Check(
    severity="fault",
    needs=("messages",),
    usual=(
        Remedy(action="pin-package", details={"package": "mkl", "spec": "<2024.1"}),
        Remedy(action="upgrade-torch", details={"torch": ">=2.3"}),
    ),
    explains=("torch-import-crashes",),
    instead_of=("torch-import-crashes", "openmp-duplicate", "program-error"),
)


@check
def judge(facts: Facts) -> Judgement:
    found = search(facts, SYMBOL)
    if found or heard(facts, "mkl-ijit-undefined-symbol"):
        error = found[0] if found else heard(facts, "mkl-ijit-undefined-symbol")
        remedies: tuple[Remedy, ...] = (
            Remedy(action="pin-package", details={"package": "mkl", "spec": "<2024.1"}),
            Remedy(action="upgrade-torch", details={"torch": ">=2.3"}),
        )
        detail = "This torch needs symbols that MKL has left out from 2024.1 on."
    elif error := heard(facts, "mkl-threading-layer"):
        remedies = (Remedy(action="set-env", details={"name": "MKL_THREADING_LAYER", "value": "GNU"}),)
        detail = "MKL wants Intel's OpenMP, and GNU's is loaded already."
    elif error := heard(facts, "mkl-fatal-error"):
        remedies = (Remedy(action="reinstall-package", details={"package": "mkl"}), Remedy(action="reinstall-torch"))
        detail = "MKL can't load its own parts: its files are of several versions, or not on the path."
    else:
        return None
    assert error is not None
    return check.found(facts, detail, evidence=(quote(error), "torch.version"), remedies=remedies)
