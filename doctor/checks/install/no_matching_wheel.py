"""The installer finds no torch for this Python and this platform.

What it means
    pip, uv or conda looked through its indexes and found no file that fits: as a rule torch has no wheel for this
    Python version, operating system or processor; or the index does not hold it.

How to see it yourself
    python -m pip debug --verbose lists the tags that fit; python -m pip index versions torch

What to do
    Use a 64-bit CPython that torch has wheels for; name the index that holds the wanted build.

References
    https://pytorch.org/get-started/locally/
    https://packaging.python.org/en/latest/specifications/platform-compatibility-tags/
"""


from doctor.checks import Check, Judgement
from doctor.checks._machine import heard
from doctor.checks._torch import quote, search, wanted_backend, wheel_platform
from doctor.knowledge import lookup
from doctor.model.facts import Facts
from doctor.model.finding import Evidence, Remedy
from doctor.regex import Regex

check = Check(
    severity="fault",
    needs=("messages",),
    usual=(Remedy(action="install-torch"), Remedy(action="replace-interpreter", details={"arch": "64-bit"})),
    explains=("torch-missing",),
    instead_of=("torch-missing", "program-error"),
)

REQUEST = Regex(
    r"(?:No matching distribution found for|satisfies the requirement) (torch(?:vision|"
    r"audio)?)(?![\w-])([=<>!~]*[\w.+*]*)"
)
OTHER = Regex(
    r"(?:No solution found when resolving|has no wheels with a matching).*\btorch\b|"
    r"Unable to find installation candidates for torch|"
    r"\btorch\b.*(?:no wheels?\b|doesn.t have a source distribution or wheel|only has wheels)"
)
# uv's words where what it found is for other systems, whatever the Python is
OTHER_PLATFORM = Regex(r"only has wheels for the following platforms?:|has no wheels with a matching platform tag")
CONDA = Regex(r"(?:PackagesNotFoundError|UnsatisfiableError|nothing provides)[\s\S]*\b(?:pytorch|torch)\b")


TORCH = Regex(r"(?:(?:py)?torch(?:vision|audio)?|cudatoolkit|pytorch-cuda)\b(?![\w-])")


@check
def judge(facts: Facts) -> Judgement:
    found = search(facts, REQUEST) or search(facts, OTHER) or search(facts, CONDA)
    failed = next((a for a in facts.attempts if a.failed and any(TORCH.match(r) for r in a.requirements)), None)
    error = (
        found[0] if found else heard(facts, "conda-packages-not-found") if failed else None
    )  # conda names what it misses in lines below
    error = error or heard(facts, "torch-wheel-refused", "torch-of-2017-fetched")
    if error is None and (failed is None or failed.offered is None):
        return None
    python, where = facts.interpreter.version, wheel_platform(facts)
    wheels = lookup.torch_versions(where, ".".join(python.split(".")[:2]), facts.as_of) if python and where else None
    asked = failed.requirements[0] if failed else found[1][1] if found and found[1].re.groups else "torch"
    return check.found(
        facts,
        f"No file for «{asked}» fits this Python{f' {python}' if python else ''}{f' on {where}' if where else ''}.",
        evidence=(
            quote(error) if error else None,
            "interpreter.version",
            Evidence(fact="offered", value=", ".join(failed.offered[-5:]) or "none", source=failed.tool)
            if failed and failed.offered is not None
            else None,
            Evidence(fact="torch releases that fit", value=", ".join(wheels[-3:]) or "none", source="the tables")
            if wheels is not None
            else None,
        ),
        remedies=_remedies(facts, wheels),
        confidence="likely",
        python=python,
        platform=where,
    )


def _remedies(facts: Facts, wheels: tuple[str, ...] | None) -> tuple[Remedy, ...]:
    if facts.host.system == "darwin" and any("cudatoolkit" in a.message for a in facts.attempts):
        return (Remedy(action="install-torch"),)  # without CUDA, which no Mac can have
    if search(facts, OTHER_PLATFORM):
        return (Remedy(action="fix-index"), Remedy(action="install-torch"))
    asked = next((b for a in facts.attempts if a.failed and (b := wanted_backend(a)[0])), None)
    install = Remedy(action="install-torch", details={"backend": asked} if asked else {})
    interpreter = Remedy(action="replace-interpreter", details={"arch": "64-bit"})
    return (install, interpreter) if wheels else (interpreter, install)
