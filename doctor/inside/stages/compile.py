"""torch.compile of a small function, against float64: whether the compiler, Triton and their cache work here.

It is compiled in an interpreter of its own, since the compiler starts programs and may crash; into an empty folder
inside the cache that the user's programs take, so that a cache that can't be written shows, and nothing is left there.

The bound: sums of 64 numbers of one sign in float32, |error| <= 16 u S with S the sum of their sizes; sine and fused
multiply-adds are off by a few u of each term.
"""

import os
import re
import shutil
import tempfile
import time

LIMIT_S = 240.0  # a C++ compiler needs many seconds on a busy machine
WHAT = "torch.compile"
PREFIX, STALE_S = "torchdoctor-", 3600  # a probe that was killed leaves its folder to the next one
SWITCHES = ("TORCH_COMPILE_DISABLE", "TORCHDYNAMO_DISABLE")
NOT_YET = re.compile(r"not (?:yet )?supported (?:for torch\.compile|on Python)|Windows not yet supported", re.I)
SCRIPT = r"""
import torch


def function(x, y):
    return (x.sin() * y + x).relu().sum(-1)


def work():
    import torch._dynamo.utils

    generator = torch.Generator().manual_seed(0)
    x, y = (torch.randn(96, 64, generator=generator) for _ in range(2))
    got = torch.compile(function)(x.to(sys.argv[1]), y.to(sys.argv[1])).cpu().double()
    x, y = x.double(), y.double()
    scale = ((x.sin() * y).abs() + x.abs()).sum(-1)
    ratio = ((got - function(x, y)).abs() / (16 * 2.0 ** -24 * scale)).max()
    return "%r %d" % (float(ratio), sum(torch._dynamo.utils.counters["frames"].values()))


attempt("compile", work)
"""


def compiled(probe):
    tries = probe.pieces["tries"]
    data = tries.blank()
    tries.attempt(data, WHAT, lambda: compare(probe, data))
    return data


def compare(probe, data):
    """Texts of what is wrong. Raises what the compiler raised."""
    tries, torch = probe.pieces["tries"], probe.torch
    if not hasattr(torch, "compile"):
        raise tries.NotHere("it came with torch 2.0")
    if probe.device.type == "mps":
        raise tries.NotHere("for MPS it is a prototype")
    switch = next((name for name in SWITCHES if os.environ.get(name, "0") not in ("", "0")), None)
    if switch:
        raise tries.NotHere("%s switches it off" % switch)
    with Folder(cache_folder(tempfile.gettempdir())) as folder:
        environ = {
            "TORCHINDUCTOR_CACHE_DIR": folder, "TORCHINDUCTOR_COMPILE_THREADS": "1",
            "TORCHINDUCTOR_CPP_CACHE_PRECOMPILE_HEADERS": "0",  # they pay for many kernels, not for one
        }
        for name in ("TMPDIR", "TEMP", "TMP"):  # precompiled headers lie there, whatever the cache is
            environ[name] = folder
        own = os.environ.get("TRITON_CACHE_DIR")
        if own and not probe.is_cpu:
            with Folder(own):  # only whether it can be written
                pass
        environ["TRITON_CACHE_DIR"] = os.path.join(folder, "triton")
        apart = probe.pieces["apart"]
        lines, ended = apart.run(SCRIPT, [probe.device], apart.within(probe, LIMIT_S), environ)
    said = dict((word, text) for word, _, text in lines)
    if "ok" not in said:
        text = said.get("raised") or ended or "the script said nothing"
        if NOT_YET.search(text):
            raise tries.NotHere(tries.shortened(text))
        raise Compiler(tries.shortened(text))
    ratio, frames = said["ok"].split()
    data["compile_error_ratio"] = float(ratio)
    if not int(frames):
        raise tries.NotHere("torch ran the function without compiling it")
    return [] if float(ratio) <= 1 else ["the largest error is %.3g times the tolerance" % float(ratio)]


class Compiler(Exception):
    """What the compiler raised: its own class stands in the message."""


def cache_folder(temporary):
    """The folder that torch's compiler takes for its cache: torch/_inductor/runtime/cache_dir_utils.py."""
    named = os.environ.get("TORCHINDUCTOR_CACHE_DIR")
    if named:
        return named
    import getpass

    return os.path.join(temporary, "torchinductor_" + re.sub(r'[\\/:*?"<>|]', "_", getpass.getuser()))


class Folder(object):
    """An empty folder inside another one, which is made where it is not there; removed afterwards."""

    def __init__(self, parent):
        self.parent = parent

    def __enter__(self):
        self.made = first_missing(self.parent)
        os.makedirs(self.parent, exist_ok=True)
        remove_stale(self.parent)
        self.own = tempfile.mkdtemp(prefix=PREFIX, dir=self.parent)
        try:
            with open(os.path.join(self.own, "written"), "wb") as file:
                file.write(b"x" * 4096)
        except OSError:
            self.__exit__()
            raise
        return self.own

    def __exit__(self, *error):
        shutil.rmtree(self.own, ignore_errors=True)
        folder = self.parent
        while self.made and len(folder) >= len(self.made):  # those that were made, where they are empty
            try:
                os.rmdir(folder)
            except OSError:
                return
            folder = os.path.dirname(folder)


def remove_stale(parent):
    """Remove our own folders of probes that were killed."""
    for name in os.listdir(parent):
        folder = os.path.join(parent, name)
        try:
            old = name.startswith(PREFIX) and time.time() - os.stat(folder).st_mtime > STALE_S
        except OSError:
            continue
        if old and os.path.isdir(folder) and not os.path.islink(folder):
            shutil.rmtree(folder, ignore_errors=True)


def first_missing(folder):
    """The uppermost folder of a path that is not there; None where all are."""
    missing = None
    folder = os.path.abspath(folder)
    while not os.path.isdir(folder) and os.path.dirname(folder) != folder:
        missing, folder = folder, os.path.dirname(folder)
    return missing


STAGES = (("compile", compiled, ("full",), ()),)
