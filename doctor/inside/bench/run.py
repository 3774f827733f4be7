"""All cells of the plan, group by group: a group is one workload, and its cells take turns in rounds.

PLAN (written by doctor/bench/plan.py): {"seconds", "warm_s", "rounds", "loader", "unsynchronised", "seed", "groups":
[{"workload", "size", "weight", "cells": [{"key", "device", "phase", "dtype", "batch", "threads", "channels_last",
"compile", "seconds"}]}]}. Lines: begin and end of each stage ("cells" are named by their key), "cell" with what was
measured, "share", "done".
"""

import sys
import time

MOST_STEPS_TO_START = 5  # the first call, one to warm up, and three to measure
LEAST_BATCH = 1
LEAST_S = 0.5  # of a cell
SHARED = 0.6  # of a group's time, at most for what the CPU computes for all of its cells
MOST_PACE = 20.0
FALLBACK = "fall back to run on the CPU"
TRIAL = 768  # side of the product that says how fast a device is at first
SIDES, ENOUGH_S = (768, 1536, 3072), 0.03  # of products that say what a CPU can do; the last one takes so long
FAST = 2.25  # multiplications for an output and input channel that Winograd and FFT convolutions need, at least


class Speaker(object):
    """Says what is done, as the probe does: an open line names where a child died."""

    def __init__(self, talk):
        self.talk = talk

    def stage(self, name, key, work):
        self.talk.say(event="begin", stage=name, cell=key)
        try:
            return work()
        finally:
            self.talk.say(event="end", stage=name, cell=key)

    def cell(self, key, **data):
        self.talk.say(event="cell", stage="cell", cell=key, data=data)


def main(probe, talk, plan):
    """Run the plan. `probe` is the device's; the CPU's cells of a plan get a Probe of their own."""
    probe.pieces = by_short_names(probe.pieces)
    runner = Runner(probe, Speaker(talk), plan)
    talk.say(event="facts", data=runner.facts())
    for number, group in enumerate(plan["groups"]):
        if not runner.group(group, plan["groups"][number:]):
            break
        talk.say(event="share", share=round((number + 1.0) / len(plan["groups"]), 3))


