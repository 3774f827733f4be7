"""All cells of the plan, group by group: a group is one workload, and its cells take turns in rounds. The group that
needs the least time is next (need.py).

PLAN (written by doctor/bench/plan.py): {"seconds", "warm_s", "rounds", "loader", "unsynchronised", "seed", "groups":
[{"workload", "size", "cells": [{"key", "device", "phase", "dtype", "batch", "threads", "channels_last", "compile",
"seconds"}]}]}. Lines: begin and end of each stage ("cells" are named by their key), "cell" with what was measured,
"share", "done".
"""

import sys
import time

LEAST_BATCH = 1
FALLBACK = "fall back to run on the CPU"
ROUND_LONGER = 3.0  # times its seconds that a round of long blocks may take
TRIAL = 768  # side of the product that says how fast a device is at first
SIDES, ENOUGH_S = (768, 1536, 3072), 0.03  # of products that say what a CPU can do; the last one takes so long


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
    waiting = list(plan["groups"])
    while waiting and runner.group(runner.next_of(waiting), waiting):
        talk.say(event="share", share=round(1.0 - len(waiting) / float(len(plan["groups"])), 3))


class Made(object):
    """A workload with its parameters and data, and what the CPU computes of it for all cells."""

    def __init__(self, which, start, flops, reference):
        self.which, self.start, self.flops, self.reference = which, start, flops, reference


