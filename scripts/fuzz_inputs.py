"""Prove that no foreign word ends in a bug: scripts/fuzz_inputs.py [--count N] [--seed N] [--only WHAT] [--whole SHARE]

Mutates what others write, by structure and by bytes, and gives it to the code that reads it: the lines of a probe's
child, the answer of collect.py, kernel.json, what the driver's libraries and Windows say, the files that collect.py
reads (METADATA, RECORD, version.py, receipts …), and our own reports. What is refused is fine; what is taken goes
through checks, plan and every format, of a share of the cases (--whole). An exception fails, and so do two seconds
for one case. Prints a line for each kind, and every failure once, with its seed; exit code 1 if there is one.
"""

from __future__ import annotations

import argparse
import copy
import importlib
import itertools
import json
import os
import random
import sys
import tempfile
import threading
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from doctor import process  # noqa: E402
from doctor.accounting.judgement import judged  # noqa: E402
from doctor.decode import Refused  # noqa: E402
from doctor.facts import interpreter, kernels  # noqa: E402
from doctor.facts.gpus import merged, nvidia, windows  # noqa: E402
from doctor.facts.notes import Notes  # noqa: E402
from doctor.facts.said import with_messages  # noqa: E402
from doctor.facts.system import System  # noqa: E402
from doctor.fixes import tools  # noqa: E402
from doctor.fixes.plan import plan, script  # noqa: E402
from doctor.model.facts import ABSENT, Facts, Host, Interpreter, Torch  # noqa: E402
from doctor.model.report import Report, Target  # noqa: E402
from doctor.pipeline import Request, examine, read_evidence  # noqa: E402
from doctor.probes import children  # noqa: E402
from doctor.redaction.report import redact  # noqa: E402

SECONDS = 2.0  # what is promised of a text of 1 MB, which no mutation exceeds
MACHINES = ROOT / "tests" / "machines"
FORMATS = ("terminal", "json", "markdown", "junit", "github")
DEEP: Any = "x"
for _ in range(60):
    DEEP = [DEEP]
