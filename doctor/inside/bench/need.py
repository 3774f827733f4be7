"""How long a cell takes, before it is begun, and who gets what time is left. Pure: run.py measures.

A step is foreseen from the last one of the same workload, device and type that this run has timed, whatever its batch.
Until there is one: from its operations and the rate of a product, of which networks reach a part. Times are seconds.
"""

TIMED, FEWEST = 3, 2  # steps on the clock: planned at least, and shown at least, where more do not fit
LEAST_S = 2.0  # of a cell: half of it to warm up, half on the clock; a long step needs `TIMED` times its own
USUAL = 0.4  # of a product's rate: what networks reach
UNKNOWN = 1e15  # operations a second of a device that was not tried out: none of its cells is refused
DOUBLE = 2.0  # times that float64 takes longer than float32
UPDATE = 1000.0  # operations of a product that take as long as an optimizer does for a parameter: it moves ten numbers
FUSED = 3.0  # times faster is the one of the CPU's seeds
MOST_UPDATE = 0.5  # of a step that was timed is the optimizer's
ODD = 1.5  # times what was foreseen
TRIES, BRIEF = 8, 0.02  # steps that may follow one that took too long; all but one only where they take such a share
BACKWARD = 3.0  # times the forward pass: a step of a training
TRAINS = ("training", "forward-backward")


class Needs(object):
    """`cells` and `gate` name what a check consists of, `operations` how much a step computes; `works` are the
    workloads by name."""

    def __init__(self, cells, gate, operations, works):
        self.cells, self.gate, self.operations, self.works = cells, gate, operations, works
        self.products = {}  # operations a second of a product, by device
        self.speeds = {}  # of steps, by workload, device and type
        self.updates = {}  # seconds of a step that do not grow with the batch, alike
        self.checked = {}  # what step 0 and the short training gave, by `setting`
        self.referred = {}  # what the CPU has computed of a workload and size: "outputs", "training", "losses"

    def product(self, device, rate):
        """Other programs may have slowed an earlier one down."""
        self.products[device] = max(self.products.get(device, 0.0), rate)

    def learn(self, group, spec, operations, seconds):
        """A step was timed."""
        if operations and seconds > 0:
            key = (group["workload"], spec["device"], spec["dtype"])
            update = min(self.update(group, spec), MOST_UPDATE * seconds)
            self.speeds[key] = operations / (seconds - update)
            if spec["phase"] == "training":
                self.updates[key] = update

    def knows(self, group, spec):
        """Whether a step of this workload was timed on this device in this type."""
        return (group["workload"], spec["device"], spec["dtype"]) in self.speeds

    def rate(self, group, spec, share=USUAL):
        known = self.speeds.get((group["workload"], spec["device"], spec["dtype"]))
        return known or share * self.products.get(spec["device"], UNKNOWN)

    # --- one cell

    def step_operations(self, group, spec):
        forward = self.operations.per_sample(self.works[group["workload"]], group.get("size"))
        return forward * spec["batch"] * self.factor(spec)

    def factor(self, spec):
        """Forward passes that a step is worth."""
        return BACKWARD if spec["phase"] in TRAINS else 1.0

    def step(self, group, spec, share=USUAL):
        """Seconds of a step."""
        update = 0.0
        if spec["phase"] == "training":
            known = self.updates.get((group["workload"], spec["device"], spec["dtype"]))
            update = known if known is not None else self.update(group, spec) if share == USUAL else 0.0
        return self.step_operations(group, spec) / self.rate(group, spec, share) + update

    def update(self, group, spec):
        """Seconds of the optimizer in a step of a training: they do not grow with the batch."""
        if spec["phase"] != "training":
            return 0.0
        parameters = self.works[group["workload"]].PARAMETERS or 0
        return UPDATE * parameters / self.products.get(spec["device"], UNKNOWN)

    def again(self, group, spec, step):
        """Of the last look at the batch that was timed, by the seconds of a step: inferences have their outputs."""
        if spec.get("ungated"):
            return 0.0
        if spec["phase"] in TRAINS:
            return step / BACKWARD * self.gate.batches_again(step)
        return 2.0 * step if hasattr(self.works[group["workload"]], "outputs") else 0.0

    def check(self, group, spec, share=USUAL):
        """Of what is still to be checked of the cell's setting: the CPU's reference in float64 and its seeds, then
        the same on the device."""
        work = self.works[group["workload"]]
        if spec.get("ungated") or self.setting(group, spec) in self.checked:
            return 0.0
        trains = spec["phase"] in TRAINS
        forward = self.operations.per_sample(work, group.get("size"))
        if "product" in work.PHASES:
            return 0.0
        cpu = dict(spec, device="cpu", dtype="fp32")
        here, there = self.rate(group, cpu, share), self.rate(group, spec, share)
        images = forward * self.cells.compared(work, spec["batch"])
        known = self.referred.get((group["workload"], group.get("size")), ())
        seconds = 2.0 * images / there + (0.0 if "outputs" in known else 2.0 * DOUBLE * images / here)
        if trains:
            seconds += BACKWARD * images / there
            seconds += 0.0 if "training" in known else BACKWARD * DOUBLE * images / here
            steps, part = getattr(work, "STEPS", self.gate.STEPS), self.gate.part_of_band(work)
            updates = [self.update(group, s) if share == USUAL else 0.0 for s in (spec, cpu)]
            seconds += steps * (BACKWARD * forward * part / there + updates[0])
            if "losses" not in known:
                seeds = getattr(work, "SEEDS", self.gate.SEEDS)
                seconds += seeds * steps * (BACKWARD * forward * part / here + updates[1] / FUSED)
        return seconds

    def cell(self, group, spec, timed=TIMED):
        """All of a cell, at least: the check, its first step, those that are timed, and the last look."""
        step = self.step(group, spec)
        return self.check(group, spec) + max((1 + timed) * step, LEAST_S) + self.again(group, spec, step)

    def cheaper(self, group, spec, rest):
        """Seconds that all those of the rest need, as (group, cell), that need less than this one: an accelerator's
        cells beside the CPU's."""
        own = self.cell(group, spec)
        return sum(need for need in (self.cell(g, s) for g, s in rest) if need < own)

    def setting(self, group, spec):
        """What step 0 of the first samples and the short training depend on: all but the size of the batch."""
        work = self.works[group["workload"]]
        return (
            group["workload"], group.get("size"), spec["device"], spec["phase"], spec["dtype"], spec.get("threads"),
            spec["channels_last"], spec["compile"], self.cells.compared(work, spec["batch"]),
        )

    def group(self, group, timed=TIMED):
        return sum(self.cell(group, spec, timed) for spec in group["cells"])


