"""What several checks ask about the machine: its system, its GPUs, its driver, and the messages that were heard. Pure.

Every predicate is False where the facts do not say it: unknown is never taken for known.
"""

from __future__ import annotations

import re

from doctor.checks._torch import gpus_of, numbers, wanted_backend
from doctor.knowledge import lookup
from doctor.model.facts import ABSENT, SERVICES, ErrorText, Facts, Gpu, InstallAttempt, Torch
from doctor.model.finding import Evidence

# Messages that only a program that wants CUDA draws upon itself.
CUDA_WANTED = (
    "nvidia-driver-too-old-for-torch",
    "found-no-nvidia-driver",
    "cuda-error-803",
    "cuda-error-804",
    "cuda-unknown-error",
    "cuda-error-999",
    "cuda-error-802",
    "cuda-devices-busy",
    "no-cuda-device-detected",
    "invalid-device-ordinal",
    "docker-no-gpu-driver",
    "not-compiled-with-cuda",
    "deserialize-without-cuda",
    "capability-too-new",
    "capability-too-old",
    "no-kernel-image",
    "ptx-unsupported-toolchain",
    "driver-insufficient-for-runtime",
    "cuda-error-500",
    "no-cuda-gpus",
)
MPS_WANTED = (
    "mps-needs-newer-macos",
    "mps-oom-nothing-allocated",
    "not-linked-with-backend",
    "not-compiled-with-mps",
    "mps-built-not-available",
    "mps-operator-not-implemented",
    "mps-no-float64",
)
HIP_WANTED = (
    "rock-module-not-loaded",
    "kfd-permission-denied",
    "not-in-render-group",
    "no-hip-gpus",
    "hip-invalid-device-function",
    "hip-no-binary-for-gpu",
    "rocblas-tensile-library",
)
XPU_WANTED = ("no-xpu-devices", "xpu-driver-not-initialized")


def heard(facts: Facts, *patterns: str) -> ErrorText | None:
    """The first recognised message with one of these ids; None where none was said."""
    for error in facts.errors:  # asked too often for a generator
        if error.pattern in patterns:
            return error
    return None


def on_mac(facts: Facts) -> bool:
    """A Mac."""
    return facts.host.system == "darwin"


def on_wsl(facts: Facts) -> bool:
    """Linux under Windows, WSL 1 or 2."""
    return bool(facts.host.wsl)


def in_container(facts: Facts) -> bool:
    """Known to run in a container."""
    return bool(facts.host.container)


def service(facts: Facts) -> str | None:
    """The service whose machine it is: the driver is there wherever a GPU is given, and nobody else installs one."""
    place = facts.host.virtual_machine
    if place in SERVICES and facts.host.system == "linux":
        return str(place)
    variables = {"COLAB_GPU": "Google Colab", "KAGGLE_KERNEL_RUN_TYPE": "Kaggle"}
    return next((name for variable, name in variables.items() if variable in (facts.environ or {})), None)


def no_gpu_given(facts: Facts) -> ErrorText | None:
    """What a program says that misses CUDA, on a machine of a service, or of somebody who asks how to do without a
    GPU or says that there is none of NVIDIA's, where nothing shows one."""
    error = heard(facts, "found-no-nvidia-driver", "no-cuda-gpus", "nvidia-smi-not-found")
    told = heard(facts, "wants-to-do-without-gpu", "gpu-not-nvidia")
    if sign_of_gpu(facts, "nvidia") or not (service(facts) or told):
        return None
    return error


def wants_no_gpu(facts: Facts) -> bool:
    """Somebody asks how to do without a GPU that CUDA can use, and nothing shows one."""
    return heard(facts, "wants-to-do-without-gpu", "gpu-not-nvidia") is not None and not any(
        sign_of_gpu(facts, vendor) for vendor in ("nvidia", "intel")
    )


def outside_containers(facts: Facts) -> str | None:
    """Why torch is known to run outside a container; None where it may be in one."""
    if absent(facts.host.container):
        return "this is no container"
    if facts.host.container:
        return None
    system = {"windows": "Windows", "darwin": "macOS"}.get(facts.host.system or "")
    return f"torch runs in {system} itself" if system else None


def apple_silicon(facts: Facts) -> bool:
    """A Mac whose hardware is Apple's own chip, whatever the Python was built for."""
    cpu = facts.host.cpu_model or ""
    if facts.host.system not in (None, "darwin"):
        return False
    return (
        cpu.startswith(("Apple M", "Apple A", "VirtualApple"))
        or (on_mac(facts) and facts.host.architecture == "arm64")
        or facts.interpreter.translated is True
    )


