"""The variables that matter to torch, its tools and this search. Others are never read into the facts."""

from __future__ import annotations

from doctor.facts.notes import Notes
from doctor.facts.system import System
from doctor.redaction.keys import is_secret_name

# Prefixes of whole families, and single names. Nothing here may hold a secret or say where somebody works (no
# addresses of machines); what a value holds all the same is found when the report is redacted.
PREFIXES = (
    "CUDA_", "CUDNN_", "CUBLAS_", "NVIDIA_", "NCCL_", "TORCH_", "PYTORCH_", "TORCHINDUCTOR_", "TRITON_", "HIP_", "HSA_",
    "ROCR_", "ROCM_", "MIOPEN_", "ZE_", "SYCL_", "ONEAPI_", "IPEX_", "XPU_", "MTL_", "METAL_", "OMP_", "MKL_", "KMP_",
    "GOMP_", "OPENBLAS_", "DYLD_", "ACCELERATE_", "AMD_",
)  # fmt: skip
NAMES = frozenset((
    "PATH", "LD_LIBRARY_PATH", "LD_PRELOAD", "LIBRARY_PATH", "CPATH", "PYTHONPATH", "PYTHONHOME", "PYTHONNOUSERSITE",
    "PYTHONUSERBASE", "PYTHONSAFEPATH", "PYTHONSTARTUP", "VIRTUAL_ENV", "CONDA_PREFIX", "CONDA_DEFAULT_ENV",
    "CONDA_SHLVL", "UV_PYTHON", "UV_PROJECT_ENVIRONMENT", "PIXI_PROJECT_ROOT", "PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL",
    "PIP_NO_INDEX",
    "PIP_FIND_LINKS", "PIP_TARGET", "PIP_PREFIX", "PIP_USER", "PIP_NO_BUILD_ISOLATION", "PIP_REQUIRE_VIRTUALENV",
    "UV_INDEX_URL", "UV_EXTRA_INDEX_URL", "UV_INDEX", "UV_DEFAULT_INDEX", "UV_TORCH_BACKEND", "GPU_DEVICE_ORDINAL",
    "MASTER_PORT", "RANK", "LOCAL_RANK", "WORLD_SIZE", "CC", "CXX", "CFLAGS", "CXXFLAGS", "MAX_JOBS",
    "MACOSX_DEPLOYMENT_TARGET", "SYSTEM_VERSION_COMPAT", "ARCHPREFERENCE", "FORCE_CUDA", "TMPDIR",
    "SLURM_JOB_GPUS", "COLAB_GPU", "KAGGLE_KERNEL_RUN_TYPE", "WSL_DISTRO_NAME", "CI",
    "CODEX_SANDBOX", "SANDBOX_RUNTIME", "APP_SANDBOX_CONTAINER_ID",
))  # fmt: skip


def collect(system: System, notes: Notes) -> None:
    """Facts.environ: the allow-listed variables that are set."""
    notes.set("environ", {k: v for k, v in sorted(system.environ.items()) if is_allowed(k)}, "environment")


def is_allowed(name: str) -> bool:
    """Whether a variable may be read into the facts."""
    upper = name.upper()
    return (upper in NAMES or upper.startswith(PREFIXES)) and not is_secret_name(upper)
