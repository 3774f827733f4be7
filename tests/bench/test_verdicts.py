"""What may be shown: gates, scaling, peaks, speed-ups and reasons, from what a child might say."""

from __future__ import annotations

from dataclasses import replace

import pytest

from doctor.bench import verdicts
from doctor.bench.plan import PlannedCell
from doctor.bench.said import CellSaid, ConditionsSaid, GateSaid, Measured
from doctor.model.bench import BenchDevice, Row

KEY = "mlp/forward-backward/{}/fp32/b1024"
HEALTHY = GateSaid(
    compared=8, device="cpu", loss=2.3, loss_error=2e-8, training_outputs_error=3e-7, gradients_error=2e-7,
    outputs_error=3e-7, second_outputs_error=3e-7, after_error=3e-7, band=(0.01, 0.012, 0.011), band_first=0.07,
    band_own=0.0115, band_steps=64, stale=False,
)  # fmt: skip
H200 = BenchDevice(device="cuda:0", name="NVIDIA H200", peak_fp32_tflops=67.0, bandwidth_gbs=4800.0)


def cell(device: str = "cpu", scale: int = 1, **changes: object) -> PlannedCell:
    key = KEY.format(device) + ("/x2" if scale == 2 else "")
    made = PlannedCell(
        key=key, workload="mlp", phase="forward-backward", device=device, dtype="fp32", batch=1024 * scale, size="",
        scale=scale, threads=None, channels_last=False, compile=False,
    )  # fmt: skip
    return replace(made, **changes)


def said(ms: float = 10.0, *, gate: GateSaid | None = HEALTHY, flops: float = 4e9, batch: int = 1024,
         **changes: object) -> CellSaid:  # fmt: skip
    noise = (1.0, 0.999, 1.001, 0.998, 1.002, 1.0005, 0.9995, 1.0, 1.001, 0.999, 1.0, 1.0)
    measured = Measured(
        first_call_s=0.1, warmup_s=2.0, warm=True, blocks_s=tuple(ms / 1000 * n for n in noise), rounds_s=(ms / 1000,),
        steps=2, proof=((0.02, 2e-5),) * 3, repeated=0, looked=24, device="cpu", memory=((2, 1000), (24, 1000)),
        counters=("heap",), threads=2, cpus_used=1.9, cpus_usable=2,
    )  # fmt: skip
    return CellSaid(
        status="measured", gate=gate, measured=replace(measured, **changes), batch=batch, samples=batch, flops=flops,
        depth=6, bits=24, unit="samples", parameters=658698, bytes_moved=1e6, product_rate=0.42e12,
    )  # fmt: skip


def on_gpu(one: CellSaid) -> CellSaid:
    assert one.measured
    gate = replace(one.gate, device="cuda") if one.gate else None
    return replace(one, gate=gate, measured=replace(one.measured, device="cuda"))


def rows(*pairs: tuple[PlannedCell, CellSaid | None], environ: dict[str, str] | None = None) -> list[Row]:
    machine = verdicts.Machine(devices={"cuda:0": H200}, environ=environ or {})
    answers = {c.key: s for c, s in pairs if s is not None}
    return list(verdicts.rows_of([c for c, _ in pairs], answers, machine))


def test_what_is_right_has_a_time() -> None:
    (row,) = rows((cell(), said()))
    assert row.gate.status == "ok"
    assert row.timing is not None
    assert row.timing.median_ms == pytest.approx(10, rel=1e-3)
    assert row.timing.stopped == "precise"
    assert row.timing.low_ms <= row.timing.median_ms <= row.timing.high_ms
    assert row.tflops == pytest.approx(0.4, rel=1e-3)
    assert row.timing.samples_per_s == pytest.approx(102400, rel=1e-3)
    assert not row.reasons


