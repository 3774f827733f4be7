"""Whatever a ticket holds: a question to the tables has an answer, never an exception."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from doctor.knowledge import lookup
from tests.sample import examples

words = st.sampled_from(
    [
        "2.6.0",
        "cu",
        "+cu124",
        "rocm",
        "6.4",
        "a0",
        ".dev",
        "2025",
        "gfx",
        "1100",
        "NVIDIA",
        "RTX",
        "[",
        "]",
        "(",
        ".",
        "-",
        "sm_",
        "²",
        "٣",
    ]
)
texts = st.one_of(
    st.text(max_size=30), st.lists(words, max_size=6).map("".join), st.lists(words, max_size=6).map(" ".join)
)
some = settings(max_examples=examples(200), deadline=None, derandomize=True)


@some
@given(texts, st.none() | texts, st.none() | texts)
def test_versions(version: str, runtime: str | None, platform: str | None) -> None:
    build = lookup.build_of(version, cuda=runtime, hip=runtime, platform=platform)
    backend = build.backend or runtime or ""
    for release in (build.release, version):
        lookup.arch_list_of(release, backend, platform or "linux_x86_64")
        lookup.published(release, backend, platform or "linux_x86_64", version)
        lookup.companion(release, "torchvision", platform, version)
        lookup.mps_minimum(release)
        lookup.numpy_majors(release, "linux")
        lookup.wheel_minimum_macos(release, "macos_arm64", version)
        lookup.wheel_minimum_glibc(release, "linux_x86_64")
        lookup.pythons_of(release, "linux_x86_64")
        lookup.index_url(backend, release)
    lookup.torch_of_companion("torchvision", version)
    lookup.torch_versions(platform, version, version)
    lookup.newest_torch(version)


@some
@given(texts, texts)
def test_drivers_and_systems(one: str, other: str) -> None:
    for system in ("linux", "windows"):
        lookup.driver_runs(one, other, system)
        lookup.cuda_of_driver(one, system)
    lookup.macos_of_darwin(one)
    lookup.platform_of(one, other)


@some
@given(texts, texts)
def test_gpus(one: str, other: str) -> None:
    lookup.gpu_model(one, other)
    lookup.peaks_of(one)
    lookup.branches_of(one)
    lookup.runs_on(one, (other, f"sm_{other}", f"compute_{one}"), other)
    lookup.gfx_runs_on(one, (other,))
    lookup.hsa_override(one)
