"""Rates that need seconds: sustained products, convolution, memory, transfers, launches; and the soak.

A GPU holds its first rate for a second or two, then power or heat decide. So the sustained rate is the mean after a
warm-up, and what the driver says of clocks and throttling meanwhile tells why it is lower.
"""

import time

# Seconds: (warm-up, measurement), first of the 16-bit type, then of float32.
GPU_SECONDS = {"half": (2.5, 4.0), "float32": (0.5, 2.0)}
CPU_SECONDS = {"half": (0.2, 1.0), "float32": (0.2, 2.0)}
BLOCK_S = 0.1
COPY_BYTES = 1 << 30  # far beyond every cache
HOST_COPY_BYTES = 256 << 20
TRANSFER_BYTES = 256 << 20
BEST_OF = 8
LAUNCHES = 2000
SOAK_ROUND_S = 20.0


def sustained(probe):
    """Mean and lowest rate of products over seconds, with clocks, power and throttling meanwhile."""
    monitor, speed = probe.pieces["monitor"], probe.pieces["speed"]
    data = {"wrong": []}
    watch = monitor.Watch(probe)
    counted, pressed = monitor.throttled_periods(), monitor.pressure_ms()
    started = time.perf_counter()
    for kind in (probe.half, "float32"):
        warm, seconds = (CPU_SECONDS if probe.is_cpu else GPU_SECONDS)["float32" if kind == "float32" else "half"]
        try:
            if probe.is_cpu:
                with probe.all_threads():
                    product = speed.Repeated(probe, kind, 512)
                    if kind != "float32" and product.calibrate() < 0.05:
                        continue  # emulated: its rate says nothing
                    found = mean_rate(product, warm, seconds)
            else:
                found = mean_rate(speed.largest(probe, kind, watch), warm, seconds)
        except (RuntimeError, NotImplementedError) as error:
            if not probe.unsupported(error):
                raise
            continue
        data.update((kind + "_" + name, value) for name, value in found.items())
    data.update(watch.summary(), **watch.others())
    if probe.is_cpu:
        data["throttled_periods"] = monitor.throttled_periods() - counted
        if pressed is not None:
            share = (monitor.pressure_ms() - pressed) / 1000 / (time.perf_counter() - started)
            data["cpu_pressure_percent"] = round(100 * share, 1)
    return data


def other_types(probe):
    """Burst rates of the types that the quick probe leaves out; on a CPU of small products, which may be emulated."""
    monitor, speed = probe.pieces["monitor"], probe.pieces["speed"]
    data = {"wrong": []}
    for kind in ("float64", "float16", "bfloat16"):
        if kind == probe.half or (kind == "float64" and probe.device.type not in ("cpu", "cuda")):
            continue
        try:
            if probe.is_cpu:
                data[kind + "_tflops_burst"] = round(speed.Repeated(probe, kind, 128).calibrate(), 6)
                data[kind + "_native"] = kind == "float64"
            else:
                found = speed.accelerator_rate(probe, kind, monitor.Watch(probe))
                data.update((kind + "_" + name, value) for name, value in found.items())
        except (RuntimeError, NotImplementedError) as error:
            if not probe.unsupported(error):
                raise
    return data


def mean_rate(product, warm, seconds):
    """Mean over `seconds` of running after `warm`, the slowest block, and CPU seconds per second."""
    times = max(1, int(BLOCK_S / max(product.run(1), product.run(1), 1e-6)))
    until = time.perf_counter() + warm
    while time.perf_counter() < until:
        product.run(times)
    blocks = []
    cpu = time.process_time()
    until = time.perf_counter() + seconds
    while time.perf_counter() < until:
        blocks.append(product.run(times))
    total = sum(blocks)
    return {
        "tflops_mean": round(product.tflops(times * len(blocks), total), 6),
        "tflops_lowest": round(product.tflops(times, max(blocks)), 6),
        "mean_ms": round(total * 1000, 1),
        "mean_cpus_used": round((time.process_time() - cpu) / total, 2),
    }


def best_seconds(probe, work, times=1):
    """The best of several runs of `times` calls, after one that loads libraries and makes the link wake up."""
    best = None
    for _ in range(BEST_OF):
        started = time.perf_counter()
        for _ in range(times):
            work()
        probe.wait()
        took = (time.perf_counter() - started) / times
        best = took if best is None else min(best, took)
    return best