@pytest.mark.parametrize(
    ("gate", "words"),
    [
        (replace(HEALTHY, outputs_error=1.0, second_outputs_error=1.0, gradients_error=1.0), "zeros"),
        (replace(HEALTHY, gradients_error=0.01), "gradients off by 0.01"),
        (replace(HEALTHY, loss_error=None), "loss of step 0: not finite"),
        (replace(HEALTHY, band_own=None, band_nonfinite_step=50), "NaN or infinite at step 51"),
        (replace(HEALTHY, band_own=0.06), "after 64 steps the loss is off"),
        (replace(HEALTHY, second_outputs_error=1.4, stale=True), "stale data"),
        (replace(HEALTHY, after_error=0.3), "outputs off by 0.3"),
        (replace(HEALTHY, after_error=None), "not finite"),
        (replace(HEALTHY, device="mps"), "lies on mps"),
        (None, "not checked"),
    ],
)
def test_what_is_wrong_has_none(gate: GateSaid | None, words: str) -> None:
    (row,) = rows((cell(), said(gate=gate)))
    assert row.gate.status == "INVALID"
    assert words in row.gate.why
    assert row.timing is None
    assert row.tflops is None


def test_nan_while_it_was_timed() -> None:
    (row,) = rows((cell(), said(nonfinite_step=57)))
    assert row.gate.status == "INVALID"
    assert "step 57" in row.gate.why


def test_results_that_repeat() -> None:
    (row,) = rows((cell(), said(repeated=20)))
    assert row.gate.status == "INVALID"
    assert "stale" in row.gate.why


def test_a_clock_that_does_not_wait() -> None:
    (row,) = rows((cell(), said(1.0, proof=((0.002, 0.018),) * 3)))
    assert row.gate.status == "IMPOSSIBLE"
    assert "not waited for" in row.gate.why
    assert row.timing is None
    (row,) = rows((cell(), said(proof=((0.02, 0.018), (0.02, 2e-5), (0.02, 2e-5)))))
    assert row.gate.status == "ok", "one late reading is the machine's other work"


def test_above_the_peak() -> None:
    (row,) = rows((cell("cuda:0"), on_gpu(said(0.01, flops=4e12))))
    assert row.gate.status == "IMPOSSIBLE"
    assert "peak is 67" in row.gate.why
    assert row.timing is None


@pytest.mark.parametrize("ms", [10.1, 15.0, 20.0, 30.0])
@pytest.mark.parametrize(("rate", "judged"), [
    (0.45e12, True),  # a large product is hardly faster: computing bounds the row
    (2e12, False),  # 32 threads wait for each other
    (0.2e12, False),  # a product that is slower than the row says nothing of it
    (None, False),
])  # fmt: skip
def test_time_grows_with_the_work_where_computing_bounds_it(ms: float, rate: float | None, judged: bool) -> None:
    single = replace(said(), product_rate=rate)
    doubled = replace(said(ms, flops=8e9, batch=2048, gate=None), product_rate=rate)
    once, twice = rows((cell(), single), (cell(scale=2), doubled))
    impossible = judged and ms == 10.1  # three times as long: it left a cache, and computing bounds it no more
    assert once.gate.status == twice.gate.status == ("IMPOSSIBLE" if impossible else "ok")
    assert once.scaling is not None
    assert once.scaling.ratio == pytest.approx(ms / 10, rel=1e-2)


def test_both_rows_are_near_the_limit_and_yet_thrice_the_time() -> None:
    doubled = replace(said(30.0, flops=8.8e9, batch=2048, gate=None), product_rate=0.4005e12)
    once, _ = rows((cell(), replace(said(), product_rate=0.4005e12)), (cell(scale=2), doubled))
    assert once.gate.status == "IMPOSSIBLE"


def test_a_limit_is_that_of_the_same_type_and_threads() -> None:
    single, doubled = said(), said(10.1, flops=8e9, batch=2048, gate=None)
    other = cell(key=KEY.format("cpu").replace("fp32", "bf16"), dtype="bf16")
    slow, fast = replace(said(), product_rate=0.45e12), replace(said(), product_rate=9e12)
    pair = ((cell(), replace(single, product_rate=None)), (cell(scale=2), replace(doubled, product_rate=0.45e12)))
    assert rows(*pair, (other, fast))[0].gate.status == "IMPOSSIBLE"
    another = cell(key="vae/training/cpu/fp32/b128", workload="vae")
    assert rows(*pair, (another, fast))[0].gate.status == "ok", "it was disturbed while the slower product ran"
    assert rows(*pair, (another, slow))[0].gate.status == "IMPOSSIBLE"


