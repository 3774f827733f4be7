"""The report of a benchmark, from the machine's facts and what the children said. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from doctor.accounting.judgement import judged
from doctor.bench import verdicts
from doctor.bench.plan import PlannedCell
from doctor.bench.said import CellSaid
from doctor.knowledge import gpus
from doctor.model.bench import BenchDevice, BenchMachine, BenchOptions, BenchReport, Reason, Row
from doctor.model.facts import Facts, ProbeResult, Torch, TorchDevice

RUN = (
    "mps-wrong-results", "mps-memory-leak", "device-wrong-results", "device-crashes", "device-slow", "harmful-variable",
)  # fmt: skip


def devices_of(facts: Facts) -> tuple[str, ...]:
    """Names of what can be measured, as torch has them; () where it is not known that torch imports."""
    torch = facts.torch
    if not isinstance(torch, Torch) or not torch.imports:
        return ()
    return ("cpu", *(d.id for d in torch.devices or ()))


def chosen(devices: tuple[str, ...], asked: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """(what is measured, what was asked for and is not there). Nothing asked for: the CPU and the first accelerator.

    >>> chosen(("cpu", "cuda:0", "cuda:1"), ("cuda:1",)), chosen(("cpu", "cuda:0", "cuda:1"), ())
    ((('cuda:1',), ()), (('cpu', 'cuda:0'), ()))
    >>> chosen(("cpu",), ("mps",))
    ((), ('mps',))
    """
    if not asked:
        return devices[:2], ()
    found = [d for d in devices if d in asked or d.partition(":")[0] in asked or "all" in asked]
    kinds = {d.partition(":")[0] for d in devices}
    missing = tuple(a for a in asked if a not in (*devices, *kinds, "all"))
    return tuple(found), missing


def machine_of(facts: Facts, devices: Iterable[str], environ: Mapping[str, str]) -> BenchMachine:
    """What is said of the machine. Names of people and hosts are not among it."""
    host, torch = facts.host, facts.torch if isinstance(facts.torch, Torch) else Torch()
    known = {d.id: d for d in torch.devices or ()}
    return BenchMachine(
        system=host.system,
        os_name=host.os_name,
        arch=host.architecture,
        virtual_machine=host.virtual_machine or None,
        memory_bytes=host.memory_bytes,
        python=facts.interpreter.version,
        torch=torch.version,
        cuda=torch.cuda or None,
        hip=torch.hip or None,
        xpu=torch.xpu or None,
        cudnn=torch.cudnn or None,
        driver=facts.nvidia.driver or None,
        environ=tuple(sorted(environ.items())),
        devices=tuple(_cpu(facts, torch) if d == "cpu" else _accelerator(facts, d, known.get(d)) for d in devices),
    )


def _cpu(facts: Facts, torch: Torch) -> BenchDevice:
    host = facts.host
    return BenchDevice(
        device="cpu",
        name=host.cpu_model,
        memory_bytes=host.memory_bytes,
        threads=torch.threads,
        logical_cores=host.cpus_usable or host.cpus,
        cpu_capability=torch.cpu_capability,
    )


def _accelerator(facts: Facts, device: str, known: TorchDevice | None) -> BenchDevice:
    name = known.name if known else None
    if name is None and device == "mps":
        name = facts.host.cpu_model
    peaks = gpus.peaks_of(name) if name else None
    return BenchDevice(
        device=device,
        name=name,
        memory_bytes=known.memory_bytes if known else None,
        capability=known.capability if known else None,
        gfx=known.gfx if known else None,
        peak_fp32_tflops=peaks.fp32 if peaks else None,
        peak_tf32_tflops=peaks.tf32 if peaks else None,
        peak_bf16_tflops=peaks.bf16 if peaks else None,
        peak_fp16_tflops=peaks.fp16 if peaks else None,
        bandwidth_gbs=peaks.bandwidth_gbs if peaks else None,
    )


def with_limits(machine: BenchMachine, said: Mapping[str, CellSaid], cells: Iterable[PlannedCell]) -> BenchMachine:
    """The devices with the limits of power and clock that were seen while they worked."""
    seen = {}
    for cell in cells:
        answer = said.get(cell.key)
        if answer and answer.measured:
            seen[cell.device] = answer.measured.conditions
    return replace(
        machine,
        devices=tuple(
            replace(
                device,
                power_limit_w=seen[device.device].power_limit_w,
                power_limit_default_w=seen[device.device].power_limit_default_w,
                clock_max_mhz=seen[device.device].sm_clock_max_mhz,
            )
            if device.device in seen
            else device
            for device in machine.devices
        ),
    )


def rows_so_far(
    facts: Facts,
    devices: Iterable[str],
    cells: Iterable[PlannedCell],
    said: Mapping[str, CellSaid],
    options: BenchOptions,
) -> tuple[Row, ...]:
    """The rows of the cells that have an answer, while others are still measured."""
    held = {d.device: d for d in machine_of(facts, devices, {}).devices}
    done = [cell for cell in cells if cell.key in said and cell.scale == 1]
    return verdicts.rows_of(done, said, verdicts.Machine(devices=held, environ={}), options.suite)


def report_of(
    *,
    tool: str,
    taken_at: str,
    duration_ms: float,
    facts: Facts,
    machine: BenchMachine,
    options: BenchOptions,
    cells: tuple[PlannedCell, ...],
    said: Mapping[str, CellSaid],
    notes: tuple[str, ...] = (),
    interrupted: bool = False,
) -> BenchReport:
    """All rows, judged, with what the catalogue says of them."""
    machine = with_limits(machine, said, cells)
    known = {device.device: device for device in machine.devices}
    held = verdicts.Machine(devices=known, environ=dict(machine.environ), arch=machine.arch)
    rows = verdicts.rows_of(cells, said, held, options.suite)
    return BenchReport(
        tool=tool,
        taken_at=taken_at,
        duration_ms=duration_ms,
        machine=machine,
        options=options,
        rows=rows,
        means=verdicts.means_of(rows),
        findings=findings_of(facts, rows),
        notes=notes,
        interrupted=interrupted,
    )


def findings_of(facts: Facts, rows: tuple[Row, ...]) -> tuple[Reason, ...]:
    """The diagnoses of the catalogue that the wrong rows lead to: their computations count as a probe's."""
    devices = dict.fromkeys(row.device for row in rows)
    probes = []
    for device in devices:
        wrong = verdicts.wrong_texts(rows, device)
        if wrong:
            probes.append(
                ProbeResult(
                    id=device, device=device, status="failed", stage="training", reason=wrong[0], data={"wrong": wrong}
                )
            )
    if not probes:
        return ()
    judgement = judged(replace(facts, probes=tuple(probes)))
    return tuple(Reason(id=f.id, text=f.detail or f.title) for f in judgement.account.findings if f.id in RUN)
