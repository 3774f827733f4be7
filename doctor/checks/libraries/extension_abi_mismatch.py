"""A compiled extension was built for another torch or another CUDA, or not at all.

What it means
    flash-attn, xformers, torch-scatter, bitsandbytes, apex and their like hold machine code against one torch
    release and CUDA version. With another: «undefined symbol: _ZN…c10…», a missing libcudart of another CUDA,
    «can't load C++/CUDA extensions». Where the compiler or the CUDA toolkit was missing at the installation, the
    compiled part, or its part for the GPU, was left out: «name '_C' is not defined», «implementation for device
    cuda:0 not found».

How to see it yourself
    c++filt shows which function of torch the undefined symbol is; python -m pip list | grep -i -E
    'torch|flash|xformers'

What to do
    Install the extension's build for this torch, or build it again in this environment; or go back to the torch
    that it was built for.

References
    https://docs.pytorch.org/docs/stable/cpp_extension.html
    https://github.com/facebookresearch/xformers#installing-xformers
"""

import re

from doctor.checks import Check, Judgement
from doctor.checks._machine import heard, on_mac
from doctor.checks._torch import (
    architectures,
    capability_of,
    gpus_of,
    has_kernels,
    imports_fail,
    installed,
    kind_of,
    owner,
    quote,
    same_kind,
    search,
    wanted_by_another,
    wheel_platform,
)
from doctor.knowledge import choose, lookup
from doctor.model.facts import ErrorText, Facts
from doctor.model.finding import Remedy
from doctor.regex import Regex

REBUILD = Remedy(action="reinstall-package", text="Install the extension's build for this torch, or build it.")

check = Check(
    severity="fault",
    needs=("messages",),
    usual=(REBUILD, Remedy(action="reinstall-torch")),
    instead_of=("program-error",),
)

# names of torch's C++ interface, mangled: each part stands behind its length
SYMBOL = Regex(r"undefined symbol: (_Z\w*?(?:2at\d|2atE|3c10|5torch|6caffe2|9pybind11)\w*)")
MAC_SYMBOL = Regex(r"Symbol not found: _+(ZNK?(?:2at|3c10|5torch)\w*)")
NO_FUNCTION = Regex(r"CUDA error: invalid device function")
TORCH_LIBRARY = Regex(r"(lib(?:torch|c10)\w*\.so)[\w.]*: cannot open shared object")
NOT_BUILT = Regex(r"No module named '([\w.]+)'")  # of the compiled part: the package was built without it
CUDART = Regex(r"libcudart\.so\.(\d+)\S*: cannot open shared object")
# of Windows, Pillow, OpenCV …: nothing in these modules is built against torch
FOREIGN = (
    r"(?:_imaging\w*|cv2|_multiarray_umath|_ssl|_ctypes|_sqlite3|_psutil_\w+|onnxruntime\w*|etree|win32\w+|libtriton|"
    r"_pywrap_t\w+|onnx_cpp2py_export|_c_internal_utils|libpaddle)\b"
)
DLL = Regex(rf"DLL load failed while importing (?!_C\b|torch_python|{FOREIGN})(\w+)")
WINDOWS_LOADER = Regex(r"\[WinError (?:126|127|182|193|1114)\](?!.*[/\\]torch[/\\]lib[/\\])")
# a C++ file of another project in a message of CUDA; torch's own are in aten/, c10/ and torch/csrc/
SOURCE_OF_OTHERS = Regex(
    r"[/\\]([A-Za-z][\w-]*?)(?:-\d[\w.+]*)?[/\\](?:csrc|include)[/\\](?!(?:aten|c10)[/\\])[^\s:]*\.cuh?\b"
)
# how code of others reports a failed launch: torch's own raises «CUDA error»
PRINTED = Regex(
    r"\berror in \w+: no kernel image|\bCUDA kernel failed ?: no kernel image|\bfailed with error code no kernel image"
)
NO_MAC = ("package-without-cuda", "quantizer-kernels-missing")  # nor is there CUDA to be had
# what a message says, of extensions that load, or whose compiled part is not there
SAYS = {
    "extension-not-built": "The compiled part of {name} is not there: it was not built when that was installed, or was "
    "built for another Python.",
    "extension-name-undefined": "The compiled part of {name} could not be imported: it was not built, or was built for "
    "another torch.",
    "operator-without-device": "The operators of {name} were built without those for the GPU.",
    "graph-library-without-gpu": "{name} is its build for the CPU, whose operators do not run on the GPU.",
    "package-without-cuda": "{name} was built without the part that is asked for.",
    "quantizer-kernels-missing": "The CUDA kernels of {name} are not installed; the code that stands in is slow.",
    "kernel-of-architecture-missing": "{name} was built without kernels for this GPU.",
    "binding-type-unregistered": "The compiled parts of {name} and of a package that it uses are not of one build.",
    "package-wants-other-torch": "{name} was built for another torch.",
}
FILE = Regex(r"(?<!\w)(\w+)(?!\w)[\w.-]*\.(?:so|pyd)\b")
BUILT_FOR = Regex(r"PyTorch (([\d.]+)\+?(\w*)) with CUDA (?:\d+|None) \(you have ([\d.]+\+?\w*)\)")
# packages with machine code of their own that knows nothing of torch
UNRELATED = frozenset(
    {"PIL", "numpy", "scipy", "pandas", "sklearn", "matplotlib", "cv2", "h5py", "tokenizers", "tensorflow", "keras",
     "onnx", "onnxruntime", "paddle", "jaxlib"}
)  # fmt: skip
BASE = frozenset({"torch", "torchvision", "torchaudio", "torchtext", "triton", "numpy", "nvidia"})
# import names whose distribution is called otherwise
DISTRIBUTIONS = {
    "flash_attn_2_cuda": "flash-attn",
    "amp_C": "apex",
    "exllama_kernels": "auto-gptq",
    "exllamav2_kernels": "auto-gptq",
    "autogptq_cuda": "auto-gptq",
    "pyg_lib": "pyg-lib",
    "_C": "",
    "libtriton": "triton",
    "flash-attention": "flash-attn",
    "selective_scan_cuda": "mamba-ssm",
    "causal_conv1d_cuda": "causal-conv1d",
    "fused_layer_norm_cuda": "apex",
    "exllamav2_ext": "exllamav2",
    "awq_ext": "autoawq",
    "awq_inference_engine": "autoawq",
    "MultiScaleDeformableAttention": "MultiScaleDeformableAttention",
    "mmcv_ext": "mmcv",
    "_ext": "mmcv",
    "mmcv._ext": "mmcv",
}


