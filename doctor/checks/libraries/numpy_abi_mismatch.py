"""torch and NumPy were built for different major versions of NumPy.

What it means
    The binary interface of NumPy changed with 2.0. A torch that was built against NumPy 1 (before 2.3; on Windows
    before 2.4.1) starts with NumPy 2, but .numpy() and from_numpy() fail: «Numpy is not available».

How to see it yourself
    python -c "import torch, numpy; print(torch.__version__, numpy.__version__); torch.zeros(1).numpy()"

What to do
    Take NumPy below 2, or install a torch that knows NumPy 2.

References
    https://numpy.org/doc/stable/numpy_2_0_migration_guide.html
    https://github.com/pytorch/pytorch/issues/107302
"""

from doctor.checks import Check, Judgement
from doctor.checks._machine import heard
from doctor.checks._torch import installed, numbers, package, quote, release_of, search
from doctor.knowledge import lookup
from doctor.model.facts import ErrorText, Facts
from doctor.model.finding import Evidence, Remedy
from doctor.regex import Regex

check = Check(
    severity="fault",
    needs=("torch.version", "torch.numpy_works|messages"),
    usual=(
        Remedy(action="pin-package", details={"package": "numpy", "spec": "<2"}),
        Remedy(action="upgrade-torch", details={"torch": ">=2.3"}),
    ),
    explains=("torch-import-crashes", "program-error"),
    instead_of=(
        "torch-import-crashes",
        "companion-mismatch",
        "extension-abi-mismatch",
        "program-error",
        "torch-install-broken",
    ),
)

BROKEN = Regex(
    r"_ARRAY_API not found|compiled using NumPy 1\.x|[Nn]um[Pp]y is not available|"
    r"numpy\.(?:dtype|ufunc|ndarray) size changed|numpy\.core\.multiarray failed to import|"
    r"expected np\.ndarray \(got numpy\.ndarray\)"
)
OLDER = Regex(
    r"module compiled against (?:ABI|API) version 0x\w+ but this version of numpy|"
    r"compiled against NumPy C-API version|[Bb]uilt against 0x\w+ but have"
)
ABSENT = Regex(r"Failed to initialize NumPy: No module named")


@check
def judge(facts: Facts) -> Judgement:
    if refused := search(facts, OLDER):
        return _older(facts, refused[0])
    torch, numpy = installed(facts), package(facts, "numpy")
    found = search(facts, BROKEN)
    error: ErrorText | None = (
        found[0]
        if found
        else heard(
            facts, "built-for-numpy-1", "numpy-array-api-not-found", "numpy-not-available", "numpy-dtype-size-changed"
        )
    )
    if error is not None and (search(facts, ABSENT) or (numpy is None and facts.packages is not None and facts.live)):
        return None  # there is no NumPy at all
    works = torch.numpy_works if torch else None
    if works or not (works is False or error):
        return None
    release = release_of(facts)
    majors = lookup.numpy_majors(release, facts.host.system or "linux") if release else None
    major = numbers(numpy.version)[0] if numpy and numpy.version else None
    if major is not None and majors and major in majors and error is None:
        return None  # NumPy fits: the bridge is broken for another reason
    has = f"NumPy {numpy.version}" if numpy else "the installed NumPy"
    for_old = majors is None or 1 in majors
    spec = "<2" if for_old else ">=2"
    wanted = f"NumPy {' or '.join(str(m) for m in majors)}" if majors else "NumPy 1"
    return check.found(
        facts,
        f"torch{f' {release}' if release else ''} was built for {wanted}; it can't exchange arrays with {has}."
        if not (majors and major in majors)
        else f"A package that was built for NumPy 1 can't work with {has}.",
        evidence=(
            "torch.version",
            Evidence(fact="numpy", value=numpy.version) if numpy and numpy.version else None,
            quote(error) if error else None,
            None if error else "torch.numpy_error",
        ),
        remedies=(
            Remedy(action="pin-package", details={"package": "numpy", "spec": spec}),
            Remedy(action="upgrade-torch", details={"torch": ">=2.4.1" if facts.host.system == "windows" else ">=2.3"}),
        ),
        torch=release,
        numpy=numpy.version if numpy else None,
    )


def _older(facts: Facts, error: ErrorText) -> Judgement:
    """A compiled module was built against a newer NumPy than the installed one."""
    return check.found(
        facts,
        "A compiled module was built against a newer NumPy than the one that is installed.",
        evidence=(quote(error), "torch.version"),
        remedies=(
            Remedy(action="install-package", details={"package": "numpy"}, text="Upgrade NumPy."),
            Remedy(action="upgrade-torch"),
        ),
    )
