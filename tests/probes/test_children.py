"""The children against targets that misbehave in every way known: each ends with a named stage and cause."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from doctor.facts.system import System
from doctor.facts.target import Found
from doctor.model.facts import ABSENT, Facts, ImportFailure, StartFailure, Torch
from doctor.pipeline import Request
from doctor.probes import children, imported, limits
from tests.probes.fakes import LEAST, look, machine, with_gpus

posix = pytest.mark.skipif(sys.platform == "win32", reason="signals are a matter of POSIX")

SEGFAULT = "import ctypes; ctypes.string_at(0)"


def failure_of(facts: Facts) -> ImportFailure:
    assert isinstance(facts.torch, Torch)
    assert facts.torch.imports is False
    assert isinstance(facts.torch.import_failure, ImportFailure)
    return facts.torch.import_failure


@posix
@pytest.mark.parametrize(
    ("body", "number", "message"),
    [
        (SEGFAULT, signal.SIGSEGV, "Segmentation fault"),
        ("import os; os.abort()", signal.SIGABRT, "Aborted"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGILL)", signal.SIGILL, "Illegal instruction"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", signal.SIGKILL, "SIGKILL"),
    ],
    ids=["segfault", "abort", "illegal-instruction", "killed"],
)  # fmt: skip
def test_death_by_signal_is_named(tmp_path: Path, body: str, number: int, message: str) -> None:
    facts = look(*machine(tmp_path, body))
    failure = failure_of(facts)
    assert failure.kind == "signal"
    assert (failure.signal, failure.exit_code, failure.stage) == (number, None, "import")
    assert message in failure.message
    assert facts.probes == ()


@posix
def test_the_stack_of_a_crash_is_kept(tmp_path: Path) -> None:
    facts = look(*machine(tmp_path, SEGFAULT))
    assert f'{os.path.join("torch", "__init__.py")}", line 1' in failure_of(facts).traceback


@pytest.mark.parametrize(
    ("body", "code", "exception"),
    [
        ("import sys; sys.exit(3)", 3, "SystemExit"),
        ("import sys; sys.exit()", 0, "SystemExit"),
        ("import sys; sys.exit('no licence')", 1, "SystemExit"),
        ("import os; os._exit(139)", 139, None),
        ("import os; os._exit(0)", 0, None),
    ],
)
def test_an_import_that_ends_the_program(tmp_path: Path, body: str, code: int, exception: str | None) -> None:
    facts = look(*machine(tmp_path, body))
    failure = failure_of(facts)
    assert failure.kind == "exit"
    assert (failure.exit_code, failure.signal, failure.exception, failure.stage) == (code, None, exception, "import")
    assert str(code) in failure.message


@pytest.mark.parametrize(
    ("body", "exception", "message"),
    [
        ("raise ImportError('libcudnn.so.9: cannot open shared object file: No such file or directory')", "ImportError",
         "libcudnn.so.9: cannot open shared object file: No such file or directory"),
        ("raise OSError('[WinError 126] fbgemm.dll')", "OSError", "[WinError 126] fbgemm.dll"),
        ("import nowhere_to_be_found", "ModuleNotFoundError", "No module named 'nowhere_to_be_found'"),
        ("def f(:", "SyntaxError", "invalid syntax"),
        ("raise KeyboardInterrupt('by a module')", "KeyboardInterrupt", "by a module"),
        ("x = 1", "AttributeError", "the module named torch is not PyTorch"),
    ],
)  # fmt: skip
def test_an_import_that_raises(tmp_path: Path, body: str, exception: str, message: str) -> None:
    facts = look(*machine(tmp_path, body))
    failure = failure_of(facts)
    assert (failure.kind, failure.exception, failure.stage) == ("exception", exception, "import")
    assert message in failure.message
    assert facts.probes == ()


def test_the_traceback_names_the_file(tmp_path: Path) -> None:
    facts = look(*machine(tmp_path, "import sys\n\nraise ImportError('undefined symbol: iJIT_NotifyEvent')"))
    trace = failure_of(facts).traceback
    assert f'{os.path.join("torch", "__init__.py")}", line 3, in <module>' in trace
    assert trace.endswith("ImportError: undefined symbol: iJIT_NotifyEvent")


def test_a_users_torch_file_is_seen_as_the_users_program_sees_it(tmp_path: Path) -> None:
    system, found = machine(tmp_path, LEAST)
    shadow = tmp_path / "work" / "torch.py"
    shadow.write_text("x = 1")
    facts = look(system, found)
    assert shadow.name in failure_of(facts).message


@posix
def test_a_hanging_import_ends_at_its_limit_with_its_stack_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "IMPORT_LIMIT_S", 1.5)
    left = tmp_path / "grandchild"
    body = f"""
import subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
open({str(left)!r}, "w").write(str(child.pid))
def where_it_hangs():
    time.sleep(60)
where_it_hangs()
"""
    said: list[str] = []
    started = time.monotonic()
    facts = look(*machine(tmp_path, body), limit_s=None, said=said)
    assert time.monotonic() - started < 8
    failure = failure_of(facts)
    assert (failure.kind, failure.stage) == ("timed-out", "import")
    assert "1.5 s" in failure.message
    assert "where_it_hangs" in failure.traceback
    assert said == ["importing torch"]
    assert ended(int(left.read_text()))


@posix
def test_an_import_that_the_users_limit_ends_is_no_failure(tmp_path: Path) -> None:
    """A healthy torch on a slow disk needs longer than --timeout 1."""
    facts = look(*machine(tmp_path, "import time; time.sleep(60)"), limit_s=1.0)
    assert facts.torch is None
    (gap,) = (g for g in facts.gaps if g.fact == "torch.imports")
    assert gap.reason == "timed-out"
    assert "--timeout allows more" in gap.detail


def ended(pid: int) -> bool:
    """Whether a process is gone, or a zombie that nobody reaps."""
    for _ in range(50):
        try:
            os.kill(pid, 0)
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            return True
        if state == "Z":
            return True
        time.sleep(0.05)
    return False


def test_no_torch_is_absence(tmp_path: Path) -> None:
    facts = look(*machine(tmp_path, None))
    assert facts.torch is ABSENT
    assert facts.probes == ()
    assert facts.gaps == ()


def test_absent_torch_stays_absent_unless_it_imports(tmp_path: Path) -> None:
    absent = Facts(torch=ABSENT)
    assert look(*machine(tmp_path, None), facts=absent).torch is ABSENT
    assert look(*machine(tmp_path, "raise ImportError('x')"), facts=absent).torch is ABSENT
    torch = look(*machine(tmp_path, LEAST), facts=absent, probe=False).torch
    assert isinstance(torch, Torch)
    assert (torch.version, torch.imports) == ("9.9.0", True)


def test_static_facts_are_kept(tmp_path: Path) -> None:
    static = Torch(version="9.9.0", installer="uv", build="cp312", cuda="12.4", libraries=("a",))
    torch = look(*machine(tmp_path, LEAST), facts=Facts(torch=static), probe=False).torch
    assert isinstance(torch, Torch)
    assert (torch.installer, torch.build, torch.libraries) == ("uv", "cp312", ("a",))
    assert (torch.imports, torch.import_failure, torch.threads) == (True, ABSENT, 4)
    assert torch.cuda is ABSENT  # what the imported module says is what runs
    assert torch.path == str(tmp_path / "packages" / "torch")
    kept = look(*machine(tmp_path, "raise ImportError('x')"), facts=Facts(torch=static)).torch
    assert kept == replace(static, imports=False, import_failure=kept.import_failure, warnings=())


def test_warnings_are_kept(tmp_path: Path) -> None:
    body = LEAST + "import warnings; warnings.warn('Failed to initialize NumPy: _ARRAY_API not found')"
    torch = look(*machine(tmp_path, body), probe=False).torch
    assert isinstance(torch, Torch)
    assert torch.warnings == ("UserWarning: Failed to initialize NumPy: _ARRAY_API not found",)


def test_prints_of_torch_and_sitecustomize_do_not_matter(tmp_path: Path) -> None:
    system, found = machine(tmp_path, LEAST + "import os; print('noise'); os.write(1, b'{\"event\": \"done\"}\\n')")
    (tmp_path / "packages" / "sitecustomize.py").write_text("print('hello\\n\\n{]')")
    torch = look(system, found, probe=False).torch
    assert isinstance(torch, Torch)
    assert torch.imports is True


def test_without_probe_there_is_a_gap_and_no_result(tmp_path: Path) -> None:
    facts = look(*machine(tmp_path, LEAST), probe=False)
    assert facts.probes is None
    assert [g.fact for g in facts.gaps] == ["probes"]


def test_a_probe_that_raises_is_a_failure_of_its_stage(tmp_path: Path) -> None:
    facts = look(*machine(tmp_path, LEAST))
    assert facts.probes
    (result,) = facts.probes
    assert (result.device, result.status, result.stage) == ("cpu", "failed", "open")
    assert result.reason.startswith("AttributeError: ")


DRIVER = """
class version: cuda = "12.4"; hip = None
class cuda:
    @staticmethod
    def is_available():
        {body}
    @staticmethod
    def init(): raise RuntimeError("Found no NVIDIA driver on your system.")
