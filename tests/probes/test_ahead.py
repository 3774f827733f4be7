"""The CUDA context that a child makes beside the import of torch: the driver is played by a module named ctypes."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from doctor.model.facts import Facts, ProbeResult
from doctor.pipeline import Request
from doctor.probes import children
from tests.probes.fakes import LEAST, machine, with_gpus

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="children are told apart by /proc")

# What piece ahead takes of ctypes. A function of the driver gives `answer(name)`.
DRIVER = """
import os, signal, time
ANSWERED = {answered!r}
class c_int:
    value = 0
c_void_p = c_int
def byref(one): return one
def answer(name):
    {body}
    return 0
class CDLL:
    def __init__(self, name):
        if "nvidia-ml" in name:
            raise OSError("libnvidia-ml.so.1: cannot open shared object file")
        assert name == "libcuda.so.1"
    def __getattr__(self, name):
        def function(*arguments):
            with open(ANSWERED, "a") as file: file.write(name + "\\n")
            return answer(name)
        return function
"""
OPENS = """
def get_num_threads(): return 1
def set_num_threads(count): pass
class Device:
    def __init__(self, name): self.type, _, index = name.partition(":"); self.index = int(index or 0)
device = Device
class Generator:
    def manual_seed(self, seed): pass
cuda.get_device_capability = staticmethod(lambda device: (9, 0))
def empty(*shape, device):
    if device.type == "cuda": raise RuntimeError("CUDA error: {error}")
"""
FIRST_TIME = """
import os, time
if "cuda:0" in open("/proc/self/cmdline").read() and not os.path.exists({tried!r}):
    open({tried!r}, "w").close()
"""  # of the import in the child of the GPU
HANGS = "time.sleep(60)"
CRASHES = "os.kill(os.getpid(), signal.SIGSEGV)"


def asked(tmp_path: Path) -> list[str]:
    path = tmp_path / "answered"
    return path.read_text().split() if path.exists() else []


def probed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: str, torch: str = "", limit_s: float = 20.0
) -> tuple[children.Others, ProbeResult | None]:
    """The children, and what is said of cuda:0."""
    monkeypatch.setattr(children, "promised", lambda system, request: ("cuda:0",))
    opens = OPENS.format(error="out of memory")
    system, found = machine(tmp_path, torch + LEAST + with_gpus(1) + opens)
    (tmp_path / "packages" / "ctypes.py").write_text(DRIVER.format(answered=str(tmp_path / "answered"), body=body))
    request = Request(limit_s=limit_s)
    first = children.start_first(system, found, probe=True, request=request)
    others = children.probe(first, system, found, Facts(), request=request, progress=lambda stage: None)
    assert others
    results = children.add(others, Facts()).probes or ()
    return others, next((result for result in results if result.device == "cuda:0"), None)


def test_the_context_is_made_while_torch_is_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """This torch loads its libraries when the driver has been asked, and is not imported before the context is made. So
    it is made in the second half, when nvidia-smi has probably answered."""
    waits = f"""
import os, sys, time
answered = {str(tmp_path / "answered")!r}
def wait_for(word):
    until = time.monotonic() + 15
    while not os.path.exists(answered) or word not in open(answered).read():
        if time.monotonic() > until: raise ImportError("nobody called " + word)
        time.sleep(0.01)
if "cuda:0" in open("/proc/self/cmdline").read():
    wait_for("cuDeviceGet")
    time.sleep(0.1)
    open(answered, "a").write("libraries ")
    sys.modules["torch._C"] = sys
    wait_for("cuDevicePrimaryCtxRetain")
"""
    others, gpu = probed(tmp_path, monkeypatch, "pass", waits)
    assert asked(tmp_path) == ["cuInit", "cuDeviceGet", "libraries", "cuDevicePrimaryCtxRetain"]
    assert gpu
    assert (gpu.status, gpu.stage) == ("failed", "open")
    assert "out of memory" in gpu.reason
    run = others.runs["cuda:0"]
    assert run.ahead
    assert others.devices_used_at is not None
    assert others.devices_used_at < run.since


def test_a_driver_that_hangs_hangs_in_its_stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _, gpu = probed(tmp_path, monkeypatch, HANGS, limit_s=2.0)
    assert gpu
    assert (gpu.status, gpu.stage) == ("timed-out", "open")
    assert asked(tmp_path) == ["cuInit"]


def test_a_driver_that_crashes_beside_the_import_is_met_again_in_its_stage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The import goes on until the crash ends it; alone, it succeeds, and opening the device is what crashes."""
    slow = FIRST_TIME.format(tried=str(tmp_path / "tried")) + "    time.sleep(15)\n"
    dies = "import os, signal\ndef empty(*shape, device):\n    if device.type == 'cuda': os.kill(os.getpid(), 11)\n"
    monkeypatch.setattr("tests.probes.test_ahead.OPENS", OPENS.replace("{error}", "none") + dies)
    others, gpu = probed(tmp_path, monkeypatch, CRASHES, slow)
    assert gpu
    assert (gpu.status, gpu.stage, gpu.signal) == ("crashed", "open", 11)
    assert not others.runs["cuda:0"].ahead


def test_an_import_that_fails_only_beside_the_driver_is_tried_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once cuInit was called, this torch does not import."""
    touched = str(tmp_path / "touched")
    fails = FIRST_TIME.format(tried=str(tmp_path / "tried")) + f"""
    while not os.path.exists({touched!r}): time.sleep(0.01)
    raise ImportError("initialised twice")
"""
    others, gpu = probed(tmp_path, monkeypatch, f"open({touched!r}, 'w').close()", fails)
    assert not others.runs["cuda:0"].ahead
    assert gpu
    assert (gpu.status, gpu.stage) == ("failed", "open")


def test_a_code_of_the_driver_is_left_to_torch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _, gpu = probed(tmp_path, monkeypatch, "return 999")
    assert asked(tmp_path) == ["cuInit"]
    assert gpu
    assert (gpu.status, gpu.stage) == ("failed", "open")
    assert "CUDA error" in gpu.reason


def test_no_child_is_started_again_where_torch_does_not_import(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    others, gpu = probed(tmp_path, monkeypatch, "pass", "import os; os.abort()\n")
    assert gpu is None
    assert others.runs["cuda:0"].failed_ahead


@pytest.mark.parametrize("mode", ["full", "soak:1"])
def test_only_the_quick_probe_is_in_such_a_hurry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: str) -> None:
    monkeypatch.setattr(children, "promised", lambda system, request: ("cuda:0",))
    system, found = machine(tmp_path, LEAST)
    first = children.start_first(system, found, probe=True, request=Request(mode=mode))
    assert not first.gpus["cuda:0"].ahead
    for run in (first.run, *first.gpus.values()):
        assert run
        run.end()
