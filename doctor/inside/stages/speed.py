"""Rates of square matrix products: the best of many short blocks of calls, and the mean beside it.

A machine that is shared with others slows the mean, not the best, so the best is what a device is judged by. Where it
looks as if other work had a part even in that, `busy` says so; of a CPU `threads_busy` says it of all threads together.
"""

import os
import time

LONGEST_CALL_S = 0.012
BUSY_SHARE = 0.7  # of a core for each thread, when all work together: they wait for each other
ALONE_SHARE = 0.3  # of a core for one thread: its best call of a millisecond needs a single undisturbed slice
ALONE_TRIES = 4
ONE_THREAD_SIZE = 256  # a call is over within the slice of a CPU that one process gets
AGREEING = 0.98  # of the best: calls that reached it say that it is the device's rate, and no luck
AGREEING_ENOUGH = 5
# Seconds, see Repeated.measure. A CPU is judged by its best call; a GPU is busy for a block of calls, and needs a ramp.
CPU_TIMES = {"block": 0.0, "warm": 0.02, "least": 0.06, "settle": 0.15, "most": 0.3}
GPU_TIMES = {"block": 0.02, "warm": 0.3, "least": 0.1, "settle": 0.06, "most": 0.3}
GPU_SIZES = (4096, 2048)  # 8192 is no faster, and reaches the power limit sooner


def speed(probe):
    """Rates in TFLOP/s of float32 and of the fast 16-bit type."""
    data = {"wrong": []}
    monitor = probe.pieces["monitor"]
    watch = monitor.Watch(probe)
    counted = monitor.throttled_periods() if probe.is_cpu else 0
    # A GPU first what draws most power: its first rate is lost once it is warm. A CPU first what it surely has.
    for kind in ("float32", probe.half) if probe.is_cpu else (probe.half, "float32"):
        try:
            alone = data.get("float32_tflops_one_thread")
            measured = cpu_rate(probe, kind, alone) if probe.is_cpu else accelerator_rate(probe, kind, watch)
        except (RuntimeError, NotImplementedError) as error:
            if not probe.unsupported(error):
                raise
            continue
        data.update((kind + "_" + name, value) for name, value in measured.items())
    data.update(watch.summary(), **watch.others())
    if probe.is_cpu:
        data["threads"] = probe.threads
        data.update(monitor.cpu_facts(probe))
        data["throttled_periods"] = monitor.throttled_periods() - counted
        # A quota is no load of others: it is what this machine gives.
        free = bool(data["throttled_periods"])
        data["busy"] = not free and data["float32_cpus_used_one_thread"] < ALONE_SHARE
        data["threads_busy"] = not free and data["float32_cpus_used"] < BUSY_SHARE * probe.threads
        data["load_1min"] = os.getloadavg()[0] if hasattr(os, "getloadavg") else None
    else:
        data.update(watch.others_after())
        if "foreign_load" in probe.before:
            data["busy"] = True
    return data


def cpu_rate(probe, kind, alone):
    """On one thread, which other work disturbs least, then on all. The best of both is the burst.

    `alone`: float32's rate on one thread; a half type far below it is not native here, and gets no more time.
    """
    single = Repeated(probe, kind, 128 if alone else ONE_THREAD_SIZE)
    first = single.calibrate()
    if alone and first < 0.1 * alone:
        return {"tflops_burst": round(first, 6), "native": False}
    one, share = alone_rate(single)
    largest = 512 if probe.threads <= 2 else 1024
    n = max([256] + [size for size in (512, 1024) if size <= largest and takes(size, first * probe.threads)])
    with probe.all_threads():
        best, mean, cpus, seconds = Repeated(probe, kind, n).measure(**CPU_TIMES)
    measured = rates(max(best, one), mean, n, seconds)
    measured.update(tflops_one_thread=round(one, 6), cpus_used_one_thread=round(share, 2), cpus_used=round(cpus, 2),
                    agreeing_one_thread_count=single.agreeing(one))
    if alone:
        measured["native"] = one >= 0.5 * alone
    return measured