"""


@posix
def test_a_driver_that_hangs_leaves_the_import_known_and_the_cpu_probed(tmp_path: Path) -> None:
    facts = look(*machine(tmp_path, LEAST + DRIVER.format(body="import time; time.sleep(60)")), limit_s=1.0)
    assert isinstance(facts.torch, Torch)
    assert (facts.torch.imports, facts.torch.version, facts.torch.cuda) == (True, "9.9.0", "12.4")
    assert facts.torch.cuda_available is None
    gaps = {g.fact: g for g in facts.gaps}
    assert gaps["torch.cuda_available"].reason == "timed-out"
    assert "asking the driver took longer than 1 s" in gaps["torch.devices"].detail
    assert [(p.device, p.stage) for p in facts.probes or ()] == [("cpu", "open")]  # a second child came that far


@posix
def test_where_there_is_room_the_cpu_does_not_wait_for_the_driver(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(children, "has_room_apart", lambda system: True)
    hangs = LEAST.replace("lambda: False", "lambda: __import__('time').sleep(60)")
    facts = look(*machine(tmp_path, hangs), limit_s=2.0)
    gaps = {gap.fact: gap for gap in facts.gaps}
    assert "asking the driver took longer than 2 s" in gaps["torch.devices"].detail
    (cpu,) = facts.probes or ()
    assert (cpu.device, cpu.status, cpu.stage) == ("cpu", "failed", "open"), "this torch cannot compute"


@pytest.mark.parametrize(
    ("nodes", "cpus", "free", "room"),
    [(1, 16, 64 << 30, True), (0, 16, 64 << 30, False), (1, 2, 64 << 30, False), (8, 16, 2 << 30, False)],
)
def test_room_for_a_third_child(tmp_path: Path, nodes: int, cpus: int, free: int, room: bool) -> None:
    (tmp_path / "dev").mkdir()
    for number in range(nodes):
        (tmp_path / "dev" / f"nvidia{number}").touch()
    said = {"cpus": cpus, "cpus_usable": cpus, "memory": [free, free]}
    (tmp_path / "machine.json").write_text(json.dumps(said))
    assert children.has_room_apart(System.of_folder(str(tmp_path))) is room


@posix
def test_a_driver_that_crashes_leaves_the_import_known(tmp_path: Path) -> None:
    facts = look(*machine(tmp_path, LEAST + DRIVER.format(body=SEGFAULT)))
    assert isinstance(facts.torch, Torch)
    assert facts.torch.imports is True
    assert {g.reason for g in facts.gaps} == {"crashed"}
    assert "Segmentation fault" in facts.gaps[0].detail


def test_what_cuda_init_raised_is_kept(tmp_path: Path) -> None:
    torch = look(*machine(tmp_path, LEAST + DRIVER.format(body="return False")), probe=False).torch
    assert isinstance(torch, Torch)
    assert (torch.cuda_available, torch.cuda_built) == (False, True)
    assert torch.cuda_error == "Found no NVIDIA driver on your system."
    assert torch.devices == ()


TWO_GPUS = LEAST + with_gpus(2) + """
import os, sys, time
def device(name):
    if name == "cuda:0": __import__("ctypes").string_at(0)
    if name == "cuda:1": time.sleep(60)
    raise RuntimeError("no such device")
