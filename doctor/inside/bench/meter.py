"""The clock of one cell: warm-up, blocks between two synchronisations, proof that the clock waits, memory,
conditions."""

import os
import time

RESET_STEPS = 200  # a training begins anew after so many, outside the clock
SETTLE_S = 0.2  # an accelerator's clock ramps up again after it waited for the CPU's turn
SETTLES_S = 0.5  # of a block: a longer one on the CPU feels nothing of what ran before it
MOST_BLOCKS = 3000
MOST_STEPS = 2000  # of a block
ROUND_BLOCKS = 3  # in each round, where its time allows
PROOFS = 3
SMALL = 1e-3  # of losses: two that have come close to zero may well be equal


class Meter(object):
    """Measures a cell. `pieces` are clock, gate, monitor and training (whose counters of memory it uses)."""

    def __init__(self, cell, pieces):
        self.cell, self.torch = cell, cell.torch
        self.clock, self.monitor = pieces["clock"], pieces["monitor"]
        self.counters = pieces["training"].memory_counters(cell.probe)
        self.resident = pieces["training"].resident_bytes
        self.listed = pieces["gate"].listed
        self.watch = self.monitor.Watch(cell.probe)
        self.steps = 1
        self.step_s = 0.0  # of a step, as last seen before the clock counted
        self.since_reset = 0
        self.blocks, self.rounds = [], []  # seconds of a step
        self.total_steps = 0
        self.memory = []  # [steps so far, bytes of each counter]
        self.proof = []  # [seconds of a block, seconds until its last result could be read]
        self.last_loss, self.seen_steps = None, None  # of the last block that was looked at, and the steps until then
        self.nonfinite = None  # the step, counted from the first one that was timed
        self.repeated = self.looked = 0
        self.cpu_s = self.wall_s = self.joules = self.energy_s = 0.0
        self.waited_s, self.rounds_s = 0.0, 0.0  # for a CPU that others had; None: not known
        self.others_s, self.all_cpus_s = 0.0, 0.0  # CPU time of other programs, and of all CPUs
        self.said = {"warmup_s": 0.0, "warm": False}

    # --- a block

    def block(self, steps=None):
        """Seconds of a step. What the steps gave is looked at when the clock has stopped."""
        cell = self.cell
        steps = steps or self.steps
        if cell.trains and self.since_reset + steps > RESET_STEPS and self.since_reset:
            cell.reset()
            cell.wait()
            self.since_reset = 0
        cell.kept = [] if cell.trains else cell.kept[-1:]  # outputs are compared with those of the step before
        cpu = time.process_time()
        started = time.perf_counter()
        for _ in range(steps):
            cell.step()
        cell.wait()
        seconds = time.perf_counter() - started
        self.cpu_s += time.process_time() - cpu
        self.wall_s += seconds
        self.since_reset += steps
        self.total_steps += steps
        self.watch.look()
        return seconds / steps

    def look(self):
        """At what the last block gave: values that are not finite, and results that repeat the one before."""
        torch, kept = self.torch, self.cell.kept
        if not kept:
            return
        if self.cell.trains:
            values = [float(v) for v in torch.stack(kept).float().cpu()]
            if self.nonfinite is None:
                bad = [i for i, v in enumerate(values) if v - v != 0]
                self.nonfinite = self.total_steps - len(values) + bad[0] if bad else None
            follows = self.total_steps - len(values) == self.seen_steps and self.since_reset > len(values)
            self.seen_steps, before = self.total_steps, self.last_loss
            self.last_loss = values[-1]
            values = [before] + values if follows else values
            self.looked += len(values) - 1
            self.repeated += sum(1 for a, b in zip(values, values[1:]) if a == b and abs(a) > SMALL)
        elif len(kept) > 1:
            last, before = [self.listed(k)[0].detach().float() for k in kept[::-1]]
            if self.nonfinite is None and not bool(torch.isfinite(last).all()):
                self.nonfinite = self.total_steps
            self.looked += 1
            self.repeated += int(torch.equal(last, before))

    # --- before the clock counts

    def first_call(self):
        started = time.perf_counter()
        self.cell.step()
        self.cell.wait()
        self.said["first_call_s"] = self.step_s = time.perf_counter() - started
        self.said["device"] = self.listed(self.cell.kept[-1])[0].device.type
        self.cell.reset()

    def step_again(self):
        """The faster of two steps counts: the first one may have waited for something."""
        self.step_s = min(self.step_s, self.block(1))
        self.cell.reset()

    def calibrate(self):
        """Steps of a block: of at least 10 ms."""
        seconds = self.block(1)
        while True:
            wanted = min(MOST_STEPS, self.clock.steps_for(seconds))
            if wanted <= self.steps:
                self.step_s = seconds
                return
            self.steps = wanted if wanted <= 4 * self.steps else 4 * self.steps
            seconds = self.block()

    def warm_up(self, least, most):
        """Until the last ten medians are level, and at least so many seconds; at most so many, and no more than at
        least where there will be no ten medians."""
        started = time.perf_counter()
        seen = []
        while True:
            seen.append(self.block())
            passed = time.perf_counter() - started
            if passed >= least and self.clock.is_warm(seen):
                self.said["warm"] = True
                break
            if passed >= most or passed >= least and len(seen) * most < self.clock.WARM_BLOCKS * passed:
                break
        self.steps = max(self.steps, min(MOST_STEPS, self.clock.steps_for(self.clock.median(seen))))
        self.step_s = self.clock.median(seen)
        self.said["warmup_s"] = time.perf_counter() - started
        self.cpu_s = self.wall_s = 0.0

    # --- the clock counts

    def seconds_a_block(self):
        """As the last one took, or the first call where none was timed."""
        return (self.blocks[-1] if self.blocks else self.step_s) * self.steps

    def round(self, seconds, most):
        """Blocks for so many seconds, or until the median is known precisely: at least one, and `ROUND_BLOCKS` where
        that takes at most `most` seconds."""
        self.torch.set_num_threads(self.cell.threads)
        started = time.perf_counter()
        while not self.cell.probe.is_cpu and time.perf_counter() - started < SETTLE_S:
            self.block()
        if self.cell.probe.is_cpu and self.seconds_a_block() < SETTLES_S:
            self.block(1)
        self.cpu_s, self.wall_s = self.cpu_s * bool(self.rounds), self.wall_s * bool(self.rounds)
        own = []
        started = time.perf_counter()
        energy, waited = self.energy(), self.monitor.waited_s()
        machine, mine = self.monitor.machine_cpu_s(), time.process_time()
        while len(self.blocks) < MOST_BLOCKS:
            taken = self.block()
            self.blocks.append(taken)
            own.append(taken)
            if len(self.proof) < PROOFS:
                self.prove(taken)
            self.look()
            self.memory.append([self.total_steps] + [int(count()) for _, count in self.counters])
            passed = time.perf_counter() - started
            several = len(own) >= ROUND_BLOCKS
            if several and (passed >= seconds or self.clock.is_precise(self.blocks)):
                break
            if passed + self.seconds_a_block() > max(most, seconds):
                break
        passed = time.perf_counter() - started
        self.rounds_s += passed
        now = self.monitor.machine_cpu_s()
        if machine is not None and now is not None:
            self.others_s += max(0.0, now[0] - machine[0] - (time.process_time() - mine))
            self.all_cpus_s += passed * now[1]
        self.waited_s = None if waited is None else self.waited_s + self.monitor.waited_s() - waited
        if energy is not None:
            self.joules += self.energy() - energy
            self.energy_s += time.perf_counter() - started
        self.rounds.append(self.clock.median(own))

    def prove(self, seconds_a_step):
        """After the wait the last result can be read at once, or the wait was none."""
        started = time.perf_counter()
        kept = self.cell.kept
        if kept:
            self.listed(kept[-1])[0].detach().reshape(-1)[:1].cpu()
            self.proof.append([seconds_a_step * self.steps, time.perf_counter() - started])

    def energy(self):
        """Joules that the device has used so far; None where it does not say."""
        nvml = self.watch.nvml
        used = nvml.number("GetTotalEnergyConsumption", wide=True) if nvml else None
        return None if used is None else used / 1000.0

    # --- what others would measure

    def unsynchronised(self):
        """Seconds of a step by a clock that does not wait for the device."""
        self.cell.wait()
        started = time.perf_counter()
        for _ in range(self.steps):
            self.cell.step()
        seconds = time.perf_counter() - started
        self.cell.wait()
        return seconds / self.steps

    def with_item(self):
        """Seconds of a step after each of which its loss is read."""
        started = time.perf_counter()
        for _ in range(self.steps):
            self.cell.step()
            self.listed(self.cell.kept[-1])[0].detach().reshape(-1)[:1].cpu()
        return (time.perf_counter() - started) / self.steps

    # --- all of it

    def peak_memory(self):
        kind = self.cell.device.type
        if kind in ("cuda", "xpu"):
            return self.cell.probe.ask(kind + ".max_memory_allocated", self.cell.device)
        if kind == "mps":
            return self.cell.probe.ask("mps.driver_allocated_memory")
        return self.resident() or None

    def report(self):
        """Everything that was measured, as numbers: seconds of a step."""
        said = dict(
            self.said,
            blocks_s=[float("%.6g" % b) for b in self.blocks],
            rounds_s=[float("%.6g" % r) for r in self.rounds],
            steps=self.steps,
            proof=self.proof,
            nonfinite_step=self.nonfinite,
            repeated=self.repeated,
            looked=self.looked,
            peak_memory_bytes=self.peak_memory(),
            memory=thinned(self.memory),
            counters=[name for name, _ in self.counters],
            threads=self.cell.threads,
            cpus_used=round(self.cpu_s / self.wall_s, 3) if self.wall_s else None,
            cpus_waited=round(max(0.0, self.waited_s / self.rounds_s), 3) if self.waited_s is not None else None,
            others_share=round(min(1.0, self.others_s / self.all_cpus_s), 3) if self.all_cpus_s else None,
            cpus_usable=self.monitor.usable_cpus(),
        )
        kept = self.watch.kept
        for key, name in (("sm_clock_mhz", "clock_mhz"), ("power_w", "power_w")):
            values = [s[key] for s in kept if s[key] is not None]
            if values:
                said[name] = self.clock.median(values)
        used = [s["utilization_percent"] for s in kept if s["utilization_percent"] is not None]
        if used:  # a sample looks back up to a second: the first ones may tell of the time before
            said["utilization_percent"] = max(used[len(used) // 2:])
        if self.energy_s:
            said["power_w"] = self.joules / self.energy_s
        said["conditions"] = dict(self.watch.summary(), **self.watch.others())
        return said


def thinned(series, most=60):
    """At most so many of them, the first and the last among them."""
    if len(series) <= most:
        return series
    return [series[i * (len(series) - 1) // (most - 1)] for i in range(most)]


def debug_variables():
    """Variables of the environment that change speed."""
    names = (
        "OMP_NUM_THREADS", "MKL_NUM_THREADS", "CUDA_LAUNCH_BLOCKING", "PYTORCH_NO_CUDA_MEMORY_CACHING",
        "PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF", "NVIDIA_TF32_OVERRIDE", "TORCH_ALLOW_TF32_CUBLAS_OVERRIDE",
        "PYTORCH_DEBUG_MPS_ALLOCATOR", "MKL_DEBUG_CPU_TYPE", "ATEN_CPU_CAPABILITY", "PYTORCH_ENABLE_MPS_FALLBACK",
        "CUDA_DEVICE_MAX_CONNECTIONS", "KMP_AFFINITY",
    )
    return {name: os.environ[name] for name in names if name in os.environ}
