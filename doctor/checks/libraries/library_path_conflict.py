"""torch loads another copy of a CUDA library than its own.

What it means
    LD_LIBRARY_PATH (on Windows PATH), a line in ld.so.conf or a stub makes the loader take libcudnn, libcublas,
    libnccl, libnvJitLink or libcuda from another folder than torch's: «undefined symbol», a cuDNN version mismatch,
    or, with the toolkit's stub of libcuda or an empty file of that name, no GPU at all.

How to see it yourself
    LD_DEBUG=libs python -c "import torch" 2>&1 | grep -E 'cudnn|cublas|nvJitLink|libcuda'; echo $LD_LIBRARY_PATH

What to do
    Unset LD_LIBRARY_PATH for Python: torch finds its libraries without it.

References
    https://man7.org/linux/man-pages/man8/ld.so.8.html
    https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__TYPES.html (CUDA_ERROR_STUB_LIBRARY, 34)
"""


from doctor.checks import Check, Judgement
from doctor.checks._loader import PRELOAD, VARIABLE, preloaded, preloaded_without_symbol, without_folder
from doctor.checks._machine import heard
from doctor.checks._torch import imports_fail, installed, package, quote, same_kind, search
from doctor.knowledge import lookup
from doctor.model.facts import ABSENT, Facts
from doctor.model.finding import Evidence, Remedy
from doctor.regex import Regex

check = Check(
    severity="fault",
    needs=("environ", "messages"),
    systems=("linux", "windows"),
    keeps_from=("nvidia",),
    even_if_imported=True,
    even_if_listed=True,
    usual=(Remedy(action="unset-env", details={"name": VARIABLE}), Remedy(action="reinstall-torch")),
    explains=(
        "torch-import-crashes",
        "device-crashes",
        "nvidia-driver-not-running",
        "nvidia-driver-missing",
        "nvidia-driver-too-old",
        "nvidia-driver-library-mismatch",
        "gpu-hidden",
        "torch-cpu-only",
        "nvidia-uvm-broken",
    ),
    instead_of=(
        "torch-import-crashes",
        "shared-library-missing",
        "nvidia-driver-missing",
        "nvidia-driver-not-running",
        "nvidia-uvm-broken",
        "driver-library-not-found",
        "gpu-hidden",
        "no-accelerator",
        "program-error",
    ),
)

SYMBOL = Regex(
    r"undefined symbol: (?:__)?(?:nvJitLink|nccl|cudnn|cublas|cusparse|cusolver|cufft|cuda[A-Z]|cudaRegister)\w*|"
    r"symbol \w+,? version lib(?:cublas|cudnn|cusparse|nvJitLink|nccl)\S* not defined in file"
)
VERSIONS = Regex(
    r"CUBLAS_STATUS_INVALID_VALUE when calling|"
    r"cuDNN version incompatibility|CUDNN_STATUS_(?:SUBLIBRARY_)?VERSION_MISMATCH|libcudnn\w*\.so.*undefined symbol"
)
STUB = Regex(r"stub library|CUDA_ERROR_STUB_LIBRARY|CUDA driver is a stub")
NO_LIBRARY = Regex(r"file too short|invalid ELF header|wrong ELF class|has no cuInit|not a shared object")
STUBS = Regex(r"/stubs(?:/|$)")
LOADER = Remedy(
    action="system-setting",
    details={"setting": "/etc/ld.so.conf.d"},
    text="Take the folder of that library out of the files in /etc/ld.so.conf.d, then run sudo ldconfig.",
)


@check
def judge(facts: Facts) -> Judgement:
    return _stub(facts) or _no_library(facts) or _by_message(facts) or _loaded(facts)


def _unset(facts: Facts, name: str | None = None) -> tuple[Remedy, ...]:
    name = name or ("PATH" if facts.host.system == "windows" else VARIABLE)
    known_unset = facts.live and facts.environ is not None and name not in facts.environ
    return (
        LOADER if known_unset else Remedy(action="unset-env", details={"name": name}),
        Remedy(action="reinstall-torch", details=same_kind(facts)),
    )


def _stub(facts: Facts) -> Judgement:
    """The toolkit's stub of libcuda stands in for the driver's library."""
    torch = installed(facts)
    path = (facts.environ or {}).get(VARIABLE, "")
    loaded = next((f for f in (torch.loaded_libraries if torch else None) or () if STUBS.search(f)), None)
    stub = loaded or (facts.nvidia.libcuda if facts.nvidia.libcuda and STUBS.search(facts.nvidia.libcuda) else None)
    message = search(facts, STUB)
    on_path = next((p for p in path.split(":") if STUBS.search(p)), None)
    hurts = torch is not None and torch.cuda_available is False and bool(torch.cuda)
    if not (stub or message or (on_path and hurts)) or _nobody_needs_a_driver(facts):
        return None
    working = torch is not None and torch.cuda_available
    return check.found(
        facts,
        f"{stub or on_path or 'A stub of libcuda'} is for building programs: it stands in for the driver's libcuda.",
        evidence=(
            Evidence(fact="libcuda", value=str(stub or on_path)) if stub or on_path else None,
            "environ.LD_LIBRARY_PATH",
            quote(message[0]) if message else None,
        ),
        remedies=_without_stubs(facts, path) or _unset(facts),
        severity="warning" if working else None,
        library=stub or on_path,
    )