def intel_hardware(facts: Facts) -> bool:
    """A Mac that is known to have an Intel CPU."""
    if not on_mac(facts) or apple_silicon(facts):
        return False
    named = "Intel" in (facts.host.cpu_model or "")
    return named or (facts.host.architecture == "x86_64" and facts.interpreter.translated is False)


def macos(facts: Facts) -> str | None:
    """The real macOS version, as told or from the Darwin kernel."""
    if facts.host.macos:
        return str(facts.host.macos)
    if on_mac(facts) and facts.host.kernel:
        return lookup.macos_of_darwin(facts.host.kernel)
    return None


def older(have: str, need: str) -> bool:
    """Whether version `have` is older than `need`: 12.3.1 is not older than 12.3, 12 is.

    >>> older("13.7.4", "14.0"), older("12.3.1", "12.3"), older("12", "12.3")
    (True, False, True)
    """
    return numbers(have) < numbers(need)


def named(gpus: tuple[Gpu, ...]) -> str:
    """The GPUs in words: "an NVIDIA GeForce RTX 4090 and 1 more"."""
    if not gpus:
        return "a GPU"
    first = gpus[0].name or f"a GPU of {gpus[0].vendor.upper() if gpus[0].vendor != 'intel' else 'Intel'}"
    return first if len(gpus) == 1 else f"{first} and {len(gpus) - 1} more"


def shown(facts: Facts, vendor: str) -> Evidence | None:
    """The known GPUs of a vendor as Evidence."""
    gpus, origin = gpus_of(facts, vendor), facts.origins.get("gpus")
    if not gpus:
        return None
    names = ", ".join(g.name or g.pci_id or vendor for g in gpus)
    return Evidence(
        fact="gpus", value=names, source=origin.source if origin else "", quote=origin.quote if origin else ""
    )


def sign_of_gpu(facts: Facts, vendor: str) -> bool:
    """Something on this machine, not only torch's wish, says that a GPU of that vendor is there."""
    if gpus_of(facts, vendor):
        return True
    if vendor == "nvidia":
        nvidia = facts.nvidia
        return bool(nvidia.nouveau or nvidia.gpus_seen or nvidia.kernel_module or nvidia.device_nodes)
    if vendor == "amd":
        return facts.amd.kfd is True
    return False


def only_others(facts: Facts, vendor: str) -> bool:
    """All GPUs are known, and none is of that vendor (also: there is none at all)."""
    return facts.gpus is not None and not gpus_of(facts, vendor) and not sign_of_gpu(facts, vendor)


def wants(facts: Facts, accelerator: str) -> bool:
    """Whether the installed build, a message or an install command asks for "cuda", "mps", "rocm" or "xpu"."""
    torch = facts.torch if isinstance(facts.torch, Torch) else None
    built = {"cuda": torch and torch.cuda, "rocm": torch and torch.hip, "xpu": torch and torch.xpu}.get(accelerator)
    patterns = {"cuda": CUDA_WANTED, "mps": MPS_WANTED, "rocm": HIP_WANTED, "xpu": XPU_WANTED}[accelerator]
    index = {"cuda": r"/whl/(?:\w+/)?cu\d", "rocm": r"/whl/(?:\w+/)?rocm", "xpu": r"/whl/(?:\w+/)?xpu"}.get(accelerator)
    return (
        bool(built)
        or heard(facts, *patterns) is not None
        or (index is not None and any(re.search(index, url) for attempt in facts.attempts for url in attempt.indexes))
    )


def cuda_works(facts: Facts) -> bool:
    """Torch itself said that it can use CUDA (or HIP)."""
    return isinstance(facts.torch, Torch) and facts.torch.cuda_available is True


def cuda_refused(facts: Facts) -> bool:
    """Torch itself, of whatever version, said that it can't use CUDA (or HIP)."""
    return isinstance(facts.torch, Torch) and facts.torch.cuda_available is False


def driver_lists_gpus(facts: Facts) -> bool:
    """nvidia-smi reached the NVIDIA driver and was shown a GPU: its own table, or what collect_env makes of it."""
    shown = bool(facts.nvidia.driver) and bool(gpus_of(facts, "nvidia")) and not facts.live
    return bool(facts.nvidia.gpus_seen or facts.nvidia.driver_cuda or shown) and not facts.nvidia.smi_error


def imported(facts: Facts) -> bool:
    """Torch is known to import: it did, or it answered a question about its devices."""
    torch = facts.torch
    if not isinstance(torch, Torch) or torch.imports is False:
        return False
    return torch.imports is True or any(
        said is not None for said in (torch.cuda_available, torch.mps_available, torch.xpu_available)
    )