def test_scaling_is_no_verdict_where_launching_kernels_bounds() -> None:
    """2,000 small kernels take as long for twice the data; so do small batches at half of the peak."""
    for flops in (4e9, 300e9):
        doubled = on_gpu(said(10.5, flops=2 * flops, batch=2048, gate=None))
        once, twice = rows((cell("cuda:0"), on_gpu(said(flops=flops))), (cell("cuda:0", scale=2), doubled))
        assert once.gate.status == twice.gate.status == "ok"
        assert once.scaling is not None
        assert once.scaling.low_bound is None


def test_fast_convolutions_may_be_above_the_peak() -> None:
    """Winograd multiplies a fourth of what is counted for 3 x 3 kernels."""
    fast = on_gpu(said(10.0, flops=1e12))
    assert rows((cell("cuda:0"), fast))[0].gate.status == "IMPOSSIBLE"
    (row,) = rows((cell("cuda:0"), replace(fast, least_flops=3e11)))
    assert row.gate.status == "ok"
    assert row.tflops == pytest.approx(100, rel=1e-3)


def test_speedup_is_a_ratio_of_medians_for_the_same_samples() -> None:
    cpu, gpu = rows((cell(), said(10.0)), (cell("cuda:0"), on_gpu(said(2.0))))
    assert gpu.speedup is not None
    assert gpu.speedup.ratio == pytest.approx(5, rel=1e-3)
    assert gpu.speedup.low < gpu.speedup.ratio < gpu.speedup.high
    assert gpu.speedup.against == cpu.key
    _, gpu = rows((cell(), said(10.0)), (cell("cuda:0"), on_gpu(said(2.0, batch=512))))
    assert gpu.speedup is not None
    assert gpu.speedup.ratio == pytest.approx(2.5, rel=1e-3)
    (mean,) = verdicts.means_of([cpu, gpu])
    assert mean.rows == 1
    assert mean.speedup == pytest.approx(2.5, rel=1e-3)


def test_no_speedup_against_an_invalid_row() -> None:
    _, gpu = rows((cell(), said(gate=replace(HEALTHY, loss_error=0.5))), (cell("cuda:0"), on_gpu(said(2.0))))
    assert gpu.speedup is None
    assert gpu.timing is not None


def test_what_was_not_measured() -> None:
    assert rows((cell(), None))[0].gate.status == "not-run"
    missing = CellSaid(status="not-here", why="NotImplementedError: this torch has no torch.compile")
    (row,) = rows((cell(), missing))
    assert row.gate.status == "not-here"
    assert "torch.compile" in row.gate.why
    (row,) = rows((cell(), CellSaid(status="failed", why="RuntimeError: out of memory", memory=True)))
    assert row.gate.status == "not-here"
    assert "does not fit" in row.gate.why
    (row,) = rows((cell(), CellSaid(status="failed", why="measuring: Segmentation fault")))
    assert row.gate.status == "INVALID"


def test_one_block_says_nothing_of_how_uncertain_it_is() -> None:
    one = said()
    assert one.measured is not None
    (row,) = rows((cell(), replace(one, measured=replace(one.measured, blocks_s=(0.01,)))))
    assert (row.gate.status, row.timing) == ("not-run", None)
    (row,) = rows((cell(), replace(one, measured=replace(one.measured, blocks_s=(0.01, 0.011)))))
    assert row.timing is not None


def test_half_the_batch_is_said() -> None:
    one = replace(said(batch=512), notes=("a batch of 1024 ran out of memory",))
    (row,) = rows((cell(), one))
    assert (row.batch, row.batch_wanted) == (512, 1024)
    assert row.notes == ("a batch of 1024 ran out of memory: 512",)