VALUES = (
    None, True, False, 0, -1, 1, 7, 2**31, 2**62, 10**18, 1e308, -1e308, 0.0, 1e-300, 1.5, "", " ", "x", "\0",
    "\ud800", "9" * 5000, "\u00b2", "\u0663", "..", "/", "a\nb\x1b[31m\x07", "sm_", "sm_999999",
    "compute_x", "1.2.3.4.5", "cu", "cu9999999", "cu\u00b2\u00b3", "rocm", "rocm6", "12.", ".5", "999999999999", "1!2",
    "2.6.0+cu124", "2.6.0+", "+", "nan", "inf", "-inf", "cuda:99999999999", "cuda:x", "::set-output name=x::y", "|",
    "<script>", "\u202e", "cpu", "absent", [], {}, [[]], [None], [{}], {"absent": True}, {"absent": 1}, DEEP, ["x", 5],
    [""] * 1000, {"": ""}, {"a": DEEP}, [1, 2],
    "gfx", "gfx\u00b2", "10de:", "10de:2684", "NVIDIA GeForce RTX 4090", "8.9", "8", "99.99", "-8.9", "8.x",
)  # fmt: skip
# A probe of a device, as its child says it.
PROBE = (
    {"event": "begin", "stage": "open"},
    {"event": "end", "stage": "open", "ok": True, "ms": 2.0, "data": {
        "memory_bytes": 1 << 34, "memory_free_bytes": 1 << 33, "utilization_before_percent": 0, "processes_before": 0}},
    {"event": "share", "share": 0.1},
    *(line for name in ("reference", "allocate", "kernel") for line in (
        {"event": "begin", "stage": name},
        {"event": "end", "stage": name, "ok": True, "ms": 1.0, "data": {
            "wrong": [], "memory_checked_bytes": 1 << 25}})),
    {"event": "begin", "stage": "precision"},
    {"event": "end", "stage": "precision", "ok": True, "ms": 1.0, "data": {
        "float32_bits_effective": 24, "float32_matmul_precision": "highest", "wrong": []}},
    {"event": "begin", "stage": "correct"},
    {"event": "end", "stage": "correct", "ok": True, "ms": 9.0, "data": {
        "wrong": ["float32 mm: x"], "unsupported": ["float16 mm"], "inexact": ["conv2d"], "float32_mm_bits": 24,
        "bfloat16_max_error_ratio": 0.5}},
    {"event": "begin", "stage": "speed"},
    {"event": "end", "stage": "speed", "ok": True, "ms": 90.0, "data": {
        "float32_tflops_burst": 1.5, "float32_tflops_sustained": 1.2, "bfloat16_native": True, "threads": 8,
        "float32_tflops_one_thread": 0.2, "float32_cpus_used": 7.9, "busy": False, "threads_busy": False,
        "cpu_clock_mhz": 3000, "cpu_capability": "AVX2", "omp_num_threads": "8", "cpus_usable": 8, "quota_cpus": 4.0,
        "throttled_periods": 3, "throttles": ["power"], "sm_clock_mhz": 1500, "pcie_width": 16, "pcie_width_max": 16,
        "pcie_generation": 4, "pcie_generation_max": 5, "load_1min": 0.5, "memory_gbs": 900.0, "h2d_gbs": 20.0,
        "pairs": [{"from": "cuda:0", "to": "cuda:1", "gbs": 20.0, "peer_access": True}], "rounds_tflops": [1.0, 1.1]}},
    {"event": "done"},
)  # fmt: skip
FAILED_IMPORT = (
    {"event": "begin", "stage": "import"},
    {"event": "end", "stage": "import", "ok": False, "ms": 3.0, "data": {
        "exception": "ImportError", "message": "libcudnn.so.9: cannot open shared object file", "traceback": "File x",
        "module": "torch", "cause": "OSError: x", "exit_code": None, "warnings": ["UserWarning: x"]}},
    {"event": "done"},
)  # fmt: skip
LIBRARIES = (
    {"libcuda": "/usr/lib/libcuda.so.1"}, {"driver_cuda": "12.4"}, {"cuinit": 0},
    {"devices": [{"name": "NVIDIA GeForce RTX 4090", "address": "0000:01:00.0", "capability": "8.9",
                  "integrated": False, "memory_bytes": 1 << 34}]},
    {"broken": "/x/libcuda.so.1: file too short"}, {"false_nodes": ["/dev/nvidia9"], "closed_nodes": []},
    {"nvml": 0, "library_file": "/x/libnvidia-ml.so.550.54.15", "driver": "550.54.15", "count": 1}, {"done": True},
)  # fmt: skip
CIM = {
    "os": {"Caption": "Microsoft Windows 11 Pro", "Version": "10.0.22631", "BuildNumber": "22631",
           "TotalVisibleMemorySize": 33000000, "FreePhysicalMemory": 22000000},
    "gpus": [{"Name": "NVIDIA GeForce RTX 3060", "PNPDeviceID": "PCI\\VEN_10DE&DEV_2503&SUBSYS"}],
    "computer": {"Model": "X", "Manufacturer": "Y"}, "cpu": {"Name": "AMD Ryzen"},
}  # fmt: skip
SPEC = {
    "argv": ["/opt/env/bin/python", "-m", "ipykernel_launcher", "-f", "{connection_file}"], "display_name": "Python 3",
    "language": "python", "env": {"LD_LIBRARY_PATH": "/x:${LD_LIBRARY_PATH}", "A": "b"}, "metadata": {"debugger": True},
}  # fmt: skip
FILES = {
    "torch-2.6.0.dist-info/METADATA": 'Metadata-Version: 2.1\nName: torch\nVersion: 2.6.0\nRequires-Dist: filelock\n'
    'Requires-Dist: triton==3.2.0; platform_system == "Linux"\n\nlong\n',
    "torch-2.6.0.dist-info/RECORD": "torch/__init__.py,sha256=x,10\ntorch/lib/libtorch.so,sha256=x,10\n",
    "torch-2.6.0.dist-info/WHEEL": "Wheel-Version: 1.0\nTag: cp312-cp312-linux_x86_64\n",
    "torch-2.6.0.dist-info/INSTALLER": "pip\n",
    "torch/version.py": "__version__ = '2.6.0+cu124'\ndebug = False\ncuda: Optional[str] = '12.4'\nhip = None\n",
    "pyvenv.cfg": "home = /usr/bin\nversion = 3.12.1\nuv = 0.5.1\n",
    "uv-receipt.toml": '[tool]\nrequirements = [\n  { name = "app", extras = ["x"], specifier = "==1.0" },\n'
    '  { name = "rich" },\n]\npython = "3.12"\n[tool.options]\nindex = [{ url = "https://a/b", default = true }]\n',
    "conda-meta/history": "==> 2026-01-01 <==\n# cmd: /opt/conda/bin/conda create -n x\n",
}  # fmt: skip