class Runner(object):
    def __init__(self, probe, speaker, plan):
        self.speaker, self.plan = speaker, plan
        self.torch, self.pieces = probe.torch, probe.pieces
        host = probe if probe.is_cpu else type(probe)(probe.torch, "cpu", 0)
        host.threads = probe.threads  # opening a device left one thread to torch
        host.pieces = probe.pieces
        self.probes = {"cpu": host, str(probe.device): probe}
        self.until = time.perf_counter() + plan["seconds"]
        self.rates = {}  # operations a second, by device
        self.bands = {}  # losses of the CPU's seeds, by workload and size: other batches share them
        self.pace = 1.0  # how much longer things take than foreseen: other programs may be at work
        self.kept_warnings = plan.get("warnings", [])

    def facts(self):
        return {"environ": self.pieces["meter"].debug_variables()}

    def group(self, group, left):
        """False where the device is lost."""
        share = group["weight"] / float(sum(g["weight"] for g in left))
        budget = max(0.0, self.until - time.perf_counter()) * share
        until = time.perf_counter() + budget
        work = self.pieces["workloads." + group["workload"].replace("-", "_")]
        try:
            start = self.speaker.stage("make", group["workload"], lambda: self.made(work, group))
        except Exception as error:
            for spec in group["cells"]:
                self.speaker.cell(spec["key"], **self.failed(error))
            return True
        flops = counted(self.torch, start, group.get("size"))
        gate = self.pieces["gate"]
        reference = gate.Reference(self.pieces["cell"], start, self.probes["cpu"].threads)
        which = (group["workload"], group.get("size"))
        reference.losses = self.bands.get(which)
        meters = []
        alive = True
        for position, spec in enumerate(group["cells"]):
            try:
                meter = self.begun(start, spec, reference, flops, until, len(group["cells"]) - position)
                if meter is not None:
                    meters.append(meter)
            except Exception as error:
                data = self.failed(error)
                self.speaker.cell(spec["key"], **data)
                if data["lost"] and spec["device"] != "cpu":
                    alive = False
                    break
        self.bands[which] = reference.losses
        if alive:
            self.rounds(meters, until)
        for spec, meter, said in meters:
            alive = self.ended(spec, meter, said, reference) and alive
        return alive

    def made(self, work, group):
        for name in sorted({spec["device"] for spec in group["cells"]}):
            self.rates[name] = max(self.rates.get(name, 0.0), self.trial(self.probes[name]))
        self.torch.set_num_threads(self.probes["cpu"].threads)
        others = {name.partition(".")[2]: p for name, p in self.pieces.items() if name.startswith("workloads.")}
        return self.pieces["cell"].Start(self.torch, work, group.get("size"), self.plan["seed"], others)

    def begun(self, start, spec, reference, flops, until, turns):
        """(spec, meter, what the gate saw) of a cell that is warm; None where it is not to be. `turns`: how many cells
        share the time that is left. What the CPU computes for all of them is not charged to the first one."""
        probe, work = self.probes[spec["device"]], start.work
        batch = spec["batch"]
        notes = []
        if spec["compile"] and not hasattr(self.torch, "compile"):
            raise NotImplementedError("this torch has no torch.compile; it came with 2.0")
        if spec["compile"] and hasattr(work, "step"):
            raise NotImplementedError("generating token by token is not compiled here")
        factor = 3.0 if spec["phase"] in ("training", "forward-backward") else 1.0
        while True:
            per_step = flops["step"] * batch * factor - flops["first"] * batch * (factor > 1)
            expected = per_step / self.rate(probe)
            shared, own = (0.0, 0.0) if spec.get("ungated") else gate_seconds(
                self, start, flops, factor, batch, probe, reference)
            left = max(0.0, until - time.perf_counter())
            seconds = max(0.0, left - self.pace * shared) / turns
            foreseen = self.pace * (own + MOST_STEPS_TO_START * expected)
            if left / turns < LEAST_S or self.pace * shared > SHARED * left or foreseen > 1.5 * seconds:
                why = "the time was over before its turn" if left / turns < LEAST_S else (
                    "checking it and %d steps would take about %.0f s here, and this cell has %.0f s"
                    % (MOST_STEPS_TO_START, foreseen + self.pace * shared, left / turns))
                said = {"status": "not-run", "why": why, "parameters": parameters(start), "flops": per_step}
                self.speaker.cell(spec["key"], **said)
                return None
            try:
                counts = {"flops": per_step, "least_flops": per_step * flops["least"]}
                found = self.warmed(start, spec, batch, reference, counts, seconds + self.pace * shared, notes)
                self.keep_pace(found[1].said["start_s"], shared + own + 2 * expected)
                return found
            except Exception as error:
                if not is_out_of_memory(error) or batch <= LEAST_BATCH:
                    raise
                notes.append("a batch of %d ran out of memory" % batch)
                batch //= 2
            self.forget(probe)

    def keep_pace(self, taken, foreseen):
        """What took long here will take long the next time."""
        if taken > LEAST_S:
            self.pace = max(self.pace, min(MOST_PACE, taken / max(foreseen, LEAST_S)))

    def warmed(self, start, spec, batch, reference, counts, seconds, notes):
        probe, key = self.probes[spec["device"]], spec["key"]
        began = time.perf_counter()
        kept = len(self.kept_warnings)
        cell = self.pieces["cell"].Cell(probe, start, spec, batch)
        self.tampered(cell)
        self.speaker.stage("prepare", key, cell.prepare)
        if probe.device.type == "cuda":
            probe.ask("cuda.reset_peak_memory_stats", probe.device)
        meter = self.pieces["meter"].Meter(cell, self.pieces)
        self.speaker.stage("first", key, meter.first_call)
        gated = {} if spec.get("ungated") else self.speaker.stage(
            "gate", key, lambda: self.pieces["gate"].looked(self.pieces["cell"], cell, reference))
        meter.said["start_s"] = time.perf_counter() - began
        left = seconds - meter.said["start_s"]
        least = min(self.plan["warm_s"], max(left * 0.5, 0.1))
        self.speaker.stage("warm", key, lambda: (meter.calibrate(), meter.warm_up(least, max(least * 1.5, 0.1))))
        rate = counts["flops"] / max(self.pieces["clock"].median([meter.block()]), 1e-9)
        self.rates[str(probe.device)] = max(self.rates.get(str(probe.device), 0.0), 0.5 * rate)
        said = {
            "gate": gated, "batch": batch, "parameters": parameters(start), "notes": notes,
            "depth": start.work.DEPTH, "bits": self.bits(probe, spec), "warnings_before": kept,
            "product_rate": self.product_rate(probe, spec),
            "samples": batch * getattr(start.work, "PER_SAMPLE", 1) if start.work.UNIT != "products" else batch,
            "bytes_moved": moved(start, cell, spec), "unit": start.work.UNIT,
        }
        said.update(counts)
        said.update(self.precision(probe))
        return spec, meter, said

    def tampered(self, cell):
        """For tests: a fault that is put into a cell (tests/inside/faulty_bench.py)."""

    def rounds(self, meters, until):
        """The cells take turns, so that drift of the machine hits all of them."""
        rounds = self.plan["rounds"]
        for number in range(rounds):
            for position, (spec, meter, said) in enumerate(meters):
                turns = (rounds - number - 1) * len(meters) + len(meters) - position
                seconds = min(spec["seconds"] / rounds, max(0.0, until - time.perf_counter()) / turns)
                if "failed" not in said:
                    try:
                        self.speaker.stage("measure", spec["key"], lambda: meter.round(max(seconds, 0.05)))
                    except Exception as error:
                        said["failed"] = self.failed(error)

    def ended(self, spec, meter, said, reference):
        """Say what was measured; False where the device is lost."""
        if "failed" in said:
            self.speaker.cell(spec["key"], **said["failed"])
            return not said["failed"]["lost"] or spec["device"] == "cpu"
        try:
            measured = meter.report()
            if self.plan["unsynchronised"]:
                measured["unsynchronised_s"] = self.speaker.stage("unsynchronised", spec["key"], meter.unsynchronised)
                measured["item_s"] = self.speaker.stage("unsynchronised", spec["key"], meter.with_item)
            if self.plan["loader"] and hasattr(meter.cell.work, "SHAPE"):
                measured["loader_s"], measured["workers"] = self.speaker.stage(
                    "loader", spec["key"], lambda: self.pieces["loader"].step_seconds(meter.cell, spec["seconds"]))
            again = {} if spec.get("ungated") else self.speaker.stage(
                "again", spec["key"], lambda: self.pieces["gate"].looked_again(meter.cell, reference))
            fallback = [w for w in self.kept_warnings[said.pop("warnings_before"):] if FALLBACK in w]
            self.speaker.cell(
                spec["key"], status="measured", measured=measured, fallback=fallback, **dict(
                    said, gate=dict(said["gate"], **again)))
        except Exception as error:
            data = self.failed(error)
            self.speaker.cell(spec["key"], **data)
            return not data["lost"] or spec["device"] == "cpu"
        finally:
            meter.cell.release()
            self.forget(self.probes[spec["device"]])
        return True

    def failed(self, error):
        """How a cell ended that raised."""
        missing = self.probes["cpu"].unsupported(error) or isinstance(error, (ImportError, AttributeError, TypeError))
        text = " ".join(str(error).split())[:300]
        return {
            "status": "not-here" if missing or is_missing_tool(error) else "failed",
            "why": "%s: %s" % (type(error).__name__, text),
            "lost": "CUDA error" in text or "HIP error" in text or "device-side" in text,
            "memory": is_out_of_memory(error),
        }

    def rate(self, probe):
        """Operations a second that the device reaches, roughly and rather too low: the best seen so far."""
        name = str(probe.device)
        if name not in self.rates:
            self.rates[name] = self.trial(probe)
        return self.rates[name]

    def trial(self, probe):
        """Operations a second of a product. Other programs may slow it down, so each group tries again."""
        torch = self.torch
        torch.set_num_threads(probe.threads)
        x = torch.randn(TRIAL, TRIAL, device=probe.device)
        torch.mm(x, x)
        probe.wait()
        best = None
        for _ in range(3):
            started = time.perf_counter()
            torch.mm(x, x)
            probe.wait()
            taken = time.perf_counter() - started
            best = taken if best is None else min(best, taken)
        return 0.4 * 2.0 * TRIAL ** 3 / max(best, 1e-9)

    def product_rate(self, probe, spec):
        """Operations a second of a large product on the CPU; None of other devices, whose peaks are published."""
        if not probe.is_cpu:
            return None
        torch = self.torch
        dtype = {"bf16": torch.bfloat16, "fp16": torch.float16}.get(spec["dtype"], torch.float32)
        best = 0.0
        for side in SIDES:
            try:
                x = torch.randn(side, side).to(dtype)
                torch.mm(x, x)
            except RuntimeError:  # this torch has no product of this type
                return None
            fastest = None
            for _ in range(5):
                started = time.perf_counter()
                torch.mm(x, x)
                taken = time.perf_counter() - started
                fastest = taken if fastest is None else min(fastest, taken)
            best = max(best, 2.0 * side ** 3 / max(fastest, 1e-9))
            if 8 * fastest > ENOUGH_S:
                break
        return best

    def bits(self, probe, spec):
        """Significant bits of the products."""
        if spec["dtype"] != "fp32":
            return {"bf16": 8, "fp16": 11}[spec["dtype"]]
        if probe.device.type == "cuda" and not getattr(self.torch.version, "hip", None):
            tf32 = self.precision(probe)
            modern = self.torch.cuda.get_device_capability(probe.device)[0] >= 8
            if modern and (tf32["tf32"] or tf32["tf32_convolutions"]):
                return 11
        asked = probe.ask("get_float32_matmul_precision")
        return 8 if asked == "medium" else 24

    def precision(self, probe):
        torch = self.torch
        if probe.device.type != "cuda":
            return {"tf32": None, "tf32_convolutions": None,
                    "float32_precision": probe.ask("get_float32_matmul_precision")}
        return {
            "tf32": bool(torch.backends.cuda.matmul.allow_tf32),
            "tf32_convolutions": bool(torch.backends.cudnn.allow_tf32),
            "float32_precision": probe.ask("get_float32_matmul_precision"),
        }

    def forget(self, probe):
        import gc

        gc.collect()
        probe.ask(probe.device.type + ".empty_cache")


