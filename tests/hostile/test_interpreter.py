"""A target whose Python means harm: every run ends within its limit and 2 s, in 300 MB, leaves no process, is no bug of
ours (70), and says «healthy» only where the device was probed. Most take their whole limit: the suite runs a sample,
TORCHDOCTOR_TEST_ALL=1 all."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.hostile.doctor import MEMORY_MB, TORCH, Ran, in_time, run, target
from tests.sample import only

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="/proc, subreapers")
LIMIT_S = 4.0

# What a sitecustomize can find out: the secret stands in the text on stdin.
THIEF = """
import os, sys, threading, time, json
text = os.pread(0, 200, 0).decode()
descriptor, inode, secret = eval(text.partition("= ")[2].partition("\\n")[0])
is_probe = "faulthandler" in " ".join(getattr(sys, "orig_argv", []))
def say(line):
    data = (secret + " " + (line if isinstance(line, str) else json.dumps(line)) + "\\n").encode()
    while data: data = data[os.write(descriptor, data):]
def lie(*lines):
    for line in lines: say(line)
"""
IMPORTED = {
    "stage": "import", "event": "end", "ok": True, "ms": 1.0,
    "data": {"version": "2.6.0", "file": "/x/torch/__init__.py", "warnings": []},
}  # fmt: skip
BEGIN = {"stage": "import", "event": "begin"}
DAEMONS = """
import os, time
for _ in range(%d):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            for number in range(1, 32):
                try: __import__("signal").signal(number, 1)
                except OSError: pass
            time.sleep(300)
        os._exit(0)
"""

CASES = {
    "it begins a stage for ever": THIEF + """
def repeat():
    while True:
        lie({"stage": "import", "event": "begin"}); time.sleep(0.1)
if is_probe: threading.Thread(target=repeat, daemon=True).start(); time.sleep(300)
""",
    "it begins all stages there are, slowly": THIEF + """
if is_probe:
    for name in ("import", "facts", "driver", "open", "reference", "allocate", "kernel", "precision", "correct"):
        lie({"stage": name, "event": "begin"}); time.sleep(0.8)
        lie({"stage": name, "event": "end", "ok": True, "ms": 1.0, "data": {}})
    time.sleep(300)
""",
    "it ends a stage for ever": THIEF + f"""
if is_probe:
    lie({BEGIN!r})
    while True: lie({IMPORTED!r})
""",
    "a share for ever": THIEF + """
while is_probe: lie({"event": "share", "share": 0.5})
""",
    "it says that all is done": THIEF + f"""
if is_probe: lie({BEGIN!r}, {IMPORTED!r}, {{"event": "done"}}); time.sleep(300)
""",
    "odd types": THIEF + """
if is_probe: lie({"stage": ["import"], "event": {"begin": 1}}, [], "null", {"event": 7}); time.sleep(300)
else: lie({"version": ["3"], "torch": [], "markers": 5, "packages": {"a": 1}, "gaps": [], "sys_path": "x"})
time.sleep(300)
""",
    "odd measurements": THIEF + f"""
if is_probe:
    lie({BEGIN!r}, {IMPORTED!r}, {{"stage": "facts", "event": "begin"}},
        {{"stage": "facts", "event": "end", "ok": True, "ms": 1e300,
          "data": {{"threads": "many", "arch_list": 5, "git": []}}}},
        {{"stage": "driver", "event": "begin"}},
        {{"stage": "driver", "event": "end", "ok": True, "ms": -1.0,
          "data": {{"devices": [{{"backend": 5}}], "cudnn": "nine", "warnings": {{}}}}}},
        {{"stage": "open", "event": "begin"}},
        {{"stage": "open", "event": "end", "ok": True, "ms": 1,
          "data": {{"wrong": 5, "float32_tflops_burst": "fast"}}}})
    time.sleep(300)
""",
    "deep nesting": THIEF + """
lie("[" * 100000 + "]" * 100000, "{\\"event\\": " + "[" * 900 + "]" * 900 + "}"); time.sleep(300)
""",
    "huge numbers": THIEF + """
lie('{"event": "end", "stage": "import", "ms": ' + "9" * 900000 + "}", '{"version": 1e999, "torch": NaN}')
time.sleep(300)
""",
    "a line without an end": THIEF + """
while True: os.write(descriptor, b"x" * 65536)
""",
    "a flood on stdout": "import os\nwhile True: os.write(1, b'x' * 65536)\n",
    "a flood of lines on stderr": "import os\nwhile True: os.write(2, b'x\\n' * 32768)\n",
    "it computes for ever": "while True: pass",
    "it waits for ever, and ignores signals": """
import signal, time
for number in range(1, 32):
    try: signal.signal(number, signal.SIG_IGN)
    except OSError: pass
time.sleep(300)
""",
    "a hundred daemons": DAEMONS % 100,
    "a hundred daemons, then a hang": DAEMONS % 100 + "time.sleep(300)",
    "it kills its parent, and a daemon stays": DAEMONS % 3 + "time.sleep(0.3); os.kill(os.getppid(), 9); time.sleep(9)",
    "it stops its parent": "import os, time; os.kill(os.getppid(), 19); time.sleep(300)",
    "it stops itself": "import os; os.kill(os.getpid(), 19)",
    "it stops itself again and again": """