def test_reasons() -> None:
    (row,) = rows((cell(), said(threads=1, cpus_used=1.0, cpus_usable=8)))
    assert [r.id for r in row.reasons] == ["device-slow"]
    assert "one thread" in row.reasons[0].text
    assert rows((cell(threads=1), said(threads=1, cpus_used=1.0, cpus_usable=8)))[0].reasons == ()  # as asked for
    (row,) = rows((cell(), said(threads=1, cpus_used=1.0)), environ={"OMP_NUM_THREADS": "1"})
    assert [(r.id, "OMP_NUM_THREADS=1" in r.text) for r in row.reasons] == [("device-slow", True)]
    (row,) = rows((cell(key=KEY.format("cpu") + "/t1", threads=1), said(threads=1, cpus_used=1.0)))
    assert not row.reasons, "the user asked for one thread"
    (row,) = rows((cell(), said(cpus_used=0.2)))
    assert "slept" in row.reasons[0].text
    (row,) = rows((cell(), replace(said(), fallback=("aten::x will fall back to run on the CPU",))))
    assert [r.id for r in row.reasons] == ["mps-op-missing"]
    seen = ConditionsSaid(power_limit_w=300, power_limit_default_w=700, pcie_width=4, pcie_width_max=16,
                          throttles=("temperature",))  # fmt: skip
    (row,) = rows((cell("cuda:0"), on_gpu(said(conditions=seen))))
    assert {r.id for r in row.reasons} == {"device-slow"}
    text = "; ".join(r.text for r in row.reasons)
    assert "300 of 700 W" in text
    assert "4 of 16 lanes" in text
    assert "temperature" in text


def test_memory_that_grows() -> None:
    growing = tuple((n, 10**9 + n * (10 << 20)) for n in range(2, 40, 2))
    (row,) = rows((cell("mps"), replace(said(memory=growing), gate=replace(HEALTHY, device="mps"))))
    assert row.conditions.memory_growth_bytes_per_step == 10 << 20
    assert "mps-memory-leak" in [r.id for r in row.reasons]
    assert verdicts.wrong_texts([row], "mps")[-1].startswith("memory leak")
    once = ((2, 10**9), *((n, 10**9 + (256 << 20)) for n in range(4, 40, 2)))  # a pool that was enlarged
    assert rows((cell(), said(memory=once)))[0].conditions.memory_growth_bytes_per_step is None


@pytest.mark.parametrize("bits", [24, 20, 11, 8])
@pytest.mark.parametrize("depth", [1, 10, 200])
def test_no_tolerance_lets_zeros_or_other_inputs_pass(bits: int, depth: int) -> None:
    outputs, gradients = verdicts.outputs_tolerance(bits, depth), verdicts.gradients_tolerance(bits, depth)
    assert 2.0**-bits < outputs <= 0.5
    assert gradients is None or outputs < gradients <= 0.5
    assert gradients is not None or bits < 20
    assert gradients is None or bits > 8


def test_gradients_are_not_judged_where_rounding_alone_may_explain_them() -> None:
    """bfloat16 in a deep network turns so many kinks that the gradients have nothing in common."""
    gate = replace(HEALTHY, outputs_error=0.1, second_outputs_error=0.1, after_error=0.1, training_outputs_error=0.1,
                   gradients_error=1.05, loss_error=0.006)  # fmt: skip
    bf16 = cell(key=KEY.format("cpu").replace("fp32", "bf16"), dtype="bf16")
    (row,) = rows((bf16, replace(said(gate=gate), bits=8, depth=100)))
    assert row.gate.status == "ok"
    assert [c.tolerance for c in row.gate.checks if c.name == "gradients"] == [None]
    (row,) = rows((bf16, replace(said(gate=replace(gate, gradients_error=None)), bits=8, depth=100)))
    assert row.gate.status == "INVALID"
    (row,) = rows((bf16, replace(said(gate=replace(gate, band_own=0.06)), bits=8, depth=100)))
    assert row.gate.status == "INVALID", "training does not work"
