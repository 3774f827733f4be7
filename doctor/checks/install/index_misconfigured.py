"""The install command names the wrong index for the wanted build, or none.

What it means
    Builds with a suffix (+cu118, +cpu, +rocm6.2) are on torch's own index only, one index a backend, and each index
    holds only the releases that were made for it. The package index has no suffixes; conda's pytorch channel ends
    with 2.5.1.

How to see it yourself
    python -m pip index versions torch --index-url https://download.pytorch.org/whl/cu128

What to do
    Name the index of the backend that the release was built for.

References
    https://pytorch.org/get-started/previous-versions/
    https://github.com/pytorch/pytorch/issues/138506 (conda)
"""

import re

from doctor.checks import Check, Judgement
from doctor.checks._machine import heard
from doctor.checks._torch import kind_of, numbers, quote, search, wheel_platform
from doctor.fixes import tools
from doctor.knowledge import lookup
from doctor.model.facts import Facts, InstallAttempt
from doctor.model.finding import Evidence, Remedy
from doctor.regex import Regex

check = Check(
    severity="fault",
    needs=("messages",),
    usual=(Remedy(action="fix-index"), Remedy(action="install-torch")),
    explains=("torch-missing", "torch-cpu-only"),
    instead_of=("no-matching-wheel", "torch-missing", "torch-cpu-only"),
)

WITH_SUFFIX = Regex(
    r"(?:satisfies the requirement|distribution found for) "
    r"torch(?:vision|audio)?==(\d[\d.]*)\+((?:cu\d+|cpu|rocm[\d.]+|xpu))"
)
NO_TORCH = Regex(r"No matching distribution found for torch|satisfies the requirement torch")
WANTED = Regex(r"^torch==(\d+(?:\.\d+)*)(?:\+(\w[\w.]*))?$")
CHANNEL_CUDA = frozenset({"11.6", "11.7", "11.8", "12.1", "12.4"})  # of pytorch-cuda, torch 1.13 to 2.5
CUDA_PACKAGES = frozenset({"cudatoolkit", "pytorch-cuda", "cuda-toolkit", "cudnn"})
UNMET_PIN = Regex(r"there is no version of (nvidia-[\w-]+)(?:\{[^}]*\})?==([\w.]+) and torch==([\d.]+)\S* depends on")
FIRST_WHEELS = (0, 3)  # what the package index has of older ones are sources: no wheel fits this Python
INDEX = Regex(r"/whl(?:/(?:test|nightly))?/(cu\d+|cpu|rocm[\d.]+|xpu)/?$")


@check
def judge(facts: Facts) -> Judgement:
    for attempt in facts.attempts:
        if attempt.failed is False:
            continue
        if found := _page(facts, attempt) or _attempt(facts, attempt) or _channel(facts, attempt):
            return found
        if found := _without_dependencies(facts, attempt) or _toolkit(facts, attempt):
            return found
    return _suffix(facts) or _refused(facts)


def _attempt(facts: Facts, attempt: InstallAttempt) -> Judgement:
    """The wanted release and backend against the indexes that were asked."""
    wanted = next((m for r in attempt.requirements if (m := WANTED.match(r.strip()))), None)
    if wanted is None:
        return None
    release, local = wanted[1], wanted[2]
    asked = [m[1] for url in attempt.indexes if (m := INDEX.search(url))]
    where = wheel_platform(facts) or "linux_x86_64"
    if local and local not in asked:
        if not attempt.failed or lookup.index_url(local, release) is None or _was_asked(attempt, local):
            return None
        return _found(
            facts,
            attempt,
            release,
            local,
            f"torch {release}+{local} is on torch's own index for {local}, which the command does not name.",
        )
    if asked and attempt.failed and len(attempt.indexes) == 1 and not local:
        backend = asked[0]
        known = lookup.release_date(release) is not None
        if known and all(lookup.published(release, backend, p) == "no" for p in {where, "linux_x86_64", "win_amd64"}):
            return _found(
                facts,
                attempt,
                release,
                None,
                f"The index {backend} has no torch {release}: that release was not built for {backend}.",
            )
    return None


def _channel(facts: Facts, attempt: InstallAttempt) -> Judgement:
    """conda's pytorch channel: its last release is 2.5.1, its last CUDA 12.4."""
    wanted = next((m[1] for r in attempt.requirements if (m := re.match(r"pytorch-cuda=+(\d+\.\d+)", r))), None)
    if not attempt.failed or wanted is None or wanted in CHANNEL_CUDA:
        return None
    return check.found(
        facts,
        f"conda's pytorch channel has no pytorch-cuda {wanted}: it ended with torch 2.5.1 and CUDA 12.4.",
        evidence=(Evidence(fact="asked for", value=" ".join(attempt.requirements), quote=attempt.command or ""),),
        remedies=(
            Remedy(action="install-torch", details={"backend": f"cu{wanted.replace('.', '')}"}),
            Remedy(action="fix-index"),
        ),
        wanted=wanted,
    )


def _page(facts: Facts, attempt: InstallAttempt) -> Judgement:
    """A page of links, such as torch_stable.html, where an index is expected: nothing is found in it."""
    page = re.search(r"--(?:(?:extra-|default-)?index(?:-url)?|index-url)[= ](\S+\.html)", attempt.command or "")
    if not attempt.failed or page is None:
        return None
    return check.found(
        facts,
        f"{page[1]} is a page of links, not an index: it is given with -f (--find-links).",
        evidence=(Evidence(fact="asked for", value=page[1], source=attempt.tool, quote=attempt.command or ""),),
        remedies=(Remedy(action="fix-index", details=_wanted(attempt)), Remedy(action="install-torch")),
    )


