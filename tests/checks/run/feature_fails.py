from dataclasses import replace

from tests.example_case import Case
from tests.examples import linux, with_failures, with_nvidia, with_torch

CPU = with_torch(linux(), "2.13.0+cpu")
GPU = with_torch(with_nvidia(linux(), "NVIDIA H200"), "2.11.0+cu130", cuda_available=True)
WHAT = "torch.compile"

BAD = {
    "pasted: cuDNN refuses": Case("RuntimeError: cuDNN error: CUDNN_STATUS_EXECUTION_FAILED\n", severity="warning"),
    "pasted: NCCL refuses": Case(
        "RuntimeError: NCCL error in: ../torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp:957, unhandled system error, "
        "NCCL version 21.0.3\n", severity="warning",
    ),
    "pasted: DirectML lacks an operator": Case(
        "RuntimeError: Could not run 'aten::normal_' with arguments from the 'DML' backend.\n", severity="warning"
    ),
    "pasted: MIOpen refuses": Case("RuntimeError: miopenStatusInternalError\n", severity="warning"),
    "Triton's ptxas is older than the GPU": Case(
        with_failures(
            GPU, "compile",
            f"{WHAT}: Compiler: InductorError: PTXASError: PTXAS error: Internal Triton PTX codegen error `ptxas` stderr: "
            "ptxas fatal : Value 'sm_103a' is not defined for option 'gpu-name'", device="cuda:0",
        ), severity="warning",
    ),
    "a user without a name": Case(
        with_failures(CPU, "compile", f"{WHAT}: KeyError: 'getpwuid(): uid not found: 1000'"), severity="warning"
    ),
    "a module that the compiler of an older torch needs": Case(
        with_failures(
            CPU, "compile", f"{WHAT}: Compiler: BackendCompilerFailed: debug_wrapper raised ModuleNotFoundError: "
            "No module named 'pkg_resources'",
        ), severity="warning",
    ),
    "the compiler did not come to an end": Case(
        with_failures(CPU, "compile", f"{WHAT}: Compiler: TimeoutError: it took longer than 240 s"), severity="warning"
    ),
    "an attention backend raises": Case(
        with_failures(
            GPU, "attention", "cuDNN attention (bfloat16): RuntimeError: cuDNN Frontend error: No execution plans",
            "cuDNN attention (bfloat16, causal): RuntimeError: cuDNN Frontend error: No execution plans",
            device="cuda:0",
        ), severity="warning",
    ),
    "workers hang": Case(
        with_failures(
            CPU, "workers", "DataLoader, workers forked: Workers: RuntimeError: DataLoader timed out after 120 seconds"
        ), severity="warning",
    ),
    "samples can't be sent": Case(
        with_failures(CPU, "workers", "DataLoader, workers started anew: Workers: RuntimeError: could not unlink"),
        severity="fault",
    ),
    "loading raises": Case(
        with_failures(CPU, "io", "torch.save in memory: RuntimeError: unexpected pos 64 vs 0"), severity="fault"
    ),
    "gloo finds no peer": Case(
        with_failures(
            CPU, "distributed", "all-reduce by gloo: Collective: RuntimeError: Gloo connectFullMesh failed"
        ), severity="warning",
    ),
    "an extension crashes": Case(
        with_failures(GPU, "extensions", "flash_attn: it was ended by signal 11 (SIGSEGV)", device="cuda:0"),
        severity="warning",
    ),
}  # fmt: skip
GOOD = {
    "a plan of cuDNN that torch leaves out": (
        "UserWarning: Plan failed with a cudnnException: CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR: cudnnFinalize "
        "Descriptor Failed cudnn_status: CUDNN_STATUS_NOT_SUPPORTED\n"
    ),
    "nothing failed": with_failures(CPU, "compile"),
    "only the quick probe": CPU,
    "a compiler is missing, which is compiler-missing": with_failures(
        CPU, "compile", f"{WHAT}: Compiler: InvalidCxxCompiler: No working C++ compiler found in "
        "torch._inductor.config.cpp.cxx: (None, 'g++')",
    ),
    "the folder is read-only, which is folder-not-writable": with_failures(
        CPU, "compile", f"{WHAT}: OSError: [Errno 30] Read-only file system: '/cache/torchdoctor-a1b2'"
    ),
    "nothing was probed": replace(CPU, probes=()),
}  # fmt: skip
