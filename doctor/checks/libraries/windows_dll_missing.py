"""Windows can't load a DLL of torch, or one that it needs.

What it means
    WinError 126 means that a DLL, or one that it depends on, is not there; 127, 182 and 1114 that one is there and
    does not fit. As a rule the Visual C++ runtime is missing or old; «Could not locate cudnn….dll» asks for NVIDIA's
    library itself, of just that release; torch 2.4.0's fbgemm.dll asked for
    libomp140.x86_64.dll, which comes with Visual Studio only.

How to see it yourself
    The Dependencies program shows what the named DLL wants: https://github.com/lucasg/Dependencies

What to do
    Install the newest Visual C++ Redistributable (x64), or the library that the message names. With torch 2.4.0: go to
    2.4.1 or newer.

References
    https://learn.microsoft.com/en-us/cpp/windows/latest-supported-vc-redist
    https://github.com/pytorch/pytorch/issues/131662
"""

import re

from doctor.checks import Check, Judgement
from doctor.checks._machine import heard
from doctor.checks._torch import imports_fail, owner, quote, release_of, same_kind, search
from doctor.checks.libraries.extension_abi_mismatch import FOREIGN
from doctor.model.facts import ErrorText, Facts
from doctor.model.finding import Finding, Remedy
from doctor.regex import Regex

VC_REDIST = Remedy(action="install-system-package", details={"package": "vc_redist"})

check = Check(
    severity="fault",
    needs=("messages",),
    systems=("windows",),
    usual=(VC_REDIST, Remedy(action="reinstall-torch")),
    explains=("torch-import-crashes",),
    instead_of=("torch-import-crashes", "shared-library-missing", "torch-install-broken", "program-error"),
)

NOT_LOADED = Regex(
    r"\[WinError (126|127|182|1114)\].*?([\w.-]+\.dll)|"
    r"DLL load failed(?: while importing (?:_C|torch_python|libtriton))?: "
)
OF_ONNX = (
    Remedy(action="install-system-package", details={"package": "cudnn"}),
    Remedy(action="reinstall-package", details={"package": "onnxruntime-gpu"}),
)
# what ctypes and torch say of a file of torch's, without the number of the error
OF_TORCH = Regex(
    r"(?:Could not find module|Error loading) "
    r"['\"][^'\"\n]{0,300}?((?:c10|caffe2|torch|shm|fbgemm|asmjit)\w*\.dll)['\"]"
)
# what torch's own loader says, where the text leaves the file out
UNNAMED = Regex(r"\[WinError (126|127|182|1114)\]")
RUNTIME = Regex(r"Microsoft Visual C\+\+ Redistributable is not installed")
ZLIB = Regex(r"Could not locate (zlibwapi\.dll)")
# of NVIDIA's, by name
NOT_LOCATED = Regex(r"(?:Could not locate |Library (?=\S+ is not found)|failed to open (?=nvrtc-))([\w-]+\.dll)")
OF_FOREIGN = Regex(rf"DLL load failed while importing (?!libtriton)({FOREIGN})")
OF_OTHERS = Regex(r"DLL load failed while importing (?!_C\b|torch_python|libtriton)\w+")


