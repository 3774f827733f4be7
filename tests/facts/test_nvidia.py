"""The driver's sources: one that hangs is never «no driver»."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from doctor.facts.gpus import merged, nvidia, pci
from doctor.facts.gpus.driver_files import Promised
from doctor.facts.notes import Notes
from doctor.facts.system import System
from doctor.formats.nvidia_smi import SmiGpu
from doctor.model.facts import ABSENT, Gpu, Nvidia

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="shell scripts")


@pytest.fixture
def machine(tmp_path: Path):
    """A Linux machine of the given files and tools; returns its nvidia facts, notes and the seconds that it took."""

    def look(
        tools: dict[str, str] | None = None, files: dict[str, str] | None = None, **given: float
    ) -> tuple[Nvidia, Notes, float]:
        (tmp_path / "machine.json").write_text(json.dumps({"uname": {"system": "linux", "machine": "x86_64"}}))
        (tmp_path / "dev").mkdir(exist_ok=True)
        for name, text in (files or {}).items():
            path = tmp_path / name.lstrip("/").replace(":", "%3A")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        (tmp_path / "bin").mkdir(exist_ok=True)
        for name, text in (tools or {}).items():
            (tmp_path / "bin" / name).write_text("#!/bin/sh\n" + text)
            (tmp_path / "bin" / name).chmod(0o755)
        started = time.monotonic()
        notes = Notes()
        for name, value in given.items():
            setattr(notes, name, value)
        nvidia.start(System.of_folder(str(tmp_path)), notes)(notes)
        return Nvidia(**notes.fields("nvidia")), notes, time.monotonic() - started

    return look


PROC = {"/proc/driver/nvidia/version": "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  575.64.03  Release\n"}
HANGS = {"nvidia-smi": "exec sleep 600\n"}


def status_of(facts: Nvidia, name: str) -> str:
    return next(source.status for source in facts.sources if source.name == name)


def test_nothing_there_is_absent(machine) -> None:
    facts, notes, _ = machine()
    assert facts.driver is ABSENT
    assert {source.status for source in facts.sources} == {"absent"}
    assert notes.get("nvidia.device_nodes") == ()


def test_a_hanging_nvidia_smi_leaves_the_driver_known(machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nvidia, "SMI_LIMIT_S", 0.3)
    facts, notes, seconds = machine(HANGS, PROC)
    assert facts.driver == "575.64.03"
    assert status_of(facts, "nvidia-smi") == "timed-out"
    assert facts.smi_error is None
    assert {gap.fact: gap.reason for gap in notes.gaps}["nvidia.smi_error"] == "timed-out"
    assert seconds < 3


def test_a_hanging_nvidia_smi_is_not_waited_for_where_all_else_has_answered(
    machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nvidia, "SMI_LEAST_S", 0.1)
    facts, _, _ = machine(HANGS, PROC, patience_s=0.1)
    assert status_of(facts, "nvidia-smi") == "timed-out"
    assert waited_s(facts) < nvidia.SMI_LIMIT_S
    assert facts.driver == "575.64.03"


NO_LIBRARY = {"doctor-python": """echo '{"absent": "libcuda.so.1: No such file or directory"}'"""}


def waited_s(facts: Nvidia) -> float:
    """How long nvidia-smi was waited for, as the report says."""
    source = next(source for source in facts.sources if source.name == "nvidia-smi")
    said = re.fullmatch(r"no answer after ([\d.]+) s", source.message)
    assert said is not None, source
    return float(said[1])


@pytest.mark.parametrize(
    ("scripts", "files", "woken"),
    [
        (NO_LIBRARY, {}, False),
        (NO_LIBRARY, PROC, True),
        (NO_LIBRARY, {"/sys/module/nvidia/version": "575.64.03\n"}, True),
        (NO_LIBRARY, {"/dev/nvidia0": ""}, True),
        (NO_LIBRARY, {"/dev/nvhost-gpu": ""}, True),
        (NO_LIBRARY, {"/dev/dxg": ""}, True),
        (NO_LIBRARY, {f"/sys/bus/pci/devices/0000:17:00.0/{name}": word for name, word in (
            ("class", "0x030200"), ("vendor", "0x10de"), ("device", "0x2335"))}, True),
        ({"doctor-python": """echo '{"libcuda": "/usr/lib/libcuda.so.1"}'"""}, {}, True),
        ({"doctor-python": "exit 1"}, {}, True),
        ({}, {}, True),
    ],
    ids=["nothing", "proc", "module", "node", "tegra", "wsl", "bus", "library", "library-crashes", "library-unknown"],
)  # fmt: skip
def test_nvidia_smi_gets_time_to_wake_a_gpu_only_where_one_may_be(
    machine, monkeypatch: pytest.MonkeyPatch, scripts: dict[str, str], files: dict[str, str], woken: bool
) -> None:
    monkeypatch.setattr(nvidia, "SMI_LEAST_S", 0.5)
    monkeypatch.setattr(nvidia.Child, "hurry", lambda self, s, at_least: hurried.append(at_least) or self.kill())
    hurried: list[float] = []
    machine({**HANGS, **scripts}, files, patience_s=0.0)
    assert set(hurried) == {0.5 if woken else 0.0}


def test_where_nothing_of_nvidia_is_there_a_hanging_nvidia_smi_is_given_up_soon(machine) -> None:
    facts, _, _ = machine({**HANGS, **NO_LIBRARY}, patience_s=0.1)
    assert status_of(facts, "nvidia-smi") == "timed-out"
    assert waited_s(facts) < nvidia.SMI_LEAST_S


def test_a_second_source_that_hangs_gets_its_time(machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nvidia, "LIBCUDA_LIMIT_S", 0.2)
    monkeypatch.setattr(nvidia, "SMI_LEAST_S", 0.0)
    monkeypatch.setattr(nvidia, "SMI_LIMIT_S", 1.1)
    facts, _, _ = machine({**HANGS, "doctor-python": "exec sleep 600\n"}, PROC, patience_s=0.0)
    assert {s.name: s.message for s in facts.sources if s.status == "timed-out"} == {
        "libcuda": "no answer after 0.2 s", "nvidia-smi": "no answer after 1.1 s",
    }  # fmt: skip


SMI_WITH_PROCESSES = """case "$*" in
*--query-gpu=*) echo '0, NVIDIA A10, GPU-1, 00000000:17:00.0, 0x223610DE, 24576, 812, Default, 550.54.15, 8.6' ;;
*) cat <<'END'
| NVIDIA-SMI 550.54.15              Driver Version: 550.54.15      CUDA Version: 12.4     |
| Processes:                                                                              |
|    0   N/A  N/A      1234      C   python                                        800MiB |
END
esac
"""


def test_what_nvidia_smi_saw_while_our_probes_ran_is_not_others_work(machine) -> None:
    facts, notes, _ = machine({"nvidia-smi": SMI_WITH_PROCESSES}, PROC)
    assert (facts.gpus_seen, facts.processes) == (1, 1)
    assert [gpu.memory_used_bytes for gpu in notes.get("gpus.nvidia")] == [812 << 20]
    facts, notes, _ = machine({}, PROC, devices_used_at=0.0)
    assert (facts.gpus_seen, facts.processes) == (1, None)
    assert [gpu.memory_used_bytes for gpu in notes.get("gpus.nvidia")] == [None]


def test_files_promise_gpus_before_any_tool_answers(tmp_path: Path) -> None:
    (tmp_path / "machine.json").write_text(json.dumps({"uname": {"system": "linux", "machine": "x86_64"}}))
    for name in ("dev/nvidia0", "dev/nvidia1", "dev/nvidiactl", "dev/nvidia-uvm"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("")
    (tmp_path / "bin").mkdir()
    stack = nvidia.start(System.of_folder(str(tmp_path)), Notes())
    assert stack.promised() is None, "no driver is loaded"
    (tmp_path / "proc/driver/nvidia").mkdir(parents=True)
    (tmp_path / "proc/driver/nvidia/version").write_text(PROC["/proc/driver/nvidia/version"])
    assert stack.promised() == Promised("575.64.03", 2)


def test_a_hang_alone_is_not_read_as_no_driver(machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nvidia, "SMI_LIMIT_S", 0.3)
    facts, notes, _ = machine(HANGS)
    assert facts.driver is None
    assert {gap.fact: gap.reason for gap in notes.gaps}["nvidia.driver"] == "timed-out"


def test_libcuda_that_hangs_in_cuinit_keeps_what_was_said_before(machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nvidia, "LIBCUDA_LIMIT_S", 0.3)
    script = 'echo \'{"libcuda": "/usr/lib/libcuda.so.550.54.15"}\'\necho \'{"driver_cuda": "12.4"}\'\nexec sleep 600\n'
    facts, _, _ = machine({"doctor-python": script})
    assert status_of(facts, "libcuda") == "timed-out"
    assert (facts.driver, facts.driver_cuda, facts.cuinit) == ("550.54.15", "12.4", None)


@pytest.mark.parametrize(
    "error",
    [
        "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.",
        "Failed to initialize NVML: Driver/library version mismatch",
        "No devices were found",
    ],
)
def test_errors_of_nvidia_smi(machine, error: str) -> None:
    facts, _, _ = machine({"nvidia-smi": f'echo "{error}"\nexit 9\n'})
    assert facts.smi_error == error
    assert facts.driver is None
    assert status_of(facts, "nvidia-smi") == "failed"
    assert facts.gpus_seen == (0 if error.startswith("No devices") else None)


def test_the_toolkit_says_nothing_of_the_driver(machine) -> None:
    facts, _, _ = machine({"nvcc": "echo 'Cuda compilation tools, release 13.0, V13.0.88'\n"})
    assert (facts.toolkit, facts.driver) == ("13.0", ABSENT)


def test_nvswitch_machines_need_the_fabric_manager(machine) -> None:
    folder = "/sys/bus/pci/devices/0000:05:00.0"
    switch = {f"{folder}/class": "0x068000\n", f"{folder}/vendor": "0x10de\n", f"{folder}/device": "0x22a3\n"}
    facts, _, _ = machine(
        {"systemctl": "echo inactive; exit 3\n", "nv-fabricmanager": "echo 'version is : 550.54.15'\n"}, switch
    )
    assert (facts.fabric_manager, facts.fabric_manager_version) == ("stopped", "550.54.15")


def test_jetson_is_named_by_the_device_tree(machine) -> None:
    _, notes, _ = machine(files={"/proc/device-tree/compatible": "nvidia,p3737-0000+p3701-0000\0nvidia,tegra234\0"})
    (gpu,) = notes.get("gpus.tegra")
    assert (gpu.name, gpu.integrated) == ("Orin", True)


BUS = tuple(Gpu(vendor="nvidia", pci_address=f"0000:0{n}:00.0", pci_id="10de:2330") for n in (1, 2))
SEEN = (SmiGpu(index=0, name="NVIDIA H100 80GB HBM3", pci_address="0000:02:00.0", capability="9.0"),)


def test_on_a_machine_a_gpu_that_the_driver_lost_still_counts() -> None:
    assert [gpu.name for gpu in merged.join_nvidia(BUS, SEEN)] == [None, "NVIDIA H100 80GB HBM3"]


def test_in_a_container_only_the_given_gpus_count() -> None:
    assert [gpu.name for gpu in merged.join_nvidia(BUS, SEEN, only_seen=True)] == ["NVIDIA H100 80GB HBM3"]
    assert merged.join_nvidia(BUS, (), only_seen=True) == BUS


def test_no_bus_and_no_tool_is_not_known(tmp_path: Path) -> None:
    notes = Notes()
    (tmp_path / "machine.json").write_text(json.dumps({"uname": {"system": "linux"}}))
    pci.start(System.of_folder(str(tmp_path)), notes)(notes)
    merged.write(notes)
    assert notes.get("gpus") is None
    assert [gap.fact for gap in notes.gaps] == ["gpus"]


# --- which libcuda the loader takes, and whose the device nodes are ---


def said(*lines: dict[str, object]) -> dict[str, str]:
    return {"doctor-python": "".join(f"echo '{json.dumps(line)}'\n" for line in lines)}


def test_a_file_that_is_no_library_is_broken_not_absent(machine) -> None:
    facts, _, _ = machine(said({"broken": "/opt/x/libcuda.so.1: file too short"}, {"done": True}), PROC)
    assert facts.libcuda == "/opt/x/libcuda.so.1"
    assert facts.libcuda_broken == "/opt/x/libcuda.so.1: file too short"
    assert facts.cuinit is None


def test_a_libcuda_that_the_loader_does_not_find_lies_elsewhere(machine) -> None:
    files = {"/run/opengl-driver/lib/libcuda.so.1": "", **PROC}
    facts, _, _ = machine(said({"absent": "libcuda.so.1: cannot open shared object file"}), files)
    assert facts.libcuda is ABSENT
    assert facts.libcuda_broken is ABSENT
    assert facts.libcuda_elsewhere == ("/run/opengl-driver/lib/libcuda.so.1",)


def test_masked_and_closed_nodes(machine) -> None:
    files = {"/dev/nvidia0": "", "/dev/nvidia1": "", "/dev/nvidiactl": "", **PROC}
    lines = {"false_nodes": ["/dev/nvidia1"]}, {"cuinit": 0}, {"closed_nodes": ["/dev/nvidia0"]}
    facts, _, _ = machine(said(*lines), files)
    assert facts.false_nodes == ("/dev/nvidia1",)
    assert facts.closed_nodes == ("/dev/nvidia0",)
    assert facts.nodes_accessible is False


def test_without_nodes_nothing_is_said_of_them(machine) -> None:
    facts, notes, _ = machine(said({"false_nodes": []}, {"closed_nodes": []}))
    assert facts.nodes_accessible is None
    assert {gap.fact: gap.reason for gap in notes.gaps}["nvidia.nodes_accessible"] == "not-applicable"


@pytest.mark.parametrize(
    ("line", "flavour"),
    [
        ("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  575.64.03  Release Build\n", "open"),
        ("NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.183.01  Sun May 12 19:39:15 UTC 2024\n", "proprietary"),
    ],
)
def test_the_flavour_of_the_module(machine, line: str, flavour: str) -> None:
    facts, _, _ = machine(files={"/proc/driver/nvidia/version": line})
    assert facts.module_flavour == flavour


def run_libcuda(folder: Path) -> list[dict[str, object]]:
    script = Path(nvidia.__file__).parents[2] / "inside" / "libcuda.py"
    environ = {**os.environ, "LD_LIBRARY_PATH": str(folder)}
    done = subprocess.run([sys.executable, "-I", str(script)], env=environ, capture_output=True, text=True, timeout=30)
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.skipif(sys.platform != "linux", reason="the loader of Linux")
def test_the_child_tells_an_empty_library_from_none(tmp_path: Path) -> None:
    (tmp_path / "libcuda.so.1").write_bytes(b"")
    lines = run_libcuda(tmp_path)
    assert {"broken": f"{tmp_path}/libcuda.so.1: file too short"} in lines
    assert not any("absent" in line for line in lines)
    assert lines[-1] == {"done": True}


@pytest.mark.parametrize(
    ("devices", "instances"),
    [
        ("|  No MIG devices found                                                                 |", 0),
        ("|  0    1   0   0  |     11MiB / 20224MiB | 42      0 |  3   0    2    0    0 |", 1),
    ],
)
def test_mig_mode_and_its_instances(machine, devices: str, instances: int) -> None:
    table = f"""cat <<'END'
| NVIDIA-SMI 530.41.03              Driver Version: 530.41.03    CUDA Version: 12.1     |
|   0  NVIDIA A100-SXM4-80GB           Off| 00000000:40:00.0 Off |                   On |
| N/A   27C    P0               31W / 400W|      0MiB / 81920MiB |     N/A      Default |
|                                         |                      |              Enabled |
| MIG devices:                                                                          |
{devices}
END
"""
    found, _, _ = machine({"nvidia-smi": table})
    assert (found.mig, found.mig_instances) == (True, instances)