class Runner(object):
    def __init__(self, probe, speaker, plan):
        self.speaker, self.plan = speaker, plan
        self.torch, self.pieces = probe.torch, probe.pieces
        host = probe if probe.is_cpu else type(probe)(probe.torch, "cpu", 0)
        host.threads = probe.threads  # opening a device left one thread to torch
        host.pieces = probe.pieces
        self.probes = {"cpu": host, str(probe.device): probe}
        self.until = time.perf_counter() + plan["seconds"]
        self.works = {g["workload"]: self.work_of(g["workload"]) for g in plan["groups"]}
        self.needs = self.pieces["need"].Needs(
            self.pieces["cell"], self.pieces["gate"], self.pieces["operations"], self.works)
        self.last = None  # what was made last: the next group may have the same workload
        self.kept_warnings = plan.get("warnings", [])
        for name in sorted(self.probes):
            self.try_out(name)

    def work_of(self, name):
        return self.pieces["workloads." + name.replace("-", "_")]

    def next_of(self, waiting):
        """The group that needs the least, taken out of those that wait."""
        found = min(waiting, key=self.needs.group)
        waiting.remove(found)
        return found

    def facts(self):
        return {"environ": self.pieces["meter"].debug_variables()}

    def group(self, group, waiting):
        """Measure the cells of a group. False where the device is lost."""
        cells = list(enumerate(group["cells"]))
        refusals = [self.refused(group, spec, self.kept_for_others(group, n, waiting)) for n, spec in cells]
        if all(refusals):  # not even made
            for (_, spec), why in zip(cells, refusals):
                self.not_run(group, spec, why)
            return True
        left, need = self.left(), self.pieces["need"]
        others = [(self.needs.group(g), self.needs.group(g, need.FEWEST)) for g in waiting]
        until = time.perf_counter() + need.share_of(self.needs.group(group), others, left)
        try:
            made = self.speaker.stage("make", group["workload"], lambda: self.made(group))
        except Exception as error:
            for spec in group["cells"]:
                self.speaker.cell(spec["key"], **self.failed(error))
            return True
        meters = []
        alive = True
        for position, spec in cells:
            try:
                later = self.kept_for_others(group, position, waiting)
                meter = self.begun(made, group, spec, until, group["cells"][position + 1:], later)
                if meter is not None:
                    meters.append(meter)
            except Exception as error:
                data = self.failed(error)
                self.speaker.cell(spec["key"], **data)
                if data["lost"] and spec["device"] != "cpu":
                    alive = False
                    break
        if alive:
            self.rounds(meters, until)
        for spec, meter, said in meters:
            alive = self.ended(group, spec, meter, said, made.reference) and alive
        return alive

    def kept_for_others(self, group, position, waiting):
        """Seconds for what comes after a cell of the group and needs less."""
        rest = [(group, s) for s in group["cells"][position + 1:]] + [(g, s) for g in waiting for s in g["cells"]]
        return self.needs.cheaper(group, group["cells"][position], rest)

    def not_run(self, group, spec, why):
        self.speaker.cell(
            spec["key"], status="not-run", why=why, flops=self.needs.step_operations(group, spec))

    def made(self, group):
        """The workload of a group; that of the group before is kept where it is the same one."""
        which = (group["workload"], group.get("size"))
        if self.last is None or self.last.which != which:
            if self.last is not None:
                self.last.reference.without_gradients()
                self.last = None  # before the next one is made: it may be large
            self.torch.set_num_threads(self.probes["cpu"].threads)
            others = {name.partition(".")[2]: p for name, p in self.pieces.items() if name.startswith("workloads.")}
            cells = self.pieces["cell"]
            start = cells.Start(self.torch, self.works[which[0]], which[1], self.plan["seed"], others)
            flops = self.pieces["operations"].counted(self.torch, start, which[1])
            known = self.needs.referred.setdefault(which, {})
            reference = self.pieces["gate"].Reference(cells, start, self.probes["cpu"].threads, known)
            self.last = Made(which, start, flops, reference)
        for name in sorted({spec["device"] for spec in group["cells"]}):
            self.try_out(name)
        return self.last

    def begun(self, made, group, spec, until, siblings, later):
        """(spec, meter, what is known of the cell) where it is warm; None where it is not to be. `siblings`: the cells
        of the group that come after it; `later`: seconds that are kept for what comes after it, here or elsewhere."""
        flops, work, probe = made.flops, made.start.work, self.probes[spec["device"]]
        batch = spec["batch"]
        notes = []
        if spec["compile"] and not hasattr(self.torch, "compile"):
            raise NotImplementedError("this torch has no torch.compile; it came with 2.0")
        if spec["compile"] and hasattr(work, "step"):
            raise NotImplementedError("generating token by token is not compiled here")
        factor = self.needs.factor(spec)
        theirs = sum(self.needs.cell(group, s) for s in siblings)
        while True:
            tried = dict(spec, batch=batch)
            per_step = flops["step"] * batch * factor - flops["first"] * batch * (factor > 1)
            counts = {"flops": per_step, "least_flops": per_step * flops["least"]}
            why = self.refused(group, tried, later)
            if why is not None:
                self.not_run(group, tried, why)
                return None
            try:
                need = self.needs.cell(group, tried)
                own = need + max(0.0, until - time.perf_counter() - need - theirs) / (1 + len(siblings))
                found = self.warmed(made, group, tried, counts, notes, own, later)
                if isinstance(found, str):
                    self.not_run(group, tried, found)
                    return None
                return found
            except Exception as error:
                if not is_out_of_memory(error) or batch <= LEAST_BATCH:
                    raise
                notes.append("a batch of %d ran out of memory" % batch)
                batch //= 2
            self.forget(probe)

    def left(self):
        return self.until - time.perf_counter()

    def refused(self, group, spec, later):
        """Why a cell is not even tried; None where it may fit. What was not timed yet is taken to be fast."""
        needs, need = self.needs, self.pieces["need"]
        step = needs.step(group, spec, 1.0)
        return need.refusal(
            step, needs.check(group, spec, 1.0), needs.again(group, spec, step), self.left() - later, 1 + need.FEWEST)

    def warmed(self, made, group, spec, counts, notes, own, later):
        """As `begun`; a sentence where its first step has shown that it takes too long. `own`: its seconds of the
        group's, where nothing is in a hurry."""
        start = made.start
        probe, key, batch, need = self.probes[spec["device"]], spec["key"], spec["batch"], self.pieces["need"]
        until = time.perf_counter() + own
        kept = len(self.kept_warnings)
        cell = self.pieces["cell"].Cell(probe, start, spec, batch)
        self.tampered(cell)
        self.speaker.stage("prepare", key, cell.prepare)
        if probe.device.type == "cuda":
            probe.ask("cuda.reset_peak_memory_stats", probe.device)
        meter = self.pieces["meter"].Meter(cell, self.pieces)
        self.speaker.stage("first", key, meter.first_call)
        refused = self.too_long(meter, group, spec, later)
        gated = {}
        if not refused and not spec.get("ungated"):
            gated = self.speaker.stage("gate", key, lambda: self.gated(cell, group, made.reference))
            refused = self.foreseen(meter, group, spec, later)
        if refused:
            cell.release()
            self.forget(probe)
            return refused
        own = max(need.LEAST_S, until - time.perf_counter())
        spare = own - need.TIMED * meter.step_s - self.needs.again(group, spec, meter.step_s)
        least = need.warming(spare, meter.step_s, self.plan["warm_s"])
        if least:
            self.speaker.stage("warm", key, lambda: (meter.calibrate(), meter.warm_up(least, 1.5 * least)))
        self.needs.learn(group, spec, self.needs.step_operations(group, spec), meter.step_s)
        operations = self.pieces["operations"]
        said = {
            "gate": gated, "batch": batch, "parameters": operations.parameters(start), "notes": notes,
            "again_s": self.needs.again(group, spec, meter.step_s), "depth": start.work.DEPTH,
            "bits": self.bits(probe, spec), "warnings_before": kept,
            "product_rate": self.product_rate(probe, spec),
            "samples": batch * getattr(start.work, "PER_SAMPLE", 1) if start.work.UNIT != "products" else batch,
            "bytes_moved": operations.moved(start, cell, spec), "unit": start.work.UNIT,
        }
        said.update(counts)
        said.update(self.precision(probe))
        return spec, meter, said

    def too_long(self, meter, group, spec, later):
        """What the first step says of all that is to follow. Where it was not foreseen to take so long, one more step
        shows whether only the first one did; of short steps several, which other programs may have held up."""
        need = self.pieces["need"]
        odd = need.is_odd(meter.step_s, self.needs.step(group, spec) if self.needs.knows(group, spec) else None)
        for number in range(need.TRIES):
            why = self.foreseen(meter, group, spec, later)
            most = (self.left() - later) * (need.BRIEF if number else 1.0)
            if not why or not odd or meter.step_s > most:
                return why
            self.speaker.stage("warm", spec["key"], meter.step_again)
        return self.foreseen(meter, group, spec, later)

    def foreseen(self, meter, group, spec, later):
        """Why the rest of a cell does not fit any more, by the last step; None where it does."""
        needs, need = self.needs, self.pieces["need"]
        needs.learn(group, spec, needs.step_operations(group, spec), meter.step_s)
        return need.refusal(
            meter.step_s, needs.check(group, spec), needs.again(group, spec, meter.step_s), self.left() - later,
            need.FEWEST)

    def gated(self, cell, group, reference):
        """What step 0 and the short training gave: once for all batches of a setting."""
        setting = self.needs.setting(group, cell.spec)
        if setting not in self.needs.checked:
            self.needs.checked[setting] = self.pieces["gate"].looked(self.pieces["cell"], cell, reference)
        return self.needs.checked[setting]

    def tampered(self, cell):
        """For tests: a fault that is put into a cell (tests/inside/faulty_bench.py)."""

    def rounds(self, meters, until):
        """The cells take turns, so that drift of the machine hits all of them."""
        rounds, need = self.plan["rounds"], self.pieces["need"]
        until = max(until, time.perf_counter() + 0.5 * need.LEAST_S * len(meters))
        for number in range(rounds):
            for position, (spec, meter, said) in enumerate(meters):
                turns = (rounds - number - 1) * len(meters) + len(meters) - position
                most = max(0.0, until - time.perf_counter()) / turns
                seconds = max(0.05, min(spec["seconds"] / rounds, most))
                block = meter.seconds_a_block()
                late = len(meter.blocks) >= need.FEWEST and block + said["again_s"] > self.left()
                if "failed" not in said and not late:
                    try:
                        self.speaker.stage(
                            "measure", spec["key"], lambda: meter.round(seconds, min(most, ROUND_LONGER * seconds)))
                    except Exception as error:
                        said["failed"] = self.failed(error)

    def ended(self, group, spec, meter, said, reference):
        """Say what was measured; False where the device is lost."""
        if "failed" in said:
            self.speaker.cell(spec["key"], **said["failed"])
            return not said["failed"]["lost"] or spec["device"] == "cpu"
        cells, gate = self.pieces["cell"], self.pieces["gate"]
        del said["again_s"]
        try:
            measured = meter.report()
            step = self.pieces["clock"].median(meter.blocks) if meter.blocks else meter.step_s
            self.needs.learn(group, spec, self.needs.step_operations(group, spec), step)
            timed = gate.timed_outputs(cells, meter.cell)
            if self.plan["unsynchronised"]:
                measured["unsynchronised_s"] = self.speaker.stage("unsynchronised", spec["key"], meter.unsynchronised)
                measured["item_s"] = self.speaker.stage("unsynchronised", spec["key"], meter.with_item)
            if self.plan["loader"] and hasattr(meter.cell.work, "SHAPE"):
                measured["loader_s"], measured["workers"] = self.speaker.stage(
                    "loader", spec["key"], lambda: self.pieces["loader"].step_seconds(meter.cell, spec["seconds"]))
            again = {} if spec.get("ungated") else self.speaker.stage(
                "again", spec["key"], lambda: gate.looked_again(cells, meter.cell, reference, timed, step))
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

    def try_out(self, name):
        """How fast a device is. Where it can't even do that, its cells will say what is wrong."""
        try:
            self.needs.product(name, self.trial(self.probes[name]))
        except Exception:
            pass

    def trial(self, probe):
        """Operations a second of a product."""
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
        return 2.0 * TRIAL ** 3 / max(best, 1e-9)

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
