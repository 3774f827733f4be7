"""A report as one line a layer, the same for every format: its mark, its facts, and the machine in a line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from doctor.model.facts import ABSENT, Facts, ProbeResult, Torch
from doctor.model.finding import ONLY_TOLD, OPEN_IF_NOTED, SAID_LAST, Finding
from doctor.model.report import PluginRun, Report
from doctor.model.symptom import Symptom
from doctor.model.values import dataclass
from doctor.reports import words

# Shown layer <- layers of the findings. What goes wrong while installing or running has a line only when it does.
ROWS = ("machine", "driver", "interpreter", "torch", "libraries", "install", "run", "device")
_KEEPS_FROM_THE_GPU = frozenset({"library-path-conflict", "nvidia-packages-mixed", "shared-library-missing"})
DTYPES = {"float32": "fp32", "float16": "fp16", "bfloat16": "bf16", "float64": "fp64"}


@dataclass(frozen=True)
class Row:
    """One layer. Marks: "ok", "!!" fault, "!" warning, "^" because of another layer, "?" not explained,
    "-" not looked or not known."""

    mark: str
    layer: str
    text: str


def in_a_line(report: Report) -> str:
    """The machine and its torch: "torch 2.6.0+cu124; can use CUDA; Python 3.12.4; Ubuntu 22.04; RTX 4090; driver …"."""
    facts = report.facts
    parts = (
        f"torch {torch(report) or 'not known'}",
        f"Python {facts.interpreter.version}" if facts.interpreter.version else None,
        facts.host.os_name or words.SYSTEMS.get(facts.host.system or "", facts.host.system),
        words.gpu_names(facts.gpus) if facts.gpus else "no GPU" if facts.gpus == () else None,
        f"driver {facts.nvidia.driver}" if facts.nvidia.driver else None,
    )
    return "; ".join(part for part in parts if part)


def rows(report: Report) -> tuple[Row, ...]:
    """A line for each layer, in causal order."""
    return tuple(_rows(report))


def _rows(report: Report) -> Iterator[Row]:
    texts = {
        "machine": words.machine(report.facts),
        "driver": words.driver(report.facts),
        "interpreter": words.interpreter(report.facts),
        "torch": torch(report),
        "libraries": words.libraries(report.facts),
        "device": device(report),
    }
    told = [f for f in report.findings if f.id not in (*ONLY_TOLD, *SAID_LAST)]
    for layer in ROWS:
        found = [f for f in told if f.layer == layer and not is_of_plugin(f)]
        if layer in ("install", "run"):
            if not found:
                continue
            known: str | None = ", ".join(dict.fromkeys(f.id for f in found))
        else:
            known = texts[layer]
        mark = _mark(found, known)
        if layer == "torch" and mark == "ok" and "because of the" in (known or ""):
            mark = "^"
        if layer == "torch" and mark == "ok" and any(_is_open(s) for s in report.symptoms):
            mark = "?"
        if layer == "device":
            mark = _device_mark(report, known)
        ids = ", ".join(dict.fromkeys(f.id for f in found if f.severity != "note"))
        yield Row(mark, layer, known or ids or _why_unknown(report, layer))
    if report.plugins:
        found = [f for f in report.findings if is_of_plugin(f)]
        failed = any(run.status != "ok" for run in report.plugins)
        mark = _mark(found, None if failed and not found else "")
        yield Row("-" if failed and mark == "ok" else mark, "plugins", "; ".join(map(_plugin, report.plugins)))


def is_of_plugin(finding: Finding) -> bool:
    """Whether a plugin found it: its id stands below the plugin's name."""
    return "/" in finding.id


def _plugin(run: PluginRun) -> str:
    name = f"{run.name} {run.version}".strip()
    if run.status != "ok":
        return f"{name} did not answer: {run.reason}" if run.status == "timed-out" else f"{name} failed: {run.reason}"
    return f"{name} ({len(run.checks)} {'check' if len(run.checks) == 1 else 'checks'})"


def first_rows(facts: Facts) -> tuple[tuple[str, str], ...]:
    """(layer, text) of what is known before torch is imported and the driver has answered; nothing is judged yet."""
    torch = facts.torch
    version = torch.version if isinstance(torch, Torch) else "not installed" if torch is ABSENT else None
    texts = (words.machine(facts), words.interpreter(facts), version, words.libraries(facts))
    layers = ("machine", "interpreter", "torch", "libraries")
    return tuple((layer, text) for layer, text in zip(layers, texts, strict=True) if text)


def _is_open(symptom: Symptom) -> bool:
    """Whether it is left over that torch does not import, or does not use a GPU."""
    return symptom.explained_by is None and symptom.id in ("accelerator-unused", "import-failed")


def _mark(found: Iterable[Finding], known: str | None) -> str:
    found = tuple(found)
    if any(f.severity == "fault" and f.root for f in found):
        return "!!"
    if any(f.severity == "fault" for f in found):
        return "^"
    if any(f.severity == "warning" for f in found):
        return "!"
    return "-" if known is None else "ok"


