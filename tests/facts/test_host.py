"""The surroundings of a Linux machine, and the sandbox of a Mac, from a few files."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from doctor.facts import environ, host
from doctor.facts.notes import Notes
from doctor.facts.system import System
from doctor.model.facts import ABSENT, Limits


@pytest.fixture
def look(tmp_path: Path):
    """host.* of a machine of these files."""

    def look(files: dict[str, str] | None = None, release: str = "6.8.0", **said: Any) -> Notes:
        uname = {"system": "linux", "release": release, "machine": "x86_64"}
        (tmp_path / "machine.json").write_text(json.dumps({"uname": uname, **said}))
        for name, text in (files or {}).items():
            path = tmp_path / name.lstrip("/")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        notes = Notes()
        host.start(System.of_folder(str(tmp_path)), notes)(notes)
        return notes

    return look


@pytest.mark.parametrize(
    ("release", "files", "expected"),
    [
        ("6.8.0-45-generic", {}, ABSENT),
        ("5.15.153.1-microsoft-standard-WSL2", {}, 2),
        ("4.19.104-microsoft-standard", {}, 2),
        ("4.4.0-19041-Microsoft", {}, 1),
        ("6.6.9-microsoft-custom", {"/dev/dxg": ""}, 2),
    ],
)
def test_wsl(look, release: str, files: dict[str, str], expected: object) -> None:
    assert look(files, release).get("host.wsl") == expected


@pytest.mark.parametrize(
    ("files", "variables", "expected"),
    [
        ({}, {}, ABSENT),
        ({"/.dockerenv": ""}, {}, "docker"),
        ({"/run/.containerenv": ""}, {}, "podman"),
        ({"/.dockerenv": ""}, {"KUBERNETES_SERVICE_HOST": "10.0.0.1"}, "kubernetes"),
        ({"/proc/1/cgroup": "12:memory:/docker/0123\n"}, {}, "docker"),
        ({"/proc/1/environ": "A=1\0container=lxc\0"}, {}, "lxc"),
        ({}, {"APPTAINER_CONTAINER": "/x.sif"}, "apptainer"),
    ],
)
def test_containers(look, files: dict[str, str], variables: dict[str, str], expected: object) -> None:
    assert look(files, environ=variables).get("host.container") == expected


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({}, False),
        ({"/dev/nvidiactl": ""}, True),
        ({"/proc/self/mountinfo": "1 2 0:1 / /proc/driver/nvidia rw - tmpfs tmpfs rw\n"}, True),
    ],
)
def test_an_images_own_variable_is_no_gpu(look, files: dict[str, str], expected: bool) -> None:
    notes = look({"/.dockerenv": "", **files}, environ={"NVIDIA_VISIBLE_DEVICES": "all"})
    assert notes.get("host.container_gpus") is expected


def test_limits_of_cgroup_v2_and_v1(look) -> None:
    v2 = look({"/proc/self/cgroup": "0::/a/b\n", "/sys/fs/cgroup/a/b/cpu.max": "150000 100000\n",
               "/sys/fs/cgroup/a/b/memory.max": "max\n"})  # fmt: skip
    assert (v2.get("host.cgroup_cpus"), v2.get("host.cgroup_memory_bytes")) == (1.5, ABSENT)


def test_limits_of_cgroup_v1(look) -> None:
    v1 = look({
        "/proc/self/cgroup": "4:memory:/docker/01\n2:cpu,cpuacct:/docker/01\n",
        "/sys/fs/cgroup/memory/memory.limit_in_bytes": "536870912\n",
        "/sys/fs/cgroup/memory/docker/01/memory.limit_in_bytes": "9223372036854771712\n",
        "/sys/fs/cgroup/cpu/cpu.cfs_quota_us": "200000\n", "/sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n",
    })  # fmt: skip
    assert (v1.get("host.cgroup_cpus"), v1.get("host.cgroup_memory_bytes")) == (2.0, 512 << 20)


def test_whether_the_user_is_root(look, monkeypatch: pytest.MonkeyPatch) -> None:
    assert look(is_root=True).get("host.root") is True
    assert look(is_root=False).get("host.root") is False
    assert look().get("host.root") is None
    monkeypatch.setattr(os, "geteuid", lambda: 0, raising=False)
    assert System(environ={}).is_root() is True


def test_gvisor(look) -> None:
    version = "Linux version 4.4.0 (root@runsc) #1 SMP Sun Jan 10 15:06:54 PST 2016\n"
    assert look({"/proc/version": version}).get("host.sandbox") == "gvisor"
    assert look({"/proc/version": "Linux version 6.8.0\n"}).get("host.sandbox") is ABSENT


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"/sys/class/dmi/id/sys_vendor": "Amazon EC2\n"}, "ec2"),
        ({"/sys/class/dmi/id/sys_vendor": "Dell Inc.\n"}, ABSENT),
        ({"/proc/cpuinfo": "flags\t: fpu hypervisor avx\n"}, "unknown"),
        ({}, None),
    ],
)
def test_virtual_machines(look, files: dict[str, str], expected: object) -> None:
    notes = look(files)
    assert notes.get("host.virtual_machine") == expected
    assert ("host.virtual_machine" in {gap.fact for gap in notes.gaps}) == (expected is None)


def test_jetson(look) -> None:
    text = "# R36 (release), REVISION: 4.0, GCID: 37537400, BOARD: generic, EABI: aarch64\n"
    assert look({"/etc/nv_tegra_release": text}).get("host.jetson") == "36.4.0"


def test_what_cannot_be_read_is_a_gap_not_a_guess(look) -> None:
    notes = look()
    gaps = {gap.fact: gap.reason for gap in notes.gaps}
    for fact in ("host.os_name", "host.cpu_flags"):
        assert notes.get(fact) is None
        assert gaps[fact] == "not-installed"


def test_only_listed_variables_are_read_and_no_secrets() -> None:
    notes = Notes()
    given = {
        "CUDA_VISIBLE_DEVICES": "0",
        "PATH": "/bin",
        "AWS_SECRET_ACCESS_KEY": "x",
        "TORCH_TOKEN": "x",
        "EDITOR": "vi",
    }
    environ.collect(System(environ=given), notes)
    assert notes.get("environ") == {"CUDA_VISIBLE_DEVICES": "0", "PATH": "/bin"}


def test_memory_without_psutil_is_a_gap(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psutil", None)
    notes = Notes()
    host.write_room(System(), notes)
    assert notes.get("host.memory_bytes") is None
    assert {g.fact: g.reason for g in notes.gaps}["host.memory_bytes"] == "not-installed"


LIMITS = """\
Limit                     Soft Limit           Hard Limit           Units
Max cpu time              3600                 unlimited            seconds
Max data size             unlimited            unlimited            bytes
Max processes             513046               513046               processes
Max open files            30                   1048576              files
Max address space         4294967296           unlimited            bytes
"""


def test_limits_of_the_process(look) -> None:
    notes = look(
        {
            "/proc/self/limits": LIMITS,
            "/proc/self/status": "Name:\tpython\nNoNewPrivs:\t1\nSeccomp:\t2\n",
            "/proc/self/cgroup": "0::/job\n",
            "/sys/fs/cgroup/job/pids.max": "max\n",
            "/sys/fs/cgroup/pids.max": "100\n",
            "/sys/fs/cgroup/pids.current": "97\n",
        }
    )
    assert notes.get("host.no_new_privileges") is True
    assert notes.get("host.limits") == Limits(
        open_files=30,
        processes=513046,
        address_space_bytes=4 << 30,
        data_bytes=ABSENT,
        cpu_seconds=3600,
        cgroup_processes=100,
        cgroup_processes_now=97,
    )


def test_limits_that_cannot_be_read_are_a_gap(look) -> None:
    notes = look()
    assert {gap.fact: gap.reason for gap in notes.gaps}["host.limits"] == "not-installed"
    assert notes.get("host.no_new_privileges") is None