import os
if os.fork() == 0:
    while True:
        try: os.kill(os.getppid(), 18)
        except OSError: os._exit(0)
while True: os.kill(os.getpid(), 19)
""",
    "it stops its group and its session": "import os, signal; os.fork(); os.fork(); os.killpg(0, signal.SIGSTOP)",
    "it stops as a terminal would": "import os\nfor number in (20, 21, 22, 19): os.kill(os.getpid(), number)",
    "it stops all above it": """
import os, time
parent = os.getppid()
above = int(open("/proc/%d/stat" % parent).read().rpartition(")")[2].split()[1])
if b"guardian" in open("/proc/%d/cmdline" % above, "rb").read(): os.kill(above, 19)
os.kill(parent, 19); time.sleep(300)
""",
    "it takes memory": "import time\nkept = [b'x' * (1 << 20) for _ in range(200)]\ntime.sleep(300)",
    "it closes all descriptors": "import os; os.closerange(0, 100)",
    "it ends at once": "import os; os._exit(0)",
    "it dies": "import os; os.kill(os.getpid(), 11)",
    "its exit hook never ends": "import atexit, time; atexit.register(time.sleep, 300)",
}  # fmt: skip


def hold(ran: Ran, limit_s: float, probed: bool = True) -> None:
    """What holds for every target."""
    assert in_time(ran.seconds, limit_s), f"{ran.seconds:.1f} s"
    assert ran.memory_mb <= MEMORY_MB
    assert ran.left == ()
    assert ran.code in (0, 1, 3), ran.stderr
    assert ran.report
    if probed and ran.report["verdict"] == "healthy":
        assert [p["status"] for p in ran.report["facts"]["probes"]] == ["ok"]


# A lie, a flood of each kind, each way to stop, daemons, and a hang that no signal ends.
SAMPLE = (
    "it ends a stage for ever", "odd measurements", "a line without an end", "a flood of lines on stderr",
    "it waits for ever, and ignores signals", "a hundred daemons, then a hang",
    "it kills its parent, and a daemon stays",
    "it stops itself again and again", "it stops all above it", "it takes memory", "it dies",
)  # fmt: skip


@pytest.mark.parametrize("name", only(CASES, SAMPLE))
def test_a_target_that_means_harm(tmp_path: Path, name: str) -> None:
    environ = target(tmp_path, CASES[name])
    ran = run(tmp_path, "--timeout", "2", "--time-limit", str(LIMIT_S), **environ)
    hold(ran, LIMIT_S)


def test_done_without_a_probe_is_no_probe(tmp_path: Path) -> None:
    environ = target(tmp_path, CASES["it says that all is done"])
    ran = run(tmp_path, "--timeout", "2", "--time-limit", str(LIMIT_S), **environ)
    assert ran.report
    (probe,) = ran.report["facts"]["probes"]
    assert (probe["status"], probe["stage"]) == ("skipped", "import")
    assert "not what came of open, reference" in probe["reason"]
    assert ran.report["verdict"] == "unknown"


def test_noise_on_stdout_hides_no_answer(tmp_path: Path) -> None:
    noise = "import os\ndata = b'noise\\n' * 1000000\nwhile data: data = data[os.write(1, data):]\n"
    ran = run(tmp_path, "--no-probe", **target(tmp_path, noise))
    assert ran.report
    assert ran.report["facts"]["interpreter"]["version"] == "{}.{}.{}".format(*sys.version_info[:3])
    assert ran.report["facts"]["torch"]["imports"] is True
    assert "interpreter-broken" not in ran.found


def test_a_target_with_few_files_is_a_gap_and_no_broken_interpreter(tmp_path: Path) -> None:
    few = "import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (4, 4))\n"
    ran = run(tmp_path, "--timeout", "5", **target(tmp_path, few, TORCH))
    hold(ran, 20)
    assert "interpreter-broken" not in ran.found
    assert "torch-missing" not in ran.found
    assert ran.report
    assert ran.report["verdict"] != "healthy" or ran.report["facts"]["torch"]["imports"]


@pytest.mark.parametrize("odd", [
    "import pathlib, sys; sys.path.insert(0, pathlib.Path('/nowhere'))",
    "import sys; sys.path[:0] = [None, 5, b'/x', 'a\\0b']",
    "import sys; sys.modules['odd'] = 5; sys.modules['odder'] = type('M', (), {'__file__': 7})()",
    "import sys; sys.executable = None; sys.platform_ = 1",
    "import os; os.getcwd = None",
    "import sysconfig; sysconfig.get_platform = lambda: {}",
    "import os; os.listdir = lambda *a: 1 / 0",
])  # fmt: skip
def test_an_odd_target_is_no_broken_interpreter(tmp_path: Path, odd: str) -> None:
    ran = run(tmp_path, "--no-probe", **target(tmp_path, odd))
    hold(ran, 20, probed=False)
    assert "interpreter-broken" not in ran.found
    assert ran.report
    assert ran.report["facts"]["interpreter"]["version"] == "{}.{}.{}".format(*sys.version_info[:3])
