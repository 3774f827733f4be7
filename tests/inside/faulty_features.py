"""Run by the interpreter with torch, `faulty_features.py PROBE NAME ...`: stages of features on a CPU with a fault.

Prints a JSON line for each name: {"name", "data": of the stage, "left": processes and files that it left}.
"""

import importlib.util
import json
import os
import shutil
import sys
import tempfile
import time

spec = importlib.util.spec_from_file_location("probe", sys.argv[1])
probe = importlib.util.module_from_spec(spec)
spec.loader.exec_module(probe)

import torch  # noqa: E402

FOLDER = os.path.join(os.path.dirname(sys.argv[1]), "stages")
PIECES = ("apart", "tries", "attention", "io", "workers", "distributed", "extensions", "compile")
SDPA = torch.nn.functional.scaled_dot_product_attention


def device():
    sources = []
    for name in PIECES:
        with open(os.path.join(FOLDER, name + ".py")) as file:
            sources.append((name, file.read()))
    one = probe.Probe(torch, "cpu", 0)
    one.pieces, one.mode = probe.load_pieces(sources), "full"
    return one


def stage(name, one=None, **environ):
    """The stage with variables for what it starts, and for itself."""
    one = one or device()
    before = dict(os.environ)
    for key, value in environ.items():
        os.environ[key] = value
    tempfile.tempdir = None
    try:
        work = next(work for s, work, modes, _ in one.pieces[name].STAGES if "full" in modes)
        return work(one)
    finally:
        os.environ.clear()
        os.environ.update(before)
        tempfile.tempdir = None


# --- attention ----------------------------------------------------------------------------------------------


def attention(change):
    """The device's attention with its result changed; the reference is computed from products."""

    def wrong(q, k, v, **options):
        return change(SDPA(q, k, v, **options), q)

    torch.nn.functional.scaled_dot_product_attention = wrong
    try:
        return stage("attention")
    finally:
        torch.nn.functional.scaled_dot_product_attention = SDPA


def element(result, q):
    return result + torch.zeros_like(result).index_fill(2, torch.tensor([5]), 2.0 ** -12)


def raising(result, q):
    raise RuntimeError("cuDNN Frontend error: No execution plans support the graph.")


# --- saving -------------------------------------------------------------------------------------------------


def loading(change):
    load = torch.load

    def wrong(*arguments, **options):
        return change(load(*arguments, **options))

    torch.load = wrong
    try:
        return stage("io")
    finally:
        torch.load = load


def one_element(tensors):
    tensors["bfloat16"][3, 4] += 1
    return tensors


def full_disk():
    def save(*arguments):
        if isinstance(arguments[1], str):
            raise RuntimeError("PytorchStreamWriter failed writing file data/0: file write failed")
        return saving(*arguments)

    saving, one = torch.save, device()
    one.pieces["io"].free_bytes = lambda folder: 0
    torch.save = save
    try:
        return stage("io", one)
    finally:
        torch.save = saving


# --- what runs in an interpreter of its own -----------------------------------------------------------------


def scripted(name, script, *values, **environ):
    """The stage with another script: what is tried is feigned, how its end is read is not."""
    one = device()
    one.pieces[name].SCRIPT = script
    for key, value in values:
        setattr(one.pieces[name], key, value)
    return stage(name, one, **environ)


def limited(name, script, limit_s):
    one = device()
    one.limit_s, one.pieces[name].SCRIPT = limit_s, script
    return stage(name, one)


def package(text):
    """A package called torch_scatter, which is found on the path."""
    folder = tempfile.mkdtemp(prefix="faulty-")
    os.mkdir(os.path.join(folder, "torch_scatter"))
    with open(os.path.join(folder, "torch_scatter", "__init__.py"), "w") as file:
        file.write(text)
    sys.path.insert(0, folder)
    importlib.invalidate_caches()
    try:
        return stage("extensions", PYTHONPATH=folder)
    finally:
        sys.path.remove(folder)
        shutil.rmtree(folder)


def two_packages():
    """The first one of two crashes: the second one is called all the same."""
    one = device()
    one.pieces["extensions"].PACKAGES = (("crashing", ("cpu",)), ("sound", ("cpu",)))
    one.pieces["tries"].installed = lambda name: True
    one.pieces["extensions"].SCRIPT = (
        "def crashing():\n    import os\n    os.kill(os.getpid(), 11)\n"
        "def sound():\n    pass\n"
        "for name in sys.argv[2:]:\n    attempt(name, globals()[name])\n"
    )
    return stage("extensions", one)