def share_of(own, others, left):
    """Seconds of what is next: its need, and an equal part of what remains when the others have theirs. `others`: need
    of each with `TIMED` steps, and with `FEWEST`, which is what the first one gets that does not fit; those that are
    dearer still get nothing.

    >>> share_of(10.0, [(20.0, 15.0), (30.0, 25.0)], 90.0)
    20.0
    >>> share_of(10.0, [(20.0, 15.0), (300.0, 200.0)], 90.0)
    40.0
    >>> share_of(10.0, [(20.0, 15.0), (70.0, 50.0)], 90.0)
    15.0
    >>> share_of(100.0, [], 90.0)
    90.0
    """
    rest, sharing = left - own, 1
    for need, fewest in sorted(others):
        if need > rest:
            rest -= fewest if fewest <= rest else 0.0
            break
        rest -= need
        sharing += 1
    return min(left, own + max(0.0, rest) / sharing)


def refusal(step, check, again, left, timed):
    """Why a cell is not run whose step takes so long; None where it fits.

    >>> refusal(2.0, 5.0, 1.0, 20.0, 3) is None
    True
    >>> refusal(48.0, 0.0, 16.0, 60.0, 3)
    'a step takes about 48 s here; checking it and 3 steps need 160 s, and 60 s are left'
    """
    need = check + timed * step + again
    if need <= left:
        return None
    shown = "%.0f s" % step if step >= 10 else "%.2g s" % step if step >= 1 else "%.3g ms" % (1000 * step)
    return "a step takes about %s here; checking it and %d steps need %.0f s, and %.0f s are left" % (
        shown, timed, need, max(0.0, left))


def warming(spare, step, wanted):
    """Seconds to warm up, of those that are left beside the steps that are timed; 0 where not even two steps fit: the
    first call has to do."""
    seconds = min(wanted, 0.5 * spare)
    return seconds if seconds >= 2 * step else 0.0


def is_odd(first, foreseen):
    """Whether a first step may have taken so long for other reasons than its work: a library was loaded, a kernel was
    compiled. `foreseen`: None where no step of the workload was timed before."""
    return foreseen is None or first > ODD * foreseen