@check
def judge(facts: Facts) -> Judgement:
    if facts.host.system not in ("windows", None):
        return None
    if zlib := search(facts, ZLIB):
        package = Remedy(action="install-system-package", details={"package": "zlibwapi.dll"})
        return _found(
            facts, "cuDNN 8 needs zlibwapi.dll, which is not there.", zlib[0], (package, Remedy(action="upgrade-torch"))
        )
    if error := heard(facts, "cudnn-dll-not-loaded"):
        package = Remedy(action="install-system-package", details={"package": "cudnn"})
        return _found(facts, "Windows can't load a DLL of cuDNN.", error, (package, Remedy(action="upgrade-torch")))
    if (error := heard(facts, "onnxruntime-cuda-not-loaded")) or (
        facts.host.system == "windows" and (error := heard(facts, "onnxruntime-cuda-not-created"))
    ):
        return _found(facts, "onnxruntime can't load the DLLs of CUDA and cuDNN that it was built for.", error, OF_ONNX)
    if located := search(facts, NOT_LOCATED):
        return _of_nvidia(facts, *located)
    found = search(facts, RUNTIME) or search(facts, NOT_LOADED) or _while_torch_loads(facts)
    if of_foreign := search(facts, OF_FOREIGN):
        return _of_foreign(facts, *of_foreign)
    if found is None:
        return _of_torch(facts)
    error, match = found
    if search(facts, OF_OTHERS) is not None or _belongs_to_companion(f"{error.path} {error.text}"):
        return None  # an extension's own DLL: extension-abi-mismatch, companion-mismatch
    dll = match[2] if match.re is NOT_LOADED.compiled else None
    if release_of(facts) == "2.4.0" and (dll is None or "fbgemm" in dll):
        remedies = (
            Remedy(action="upgrade-torch", details={"torch": ">=2.4.1"}),
            Remedy(action="install-system-package", details={"package": "libomp140.x86_64.dll"}),
        )
        return _found(
            facts, "fbgemm.dll of torch 2.4.0 needs libomp140.x86_64.dll, which few machines have.", error, remedies
        )
    detail = f"Windows can't load {dll or 'a library of torch'}" + (f" (error {match[1]})." if dll else ".")
    return _found(facts, detail, error, (VC_REDIST, Remedy(action="reinstall-torch", details=same_kind(facts))))


def _of_torch(facts: Facts) -> Judgement:
    named = search(facts, OF_TORCH)
    if named is None or not (imports_fail(facts) or facts.host.system == "windows"):
        return None
    again = Remedy(action="reinstall-torch", details=same_kind(facts))
    return _found(facts, f"Windows can't load {named[1][1]}, or a DLL that it needs.", named[0], (VC_REDIST, again))


def _of_foreign(facts: Facts, error: ErrorText, match: re.Match[str]) -> Finding:
    """A module of a package that knows nothing of torch."""
    name = owner(error.path)
    package = {"package": name} if name else {}
    again = Remedy(action="reinstall-package", details=package, text="Install the package of that module again.")
    return check.found(
        facts,
        f"Windows can't load the module {match[1]}, or a DLL that it needs. It is not built against torch.",
        evidence=(quote(error), "host.os_name"),
        remedies=(VC_REDIST, again),
        title="Windows can't load a DLL of a package, or one that it needs.",
        confidence="likely",
    )


def _of_nvidia(facts: Facts, error: ErrorText, match: re.Match[str]) -> Finding:
    """A library of CUDA or cuDNN that a program on top of torch, or beside it, looks for by name."""
    library = match[1]
    package = Remedy(
        action="install-system-package",
        details={"package": "cudnn" if library.startswith("cudnn") else "cuda-toolkit"},
        text=f"Install the release of NVIDIA's library that holds {library}, and put its folder on PATH.",
    )
    torch = Remedy(action="reinstall-torch", details=same_kind(facts))
    of_torch = library.startswith("nvrtc")  # whose builds for CUDA bring it along
    return _found(facts, f"{library} can't be found.", error, (torch,) if of_torch else (package, torch))


def _while_torch_loads(facts: Facts) -> tuple[ErrorText, re.Match[str]] | None:
    """The loader's error in a traceback that ends in torch itself: the DLL is torch's, though its name is not told."""
    own = (error for error in facts.errors if owner(error.path) == "torch")
    return next(((error, found) for error in own if (found := UNNAMED.search(error.text))), None)


def _belongs_to_companion(text: str) -> bool:
    return any(f"{name}\\" in text.replace("/", "\\") for name in ("torchvision", "torchaudio", "torchtext"))


def _found(facts: Facts, detail: str, error: ErrorText, remedies: tuple[Remedy, ...]) -> Finding:
    return check.found(facts, detail, evidence=(quote(error), "torch.version", "host.os_name"), remedies=remedies)
