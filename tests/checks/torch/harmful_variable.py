from dataclasses import replace

from doctor.model.facts import ImportFailure, ProbeResult
from tests.example_case import Case
from tests.examples import device, linux, with_amd, with_error, with_nvidia, with_torch

H200 = "NVIDIA H200"
NO_IMAGE = "CUDA error: no kernel image is available for execution on the device"
HEALTHY = with_torch(
    with_nvidia(linux(), H200), "2.9.1+cu128", cuda_available=True, arch_list=("sm_80", "sm_90"),
    devices=(device("cuda", H200, capability="9.0"),),
)  # fmt: skip
RX = with_torch(
    with_amd(linux(), "AMD Radeon RX 7900 XTX", gfx="gfx1100"), "2.6.0+rocm6.2.4", cuda_available=True
)


def with_variables(facts, **variables: str):
    return replace(facts, environ=variables)


def crashed(facts):
    probe = ProbeResult(id="cuda:0", device="cuda:0", status="crashed", stage="kernel", signal=6)
    return replace(facts, probes=(probe,))


BAD = {
    "a log that this torch does not have": with_torch(
        with_variables(linux(), TORCH_LOGS="dynamoo"), "2.13.0+cpu", imports=False,
        import_failure=ImportFailure(
            kind="exception", exception="ValueError", message="all, annotation, aot",
            traceback='ValueError: \nInvalid log settings: dynamoo, must be a list; try TORCH_LOGS="help"\nall, annotation, aot',
        ),
    ),
    "PTX alone": with_error(with_variables(HEALTHY, CUDA_FORCE_PTX_JIT="1"), "no-kernel-image", NO_IMAGE),
    "no PTX": with_error(
        with_variables(HEALTHY, CUDA_DISABLE_PTX_JIT="1"), "ptx-jit-disabled",
        "CUDA error: PTX JIT compilation was disabled",
    ),
    "a daemon that is gone": with_error(
        with_variables(HEALTHY, CUDA_MPS_PIPE_DIRECTORY="/tmp/mps"),
        "mps-daemon-unreachable",
        "CUDA error: MPS client failed to connect to the MPS control daemon or the MPS server",
    ),
    "an option that this torch does not know": with_error(
        with_variables(
            with_torch(with_nvidia(linux(), H200), "2.0.1+cu118"), PYTORCH_CUDA_ALLOC_CONF="expandable_segments:True"
        ),
        "allocator-option-unknown",
        "RuntimeError: Unrecognized CachingAllocator option: expandable_segments",
        "expandable_segments",
    ),
    "pasted: the same": (
        "torch 2.0.1+cu117\n"
        "export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True\n"
        "RuntimeError: Unrecognized CachingAllocator option: expandable_segments\n"
    ),
    "pasted: a value that the allocator refuses": (
        "torch 2.11.0+cu130\nexport PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:1\n"
        "RuntimeError: CachingAllocator option max_split_size_mb too small, must be >= 20\n"
    ),
    "waiting for every kernel": Case(with_variables(HEALTHY, CUDA_LAUNCH_BLOCKING="1"), severity="warning"),
    "no caching": Case(with_variables(HEALTHY, PYTORCH_NO_CUDA_MEMORY_CACHING="1"), severity="warning"),
    "a GPU passes for an older one": crashed(with_variables(RX, HSA_OVERRIDE_GFX_VERSION="10.3.0")),
    "it does, and nothing is known to fail yet": Case(
        with_variables(RX, HSA_OVERRIDE_GFX_VERSION="9.0.0"), severity="warning"
    ),
    "pasted: the override of another chip": (
        "export HSA_OVERRIDE_GFX_VERSION=10.3.0\ntorch 2.6.0+rocm6.2.4, RX 7900 XTX (gfx1100)\n"
        "Callback: Queue 0x7daa52e00000 aborting with error : HSA_STATUS_ERROR_INVALID_ISA: "
        "The instruction set architecture is invalid. code: 0x100f\n"
    ),
    "a preloaded library, and a crash": with_variables(
        with_torch(
            linux(), "2.6.0+cpu", imports=False,
            import_failure=ImportFailure(kind="signal", message="Segmentation fault", signal=11),
        ),
        LD_PRELOAD="/opt/hook/libhook.so",
    ),
    "a preloaded NCCL that lacks what torch needs": with_variables(
        with_torch(
            linux(), "2.14.1+cu130", imports=False,
            import_failure=ImportFailure(
                kind="exception", exception="ImportError",
                message="/e/lib/python3.12/site-packages/torch/lib/libtorch_cuda.so: undefined symbol: ncclRecv",
            ),
        ),
        LD_PRELOAD="/usr/lib/libtcmalloc.so.4:/opt/old/libnccl.so.2",
    ),
}  # fmt: skip
GOOD = {
    "nothing is set": with_variables(HEALTHY),
    "set to 0": with_variables(HEALTHY, CUDA_LAUNCH_BLOCKING="0", CUDA_FORCE_PTX_JIT="0"),
    "compute without PTX works": with_variables(HEALTHY, CUDA_DISABLE_PTX_JIT="1"),
    "a tuned allocator": with_variables(HEALTHY, PYTORCH_CUDA_ALLOC_CONF="expandable_segments:True"),
    "the override that AMD's sister chip needs": with_variables(
        with_torch(with_amd(linux(), "AMD Radeon RX 6700 XT", gfx="gfx1031"), "2.6.0+rocm6.2.4", cuda_available=True),
        HSA_OVERRIDE_GFX_VERSION="10.3.0",
    ),
    "an allocator that is preloaded on purpose": with_variables(
        with_torch(linux(), "2.6.0+cpu"), LD_PRELOAD="/usr/lib/x86_64-linux-gnu/libtcmalloc.so.4"
    ),
    "a ticket of someone who looks for an error": (
        "$ CUDA_LAUNCH_BLOCKING=1 python train.py\n"
        "RuntimeError: CUDA error: device-side assert triggered\ntorch 2.6.0+cu124\n"
    ),
    "a CPU build": with_variables(with_torch(linux(), "2.6.0+cpu"), CUDA_LAUNCH_BLOCKING="1"),
}