def gate_seconds(runner, start, flops, factor, batch, probe, reference):
    """About how long it takes to check a cell: (what the CPU computes for all cells of the group and has not yet, what
    the cell's device does itself). The first is step 0 and two outputs more in float64, at half the rate of float32,
    and for a training those of the seeds."""
    work, gate = start.work, runner.pieces["gate"]
    if "product" in work.PHASES:
        return 0.0, 0.0
    trains = factor > 1
    step = flops["step"] * gate.compared(work, batch) * (factor + 2.0)
    training = 0.0
    if trains:
        side = getattr(work, "BAND_SIDE", None)
        whole = work.SHAPE[-1] if hasattr(work, "SHAPE") else work.TOKENS
        count = 4 * (side / float(whole)) ** 2 if side else gate.BAND_BATCH
        training = flops["step"] * factor * count * getattr(work, "STEPS", gate.STEPS)
    shared = 0.0 if (trains, batch) in reference.values else 2.0 * step
    if reference.losses is None:
        shared += training * getattr(work, "SEEDS", gate.SEEDS)
    return shared / runner.rate(runner.probes["cpu"]), (step + training) / runner.rate(probe)


def parameters(start):
    return sum(p.numel() for p in start.model.parameters())


def moved(start, cell, spec):
    """Bytes that a step reads and writes at least: each parameter once for each of its uses."""
    size = 2 if spec["dtype"] != "fp32" else 4
    uses = {"training": 10, "forward-backward": 3, "generation": getattr(start.work, "GENERATED", 1)}
    inputs = sum(t.numel() * t.element_size() for t in cell.pool[0][:1])
    products = 2 * inputs if spec["phase"] == "product" else inputs
    return parameters(start) * size * uses.get(spec["phase"], 1) + products


