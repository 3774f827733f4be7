from dataclasses import replace

from doctor.model.facts import ProbeResult
from tests.example_case import Case
from tests.examples import device, linux, with_error, with_nvidia, with_torch

NAME = "NVIDIA A100-SXM4-40GB"
machine = with_torch(
    with_nvidia(linux(), NAME), "2.6.0+cu124", cuda_available=True, devices=(device("cuda", NAME, capability="8.0"),)
)


def probe(facts=machine, **data):
    return replace(
        facts,
        probes=(ProbeResult(id="cuda:0", device="cuda:0", status="ok", data={"float32_bits_effective": 24, **data}),),
    )


def two(first, second, **data):
    """Two equal GPUs, with the bfloat16 rate of each."""
    both = with_torch(
        with_nvidia(linux(), NAME, NAME), "2.6.0+cu124", cuda_available=True,
        devices=(device("cuda", NAME, capability="8.0"), device("cuda", NAME, index=1, capability="8.0")),
    )  # fmt: skip
    rates = enumerate((first, second))
    return replace(
        both,
        probes=tuple(
            ProbeResult(id=f"cuda:{i}", device=f"cuda:{i}", status="ok", data={"bfloat16_tflops_burst": rate, **data})
            for i, rate in rates
        ),
    )


def cpu(**data):
    """The probe of a CPU with AVX2 whose clock reads 3 GHz: one thread should reach 0.067 TFLOP/s."""
    facts = with_torch(linux(cpu_flags=("avx", "avx2", "fma")), "2.6.0+cpu")
    base = {"threads": 8, "cpus_usable": 8, "cpu_clock_mhz": 3000, "busy": False, "throttled_periods": 0}
    return replace(facts, probes=(ProbeResult(id="cpu", device="cpu", status="ok", data={**base, **data}),))