"""


@posix
def test_one_bad_gpu_hides_no_other(tmp_path: Path) -> None:
    started = time.monotonic()
    facts = look(*machine(tmp_path, TWO_GPUS), limit_s=2.0)
    assert time.monotonic() - started < 9
    assert isinstance(facts.torch, Torch)
    assert [(d.backend, d.index, d.capability) for d in facts.torch.devices or ()] == [
        ("cuda", 0, "8.9"), ("cuda", 1, "8.9"),
    ]  # fmt: skip
    results = {p.device: p for p in facts.probes or ()}
    assert list(results) == ["cpu", "cuda:0", "cuda:1"]
    assert (results["cpu"].status, results["cpu"].stage) == ("failed", "open")
    assert (results["cuda:0"].status, results["cuda:0"].signal, results["cuda:0"].stage) == ("crashed", 11, "open")
    assert "Segmentation fault" in results["cuda:0"].stderr_tail
    assert (results["cuda:1"].status, results["cuda:1"].stage) == ("timed-out", "open")
    assert "--timeout" in results["cuda:1"].reason


@posix
def test_a_child_that_never_came_to_its_device_says_nothing_of_it(tmp_path: Path) -> None:
    """As where two imports at once need more memory than there is."""
    mark = tmp_path / "the first import"
    second_dies = f"""
import os
try: os.close(os.open({str(mark)!r}, os.O_CREAT | os.O_EXCL))
except FileExistsError: os.kill(os.getpid(), 9)
"""
    facts = look(*machine(tmp_path, second_dies + LEAST + with_gpus(1)))
    gpu = next(p for p in facts.probes or () if p.device == "cuda:0")
    assert (gpu.status, gpu.stage) == ("skipped", "import")
    assert gpu.reason.startswith("importing torch: ended by signal 9")


@pytest.mark.parametrize(
    ("nodes", "driver", "environ", "asked", "names"),
    [
        (2, True, {}, (), ("cuda:0", "cuda:1")),
        (2, True, {}, ("cpu", "cuda:1"), ("cuda:1",)),
        (2, True, {"CUDA_VISIBLE_DEVICES": "1"}, (), ("cuda:0",)),
        (2, True, {"CUDA_VISIBLE_DEVICES": ""}, (), ()),
        (2, False, {}, (), ()),
        (0, True, {}, (), ()),
    ],
    ids=["two", "limited", "renumbered", "hidden", "no-driver", "no-nodes"],
)  # fmt: skip
def test_files_promise_gpus_before_anything_is_asked(
    tmp_path: Path, nodes: int, driver: bool, environ: dict[str, str], asked: tuple[str, ...], names: tuple[str, ...]
) -> None:
    files = [f"dev/nvidia{number}" for number in range(nodes)] + ["dev/nvidiactl"]
    for name in files + (["proc/driver/nvidia/version"] if driver else []):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("NVRM version: NVIDIA UNIX x86_64 Kernel Module  575.64.03  Release Build\n")
    (tmp_path / "machine.json").write_text(json.dumps({"uname": {"system": "linux"}, "environ": environ}))
    assert children.promised(System.of_folder(str(tmp_path)), Request(devices=asked)) == names


@posix
def test_a_promised_gpu_has_its_child_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It does not wait for what the target's files say, nor for the first child."""
    monkeypatch.setattr(children, "promised", lambda system, request: ("cuda:0",))
    system, found = machine(tmp_path, LEAST + with_gpus(1))
    request = Request(limit_s=20.0)
    first = children.start_first(system, found, probe=True, request=request)
    others = children.probe(first, system, found, Facts(), request=request, progress=lambda stage: None)
    assert others
    assert others.runs["cuda:0"] is first.gpus["cuda:0"]
    results = children.add(others, Facts()).probes or ()
    assert [(p.device, p.status, p.stage) for p in results] == [
        ("cpu", "failed", "open"), ("cuda:0", "failed", "open"),
    ]  # fmt: skip
    assert children.start_first(system, found, probe=False, request=request).gpus == {}