def driver_answers(facts: Facts) -> bool:
    """The NVIDIA driver is there and nothing that asked it failed."""
    return bool(facts.nvidia.driver) and not facts.nvidia.smi_error


def sandboxed(facts: Facts) -> str | None:
    """What confines this process, if that is known."""
    if facts.host.sandbox:
        return str(facts.host.sandbox)
    names = {"CODEX_SANDBOX": "the sandbox of an agent (CODEX_SANDBOX)", "APP_SANDBOX_CONTAINER_ID": "the App Sandbox"}
    return next((words for name, words in names.items() if (facts.environ or {}).get(name)), None)


def mac_guest(facts: Facts) -> str | None:
    """What shows that this macOS is a virtual machine's guest."""
    cpu = facts.host.cpu_model or ""
    device = facts.metal.device or ""
    if "Paravirtual" in str(device):
        return str(device)
    if "(Virtual)" in cpu:
        return cpu
    if facts.host.virtual_machine and facts.host.system in (None, "darwin"):
        return str(facts.host.virtual_machine)
    error = heard(facts, "apple-paravirtual-device")
    return error.text if error else None


def python_minor(facts: Facts) -> str | None:
    """The Python as wheels name it: "3.12", "3.13t"."""
    found = re.match(r"(\d+)\.(\d+)", facts.interpreter.version or "")
    return f"{found[1]}.{found[2]}{'t' if facts.interpreter.free_threaded else ''}" if found else None


def wanted_release(attempt: InstallAttempt) -> str | None:
    """The torch release that an install command names, or the lowest that it allows: "torch==2.4.1+cu121" -> "2.4.1",
    "torch<3.0.0,>=2.3.0" -> "2.3.0"."""
    for requirement in attempt.requirements:
        if not re.match(r"torch(?![\w.-])", requirement):
            continue
        if found := re.search(r"(?:===?|~=|>=|(?<![<>!~=])=)\s*v?(\d+(?:\.\d+)+)", requirement):
            return found[1]
    return None


def wanted_torch(attempt: InstallAttempt) -> dict[str, str]:
    """The `torch` and `backend` of a remedy that installs what an install command asked for, as far as it says:
    "torch==1.13.1+cu117" -> {"torch": "==1.13.1", "backend": "cu117"}."""
    for requirement in attempt.requirements:
        if found := re.match(r"torch\s*((?:[=<>!~]=|[<>]).*)", requirement):
            spec = re.sub(r"\+[\w.]+", "", found[1]).strip()
            backend, _ = wanted_backend(attempt)
            return {"torch": spec, **({"backend": backend} if backend else {})}
    return {}


TAG = r"\b((?:macosx|manylinux|musllinux)_\w+|win32|linux_(?:i686|armv[67]l))"


def refused_tag(facts: Facts) -> str | None:
    """The platform that uv says it looked for wheels of in vain: "macosx_14_0_x86_64", "musllinux_1_2_x86_64"."""
    for error in (
        heard(facts, "uv-platform-without-wheel"),
        heard(facts, "uv-no-solution"),
    ):  # only the first of them names a tag in every case
        if error and (found := re.search(TAG, error.text)):
            return found[1]
    return None


def backend_of_index(url: str) -> str | None:
    """The backend that a wheel index of PyTorch is for.

    >>> backend_of_index("https://download.pytorch.org/whl/test/cu124")
    'cu124'
    """
    found = re.search(r"/whl/(?:test/|nightly/)?(cu\d+|rocm\d+(?:\.\d+)*|cpu|xpu)/?$", url)
    return found[1] if found else None


def last_for_intel_macs() -> str | None:
    """The last torch release with wheels for Intel Macs."""
    releases = lookup.torch_versions("macos_x86_64")
    return releases[-1] if releases else None


def offered_for_intel_macs(facts: Facts) -> InstallAttempt | None:
    """An install command that wanted a newer torch than all on offer, where the offer ends as it only does for x86-64
    Pythons on macOS."""
    last = last_for_intel_macs()
    if facts.host.system not in (None, "darwin") or last is None:
        return None
    for attempt in facts.attempts:
        wanted = wanted_release(attempt)
        public = [v for v in attempt.offered or () if "+" not in v]
        if wanted and public and older(last, wanted) and max(public, key=numbers) == last:
            return attempt
    return None


def beyond_intel_macs(facts: Facts) -> str | None:
    """The torch release that was asked for in vain on an Intel Mac, if it came after the last one for these."""
    last = last_for_intel_macs()
    if last is None or not intel_hardware(facts):
        return None
    return next((w for a in facts.attempts if a.failed and (w := wanted_release(a)) and older(last, w)), None)


def absent(value: object) -> bool:
    """Known not to be there."""
    return value is ABSENT