@check
def judge(facts: Facts) -> Judgement:
    error = _message(facts)
    if error is None:
        return None
    name = _extension(error)
    if name in BASE:
        return None
    built = search(facts, BUILT_FOR)
    torch = installed(facts)
    version = torch.version if torch else built[1][4] if built else None
    package = name or "the extension"
    if error.pattern in SAYS:
        detail = SAYS[error.pattern].format(name=package)
    else:
        made = f"torch {built[1][1]}" if built else "another torch or CUDA"
        detail = f"{package} was built for {made}" + (f"; this is torch {version}." if version else ".")
    return check.found(
        facts,
        detail if name else detail[0].upper() + detail[1:],
        evidence=(quote(error), "torch.version"),
        remedies=(
            Remedy(action="reinstall-package", details={"package": name}) if name else REBUILD,
            Remedy(action="reinstall-torch", details=_torch_that_fits(facts, built[1] if built else None)),
        ),
        confidence="likely" if error.pattern in ("torch-abi-undefined-symbol", "exception") else "certain",
        package=name,
        torch=version,
    )


def _torch_that_fits(facts: Facts, built: re.Match[str] | None) -> dict[str, str]:
    """The torch for which the extension was built, where its message names it, or its CUDA."""
    if built is None and (found := search(facts, CUDART)):
        majors = ((b, (lookup.cuda_of_backend(b.backend) or "").split(".")[0]) for b in choose.choose(facts).builds)
        fits = next((b for b, major in majors if major == found[1][1]), None)
        return {"torch": f"=={fits.release}", "backend": fits.backend} if fits else {}
    if built is None:
        return same_kind(facts)
    return {"torch": f"=={built[2]}", **({"backend": built[3]} if kind_of(built[3]) in ("cpu", "cuda") else {})}


