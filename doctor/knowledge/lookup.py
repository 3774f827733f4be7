"""Questions to the tables. Pure; a table is read once, when the first question needs it.

Vocabulary: a *release* is torch's public version ("2.6.0"); a *backend* is what a build was made for: "cpu", "mps",
"cu124", "rocm6.4", "xpu", "jetson"; a *platform* is "linux_x86_64", "linux_aarch64", "macos_arm64", "macos_x86_64",
"win_amd64", "win_arm64"; a *capability* is NVIDIA's "8.9"; architectures of an arch list are "sm_86", "compute_90",
"gfx1100". Every answer of None means: the tables do not know. Where a release is asked for, any spelling of a version
will do: a nightly or a post-release is judged by the rules of its release, a release newer than the tables by those
of the newest one known.

The answers come from a module for each group of questions; other rooms import them from here.
"""

from __future__ import annotations

from doctor.knowledge.archs import arch_list_of, gfx_runs_on, hsa_override, runs_on
from doctor.knowledge.downloads import download_mb
from doctor.knowledge.drivers import DriverNeed, architecture_of, branches_of, cuda_of_driver, driver_need, driver_runs
from doctor.knowledge.errata import (
    Erratum,
    Match,
    Place,
    affects,
    errata,
    errata_for,
    erratum_of,
    fix_is_ahead,
)  # fmt: skip
from doctor.knowledge.form import KnowledgeError
from doctor.knowledge.gpus import GpuModel, Peaks, gpu_model, peaks_of
from doctor.knowledge.interfaces import (
    device_since,
    has_own_library,
    is_name,
    name_removed,
    name_since,
    nvidia_component,
    pins_of,
    present_in,
    system_package,
)
from doctor.knowledge.load import refused, use
from doctor.knowledge.messages import (
    ErrorPattern,
    error_pattern,
    error_patterns,
    macos_named,
    macos_of_darwin,
    times_behind,
)
from doctor.knowledge.releases import (
    Build,
    backends_of,
    build_of,
    companion,
    cuda_of_backend,
    default_backend,
    index_url,
    is_release,
    mps_minimum,
    newest_torch,
    newest_with_mps,
    numpy_majors,
    on_conda_channel,
    platform_of,
    published,
    pythons_of,
    release_date,
    tables_date,
    torch_of_companion,
    torch_versions,
    wheel_minimum_glibc,
    wheel_minimum_macos,
)  # fmt: skip
from doctor.knowledge.system import (
    Distribution,
    DistributionDriver,
    Packages,
    commands_elsewhere,
    conda_packages,
    distribution_driver,
    package_manager,
    system_packages,
    what_is,
)  # fmt: skip
from doctor.knowledge.variables import HarmfulVariable, allocator_option_since, harmful_variables
from doctor.knowledge.versions import release_of
from doctor.knowledge.words import HEALTHY, Resemblance, resemblances, terms_of
from doctor.knowledge.words import says as words_say

__all__ = [
    "HEALTHY",
    "Build",
    "Distribution",
    "DistributionDriver",
    "DriverNeed",
    "Erratum",
    "ErrorPattern",
    "GpuModel",
    "HarmfulVariable",
    "KnowledgeError",
    "Match",
    "Packages",
    "Peaks",
    "Place",
    "Resemblance",
    "affects",
    "allocator_option_since",
    "arch_list_of",
    "architecture_of",
    "backends_of",
    "branches_of",
    "build_of",
    "commands_elsewhere",
    "companion",
    "conda_packages",
    "cuda_of_backend",
    "cuda_of_driver",
    "default_backend",
    "device_since",
    "distribution_driver",
    "download_mb",
    "driver_need",
    "driver_runs",
    "errata",
    "errata_for",
    "erratum_of",
    "error_pattern",
    "error_patterns",
    "fix_is_ahead",
    "gfx_runs_on",
    "gpu_model",
    "harmful_variables",
    "has_own_library",
    "hsa_override",
    "index_url",
    "is_name",
    "is_release",
    "macos_named",
    "macos_of_darwin",
    "mps_minimum",
    "name_removed",
    "name_since",
    "newest_torch",
    "newest_with_mps",
    "numpy_majors",
    "nvidia_component",
    "on_conda_channel",
    "package_manager",
    "peaks_of",
    "pins_of",
    "platform_of",
    "present_in",
    "published",
    "pythons_of",
    "refused",
    "release_date",
    "release_of",
    "resemblances",
    "runs_on",
    "system_package",
    "system_packages",
    "tables_date",
    "terms_of",
    "times_behind",
    "torch_of_companion",
    "torch_versions",
    "use",
    "what_is",
    "wheel_minimum_glibc",
    "wheel_minimum_macos",
    "words_say",
]  # fmt: skip
