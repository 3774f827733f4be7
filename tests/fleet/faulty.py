"""A rank with a fault, run by the target's Python in the place of doctor/fleet/__main__.py:

    faulty.py FAULT -- OPTIONS of the rank

The fault is put into what its children run, so that everything else is the product as it is.
"""

import importlib.util
import os
import signal
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

# Source that is added to a piece: of the worker, or of the probe's last stage.
DIE = "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"
HANG = "import time; time.sleep(3600)"
STAGE_A = """
def _fault(probe):
    {what}
STAGES = (("speed", _fault, ("quick", "full", "fleet"), ()),)
"""
# Every product takes longer, as on a device with a lower clock.
SLOWED = """
_run = Repeated.run
def _slowed(self, times):
    started = time.perf_counter()
    for _ in range(times):
        took = _run(self, 1)
        until = time.perf_counter() + took * (1 / {share} - 1)
        while time.perf_counter() < until:
            pass
    return time.perf_counter() - started
Repeated.run = _slowed
"""
AT_CONFIG = """
_config = Rank.config
def _fault(self):
    self.begin("config", self.limit)
    {what}
Rank.config = _fault
"""
AT_ALL_GATHER = """
def _fault(self, out, given):
    {what}
Collectives.all_gather = _fault
"""
FLIPPED = """
def _flipped(tensor):
    tensor = tensor.clone()
    tensor[4321 % tensor.numel()] ^= 1 << 9
    return tensor
"""
CORRUPT_PAIRS = FLIPPED + """
_send_all = Pairs.send_all
Pairs.send_all = lambda self, mine, there, messages: _send_all(self, _flipped(mine), there, messages)
"""
CORRUPT_COLLECTIVES = FLIPPED + """
def _wrapped(name):
    plain = getattr(Collectives, name)
    def operation(self, out, given):
        if name == "all_reduce":
            given[4321 % given.numel()] ^= 1 << 9
            return plain(self, out, given)
        return plain(self, out, _flipped(given))
    setattr(Collectives, name, operation)
for _name in ("all_reduce", "all_gather", "reduce_scatter", "all_to_all"):
    _wrapped(_name)
"""
CLOCK = """
class _Clock(object):
    perf_counter, sleep = time.perf_counter, time.sleep
    @staticmethod
    def time(real=time.time):
        return real() + 600.0
time = _Clock
"""
OTHER_TORCH = """
_config = Rank.config
def _fault(self):
    say = self.talk.say
    def said(**line):
        if line.get("event") == "config":
            line["data"]["torch"] = "2.10.0+cpu"
        say(**line)
    self.talk.say = said
    _config(self)
    self.talk.say = say
Rank.config = _fault
"""
WORKER = {  # fault: the pieces of inside/fleet/, each with what is added to it
    "die-B": {"worker": AT_CONFIG.format(what=DIE)}, "hang-B": {"worker": AT_CONFIG.format(what=HANG)},
    "die-C": {"collectives": AT_ALL_GATHER.format(what=DIE)},
    "hang-C": {"collectives": AT_ALL_GATHER.format(what=HANG)},
    "corrupt": {"pairs": CORRUPT_PAIRS, "collectives": CORRUPT_COLLECTIVES},
    "clock": {"meeting": CLOCK}, "other-torch": {"worker": OTHER_TORCH},
}  # fmt: skip
PROBE = {"die-A": STAGE_A.format(what=DIE), "hang-A": STAGE_A.format(what=HANG)}


def load(name, path):
    spec = importlib.util.spec_from_file_location(name, path, submodule_search_locations=[os.path.dirname(path)])
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)


def main(fault, options):
    load("doctor", os.path.join(ROOT, "doctor", "__init__.py"))
    from doctor.fleet.rank import agent
    from doctor.probes import run

    if fault in WORKER:
        plain = agent.script
        more = {f"fleet/{piece}": source for piece, source in WORKER[fault].items()}
        agent.script = lambda plan: with_more(plain(plan), more)
    elif fault in PROBE:
        of_mode = run.script
        run.script = lambda *asked: with_more(of_mode(*asked), {"speed": PROBE[fault]})
    elif fault == "gone":  # the whole rank, when it comes to stage C
        agent.Agent.stage_c = lambda self, takes_part: os.kill(os.getpid(), signal.SIGKILL)
    elif fault.startswith("speed:"):
        of_mode = run.script
        slowed = SLOWED.format(share=float(fault.partition(":")[2]))
        run.script = lambda *asked: with_more(of_mode(*asked), {"speed": slowed})
    return agent.main(options)


def with_more(text, more):
    """The text of a child with more source at the end of some of its pieces."""
    first, _, rest = text.partition("\n")
    pieces = eval(first.partition(" = ")[2])
    assert set(more) <= {name for name, _ in pieces}
    pieces = [(name, source + more.get(name, "")) for name, source in pieces]
    return f"PIECES = {pieces!r}\n{rest}"


if __name__ == "__main__":
    cut = sys.argv.index("--")
    sys.exit(main(sys.argv[1], sys.argv[cut + 1 :]))