def alone_rate(single):
    """Best rate on one thread, and the share of a core that it got; again where it was little, or where the best was
    not reached repeatedly: others pause."""
    best = share = 0.0
    for _ in range(ALONE_TRIES):
        rate, _, share, _ = single.measure(block=0.0, warm=0.0, least=0.05, settle=0.05, most=0.1)
        best = max(best, rate)
        if share >= ALONE_SHARE and single.agreeing(best) >= AGREEING_ENOUGH:
            break
    return best, share


def accelerator_rate(probe, kind, watch):
    """At the largest size that is quick enough and for which there is memory."""
    repeated = largest(probe, kind, watch)
    best, mean, _, seconds = repeated.measure(**GPU_TIMES)
    return rates(best, mean, repeated.n, seconds)


def largest(probe, kind, watch):
    """The product of the largest size that is quick enough and for which there is memory."""
    small = Repeated(probe, kind, 1024, watch)
    first = small.calibrate()
    for n in [size for size in GPU_SIZES if takes(size, first)]:
        try:
            repeated = Repeated(probe, kind, n, watch)
            repeated.run(1)
        except RuntimeError as error:
            if "out of memory" not in str(error):
                raise
        else:
            return repeated
    return small


def takes(n, tflops):
    """Whether a product of that size is quick at that rate."""
    return 2.0 * n ** 3 <= tflops * 1e12 * LONGEST_CALL_S


def rates(best, mean, n, seconds):
    return {
        "tflops_burst": round(best, 6),
        "tflops_sustained": round(mean, 6),
        "size": n,
        "measured_ms": round(seconds * 1000, 1),
    }


class Repeated(object):
    """A square matrix product, called again and again."""

    def __init__(self, probe, kind, n, watch=None):
        torch = probe.torch
        self.n, self.wait = n, probe.wait
        self.look = watch.look if watch else lambda: None
        dtype = getattr(torch, kind)
        # Normal data: zeros and ones use less power and flatter the device.
        self.x = torch.randn(n, n, device=probe.device).to(dtype)
        self.y = torch.randn(n, n, device=probe.device).to(dtype)
        self.out = torch.empty(n, n, device=probe.device, dtype=dtype)
        self.mm = torch.mm
        self.reached = []  # the rates of all blocks measured

    def run(self, times):
        """Seconds for so many calls."""
        started = time.perf_counter()
        for _ in range(times):
            self.mm(self.x, self.y, out=self.out)
        self.look()
        self.wait()
        return time.perf_counter() - started

    def tflops(self, times, seconds):
        return 2.0 * self.n ** 3 * times / max(seconds, 1e-9) / 1e12

    def agreeing(self, best):
        """How many blocks came close to that rate."""
        return sum(rate >= AGREEING * best for rate in self.reached)

    def calibrate(self):
        """A first estimate, after the call that loads libraries."""
        self.run(1)
        return max(self.tflops(1, self.run(1)) for _ in range(3))

    def measure(self, block, warm, least, settle, most):
        """Best and mean rate (TFLOP/s), CPU seconds per second, seconds. All arguments are seconds.

        Blocks of at least `block` (0: single calls), after a warm-up of at most `warm`, which ends when two blocks
        agree to 2 %; its blocks count for the best, not for the mean. Stops when no block gained 1 % for `settle` (not
        before `least`), or after `most`.
        """
        times = max(1, int(block / max(self.run(1), 1e-6)) + 1) if block else 1
        started = time.perf_counter()
        before = best = total = calls = 0.0
        while time.perf_counter() - started < warm:
            now = self.tflops(times, self.run(times))
            best = max(best, now)
            if block and abs(now - before) <= 0.02 * now:
                break
            before = now
        cpu = time.process_time()
        started = gained = time.perf_counter()
        while True:
            seconds = self.run(times)
            total += seconds
            calls += times
            now = time.perf_counter()
            rate = self.tflops(times, seconds)
            self.reached.append(rate)
            if rate > 1.01 * best:
                gained = now
            best = max(best, rate)
            if now - started >= most or (now - started >= least and now - gained >= settle):
                break
        return best, self.tflops(calls, total), (time.process_time() - cpu) / total, total


STAGES = (("speed", speed, ("quick", "full", "fleet"), ()),)