SLOW = {"float32_tflops_burst": 5.5, "bfloat16_tflops_burst": 110.0}
LINK = {"float32_tflops_burst": 18.5, "pcie_generation_max": 4, "pcie_width_max": 16, "h2d_gbs": 6.5}
MEMORY = {"memory_gbs": 1244.0, "memory_copy_bytes": 1 << 30}  # what it should reach: 0.8 of 1555
MOVED = {"float32_tflops_burst": 18.5, "pcie_generation": 4, "pcie_width": 16, "d2h_gbs": 10.0}  # 27.7
OTHERS = "2 other processes have it open and may compute: probe it alone"
# what is slow, and the reason that is named for it
REASONS = {
    "others came meanwhile": (probe(**SLOW, processes_before=0, processes_after=2), OTHERS),
    "its power is capped": (
        probe(**SLOW, power_limit_w=150.0, power_limit_default_w=400.0, power_w=149.0, throttles=["power cap"]),
        "its power is limited to 150 of 400 W",
    ),
    "it is too hot": (
        probe(**SLOW, temperature_c=93, throttles=["power cap", "temperature"]),
        "the driver slows it down (temperature)",
    ),
    "its clock is locked": (
        probe(**SLOW, sm_clock_mhz=600, sm_clock_max_mhz=1410), "its clock stays at 600 of 1410 MHz"
    ),
    "as slow as a CPU": (
        probe(float32_tflops_burst=0.5, bfloat16_tflops_burst=0.1), "so slow is no setting: the work may run on the CPU"
    ),
    "a CPU without its vector instructions": (
        cpu(float32_tflops_one_thread=0.02, cpu_capability="DEFAULT"),
        "torch uses none of the CPU's vector instructions (its own word: DEFAULT)",
    ),
    "in the band below, held back by its power": (
        probe(float32_tflops_burst=14.0, bfloat16_tflops_burst=180.0, throttles=["power cap"]),
        "its power limit holds it back",
    ),
    "in the band below, a CPU without its vector instructions": (
        cpu(float32_tflops_one_thread=0.045, cpu_capability="DEFAULT"),
        "torch uses none of the CPU's vector instructions (its own word: DEFAULT)",
    ),
    "slow memory, and a low clock": (
        probe(**MEMORY | {"memory_gbs": 700.0}, float32_tflops_burst=18.5, sm_clock_mhz=600, sm_clock_max_mhz=1410),
        "its clock stays at 600 of 1410 MHz",
    ),
    "a quota": (
        cpu(float32_tflops_one_thread=0.08, float32_tflops_sustained=0.04, quota_cpus=0.5, throttled_periods=20),
        "a quota allows 0.5 CPUs of 8, and stopped the threads while they computed",
    ),
}  # fmt: skip
BAD = {
    **{name: facts for name, (facts, _) in REASONS.items()},
    "TF32 at the speed of float32": Case(probe(float32_bits_effective=11, float32_tflops_burst=19.0), severity="fault"),
    "behind its equal": two(250.0, 200.0),
    "four lanes of sixteen": probe(**LINK, pcie_generation=4, pcie_width=4),
    "a CPU at a quarter of its speed": Case(cpu(float32_tflops_one_thread=0.016), severity="warning"),
    "half as fast": Case(probe(float32_tflops_burst=5.5, bfloat16_tflops_burst=110.0), severity="warning"),
    "in the band below, no reason seen": Case(
        probe(float32_tflops_burst=14.0, bfloat16_tflops_burst=180.0), severity="note"
    ),
    "at the band's lower end": Case(probe(float32_tflops_burst=10.9), severity="note"),
    "just under the band": Case(probe(float32_tflops_burst=10.8), severity="warning"),
    "memory at half its rate": Case(probe(**MEMORY | {"memory_gbs": 620.0}), severity="warning"),
    "memory in the band below": Case(probe(**MEMORY | {"memory_gbs": 1000.0}), severity="note"),
    "a link at half its rate": Case(probe(**MOVED, h2d_gbs=13.8), severity="warning"),
    "a link in the band below": Case(probe(**MOVED, h2d_gbs=20.0), severity="note"),
    "a tenth, while others have it": Case(
        probe(float32_tflops_burst=1.3, bfloat16_tflops_burst=22.0, processes_after=3), severity="warning"
    ),
    "a tenth, while others have it and seem to do nothing": Case(
        probe(float32_tflops_burst=1.3, processes_before=2, foreign_utilization_percent=0), severity="warning"
    ),
    "a tenth": Case(probe(float32_tflops_burst=1.3, bfloat16_tflops_burst=22.0), severity="fault"),
    "what nvidia-smi says": with_error(machine, "gpu-clocks-throttled", "SW Thermal Slowdown : Active"),
}
GOOD = {
    "as fast as it should be": probe(float32_tflops_burst=18.5, bfloat16_tflops_burst=260.0),
    "one type is slow, another is not": probe(float32_tflops_burst=18.5, float16_tflops_burst=10.0),
    "a model that the tables don't know": probe(
        with_torch(
            with_nvidia(linux(), "NVIDIA Whatever 1"), "2.6.0+cu124", devices=(device("cuda", "NVIDIA Whatever 1"),)
        ),
        float32_tflops_burst=0.1,
    ),
    "not probed": machine,
    "others use it": probe(float32_tflops_burst=1.3, bfloat16_tflops_burst=22.0, busy=True),
    "equal GPUs that differ as they do": two(262.0, 250.0),
    "the whole link, though the power is capped at the end": probe(
        **LINK | {"h2d_gbs": 25.1}, pcie_generation=4, pcie_width=16, throttles=["power cap"]
    ),
    "a CPU as it should be": cpu(float32_tflops_one_thread=0.09, float32_tflops_sustained=0.6),
    "at the band's upper end": probe(float32_tflops_burst=15.5, throttles=["power cap"]),
    "in the band below, but others use it": probe(float32_tflops_burst=14.0, busy=True),
    "in the band below, another type is not": probe(float32_tflops_burst=14.0, bfloat16_tflops_burst=260.0),
    "a CPU in the band below: too little is known of its model": cpu(float32_tflops_one_thread=0.045),
    "a CPU in the band below, on the threads that it was given": cpu(
        float32_tflops_one_thread=0.045, threads=1, omp_num_threads="1"
    ),
    "memory as fast as it should be": probe(**MEMORY | {"memory_gbs": 1060.0}),
    "slow memory, but others use it": probe(**MEMORY | {"memory_gbs": 300.0}, busy=True),
    "copies that fit into a cache say nothing": probe(**MEMORY | {"memory_gbs": 300.0, "memory_copy_bytes": 1 << 24}),
    "a smaller card of that name": probe(**MEMORY | {"memory_gbs": 700.0}, memory_bytes=20 << 30),
    "one way of the link is slow, another is not": probe(**MOVED, h2d_gbs=25.0),
    "a link without pinned memory": probe(**MOVED, h2d_gbs=9.0, pinned_error="out of memory"),
    "a link that others use": probe(**MOVED, h2d_gbs=9.0, busy=True),
    "two GPUs that may share a link": two(262.0, 262.0, **MOVED, h2d_gbs=9.0),
    "a CPU's memory": cpu(**MEMORY | {"memory_gbs": 3.0}),
    "a CPU under load": cpu(float32_tflops_one_thread=0.01, busy=True),
    "a CPU whose clock is not known": cpu(float32_tflops_one_thread=0.01, cpu_clock_mhz=None),
}