def _nobody_needs_a_driver(facts: Facts) -> bool:
    """Live: neither a driver nor a GPU of NVIDIA's is there, whatever stands in for the driver's library."""
    nvidia = facts.nvidia
    found = nvidia.kernel_module or nvidia.device_nodes or any(g.vendor == "nvidia" for g in facts.gpus or ())
    return facts.live and facts.gpus is not None and nvidia.kernel_module is ABSENT and not found


def _no_library(facts: Facts) -> Judgement:
    """The loader takes a file for libcuda that is none: an empty one, a text, a library of another make."""
    broken, torch = str(facts.nvidia.libcuda_broken or ""), installed(facts)
    error = heard(facts, "library-file-invalid")
    if error and not error.groups[0].startswith("libcuda"):
        error = None
    if not NO_LIBRARY.search(broken) and error is None:
        return None
    file = str(facts.nvidia.libcuda or (error.groups[0] if error else "libcuda.so.1"))
    has_driver = bool(facts.nvidia.kernel_module or facts.nvidia.device_nodes or facts.nvidia.driver) or error
    if not has_driver and not any(g.vendor == "nvidia" for g in facts.gpus or ()):
        return None  # nobody needs the driver's library here
    wanted = torch is None or bool(torch.cuda)
    why = broken.rpartition(": ")[2] or "invalid"
    return check.found(
        facts,
        f"The loader takes {file} for the driver's libcuda, and it is none ({why}).",
        evidence=(
            Evidence(fact="libcuda", value=broken or file, source="dlopen"),
            "environ.LD_LIBRARY_PATH",
            quote(error) if error else None,
            "nvidia.kernel_module",
        ),
        remedies=_without(facts, file.rpartition("/")[0]),
        severity=None if has_driver and wanted else "warning",
        library=file,
    )


def _without(facts: Facts, folder: str) -> tuple[Remedy, ...]:
    """LD_LIBRARY_PATH without the folder of that file; where the variable does not hold it, the file goes."""
    if found := without_folder(facts, folder):
        return found
    away = Remedy(
        action="system-setting",
        details={"setting": "libcuda", "value": f"no file of that name in {folder or 'a folder of the loader'}"},
        text=f"Remove libcuda.so.1 from {folder or 'the folder that comes first'}, and run: sudo ldconfig.",
    )
    return (away, Remedy(action="unset-env", details={"name": VARIABLE}))


def _without_stubs(facts: Facts, path: str) -> tuple[Remedy, ...]:
    """Live, where other entries may be needed (a driver outside the loader's folders), only the stub goes."""
    entries = [entry for entry in path.split(":") if entry]
    kept = [entry for entry in entries if "stub" not in entry]
    if not facts.live or not kept or kept == entries:
        return ()
    return (Remedy(action="set-env", details={"name": VARIABLE, "value": ":".join(kept)}), *_unset(facts))


def _by_message(facts: Facts) -> Judgement:
    found = search(facts, SYMBOL) or search(facts, VERSIONS)
    if found is None or preloaded_without_symbol(facts):  # LD_PRELOAD: harmful-variable
        return None
    error = found[0]
    return check.found(
        facts,
        "A CUDA library was loaded that does not fit the others: another copy comes before torch's own.",
        evidence=(quote(error), "torch.version", "environ.LD_LIBRARY_PATH"),
        remedies=_unset(facts),
        confidence="certain" if (facts.environ or {}).get(VARIABLE) else "likely",
    )


def _loaded(facts: Facts) -> Judgement:
    """What is mapped into the process that imported torch."""
    torch = installed(facts)
    if torch is None or not torch.loaded_libraries or not torch.cuda or not torch.path:
        return None
    packages = torch.path.rsplit("/torch", 1)[0]
    for file in torch.loaded_libraries:
        part = lookup.nvidia_component(file.rsplit("/", 1)[-1])
        own = part and (
            package(facts, f"nvidia-{part}-cu{torch.cuda.split('.')[0]}") or package(facts, f"nvidia-{part}")
        )
        if not own or file.startswith((packages, own.path or packages, f"{facts.interpreter.prefix or packages}/")):
            continue
        if any(d.distribution == own.name for d in facts.damaged or ()):
            continue  # its own copy is not there to be loaded: torch-install-broken
        hurts = imports_fail(facts) or torch.cuda_available is False
        return check.found(
            facts,
            f"torch loaded {file}, not the copy of {own.name} {own.version} that was installed with it.",
            evidence=(
                Evidence(fact="loaded", value=file, source="/proc/self/maps of the child"),
                "environ.LD_LIBRARY_PATH",
            ),
            remedies=_unset(facts, PRELOAD if file in preloaded(facts) else None),
            severity=None if hurts else "warning",
            library=file,
        )
    return None