def bandwidth(probe):
    """Copies within the device's memory (bytes read and written), a convolution, and the latency of a launch."""
    torch = probe.torch
    watch = probe.pieces["monitor"].Watch(probe)
    size = HOST_COPY_BYTES if probe.is_cpu else COPY_BYTES
    free = probe.memory_free()
    if free is not None:
        size = min(size, free // 8)
    data = {"wrong": [], "memory_gbs": round(2 * size / copy_seconds(probe, size) / 1e9, 2), "memory_copy_bytes": size}
    data.update(convolution_rate(probe))
    if not probe.is_cpu:
        one = torch.zeros(1, device=probe.device)
        data["launch_us"] = round(1e6 * best_seconds(probe, lambda: one.add_(1), LAUNCHES // BEST_OF), 2)
    data.update(watch.others())
    return data


def copy_seconds(probe, size):
    source = probe.torch.ones(size // 4, device=probe.device)
    target = probe.torch.empty_like(source)
    with probe.all_threads():
        return best_seconds(probe, lambda: target.copy_(source), 1 if probe.is_cpu else 4)


def convolution_rate(probe):
    """TFLOP/s of a 3 x 3 convolution of the 16-bit type (on a CPU of float32)."""
    torch, kind = probe.torch, "float32" if probe.is_cpu else probe.half
    batch, channels, side = (4, 64, 56) if probe.is_cpu else (64, 256, 56)
    try:
        x = torch.randn(batch, channels, side, side, device=probe.device).to(getattr(torch, kind))
        w = torch.randn(channels, channels, 3, 3, device=probe.device).to(getattr(torch, kind))
        x = x.contiguous(memory_format=torch.channels_last)
        w = w.contiguous(memory_format=torch.channels_last)
        with probe.all_threads():
            took = best_seconds(probe, lambda: torch.nn.functional.conv2d(x, w, padding=1), 4)
    except (RuntimeError, NotImplementedError) as error:
        if "out of memory" not in str(error) and not probe.unsupported(error):
            raise
        return {}
    work = 2.0 * batch * channels * channels * 9 * side * side
    return {kind + "_conv2d_tflops": round(work / took / 1e12, 4)}


def transfer(probe):
    """Pinned and ordinary memory to the device and back, GB/s, contents compared; the link's generation and width."""
    torch = probe.torch
    watch = probe.pieces["monitor"].Watch(probe)
    data = {"wrong": []}
    count = TRANSFER_BYTES // 4
    plain = torch.arange(count, dtype=torch.int32)
    try:
        pinned = plain.pin_memory()
        back = torch.empty_like(plain).pin_memory()
    except RuntimeError as error:
        data["pinned_error"] = " ".join(str(error).split())[:300]
        pinned, back = plain, torch.empty_like(plain)
    there = torch.empty(count, dtype=torch.int32, device=probe.device)

    def to_device():
        there.copy_(pinned, non_blocking=True)
        watch.look()

    def to_host():
        back.copy_(there, non_blocking=True)
        watch.look()

    for name, work in (("h2d_gbs", to_device), ("d2h_gbs", to_host)):
        data[name] = round(TRANSFER_BYTES / best_seconds(probe, work, 2) / 1e9, 2)
    if not torch.equal(back, plain):
        differ = int((back != plain).sum())
        data["wrong"].append("a copy to the device and back: %d of %d words differ" % (differ, count))
    data["h2d_pageable_gbs"] = round(TRANSFER_BYTES / best_seconds(probe, lambda: there.copy_(plain)) / 1e9, 2)
    for name in ("pcie_generation", "pcie_width", "pcie_generation_max", "pcie_width_max"):
        value = watch.summary().get(name)
        if value is not None:
            data[name] = value
    data.update(watch.others())
    return data


def soak(probe):
    """Minutes of products: every result is compared with the first, bit by bit; the rate of each round is kept."""
    torch, speed, monitor = probe.torch, probe.pieces["speed"], probe.pieces["monitor"]
    watch = monitor.Watch(probe)
    minutes = float(probe.minutes or 1)
    kind = "float32" if probe.is_cpu else probe.half
    product = speed.Repeated(probe, kind, 512) if probe.is_cpu else speed.largest(probe, kind, watch)
    data = {"wrong": [], "rounds_tflops": []}
    with probe.all_threads():
        product.run(1)
        first = product.out.clone()
        started = time.perf_counter()
        for _ in range(max(1, int(round(minutes * 60 / SOAK_ROUND_S)))):
            calls, spent = 0, 0.0
            until = time.perf_counter() + min(SOAK_ROUND_S, minutes * 60)
            times = max(1, int(BLOCK_S / max(product.run(1), 1e-6)))
            while time.perf_counter() < until:
                spent += product.run(times)
                calls += times
                if not torch.equal(product.out, first):
                    differ = int((product.out != first).sum())
                    data["wrong"].append("%d elements of a product changed after %.0f s" % (
                        differ, time.perf_counter() - started))
                    break
            data["rounds_tflops"].append(round(product.tflops(calls, spent), 4))
            probe.tell(min(1.0, (time.perf_counter() - started) / (60 * minutes)))
            if data["wrong"]:
                break
    data.update(watch.summary(), **watch.others())
    data["soak_s"] = round(time.perf_counter() - started, 1)
    return data


STAGES = (
    ("sustained", sustained, ("full",), ()),
    ("types", other_types, ("full",), ()),
    ("bandwidth", bandwidth, ("full",), ()),
    ("bandwidth", bandwidth, ("fleet",), ("cuda", "xpu")),
    ("transfer", transfer, ("full", "fleet"), ("cuda", "xpu")),
    ("soak", soak, ("soak",), ()),
)