# ---- mutations


def mutated(value: Any, chance: random.Random) -> Any:
    """One to four changes at random places of a JSON value."""
    root, many = [copy.deepcopy(value)], (1, 2, 100)
    for _ in range(chance.choice((1, 1, 1, 2, 4))):
        places = list(itertools.islice(_places(root), 3000))
        parent, key = chance.choice(places)
        kind = chance.randrange(6)
        if kind < 3:
            parent[key] = copy.deepcopy(chance.choice(VALUES))
        elif kind == 3 and isinstance(parent[key], str):
            parent[key] = damaged(parent[key], chance)
        elif kind == 4 and parent is not root:
            other, name = chance.choice(places)
            parent[key] = copy.deepcopy(other[name])
        elif isinstance(parent, dict):
            del parent[key]
        elif parent is not root:
            parent[key:key] = [copy.deepcopy(parent[key])] * chance.choice(many)
            many = (1, 2)  # a hundred times a hundred would take us more time than the reader
    return root[0]


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    if isinstance(value, (list, dict)):
        for key in list(value) if isinstance(value, dict) else range(len(value)):
            yield value, key
            yield from _places(value[key])


def damaged(text: str, chance: random.Random) -> str:
    """A text with a few characters changed, cut, doubled or moved."""
    for _ in range(chance.choice((1, 1, 2, 8))):
        at = chance.randrange(len(text) + 1)
        kind = chance.randrange(5)
        if kind == 0:
            odd = ("\0", "\\", '"', "[", "{", "\u00b2", "\ud800", "\r", "=", ";", "(")
            text = text[:at] + chance.choice(odd) + text[at:]
        elif kind == 1:
            text = text[:at] + text[at + chance.randrange(1, 9) :]
        elif kind == 2:
            text = text[:at] + text[at : at + 20] * chance.choice((2, 50)) + text[at:]
        elif kind == 3:
            text = text[:at]
        else:
            text = text[:at] + "".join(chance.choice("()[]{}\"'\\;,=<>!~ 19az") for _ in range(12)) + text[at:]
    return text[:200_000]


def said(value: Any, chance: random.Random) -> str:
    """A mutated value as the text that arrives; now and then the text is damaged, too."""
    text = json.dumps(mutated(value, chance))
    return damaged(text, chance) if chance.random() < 0.1 else text


# ---- what reads them