def _message(facts: Facts) -> ErrorText | None:
    for regex in (SYMBOL, MAC_SYMBOL, DLL):
        if (found := search(facts, regex)) and owner(found[0].path) not in UNRELATED:
            return found[0]
    if (found := search(facts, TORCH_LIBRARY)) and wanted_by_another(facts, *found):
        return found[0]
    if (found := search(facts, NOT_BUILT)) and found[1][1] in DISTRIBUTIONS:
        return found[0]
    if found := search(facts, CUDART):
        torch = installed(facts)
        cuda = torch.cuda if torch else None
        differs = cuda and found[1][1] != cuda.split(".")[0]
        if (differs and not imports_fail(facts)) or owner(found[0].path) not in (None, "torch", "nvidia"):
            return found[0]
    no_kernel = heard(facts, "no-kernel-image") or (found[0] if (found := search(facts, NO_FUNCTION)) else None)
    if no_kernel and (
        has_kernels(owner(no_kernel.path))
        or SOURCE_OF_OTHERS.search(no_kernel.text)
        or PRINTED.search(no_kernel.text)
        or _torch_serves_the_gpus(facts)
    ):
        return no_kernel
    if (found := search(facts, WINDOWS_LOADER)) and owner(found[0].path) not in (None, "torch", *UNRELATED):
        return found[0]
    error = heard(
        facts,
        "extension-undefined-symbol",
        "torch-abi-undefined-symbol",
        "xformers-extensions-not-loaded",
        "bitsandbytes-without-cuda",
        "extension-other-cuda",
        "operators-not-registered",
        "extension-without-cuda",
        *(id for id in SAYS if not (id in NO_MAC and on_mac(facts))),
    )
    banner = r"CUDASetup$|CUDA Setup$|^bin /"
    if error and error.pattern == "bitsandbytes-without-cuda" and re.search(banner, error.text):
        return None  # a banner, no failure
    return error


def _torch_serves_the_gpus(facts: Facts) -> bool:
    """Whether torch itself has code for all GPUs, so that a missing kernel must be another package's."""
    archs, capabilities = architectures(facts), [capability_of(g) for g in gpus_of(facts, "nvidia")]
    if not archs or not capabilities or wheel_platform(facts) is None:
        return False
    return all(c is not None and lookup.runs_on(c, archs) != "no" for c in capabilities)


def _named(error: ErrorText) -> str | None:
    """The distribution that a message of SAYS names by a module of its own, else the one whose file spoke."""
    if error.pattern in ("package-without-cuda", "package-wants-other-torch"):
        said = error.groups[0]
        return None if said.lower() in ("it", "package", "which", "that", "this") else said
    module = next((g for g in reversed(error.groups) if g), "") if error.pattern == "extension-not-built" else ""
    name = module if module in DISTRIBUTIONS else module.split(".")[0]
    if "." in module or module in DISTRIBUTIONS:
        return DISTRIBUTIONS.get(name, name.replace("_", "-")) or None
    who = owner(error.path)
    return (DISTRIBUTIONS.get(who) or who.replace("_", "-")) if who else None


def _extension(error: ErrorText) -> str | None:
    """The distribution that the message is about, in pip's spelling."""
    if error.pattern == "xformers-extensions-not-loaded":
        return "xformers"
    if error.pattern == "bitsandbytes-without-cuda":
        return "bitsandbytes"
    if error.pattern == "graph-library-without-gpu":
        return "dgl"
    if error.pattern == "quantizer-kernels-missing":
        return "auto-gptq"
    if error.pattern in SAYS:
        return _named(error)
    if error.pattern in ("extension-other-cuda", "operators-not-registered"):
        name = error.groups[0]
        return DISTRIBUTIONS.get(name, name.replace("_", "-")) or None
    if (found := DLL.search(error.text)) and not (found[1].startswith("_") and owner(error.path)):
        return DISTRIBUTIONS.get(found[1], found[1].replace("_", "-"))
    if (found := NOT_BUILT.search(error.text)) and found[1] in DISTRIBUTIONS:
        return DISTRIBUTIONS[found[1]] or None
    for place in (*re.findall(r"[^\s'\"]+\.(?:so|pyd)", error.text), error.path):
        if who := owner(place):
            return DISTRIBUTIONS.get(who) or who.replace("_", "-")
    if found := SOURCE_OF_OTHERS.search(error.text):
        return DISTRIBUTIONS.get(found[1]) or found[1]
    if found := FILE.search(error.text):
        stem = found[1]
        if stem == "_C" and (folder := re.search(r"[/\\](\w+)[/\\]_C\b", error.text)):
            return folder[1].replace("_", "-")
        return DISTRIBUTIONS.get(stem) or (stem.replace("_", "-") if not stem.startswith(("lib", "_")) else None)
    return None