SCATTER = "def scatter(src, index, dim, reduce):\n    import torch\n    return torch.tensor([%s])\n"
HANG = "import time\nsay('begin', 'x')\ntime.sleep(600)\n"
DAEMON = (
    "import os, sys, time\n"
    "if os.fork() == 0:\n    os.close(1)\n    os.close(2)\n    time.sleep(600)\n"
    "say('ok', 'compile', '0.5 1')\n"
)
CASES = {
    "attention": lambda: stage("attention"),
    "attention: an element is off": lambda: attention(element),
    "attention: a NaN": lambda: attention(lambda result, q: result * float("nan")),
    "attention: a wrong gradient": lambda: attention(lambda result, q: result + (q - q.detach()) * 2.0 ** -8),
    "attention: it raises": lambda: attention(raising),
    "io": lambda: stage("io"),
    "io: an element is off": lambda: loading(one_element),
    "io: another type": lambda: loading(lambda tensors: dict(tensors, int64=tensors["int64"].int())),
    "io: TMPDIR is not there": lambda: stage("io", TMPDIR="/nonexistent/folder"),
    "io: the disk is full": full_disk,
    "workers": lambda: stage("workers"),
    "workers: a bus error": lambda: scripted("workers", "import os\nos.kill(os.getpid(), 7)\n"),
    "workers: they hang": lambda: scripted("workers", HANG, ("LIMIT_S", 1.0)),
    "workers: files": lambda: scripted(
        "workers", "def work():\n    raise OSError(24, 'Too many open files')\nattempt('load', work)\n"),
    "workers: samples are lost": lambda: scripted("workers", "say('ok', 'load', '40 of 48 samples came')\n"),
    "distributed": lambda: stage("distributed"),
    "distributed: a wrong sum": lambda: scripted("distributed", "say('ok', 'reduce', '3 sums are wrong')\n"),
    "distributed: one rank fails": lambda: scripted(
        "distributed", "import time\nif sys.argv[2] == '0':\n    say('raised', 'reduce', 'TimeoutError: waiting')\n"
        "else:\n    say('raised', 'reduce', 'RuntimeError: no interface')\n"),
    "distributed: no such interface": lambda: stage("distributed", GLOO_SOCKET_IFNAME="nothing0"),
    "distributed: a torch without NCCL": lambda: (lambda one: one.pieces["distributed"].nccl(one))(device()),
    "extensions": lambda: stage("extensions"),
    "extensions: sound": lambda: package(SCATTER % "2.0, 4.0"),
    "extensions: a wrong result": lambda: package(SCATTER % "2.0, 5.0"),
    "extensions: it can't be imported": lambda: package("raise ImportError('undefined symbol: _ZN3c104impl')\n"),
    "extensions: it crashes": lambda: package("import os\nos.abort()\n"),
    "extensions: the next one": two_packages,
    "compile": lambda: stage("compile"),
    "compile: no C++ compiler": lambda: stage("compile", CXX="/nonexistent/c++"),
    "compile: the cache is a file": lambda: stage("compile", TORCHINDUCTOR_CACHE_DIR="/dev/null/cache"),
    "compile: switched off": lambda: stage("compile", TORCH_COMPILE_DISABLE="1"),
    "compile: wrong numbers": lambda: scripted("compile", "say('ok', 'compile', '1700.0 1')\n"),
    "compile: nothing was compiled": lambda: scripted("compile", "say('ok', 'compile', '0.1 0')\n"),
    "compile: an old ptxas": lambda: scripted(
        "compile", "say('raised', 'compile', \"PTXASError: ptxas fatal : Value 'sm_103a' is not defined for option "
        "'gpu-name'\")\n"),
    "compile: too new a Python": lambda: scripted(
        "compile", "say('raised', 'compile', 'RuntimeError: Dynamo is not supported on Python 3.15+')\n"),
    "compile: it leaves a process": lambda: scripted("compile", DAEMON),
    "compile: it hangs beyond the user's limit": lambda: limited("compile", HANG, 2.0),
    "compile: it hangs": lambda: scripted("compile", HANG, ("LIMIT_S", 1.0)),
}


def children():
    """Processes that came of this one and do not go away within seconds (Linux)."""
    end = time.time() + 10
    while running() and time.time() < end:
        time.sleep(0.1)
    return running()


def running():
    found = []
    for name in os.listdir("/proc") if os.path.isdir("/proc/self") else ():
        try:
            with open(os.path.join("/proc", name, "environ"), "rb") as file:
                mine = MARK in file.read()
            with open(os.path.join("/proc", name, "stat")) as file:
                zombie = file.read().rpartition(")")[2].split()[0] == "Z"
        except OSError:
            continue
        if mine and not zombie and int(name) != os.getpid():
            found.append(int(name))
    return found


MARK = b"FAULTY_FEATURES=" + str(os.getpid()).encode()
os.environ["FAULTY_FEATURES"] = str(os.getpid())
own = tempfile.mkdtemp(prefix="features-")
torch.set_num_threads(1)
try:
    for chosen in sys.argv[2:]:
        os.environ["TMPDIR"] = own
        said = CASES[chosen]()
        left = [str(pid) for pid in children()] + os.listdir(own)
        print(json.dumps({"name": chosen, "data": json.loads(probe.to_json(said)), "left": left}))
        sys.stdout.flush()
finally:
    shutil.rmtree(own, ignore_errors=True)