def counted(torch, start, size):
    """Floating-point operations of the forward pass of one sample, and of its first layer; a multiply-add counts
    two. "least": the share of them that fast convolutions need."""
    work = start.work
    if hasattr(work, "flops"):
        return {"step": work.flops(1, **({"size": size} if size else {})), "first": 0.0,
                "least": getattr(work, "LEAST", 1.0)}
    nn, seen, least = torch.nn, [], []

    def hook(module, inputs, output):
        saved = 1.0
        if hasattr(module, "flops"):
            seen.append(module.flops(inputs, output))
        elif isinstance(module, nn.Linear):
            seen.append(2.0 * output.numel() * module.in_features)
        else:
            side = module.kernel_size[0] * module.kernel_size[1]
            seen.append(2.0 * output.numel() * side * module.in_channels / module.groups)
            saved = min(1.0, FAST / side) if tuple(module.stride) == (1, 1) else 1.0
        least.append(seen[-1] * saved)

    hooks = [
        m.register_forward_hook(hook) for m in start.model.modules()
        if hasattr(m, "flops") or isinstance(m, (nn.Linear, nn.Conv2d))
    ]
    start.model.eval()
    with torch.no_grad():
        start.model(start.drawn(1, 0)[0])
    for one in hooks:
        one.remove()
    start.model.train()
    return {"step": sum(seen), "first": seen[0] if seen else 0.0, "least": sum(least) / sum(seen) if seen else 1.0}


def is_out_of_memory(error):
    text = str(error)
    return isinstance(error, MemoryError) or "out of memory" in text or "can't allocate memory" in text


def is_missing_tool(error):
    """Whether torch.compile lacks a compiler, or Triton, or a system that it knows."""
    module = type(error).__module__ or ""
    return module.startswith(("torch._dynamo", "torch._inductor"))


def by_short_names(pieces):
    """bench/clock as "clock", bench/workloads/vae as "workloads.vae". torch.compile looks modules up by their names."""
    found = {}
    for name, piece in pieces.items():
        sys.modules.setdefault(piece.__name__, piece)
        short = name[len("bench/"):] if name.startswith("bench/") else name
        found[short.replace("/", ".")] = piece
    return found