def _device_mark(report: Report, known: str | None) -> str:
    probes = [p for p in report.facts.probes or () if p.status != "skipped"]
    said = {f.severity for f in report.findings if "device" in f.values}
    unseen = any(p.status == "skipped" and p.stage for p in report.facts.probes or ())  # wanted, and not possible
    if any(p.status != "ok" for p in probes) or "fault" in said:
        return "!!"
    if probes and "warning" in said:
        return "!"
    return "ok" if probes and known and not unseen else "-"


def _why_unknown(report: Report, layer: str) -> str:
    names = {
        "machine": ("host",), "driver": ("gpus", "nvidia.driver", "nvidia"), "interpreter": ("interpreter",),
        "torch": ("torch", "interpreter"), "libraries": ("packages", "interpreter"), "device": ("probes",),
    }  # fmt: skip
    for name in names.get(layer, ()):
        for gap in report.facts.gaps:
            if gap.fact == name or gap.fact.startswith(name + "."):
                return f"not known: {gap.detail or gap.reason.replace('-', ' ')}"
    return "not known" if report.facts.live else "not in the evidence"


def torch(report: Report) -> str | None:
    """ "2.6.0+cu124; is_available() is False because of the driver"."""
    torch = report.facts.torch
    if torch is ABSENT:
        return "not installed"
    if not isinstance(torch, Torch) or torch.version is None:
        return None
    return f"{torch.version}; {said}" if (said := _torch_says(torch, report)) else torch.version


def _torch_says(torch: Torch, report: Report) -> str:
    if torch.imports is False:
        return "import torch fails"
    works = [d for d, available in available(torch) if available]
    if works:
        return f"can use {' and '.join(works)}"
    because = _because(report)
    if (torch.cuda or torch.hip) and torch.cuda_available is False:
        if report.facts.gpus == () and not because:
            return f"{'CUDA' if torch.cuda else 'ROCm'} build, no GPU here"
        return f"is_available() is False{because}"
    if torch.mps_built and torch.mps_available is False:
        return f"MPS is not available{because}"
    if torch.cuda is ABSENT and torch.hip is ABSENT and torch.mps_built is False:
        return "" if "cpu" in str(torch.version) else "CPU build"
    return ""


def _because(report: Report) -> str:
    """ " because of the driver": the layer of the first root fault that can keep torch from a device."""
    for finding in report.findings:
        if (
            finding.severity == "fault"
            and finding.root
            and (finding.layer in ("machine", "driver", "interpreter") or finding.id in _KEEPS_FROM_THE_GPU)
        ):
            return f" because of the {finding.layer}"
    return ""


def available(torch: Torch) -> tuple[tuple[str, bool | None], ...]:
    """(backend, whether torch says that it can use it)."""
    return (
        ("ROCm" if torch.hip else "CUDA", torch.cuda_available),
        ("MPS", torch.mps_available),
        ("XPU", torch.xpu_available),
    )


def device(report: Report) -> str | None:
    """ "cuda:0 ok, 51.3 TFLOP/s fp32; cpu ok, 0.31 TFLOP/s fp32"; why not, where nothing was probed."""
    probes = report.facts.probes
    if probes:
        return "; ".join(probe_line(p) for p in sorted(probes, key=lambda p: p.id == "cpu"))
    faults = (f for f in report.findings if f.severity == "fault" and f.root and f.id not in OPEN_IF_NOTED)
    if cause := next(faults, None):
        return f"not probed: {cause.id}"
    return "not probed" if report.facts.live else "not probed: read from text"


def probe_line(probe: ProbeResult) -> str:
    """One probe in a few words."""
    if probe.status == "ok":
        rates = ", ".join(f"{rate:.3g} TFLOP/s {dtype}" for dtype, rate in probe_rates(probe)[:2])
        return f"{probe.id} ok" + (f", {rates}" if rates else "")
    if probe.status == "skipped":
        return f"{probe.id} not probed: {probe.reason}" if probe.reason else f"{probe.id} not probed"
    how = {"failed": "failed", "crashed": "crashed", "timed-out": "timed out"}[probe.status]
    signal = f" (signal {probe.signal})" if probe.signal else ""
    return f"{probe.id} {how}" + (f" in stage {probe.stage}" if probe.stage else "") + signal


def probe_rates(probe: ProbeResult, kind: str = "burst") -> tuple[tuple[str, float], ...]:
    """(dtype, TFLOP/s) of the matrix products that a probe measured. Emulated types are left out: their rate says
    nothing of the device."""
    suffix = f"_tflops_{kind}"
    found = []
    for stage in probe.stages:
        for name, rate in stage.data.items():
            dtype = name.removesuffix(suffix)
            if dtype != name and isinstance(rate, (int, float)) and stage.data.get(f"{dtype}_native") is not False:
                found.append((DTYPES.get(dtype, dtype), float(rate)))
    return tuple(found)