class Inputs:
    """A reader for each kind: it takes a random.Random, and gives the facts that were taken, or None."""

    def __init__(self, machines: int = 99) -> None:
        self.folder = tempfile.TemporaryDirectory(prefix="fuzz-")
        self.system = System(environ={"HOME": self.folder.name, "JUPYTER_PATH": self.folder.name}, cwd=self.folder.name)
        self.answers = [json.loads(path.read_text()) for path in sorted(MACHINES.glob("*/bin/collect.json"))]
        lines = [path.read_text().splitlines() for path in sorted(MACHINES.glob("*/bin/probe-*.jsonl"))]
        self.talks = [[json.loads(line) for line in one if line.strip()] for one in lines]
        self.talks = [talk[:-1] + list(PROBE) for talk in self.talks] + [list(FAILED_IMPORT)]
        self.collect = _collect_functions()
        self.reports = list(_reports(machines))
        self.kinds: dict[str, Callable[[random.Random], Facts | None]] = {
            "lines": self.lines, "answer": self.answer, "kernel": self.kernel, "libraries": self.libraries,
            "cim": self.cim, "files": self.files, "report": self.report,
        }  # fmt: skip

    def lines(self, chance: random.Random) -> Facts | None:
        run = _silent_run(chance.choice(("quick", "facts", "cpu-only", "full", "soak:1")), self.system)
        talk = chance.choice(self.talks)
        if chance.random() < 0.3:
            talk = mutated(talk, chance)
        for line in talk if isinstance(talk, list) else [talk]:
            run._hear(said(line, chance) if chance.random() < 0.1 else json.dumps(line))
        ends = [process.Result(("p",), status, exit_code=1, limit_s=9.0) for status in
                ("ok", "failed", "crashed", "timed-out", "flooded", "refused", "not-found")]  # fmt: skip
        run.result = chance.choice(ends)
        before = Facts(
            host=Host(system="linux"), torch=Torch(version="2.6.0"), gpus=(), interpreter=Interpreter(version="3.12.1")
        )
        facts = children.with_import(before, run)
        run.ending()
        return replace(facts, probes=(children.result_of(run),))

    def answer(self, chance: random.Random) -> Facts | None:
        try:
            heard = interpreter.read_answer(said(chance.choice(self.answers), chance))
        except Refused:
            return None
        notes = Notes()
        if interpreter.failure_of(process.Result(("p",), "ok"), heard, "/x/python") is None:
            interpreter.write(heard, notes, self.system)
        return _facts_of(notes)

    def kernel(self, chance: random.Random) -> Facts | None:
        place = Path(self.folder.name, "kernels", "odd")
        place.mkdir(parents=True, exist_ok=True)
        (place / "kernel.json").write_bytes(said(SPEC, chance).encode("utf-8", "surrogatepass"))
        for spec in kernels.kernelspecs(self.system):
            if spec.python:
                self.system.exists(spec.python)
                self.system.runnable(spec.python)
        return None

    def libraries(self, chance: random.Random) -> Facts | None:
        text = "\n".join(said(line, chance) for line in LIBRARIES)
        child = _Answered(process.Result(("p",), "ok", stdout=text))
        notes = Notes()
        nvidia._library(self.system, child, notes)  # type: ignore[arg-type]
        notes.set("nvidia.sources", (), "")
        nvidia._settle_driver([], notes)
        merged.write(notes)
        return _facts_of(notes)

    def cim(self, chance: random.Random) -> Facts | None:
        answer = windows._answer(said(CIM, chance))
        notes = Notes()
        if answer is not None:
            windows._write_host(answer, notes)
            listed = answer.get("gpus")
            for one in listed if isinstance(listed, list) else ():
                windows.gpu_of(windows._record(one))
        return _facts_of(notes)

    def files(self, chance: random.Random) -> Facts | None:
        folder = Path(self.folder.name, "site-packages")
        name = chance.choice(sorted(FILES))
        for one, text in FILES.items():
            path = folder / one
            if one == name or not path.exists():
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes((damaged(text, chance) if one == name else text).encode("utf-8", "replace"))
        answer = self.collect(str(folder))
        (folder / name).write_text(FILES[name])
        heard = interpreter.read_answer(answer)
        assert not heard.refused, heard.refused
        notes = Notes()
        interpreter.write(heard, notes, self.system)
        return _facts_of(notes)

    def report(self, chance: random.Random) -> Facts | None:
        text = said(chance.choice(self.reports), chance)
        _, facts, _ = read_evidence(Request(evidence=(("report.json", text.encode("utf-8", "surrogatepass")),)))
        return facts


class _Answered:
    def __init__(self, result: process.Result) -> None:
        self._result = result

    def result(self) -> process.Result:
        return self._result


def _silent_run(mode: str, system: System) -> children.Run:
    """A Run without a process."""
    run = children.Run.__new__(children.Run)
    run.__dict__.update(
        device="cpu", mode=mode, stages=[], open="start", since=0.0, result=None, done=False, share=0.0, refused="",
        _kind=mode.partition(":")[0], _begun=set(), _system=system, _limit_s=None, _import_s=None,
        _changed=threading.Condition(), _oom_kills=0,
    )  # fmt: skip
    return run


def _facts_of(notes: Notes) -> Facts:
    from doctor.facts.collect import Collection

    notes.set("host.system", "linux", "fuzz")
    return Collection(notes, []).finish()


def _collect_functions() -> Callable[[str], str]:
    """inside/collect.py over a folder that stands for sys.prefix and for the whole of sys.path; its answer."""
    path = list(sys.path)
    source = (ROOT / "doctor" / "inside" / "collect.py").read_text()
    space: dict[str, Any] = {"__name__": "collect", "SIGNS": tools.signs()}
    hook = sys.excepthook
    exec(compile(source.replace("\nmain()\n", "\n"), "collect.py", "exec"), space)
    sys.path[:], sys.excepthook = path, hook
    said: list[str] = []
    space["say"] = said.append

    def collect(folder: str) -> str:
        prefix, sys.prefix = sys.prefix, folder
        try:
            space["SEEN_PATH"][:] = [folder]
            for name, function in (
                ("folders_of", space["search_path"]),
                ("distributions_of", lambda: space["distributions"](space["folders_of"]())),
                ("conda_of", lambda: space["conda_packages"](folder)),
                ("environment_of", space["environment"]),
            ):
                space[name] = space["once"](function)
            space["main"]()
        finally:
            sys.prefix = prefix
        return said.pop()

    return collect