@posix
def test_a_promise_of_more_gpus_than_torch_sees_is_taken_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(children, "promised", lambda system, request: ("cuda:0", "cuda:1"))
    facts = look(*machine(tmp_path, LEAST + with_gpus(1)))
    assert [p.device for p in facts.probes or ()] == ["cpu", "cuda:0"]


@posix
@pytest.mark.parametrize("hip", [None, "6.4"])
def test_a_promise_to_a_torch_that_is_no_cuda_build_is_taken_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hip: str | None
) -> None:
    """GPUs of AMD have the same names: their children are started when torch has named them."""
    monkeypatch.setattr(children, "promised", lambda system, request: ("cuda:0", "cuda:1"))
    system, found = machine(tmp_path, LEAST + (with_gpus(1) if hip else ""))
    request = Request(limit_s=20.0)
    first = children.start_first(system, found, probe=True, request=request)
    facts = Facts(torch=Torch(cuda=ABSENT, hip=hip or ABSENT))
    others = children.probe(first, system, found, facts, request=request, progress=lambda stage: None)
    assert others
    assert not set(first.gpus.values()) & set(others.runs.values())
    assert [p.device for p in children.add(others, facts).probes or ()] == ["cpu", *(["cuda:0"] if hip else [])]
    for run in first.gpus.values():
        assert run._child.result().status != "timed-out"


@posix
def test_only_the_devices_asked_for_are_probed(tmp_path: Path) -> None:
    facts = look(*machine(tmp_path, TWO_GPUS), devices=("cuda:0", "mps"))
    assert [(p.device, p.status) for p in facts.probes or ()] == [("cuda:0", "crashed"), ("mps", "skipped")]


def test_a_target_that_cannot_start_has_no_child(tmp_path: Path) -> None:
    system, _ = machine(tmp_path, LEAST)
    found = Found(python="/nowhere", reason="--python", failure=StartFailure(kind="not-found", message="not there"))
    facts = look(system, found)
    assert facts.torch is None
    assert facts.probes is None
    assert {g.fact for g in facts.gaps} == {"torch.imports", "probes"}


@posix
def test_a_python_that_dies_before_it_runs_anything_is_a_gap(tmp_path: Path) -> None:
    system, _ = machine(tmp_path, LEAST)
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\necho 'Fatal Python error: init_fs_encoding' >&2\nexit 1\n")
    python.chmod(0o755)
    facts = look(system, Found(python=str(python), reason="of the test"))
    gaps = {g.fact: g for g in facts.gaps}
    assert gaps["torch.imports"].reason == "crashed"
    assert "init_fs_encoding" in gaps["torch.imports"].detail
    assert facts.probes is None


@pytest.mark.parametrize(
    ("number", "version"), [(90100, "9.1.0"), (91002, "9.10.2"), (8902, "8.9.2"), (8005, "8.0.5"), (7605, "7.6.5")]
)
def test_cudnn_version(number: int, version: str) -> None:
    assert imported.cudnn_version(number) == version
