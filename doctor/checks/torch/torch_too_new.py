"""torch, torchaudio or torchvision is newer than the code that uses it: a part that it uses was removed.

What it means
    Releases remove what was deprecated for long: torch._six with 2.0, torch.solve and its kin with 1.13 and 2.0,
    torchvision.transforms.functional_tensor with torchvision 0.17, torchaudio's set_audio_backend and
    list_audio_backends with torchaudio 2.9. A library that still uses them fails, mostly when it is imported.

How to see it yourself
    The last lines of the traceback name the missing part, and the file above them the library that uses it.

What to do
    Update the library that uses it; where there is no newer one, install the last torch that has the part, with the
    torchvision and torchaudio made for it. In code of your own: use what has replaced it.

References
    https://github.com/pytorch/pytorch/releases
    https://github.com/pytorch/pytorch/pull/70986 (torch.solve), 70988 (torch.symeig)
    https://github.com/fishaudio/fish-speech/issues/1118 (torchaudio 2.9)
"""

from __future__ import annotations

from doctor.checks import Check, Judgement
from doctor.checks._machine import heard
from doctor.checks._torch import owner, package, quote, release_of, search
from doctor.knowledge import lookup
from doctor.knowledge.versions import numbers
from doctor.model.facts import ErrorText, Facts
from doctor.model.finding import Evidence, Remedy
from doctor.regex import Regex

UPDATE = Remedy(action="install-package", text="Update the library or the code that uses it.")

check = Check(
    severity="fault",
    needs=("messages",),
    usual=(UPDATE,),
    instead_of=("program-error", "torch-shadowed", "torch-install-broken", "companion-mismatch"),
)

OF_TORCH = Regex(
    r"No module named 'torch\.(_six|utils\.ffi|legacy|onnx\.symbolic_registry)\b|"
    r"module 'torch' has no attribute '(_six|solve|symeig|lstsq|eig|rfft|irfft|gels)'"
)
CALLED = Regex(r"This function was deprecated since version (\S+) and is now removed")
OF_COMPANION = Regex(
    r"No module named '(torchvision|torchaudio)\.([\w.]+)'|"
    r"module '(torchaudio)(?:\.\w+)*' has no attribute '(\w+)'|"
    r"cannot import name '(\w+)' from '(torchaudio)[\w.]*'"
)


@check
def judge(facts: Facts) -> Judgement:
    return _of_torch(facts) or _of_companion(facts) or _of_stft(facts)


def _of_stft(facts: Facts) -> Judgement:
    """A call of torch.stft in its older form."""
    error = heard(facts, "stft-without-complex")
    if error is None:
        return None
    return _found(facts, error, "torch.stft without return_complex", "torch", release_of(facts), None)


def _of_torch(facts: Facts) -> Judgement:
    release = release_of(facts)
    if found := search(facts, OF_TORCH):
        error, match = found
        name = match[1] or match[2]
        removed = lookup.name_removed(name)
        if release and removed and numbers(release)[:2] < numbers(removed)[:2]:
            return None  # it has the name: something else hides it
        return _found(facts, error, f"torch.{name}", "torch", release, removed)
    if found := search(facts, CALLED):
        return _found(facts, found[0], "a function that it has removed", "torch", release, None)
    return None


def _of_companion(facts: Facts) -> Judgement:
    """torchvision and torchaudio; their releases go with torch's."""
    found = search(facts, OF_COMPANION)
    if found is None:
        return None
    error, match = found
    whose = match[1] or match[3] or match[6]
    name = match[2] or match[4] or match[5]
    removed = lookup.name_removed(f"{whose}.{name}")
    if removed is None:
        return None
    own = package(facts, whose)
    release = own.version.partition("+")[0] if own and own.version else None
    if release and numbers(release)[:2] < numbers(removed)[:2]:
        return None
    return _found(facts, error, f"{whose}.{name}", whose, release, removed)


def _found(
    facts: Facts, error: ErrorText, name: str, whose: str, release: str | None, removed: str | None
) -> Judgement:
    library = owner(error.path)
    by = library if library not in (None, "torch", whose) else None
    went = f", which {whose} {removed} removed" if removed else ""
    return check.found(
        facts,
        f"{by or 'The code'} uses {name}{went}; {whose} {release or ''} is too new for it.".replace("  is", " here is"),
        evidence=(
            quote(error),
            "torch.version" if whose == "torch" else None,
            Evidence(fact="removed", value=f"{whose} {removed}") if removed else None,
        ),
        remedies=_remedies(whose, removed, by),
        confidence="certain" if release and removed else "likely",
        name=name,
        library=by,
    )


def _remedies(whose: str, removed: str | None, library: str | None) -> tuple[Remedy, ...]:
    text = f"Update {library}, which uses it." if library else "Update the library or the code that uses it."
    update = Remedy(action="install-package", text=text)
    if removed is None:
        return (update,)
    torch = removed if whose == "torch" else _torch_before(whose, removed)
    older = Remedy(action="downgrade-torch", details={"torch": f"<{torch}"}) if torch else None
    return tuple(r for r in (update, older) if r)


def _torch_before(whose: str, removed: str) -> str | None:
    """The torch release that goes with the companion's release that removed the name."""
    found = lookup.torch_of_companion(whose, f"{removed}.0")
    return ".".join(found.split(".")[:2]) if found else None