def _without_dependencies(facts: Facts, attempt: InstallAttempt) -> Judgement:
    """An index that holds torch, or an nvidia-* package, but not what torch pins: uv takes the first index that knows
    a name."""
    found = search(facts, UNMET_PIN)
    if not attempt.failed or found is None or not attempt.indexes:
        return None
    name, pinned, release = found[1].groups()
    return check.found(
        facts,
        f"The indexes asked have no {name} {pinned}, which torch {release} needs.",
        evidence=(quote(found[0]), Evidence(fact="index", value=", ".join(attempt.indexes), source=attempt.tool)),
        remedies=(Remedy(action="fix-index", details={"torch": f"=={release}"}), Remedy(action="install-torch")),
        release=release,
    )


def _toolkit(facts: Facts, attempt: InstallAttempt) -> Judgement:
    """conda finds everything but CUDA: cudatoolkit was renamed, or lies in another channel."""
    _, colon, missing = attempt.message.partition(": ")
    names = {n.partition("=")[0] for n in missing.split()}
    tool = tools.find(attempt.tool)
    if tool is None or not tool.channel or not colon or not names or not names <= CUDA_PACKAGES:
        return None
    if facts.host.system == "darwin":
        return None  # there is none for a Mac: no-matching-wheel
    cuda = re.search(r"=+(\d+)\.(\d+)", missing)
    return check.found(
        facts,
        f"The channels asked have no {missing}: from torch 1.13 on conda takes CUDA by pytorch-cuda, and other "
        "versions of cudatoolkit are on conda-forge.",
        evidence=(Evidence(fact="asked for", value=" ".join(attempt.requirements), quote=attempt.command or ""),),
        remedies=(
            Remedy(
                action="fix-index",
                details=_wanted(attempt) | ({"backend": f"cu{cuda[1]}{cuda[2]}"} if cuda else {"backend": "cuda"}),
            ),
            Remedy(action="install-torch", details={"backend": "cuda"}),
        ),
        wanted=missing,
    )


def _wanted(attempt: InstallAttempt) -> dict[str, str]:
    """The release that was asked for, as details of a remedy."""
    asked = (re.match(r"(?:py)?torch=+(\d[\d.]*)", r) for r in attempt.requirements)
    return next(({"torch": f"=={m[1]}"} for m in asked if m), {})


def _suffix(facts: Facts) -> Judgement:
    """A failed command of which only the message is known."""
    found = search(facts, WITH_SUFFIX)
    if found is None:
        return None
    release, local = found[1].groups()
    if any(_indexes_named(a) or _was_asked(a, local) for a in facts.attempts):
        return None
    return check.found(
        facts,
        f"{release}+{local} is on torch's own index for {local} only.",
        evidence=(quote(found[0]),),
        remedies=_remedies(release, local),
        release=release,
        backend=local,
    )


def _was_asked(attempt: InstallAttempt, local: str) -> bool:
    """Whether the index of those builds was asked, or torch's page of all, and what is offered is for other Pythons."""
    offered = attempt.offered or ()
    suffixes = {version.partition("+")[2] for version in offered} - {""}
    by_wheel = re.search(rf"(?:\+|%2B){local}-", attempt.wheel or "") is not None
    without_wheels = bool(offered) and all(numbers(version) < FIRST_WHEELS for version in offered)
    return local in suffixes or len(suffixes) > 1 or by_wheel or without_wheels


def _indexes_named(attempt: InstallAttempt) -> bool:
    return any(INDEX.search(url) for url in attempt.indexes)


def _refused(facts: Facts) -> Judgement:
    error = heard(facts, "pytorch-index-403", "pytorch-cuda-not-found")
    if error is None:
        return None
    detail = (
        "The address is not that of an index of torch."
        if error.pattern == "pytorch-index-403"
        else "conda's pytorch channel has had no releases since 2.5.1: it knows no such pytorch-cuda."
    )
    return check.found(
        facts, detail, evidence=(quote(error),), remedies=(Remedy(action="fix-index"), Remedy(action="install-torch"))
    )


def _found(facts: Facts, attempt: InstallAttempt, release: str, local: str | None, detail: str) -> Judgement:
    error = search(facts, NO_TORCH)
    asked = next((kind_of(m[1]) for url in attempt.indexes if (m := INDEX.search(url))), None)
    return check.found(
        facts,
        detail,
        evidence=(
            Evidence(
                fact="asked for", value=" ".join(attempt.requirements), source=attempt.tool, quote=attempt.command or ""
            ),
            Evidence(fact="index", value=", ".join(attempt.indexes) or "the default one"),
            quote(error[0]) if error else None,
        ),
        remedies=_remedies(release, local, asked),
        release=release,
        backend=local,
    )


def _remedies(release: str, local: str | None, wanted: str | None = None) -> tuple[Remedy, ...]:
    """`local` is the wanted suffix; without one, `wanted` is the kind of build that the index was to give."""
    backend = local or wanted
    install = Remedy(
        action="install-torch", details={"torch": f"=={release}", **({"backend": backend} if backend else {})}
    )
    if local is None:
        return (install, Remedy(action="fix-index", details={"torch": f"=={release}"}))
    url = lookup.index_url(local, release)
    return (Remedy(action="fix-index", details={"index": url, "torch": f"=={release}"} if url else {}), install)