def _reports(machines: int) -> Iterator[Any]:
    """Our own reports of so many recorded machines, with a probe."""
    from doctor.reports import json as format

    for folder in sorted(path.parent for path in MACHINES.glob("*/machine.json"))[:machines]:
        os.environ["TORCHDOCTOR_ROOT"] = str(folder)
        try:
            report = examine(Request(limit_s=5.0))
        finally:
            del os.environ["TORCHDOCTOR_ROOT"]
        run = _silent_run("quick", System(cwd="/"))
        run.open = None
        for line in PROBE:
            run._hear(json.dumps(line))
        run.result = process.Result(("p",), "ok")
        facts = replace(report.facts, probes=(*(report.facts.probes or ()), children.result_of(run)))
        yield json.loads(format.render(replace(report, facts=facts, outcomes=())))


def whole(facts: Facts) -> None:
    """Checks, plan and every format."""
    facts = with_messages(facts) if facts.live else facts
    made = judged(facts)
    planned = plan(made.account.findings, facts)
    report = Report(
        tool="torchdoctor fuzz", taken_at="2026-01-01T00:00:00Z", duration_ms=1.0,
        target=Target(python="/x", reason="fuzz"), verdict=made.verdict.value,
        unproven=made.verdict.unproven, facts=facts, outcomes=made.outcomes,
        findings=made.account.findings, symptoms=made.account.symptoms, hypotheses=made.account.hypotheses,
        questions=made.account.questions, plan=planned,
    )  # fmt: skip
    script(planned)
    assert facts.torch is ABSENT or facts.torch is None or isinstance(facts.torch, Torch)
    for name in FORMATS:
        shown = report if name == "terminal" else redact(report)
        module = importlib.import_module(f"doctor.reports.{name}")
        module.render(shown, color=False, width=80) if name == "terminal" else module.render(shown)


def fuzz(count: int, seed: int, only: str | None = None, share: float = 0.02, machines: int = 99) -> int:
    inputs = Inputs(machines)
    chosen = {name: read for name, read in inputs.kinds.items() if only in (None, name)}
    failures: Counter[str] = Counter()
    for name, read in chosen.items():
        ran = taken = through = 0
        started = time.monotonic()
        for number in range(count // len(chosen)):
            chance = random.Random(f"{seed}-{name}-{number}")
            begun = time.process_time()
            where = f"{name} {number} of seed {seed}"
            try:
                facts = read(chance)
                taken += facts is not None
                if facts is not None and chance.random() < share:
                    through += 1
                    whole(facts)
            except Exception as error:  # the point of it all
                frames = traceback.extract_tb(error.__traceback__)
                frame = next((one for one in reversed(frames) if "/doctor/" in one.filename), frames[-1])
                text = f"{type(error).__name__}: {str(error)[:100]} ({os.path.basename(frame.filename)}:{frame.lineno})"
                if text not in failures:
                    print(f"FAILED {where}: {text}", flush=True)
                failures[text] += 1
            if time.process_time() - begun > SECONDS:
                print(f"SLOW {where}: {time.process_time() - begun:.1f} s", flush=True)
                failures["slow"] += 1
            ran += 1
        took = time.monotonic() - started
        print(f"{name}: {ran} mutations, {taken} taken, {through} through everything, {took:.0f} s", flush=True)
    print(f"{sum(failures.values())} failures of {len(failures)} kinds")
    return 1 if failures else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=7000, help="mutations in all")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", choices=("lines", "answer", "kernel", "libraries", "cim", "files", "report"))
    parser.add_argument("--whole", type=float, default=0.02, help="share that goes through checks, plan and formats")
    options = parser.parse_args()
    return fuzz(options.count, options.seed, options.only, options.whole)


if __name__ == "__main__":
    sys.exit(main())
