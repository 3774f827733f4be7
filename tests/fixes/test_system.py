"""The system's packages, containers, modules, groups and macOS, in the words of the system at hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from doctor.checks.runner import judge
from doctor.fixes.plan import plan
from doctor.model.facts import Facts
from doctor.model.finding import Remedy
from doctor.model.fix import Fix
from tests.examples import linux, mac, windows, with_nvidia, with_torch
from tests.fixes.situations import finding

DEBIAN = {"os_id": "debian", "os_version": "12"}
FEDORA = {"os_id": "fedora", "os_version": "43"}
ROCKY = {"os_id": "rocky", "os_like": ("rhel", "centos", "fedora"), "os_version": "9.4"}
ARCH = {"os_id": "arch", "os_version": None}
LEAP = {"os_id": "opensuse-leap", "os_like": ("suse", "opensuse"), "os_version": "15.6"}
MINT = {"os_id": "linuxmint", "os_like": ("ubuntu", "debian"), "os_version": "22"}


def fix_of(facts: Facts, action: str, **details: str) -> Fix:
    (fix,) = plan([finding("some-id", (action, details))], facts).fixes
    return fix


def package(facts: Facts, name: str) -> Fix:
    return fix_of(facts, "install-system-package", package=name)


def commands(fix: Fix) -> list[str]:
    return [" ".join(step.argv) for step in fix.steps if step.argv]


@pytest.mark.parametrize(
    ("system", "name", "expected"),
    [
        ({}, "libgomp1", "sudo apt install libgomp1"),
        (MINT, "libgomp1", "sudo apt install libgomp1"),
        (FEDORA, "libgomp1", "sudo dnf install libgomp"),
        (ROCKY, "libgomp1", "sudo dnf install libgomp"),
        (ARCH, "libgomp1", "sudo pacman -S gcc-libs"),
        (LEAP, "libgomp1", "sudo zypper install libgomp1"),
        ({}, "libjpeg-turbo8", "sudo apt install libjpeg-turbo8"),
        (DEBIAN, "libjpeg-turbo8", "sudo apt install libjpeg62-turbo"),
        (FEDORA, "ffmpeg", "sudo dnf install ffmpeg-free"),
        (LEAP, "g++", "sudo zypper install gcc-c++"),
        ({}, "python3-dev", "sudo apt install python3.12-dev"),
        (FEDORA, "python3-dev", "sudo dnf install python3-devel"),
        ({}, "python3-venv", "sudo apt install python3.12-venv"),
        ({}, "cuda-toolkit-12-4", "sudo apt install cuda-toolkit-12-4"),
        ({"os_version": "24.04"}, "intel-compute-runtime (Level Zero)",
         "sudo apt install libze1 libze-intel-gpu1 intel-opencl-icd"),
        ({"root": True}, "libgomp1", "apt install libgomp1"),
    ],
)  # fmt: skip
def test_the_command_of_the_system(system: dict[str, object], name: str, expected: str) -> None:
    fix = package(linux(**system), name)  # type: ignore[arg-type]
    assert commands(fix) == [expected]
    assert fix.steps[-1].needs_root
    assert fix.details["package"] == name


@pytest.mark.parametrize(
    ("facts", "name", "words"),
    [
        (linux(**ROCKY), "ffmpeg", "dnf"),
        (linux(os_id="nixos"), "libgomp1", "the distribution's package manager"),
        (linux(**LEAP), "libtinfo6", "zypper"),
        (linux(), "libfoo.so.3", "apt-file search libfoo.so.3"),
        (linux(**FEDORA), "libfoo.so.3", "dnf provides '*/libfoo.so.3'"),
        (linux(), "libstdc++6", "conda-forge's libstdcxx-ng"),
        (linux(), "an older g++", "CC and CXX"),
        (windows(), "zlibwapi.dll", "a folder on PATH"),
        (windows(), "cuda-toolkit-12-4", "https://developer.nvidia.com/cuda-toolkit-archive"),
        (linux(os_version="22.04"), "intel-compute-runtime (Level Zero)", "apt"),
    ],
)
def test_words_where_no_source_has_the_name(facts: Facts, name: str, words: str) -> None:
    fix = package(facts, name)
    assert commands(fix) == []
    assert words in fix.steps[0].text


def test_an_unknown_distribution_gets_the_commands_of_all() -> None:
    fix = package(linux(os_id=None, os_name=None), "libopenmpi-dev")
    assert fix.steps[0].text == (
        "Install Open MPI: Debian and Ubuntu «sudo apt install libopenmpi-dev», Arch «sudo pacman -S openmpi», in a "
        "conda environment «conda install -c conda-forge openmpi»"
    )
    assert "apt-file search libx.so.1 or dnf provides" in package(linux(os_id=None), "libx.so.1").steps[0].text
    assert commands(fix) == []


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("Docker Desktop>=4.31", "Update Docker Desktop to 4.31 or newer."),
        ("libgl1", "Install the OpenGL library."),
        ("libfoo.so.3", "Install libfoo.so.3."),
    ],
)
def test_titles(name: str, title: str) -> None:
    assert package(linux(), name).title == title


def test_a_newer_libstdcxx_is_asked_for_by_what_it_must_have() -> None:
    fix = fix_of(linux(), "install-system-package", package="libstdc++6", minimum="GLIBCXX_3.4.32")
    assert fix.title == "Get a libstdc++ that has GLIBCXX_3.4.32."


def test_what_must_be_added_first() -> None:
    steps = package(linux(), "cuda-toolkit").steps
    assert "https://developer.nvidia.com/cuda-downloads" in steps[0].text
    assert commands(package(linux(), "cuda-toolkit")) == ["sudo apt install cuda-toolkit"]


def test_in_a_container_of_debians_family() -> None:
    fix = package(linux(container="docker"), "libgl1")
    assert commands(fix) == ["apt update", "apt install -y libgl1"]
    assert "Dockerfile" in fix.steps[-1].text
    assert commands(package(linux(container="docker", root=False), "libgl1"))[0] == "sudo apt update"


def test_a_conda_environment_needs_no_root() -> None:
    facts = linux()
    conda = replace(facts.interpreter, environment="conda", manager="conda", prefix="/home/u/c/envs/ml")
    fix = package(replace(facts, interpreter=conda), "g++")
    assert commands(fix) == ["conda install -p /home/u/c/envs/ml -c conda-forge cxx-compiler"]
    assert not any(step.needs_root for step in fix.steps)
    assert commands(package(replace(facts, interpreter=conda), "libgomp1")) == ["sudo apt install libgomp1"]


def test_a_foreign_python_has_no_packages_of_its_version() -> None:
    facts = linux()
    uv = replace(facts.interpreter, base_prefix="/home/u/.local/share/uv/python/cpython-3.12.4-linux-x86_64-gnu")
    assert commands(package(replace(facts, interpreter=uv), "python3-dev")) == ["sudo apt install python3-dev"]


@pytest.mark.parametrize(
    ("facts", "name", "expected"),
    [
        (windows(), "vc_redist", ["winget install Microsoft.VCRedist.2015+.x64"]),
        (mac(), "libomp", ["brew install libomp"]),
        (mac(), "g++", ["xcode-select --install"]),
    ],
)
def test_windows_and_macos(facts: Facts, name: str, expected: list[str]) -> None:
    assert commands(package(facts, name)) == expected


def test_the_build_tools_come_with_their_workload() -> None:
    (step,) = package(windows(), "vs_buildtools").steps
    assert step.argv is not None
    assert step.argv[-2] == "--override"
    assert "VCTools" in step.argv[-1]


def test_the_fabric_manager_of_the_drivers_branch() -> None:
    start = "sudo systemctl enable --now nvidia-fabricmanager"
    hopper = package(with_nvidia(linux(), "NVIDIA H100", driver="535.161.08"), "nvidia-fabricmanager")
    assert commands(hopper) == ["sudo apt install nvidia-fabricmanager-535", start]
    assert "exactly the driver's version 535.161.08" in hopper.steps[0].text
    newer = with_nvidia(linux(), "NVIDIA H100", driver="595.10")
    assert commands(package(newer, "nvidia-fabricmanager")) == [start]


def test_the_container_toolkit_belongs_to_the_host() -> None:
    inside = package(linux(container="docker"), "nvidia-container-toolkit")
    assert commands(inside) == []
    assert "on the host" in inside.steps[0].text
    assert commands(package(linux(), "nvidia-container-toolkit>=1.14.4")) == [
        "sudo apt install nvidia-container-toolkit",
        "sudo nvidia-ctk runtime configure --runtime=docker",
        "sudo systemctl restart docker",
    ]
    assert "cdi generate" in package(linux(container="podman"), "nvidia-container-toolkit").steps[0].text
    assert "device plugin" in package(linux(container="kubernetes"), "nvidia-container-toolkit").steps[0].text


@pytest.mark.parametrize(
    ("runtime", "flag", "words"),
    [
        ("docker", "--gpus all", ("docker run --gpus all …", "«gpus: all» in the service")),
        (None, "--gpus all", ("docker run --gpus all …",)),
        ("podman", "--gpus all", ("podman run --device nvidia.com/gpu=all …",)),
        ("kubernetes", "--gpus all", ("nvidia.com/gpu: 1 under resources.limits",)),
        ("lxc", "--gpus all", ("lxc config device add CONTAINER gpu gpu",)),
        ("apptainer", "--gpus all", ("apptainer exec --nv …",)),
        ("docker", "--device=/dev/kfd --device=/dev/dri", ("docker run --device=/dev/kfd --device=/dev/dri …",)),
        ("kubernetes", "--device=/dev/kfd --device=/dev/dri", ("amd.com/gpu: 1",)),
        ("kubernetes", "--shm-size=8g", ("/dev/shm",)),
        ("podman", "--ipc=host", ("podman run --ipc=host …",)),
        ("docker", "--group-add render", ("docker run --group-add render …",)),
    ],
)
def test_a_container_is_started_in_the_words_of_its_runtime(
    runtime: str | None, flag: str, words: tuple[str, ...]
) -> None:
    fix = fix_of(linux(container=runtime), "container-flag", flag=flag)
    assert all(word in fix.steps[0].text for word in words)
    assert fix.details["flag"] == flag


def test_modules_and_services_are_the_hosts() -> None:
    assert commands(fix_of(linux(), "load-module", module="nvidia_uvm")) == ["sudo modprobe nvidia_uvm"]
    inside = fix_of(linux(container="docker"), "load-module", module="nvidia_uvm")
    assert commands(inside) == []
    assert inside.steps[0].text == "Load the kernel module nvidia_uvm, on the host: sudo modprobe nvidia_uvm"
    assert commands(fix_of(linux(container="docker"), "start-service", service="docker")) == []


def test_groups() -> None:
    fix = fix_of(linux(), "group-membership", groups="render")
    assert fix.steps[-1].text.startswith("Log out and in again")
    inside = fix_of(linux(container="docker"), "group-membership", groups="render,video")
    assert "--group-add render --group-add video" in inside.steps[0].text


def test_words_for_a_folder_become_no_command() -> None:
    for value in ("with the folder of cl.exe", "site-packages/nvidia/cudnn/lib", "/usr/lib/python3.*/nvidia/lib"):
        (step,) = fix_of(linux(), "set-env", name="LD_LIBRARY_PATH", value=value).steps
        assert (step.argv, step.shell) == (None, None)
        assert step.text == f"Set the variable LD_LIBRARY_PATH to {value}"
    (step,) = fix_of(linux(), "set-env", name="LD_LIBRARY_PATH", value="/usr/lib/wsl/lib:/opt/lib").steps
    assert step.shell == "export LD_LIBRARY_PATH=/usr/lib/wsl/lib:/opt/lib"
    (step,) = fix_of(windows(), "set-env", name="CUDA_HOME", value=r"C:\Program Files\CUDA").steps
    assert step.shell is not None


def test_a_folder_in_words_is_told_with_its_variable() -> None:
    details = {"name": "LD_LIBRARY_PATH", "value": "site-packages/nvidia/cudnn/lib"}
    wish = Remedy(
        action="set-env", details=details, text="Let the loader look in the folder of the nvidia-cudnn package."
    )
    (fix,) = plan([replace(finding("some-id"), remedies=(wish,))], linux()).fixes
    assert fix.steps[0].text.endswith("package: LD_LIBRARY_PATH gets site-packages/nvidia/cudnn/lib")


@pytest.mark.parametrize("facts", [linux(), windows()])
def test_a_programs_name_is_no_folder_to_activate(facts: Facts) -> None:
    (step,) = fix_of(facts, "activate-environment", path="python3").steps
    assert (step.text, step.argv, step.shell) == ("Run python3: it is the Python that has torch", None, None)
    (step,) = fix_of(linux(), "activate-environment", path="/home/u/ml/bin/python").steps
    assert step.shell == ". /home/u/ml/bin/activate"


def test_another_build_is_called_one() -> None:
    fix = fix_of(linux(), "use-other-build", build="conda-forge's, or one made on this machine")
    assert fix.title == "Use another build: conda-forge's, or one made on this machine."


def test_no_release_without_mps_on_that_macos_is_offered() -> None:
    facts = with_torch(
        replace(mac(macos="12.6"), live=False), "2.5.1", mps_available=False, mps_built=True, imports=True
    )
    _, findings = judge(facts)
    (fix,) = plan(findings, facts).fixes
    assert fix.action == "upgrade-os"
    assert "until then torch works on this Mac's CPU" in fix.steps[0].text
    (other,) = fix.alternatives  # which of them, errata decide
    assert tuple(map(int, other.details["torch"].split("."))) <= (2, 4, 1)


def test_macos_says_what_the_update_is_worth() -> None:
    fix = fix_of(mac(macos="12.2"), "upgrade-os", minimum="12.3")
    assert fix.title == "Update macOS to 12.3 or newer."
    assert "System Preferences" in fix.steps[0].text
    assert "has MPS from macOS 14.0 on" in fix.steps[0].text
    assert "12.3 has it up to torch 2.4.1" in fix.steps[0].text
    newest = fix_of(mac(macos="13.6"), "upgrade-os", minimum="14.0").steps[0].text
    assert newest == "Update macOS to 14.0 or newer: System Settings, General, Software Update"


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        (linux(), "sudo nvidia-smi -c 0"),
        (linux(root=True), "nvidia-smi -c 0"),
        (windows(), "nvidia-smi -c 0"),
    ],
)
def test_the_compute_mode_is_set_by_nvidia_smi(facts: Facts, expected: str) -> None:
    assert commands(fix_of(facts, "set-compute-mode")) == [expected]


def test_the_compute_mode_is_the_hosts() -> None:
    fix = fix_of(linux(container="docker"), "set-compute-mode", value="0")
    assert not commands(fix)
    assert "on the host: sudo nvidia-smi -c 0" in fix.steps[0].text


@pytest.mark.parametrize(
    ("facts", "limit", "value", "expected"),
    [
        (linux(), "open-files", "65536", "ulimit -n 65536"),
        (linux(), "address-space", "unlimited", "ulimit -v unlimited"),
        (linux(container="docker"), "open-files", "65536", "docker run --ulimit nofile=65536:65536"),
        (linux(container="docker"), "cgroup-processes", "unlimited", "docker run --pids-limit -1"),
        (linux(container="kubernetes"), "cgroup-processes", "4096", "administrators of the cluster"),
        (linux(), "cgroup-processes", "4096", "TasksMax="),
    ],
)
def test_a_limit_is_raised_where_it_is_set(facts: Facts, limit: str, value: str, expected: str) -> None:
    fix = fix_of(facts, "raise-limit", limit=limit, value=value)
    assert expected in (fix.steps[0].shell or fix.steps[0].text)


def test_an_unknown_limit_gives_no_command() -> None:
    fix = fix_of(linux(), "raise-limit", limit="x; reboot", value="1")
    assert [(step.argv, step.shell) for step in fix.steps] == [(None, None)]
    assert "reboot" not in fix.steps[0].text


def test_long_paths_are_a_value_of_the_registry_that_can_be_put_back() -> None:
    step = fix_of(windows(), "enable-long-paths").steps[0]
    assert step.needs_root
    assert (step.argv or ())[-2:] == ("1", "/f")
    assert (step.undo or ())[-2:] == ("0", "/f")


@pytest.mark.parametrize(
    ("container", "expected"), [("docker", "docker restart"), ("kubernetes", "kubectl delete pod"), (None, "Restart")]
)
def test_a_container_is_restarted_from_outside(container: str | None, expected: str) -> None:
    fix = fix_of(linux(container=container), "restart-container")
    assert not commands(fix)
    assert expected in fix.steps[0].text


@pytest.mark.parametrize("action", ["ask-provider", "restart-kernel", "change-image", "free-disk"])
def test_what_is_only_told_has_a_sentence(action: str) -> None:
    assert len(fix_of(linux(), action).steps[-1].text) > 20


@pytest.mark.parametrize(
    ("manager", "expected"),
    [
        ("pip", "-m pip install torchvision --extra-index-url https://download.pytorch.org/whl/cu128"),
        ("uv", "torchvision --index https://download.pytorch.org/whl/cu128"),
    ],
)
def test_an_index_is_added(manager: str, expected: str) -> None:
    facts = linux()
    facts = replace(facts, interpreter=replace(facts.interpreter, manager=manager))
    index = "https://download.pytorch.org/whl/cu128"
    (command,) = commands(fix_of(facts, "add-index", package="torchvision", index=index))
    assert command.endswith(expected)


def test_only_an_index_of_the_tables_is_added() -> None:
    wish = {"package": "torchvision", "index": "https://example.org/whl"}
    assert not plan([finding("some-id", ("add-index", wish))], linux()).fixes


def test_a_package_is_built_in_its_environment() -> None:
    (command,) = commands(fix_of(linux(), "no-build-isolation", package="detectron2"))
    assert command.endswith("-m pip install detectron2 --no-build-isolation")
    assert "--no-build-isolation" in fix_of(linux(), "no-build-isolation").steps[0].text
