"""A report in words, the same for every format: one line per layer, the sentence of the verdict, commands as text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from doctor.accounting.accelerators import accelerators
from doctor.checks import Check
from doctor.fixes import quoting, tools
from doctor.knowledge import lookup
from doctor.model.facts import ABSENT, Absent, Facts, Gpu, ProbeResult, StartFailure, Torch
from doctor.model.finding import ONLY_TOLD, OPEN_IF_NOTED, Evidence, Finding
from doctor.model.fix import Fix, Step
from doctor.model.report import PluginRun, Report
from doctor.model.symptom import RESEMBLES, Hypothesis, Symptom
from doctor.model.values import dataclass

# Shown layer <- layers of the findings. What goes wrong while installing or running has a line only when it does.
ROWS = ("machine", "driver", "interpreter", "torch", "libraries", "install", "run", "device")
ERRATA_SHOWN = 3
_PACKAGES_SHOWN = ("torchvision", "torchaudio", "numpy", "triton", "xformers", "flash-attn", "bitsandbytes")
_ENVIRONMENTS = {
    "venv": "virtual environment", "system": "system Python", "embedded": "embedded Python",
    **{kind.name: kind.words for tool in tools.all_tools() for kind in tool.kinds},
}  # fmt: skip
_KEEPS_FROM_THE_GPU = frozenset({"library-path-conflict", "nvidia-packages-mixed", "shared-library-missing"})
_BRANDS = ("NVIDIA GeForce ", "NVIDIA ", "AMD ", "Intel(R) ", "Intel ")


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
        facts.host.os_name or SYSTEMS.get(facts.host.system or "", facts.host.system),
        gpu_names(facts.gpus) if facts.gpus else "no GPU" if facts.gpus == () else None,
        f"driver {facts.nvidia.driver}" if facts.nvidia.driver else None,
    )
    return "; ".join(part for part in parts if part)


def rows(report: Report) -> tuple[Row, ...]:
    """A line for each layer, in causal order."""
    return tuple(_rows(report))


def _rows(report: Report) -> Iterator[Row]:
    texts = {
        "machine": machine(report.facts),
        "driver": driver(report.facts),
        "interpreter": interpreter(report.facts),
        "torch": torch(report),
        "libraries": libraries(report.facts),
        "device": device(report),
    }
    for layer in ROWS:
        found = [f for f in report.findings if f.layer == layer and f.id not in ONLY_TOLD and not is_of_plugin(f)]
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
    texts = (machine(facts), interpreter(facts), version, libraries(facts))
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


def machine(facts: Facts) -> str | None:
    """ "Ubuntu 22.04.4 LTS, glibc 2.35, x86-64 with AVX2, 64 GB"."""
    host = facts.host
    parts = [
        host.os_name or SYSTEMS.get(host.system or "", host.system),
        f"build {host.windows_build}" if host.windows_build else None,
        f"{host.libc} {host.libc_version or ''}".strip() if host.libc and host.system != "darwin" else None,
        host.cpu_model if host.system == "darwin" else None,
        _architecture(facts),
        size(host.memory_bytes) if host.memory_bytes else None,
        f"WSL {host.wsl}" if host.wsl else None,
        f"in {_article(host.container)}" if host.container else None,
        f"Jetson L4T {host.jetson}" if host.jetson else None,
        "virtual machine" if host.virtual_machine and not host.wsl else None,
    ]
    return ", ".join(p for p in parts if p) or None


def _article(container: str | Absent) -> str:
    return "a container" if container == "container" else f"a {container} container"


def _architecture(facts: Facts) -> str | None:
    name = facts.host.architecture
    flags = facts.host.cpu_flags
    if name is None:
        return None
    shown = "x86-64" if name == "x86_64" else name
    if not flags or name != "x86_64":
        return shown
    best = next(
        (text for flag, text in (("avx512f", "AVX-512"), ("avx2", "AVX2"), ("avx", "AVX")) if flag in flags), None
    )
    return f"{shown} with {best}" if best else f"{shown} without AVX"


SYSTEMS = {"linux": "Linux", "darwin": "macOS", "windows": "Windows"}  # as people write them


def size(count: float) -> str:
    """Bytes in the unit that people compare: 68719476736 -> "64 GB" (of 2^30)."""
    gigabytes = count / (1 << 30)
    return (
        f"{gigabytes:.0f} GB"
        if gigabytes >= 10
        else f"{gigabytes:.1f} GB"
        if gigabytes >= 1
        else f"{count / (1 << 20):.0f} MB"
    )


def driver(facts: Facts) -> str | None:
    """ "NVIDIA 470.256.02, CUDA up to 11.4; RTX 4090"; "no GPU found" where that is known; None where it isn't."""
    stacks = [s for s in (_nvidia(facts), _amd(facts), _intel(facts), _metal(facts)) if s]
    names = gpu_names(facts.gpus or ())
    if not stacks and not names:
        return "no GPU found" if facts.gpus == () else None
    return "; ".join((*stacks, names) if names else stacks)


def _nvidia(facts: Facts) -> str | None:
    nvidia = facts.nvidia
    if nvidia.driver:
        return f"NVIDIA {nvidia.driver}" + (f", CUDA up to {nvidia.driver_cuda}" if nvidia.driver_cuda else "")
    if not any(g.vendor == "nvidia" for g in facts.gpus or ()):
        return None
    return "no NVIDIA driver" if nvidia.driver is ABSENT else "NVIDIA driver not known"


def _amd(facts: Facts) -> str | None:
    if not any(g.vendor == "amd" for g in facts.gpus or ()):
        return None
    if facts.amd.kernel_driver is None:
        return None
    name = "amdgpu" if facts.amd.kernel_driver else "no amdgpu driver"
    return name + (f", ROCm {facts.amd.rocm}" if facts.amd.rocm else "")


def _intel(facts: Facts) -> str | None:
    if not facts.intel.kernel_driver or not any(g.vendor == "intel" for g in facts.gpus or ()):
        return None
    return f"Intel {facts.intel.kernel_driver}" + (", Level Zero" if facts.intel.level_zero else "")


def _metal(facts: Facts) -> str | None:
    return "Metal" if facts.metal and facts.metal.device and facts.host.system == "darwin" else None


def gpu_names(gpus: Iterable[Gpu]) -> str:
    """ "RTX 4090"; "2 x H200"; "RTX 4090, T400"."""
    counted = Counter(short_name(g.name) or f"{g.vendor} GPU {g.pci_id or ''}".strip() for g in gpus)
    return ", ".join(name if n == 1 else f"{n} x {name}" for name, n in counted.items())


def short_name(name: str | None) -> str | None:
    """The model without its maker: "NVIDIA GeForce RTX 4090" -> "RTX 4090"."""
    for brand in _BRANDS:
        if name and name.startswith(brand):
            return name[len(brand) :]
    return name


def interpreter(facts: Facts) -> str | None:
    """ "CPython 3.12.4, 64-bit, virtual environment"; how it fails where it does not start."""
    python = facts.interpreter
    if isinstance(python.start_failure, StartFailure):
        failure = python.start_failure
        return failure.message if failure.kind == "too-old" else f"does not start: {failure.message}"
    if python.version is None:
        return None
    names = {"cpython": "CPython", "pypy": "PyPy"}
    parts = [
        f"{names.get(python.implementation or '', python.implementation or 'Python')} {python.version}",
        "free-threaded" if python.free_threaded else None,
        f"{python.bits}-bit" if python.bits else None,
        f"{python.architecture} under Rosetta" if python.translated else None,
        _ENVIRONMENTS.get(python.environment or "", python.environment),
    ]
    return ", ".join(p for p in parts if p)


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
    works = [d for d, available in _available(torch) if available]
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


def _available(torch: Torch) -> tuple[tuple[str, bool | None], ...]:
    return (
        ("ROCm" if torch.hip else "CUDA", torch.cuda_available),
        ("MPS", torch.mps_available),
        ("XPU", torch.xpu_available),
    )


def libraries(facts: Facts) -> str | None:
    """ "torchvision 0.21.0, numpy 2.1.3"."""
    if facts.packages is None:
        return None
    versions = {p.name: p.version for p in facts.packages}
    shown = [f"{name} {versions[name]}" for name in _PACKAGES_SHOWN if versions.get(name)]
    return ", ".join(shown) or "no numpy, torchvision or torchaudio"


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


DTYPES = {"float32": "fp32", "float16": "fp16", "bfloat16": "bf16", "float64": "fp64"}


def step_command(step: Step, *, windows: bool = False) -> str | None:
    """What to type for a step, be it into a file; None for a manual one."""
    if step.shell:
        return step.shell
    if step.edit:
        return step.edit.toml
    return quoting.line(step.argv, windows=windows) if step.argv else None


def hints(step: Step) -> str:
    """ "root, reboot, downloads about 3.1 GB"."""
    return ", ".join(_needs(step))


def price(fix: Fix) -> str:
    """What to know before choosing a fix: "root, reboot"; "downloads about 3.1 GB, also changes torchvision 0.22.1"."""
    changes = f"also changes {', '.join(fix.changes)}" if fix.changes else ""
    return ", ".join((*_needs(fix), *([changes] if changes else [])))


def offer(fix: Fix) -> str:
    """An alternative in one sentence, with its price: "Update the NVIDIA driver (root, reboot)."."""
    return f"{fix.title.rstrip('.')} ({cost})." if (cost := price(fix)) else fix.title


def says_more(step: Step, fix: Fix) -> bool:
    """Whether a manual step of an alternative says more than the title and the price do."""
    only_restarts = step.needs_reboot and not step.needs_root
    return not only_restarts and step.text.rstrip(".") != fix.title.rstrip(".")


def _needs(what: Step | Fix) -> Iterator[str]:
    if what.needs_root:
        yield "root"
    if what.needs_reboot:
        yield "reboot"
    if what.downloads_mb:
        yield f"downloads about {megabytes(what.downloads_mb)}"


def megabytes(count: int) -> str:
    """As pip counts them, of 10^6: 137 -> "140 MB", 2992 -> "3.0 GB"; sizes are about right, not exact."""
    return f"{count / 1000:.1f} GB" if count >= 1000 else f"{round(count, -1) or count} MB"


_LABELS = {
    "nvidia.driver": "driver",
    "nvidia.driver_cuda": "CUDA of driver",
    "nvidia.cuinit": "cuInit",
    "nvidia.uvm_node": "/dev/nvidia-uvm",
    "nvidia.device_nodes": "/dev/nvidia*",
    "nvidia.smi_error": "nvidia-smi",
    "nvidia.gpus_seen": "GPUs of driver",
    "amd.kfd": "/dev/kfd",
    "amd.kernel_driver": "amdgpu",
    "torch.cuda": "torch.version.cuda",
    "torch.hip": "torch.version.hip",
    "torch.xpu": "torch.version.xpu",
    "torch.cuda_available": "cuda.is_available()",
    "torch.mps_available": "mps.is_available()",
    "torch.mps_built": "built with MPS",
    "torch.xpu_available": "xpu.is_available()",
    "torch.numpy_error": "torch.from_numpy",
    "interpreter.version": "Python",
    "interpreter.executable": "interpreter",
    "metal": "Metal",
}


def label(fact: str) -> str:
    """The dotted name of a fact as people say it: "torch.version" -> "torch", "host.libc_version" -> "libc version"."""
    if fact in _LABELS:
        return _LABELS[fact]
    if fact.startswith("environ."):
        return fact.removeprefix("environ.")
    if " " in fact:  # a label already
        return fact
    fact = fact.removesuffix(".version").removeprefix("host.").removeprefix("interpreter.")
    return fact.replace(".", " ").replace("_", " ")


_VENDORS = {"nvidia": "NVIDIA", "amd": "AMD", "intel": "Intel", "apple": "Apple"}


def declared(check: Check) -> str:
    """Where a diagnosis occurs, and what rules it out, as its check declares it."""
    needs = ", ".join(" or ".join(_need(name) for name in need.split("|")) for need in check.needs)
    sentences = [f"To rule it out takes: {needs}."]
    if check.systems:
        sentences.insert(0, f"Only on {_listed([SYSTEMS[s] for s in check.systems], 'and')}.")
    if check.keeps_from:
        gpu = f"every {_listed([_VENDORS[v] for v in check.keeps_from], 'or')} GPU"
        sentences.append(
            f"Refuted where {f'the probe of {gpu} passed' if check.even_if_listed else f'torch uses {gpu}'}."
        )
    return " ".join(sentences)


def _listed(words: list[str], last: str) -> str:
    """ "a", "a or b", "a, b or c"."""
    return f" {last} ".join(w for w in (", ".join(words[:-1]), words[-1]) if w)


def _need(name: str) -> str:
    return "what the import and the probes of a live run say" if name == "messages" else name


def fix_of(report: Report, finding: Finding) -> Fix | None:
    """The fix made for that finding, or the one that cures it too. Of several findings of one id each has its own."""
    several = sum(f.id == finding.id for f in report.findings) > 1
    for fix in report.plan.fixes:
        if fix.finding == finding.id and (not several or _is_made_of(fix, finding)):
            return fix
    return next((f for f in report.plan.fixes if finding.id in f.also_cures), None)


def _is_made_of(fix: Fix, finding: Finding) -> bool:
    """Whether one of the finding's remedies became this fix; of an action that many have, by its words."""
    remedies = [r for r in finding.remedies if r.action == fix.action]
    words = [(r.text or r.details.get("reason", "")).casefold() for r in remedies]
    return any(fix.action != "none" or said in fix.title.casefold() for said in words) or not finding.remedies


def told(report: Report, finding: Finding) -> str:
    """A finding in one paragraph, for formats that have no more room: what it is, how sure that is, what to do."""
    fix = fix_of(report, finding)
    parts = (
        finding.title,
        finding.detail,
        "This is likely, not certain." if finding.confidence == "likely" else "",
        f"It follows from {finding.explained_by}." if finding.explained_by else f"Fix: {offer(fix)}" if fix else "",
    )
    return " ".join(part for part in parts if part)


def consequences(report: Report, root: Finding) -> tuple[Finding, ...]:
    """Findings that go away with that root, also indirectly, in the report's order."""
    caused = {root.id}
    while True:
        more = {f.id for f in report.findings if f.explained_by in caused} - caused
        if not more:
            return tuple(f for f in report.findings if f.id in caused and f.id != root.id)
        caused |= more


def verdict(report: Report) -> str:
    """The one sentence at the end. It names what was found, so that it can stand alone."""
    found = {s: [f.id for f in report.findings if f.root and f.severity == s] for s in ("fault", "warning")}
    warnings = _counted([id for id in found["warning"] if id not in ONLY_TOLD], "warning")
    if report.verdict == "faulty":
        faults = _counted(found["fault"], "fault") or "a fault"
        return f"{faults}; {warnings}." if warnings else f"{faults}."
    also = f" ({warnings})" if warnings else ""
    if report.verdict == "unknown" and not report.is_open:
        return f"No fault in what was asked for ({', '.join(report.limits)}){also}; the rest was not judged."
    if report.verdict == "unknown":
        return f"No verdict{also}: {_why_no_verdict(report)}."
    start = f"No fault, but {warnings}" if warnings else "Nothing is wrong"
    if found["warning"] and not warnings:
        start = "No fault, but known errata"
    return f"{start}: {_what_works(report)}.{_programs_own(report)}"


def errata(report: Report) -> tuple[Evidence, ...]:
    """What is known to be broken here, the gravest first: the evidence of the findings that say so."""
    found = (e for f in report.findings if f.id in ONLY_TOLD for e in f.evidence)
    return tuple(e for e in found if lookup.erratum_of(e.fact))


def errata_lines(report: Report, room: int) -> tuple[str, ...]:
    """What is known to be broken here, the gravest first, in at most three lines of at most `room` characters: of more
    than three errata two, and how many more there are."""
    known = [e for one in errata(report) if (e := lookup.erratum_of(one.fact))]
    shown = known if len(known) <= ERRATA_SHOWN else known[: ERRATA_SHOWN - 1]
    lines = [_line_of(e.title, f" (fixed in {e.fixed_in})" if e.fixed_in else "", room) for e in shown]
    more = len(known) - len(shown)
    return (*lines, f"and {more} more: torchdoctor check --errata") if more else tuple(lines)


def _line_of(title: str, end: str, room: int) -> str:
    """A title with its end, or where there is no room for both, the title alone: what is wrong matters more."""
    return title + end if len(title + end) <= room else _shortened(title, room)


def _shortened(text: str, room: int) -> str:
    """The text, or as many of its words as there is room for."""
    return text if len(text) <= room else text[: room - 1].rpartition(" ")[0].rstrip(",;") + " …"


def _counted(ids: list[str], noun: str) -> str:
    """ "2 faults: torch-missing, gpu-hidden"; "" for none."""
    names = list(dict.fromkeys(ids))
    return f"{len(ids)} {noun}{'s' if len(ids) > 1 else ''}: {', '.join(names)}" if ids else ""


def _programs_own(report: Report) -> str:
    own = next((s for s in report.symptoms if s.explained_by in ("program", "program-error")), None)
    if own is None:
        return ""
    where = f" (line {own.line})" if own.line else ""
    said = own.text if len(own.text) <= 100 else own.text[:99] + "…"
    return f" The error «{said}»{where} is the program's own, not the environment's."


@dataclass(frozen=True)
class Open:
    """A symptom that nothing explains, with the hypotheses about it."""

    symptom: Symptom
    hypotheses: tuple[Hypothesis, ...]


def left_over(report: Report) -> tuple[Open, ...]:
    """The symptoms that nothing explains, each message once. None beside a fault: its fix comes first."""
    if report.verdict == "faulty":
        return ()
    left = {(s.id, s.subject): s for s in reversed(report.symptoms) if s.explained_by is None}
    return tuple(
        Open(s, tuple(h for h in report.hypotheses if h.symptom == s.id)[:4]) for s in reversed(list(left.values()))
    )[:4]


def not_explained(symptom: Symptom) -> str:
    """The heading of a symptom that is left over, without its place and without a full stop."""
    said = symptom.text if len(symptom.text) <= 160 else symptom.text[:159] + "…"
    return said if symptom.id == RESEMBLES else f"«{said.rstrip('.')}» is not explained"


def how_likely(hypothesis: Hypothesis) -> str:
    """One word for its weight."""
    return "likely" if hypothesis.weight >= 0.5 else "possible"


def why(hypothesis: Hypothesis, title: str) -> str:
    """What to say beside a hypothesis: what speaks for or against it, else what it is."""
    said = "; ".join((*hypothesis.speaks_for, *(f"but {a}" for a in hypothesis.speaks_against)))
    return said or title.rstrip(".")


def nothing_recognised(facts: Facts) -> bool:
    """Whether a text said nothing of a machine at all."""
    return not facts.live and facts == Facts(live=False, as_of=facts.as_of, gaps=facts.gaps)


def _why_no_verdict(report: Report) -> str:
    facts = report.facts
    if nothing_recognised(facts):
        return "nothing in this text was recognised"
    failure = facts.interpreter.start_failure
    if isinstance(failure, StartFailure):
        return f"the Python cannot be asked ({failure.message})"
    gap = next((g for g in facts.gaps if g.fact == "torch.imports" and g.detail), None)
    because = f" ({gap.detail})" if gap else ""
    reasons = list(report.unproven[:2]) or ["it is not known whether torch works"]
    more = len(report.unproven) - 2
    return "; ".join(reasons) + because + (f"; and {more} more" if more > 0 else "")


def _what_works(report: Report) -> str:
    facts = report.facts
    torch = facts.torch
    seen = "" if facts.live else "in what this text shows, "
    if not isinstance(torch, Torch):
        return f"{seen}no fault was found"
    works = [name for name, available in _available(torch) if available]
    if works:
        in_use = [a for a in accelerators(facts) if a.state in ("proven", "used") and a.name]
        names = gpu_names(Gpu(vendor=a.vendor, name=a.name) for a in in_use)  # type: ignore[arg-type]
        if not names:
            names = gpu_names(Gpu(vendor="nvidia", name=d.name) for d in torch.devices or () if d.name)
        return f"{seen}torch can use the {names}" if names else f"{seen}torch can use {works[0]}"
    if facts.gpus == ():
        return f"{seen}torch works on the CPU; this machine has no GPU that it could use"
    if facts.gpus is None:
        return f"{seen}torch works on the CPU; whether there is a GPU is not known"
    return f"{seen}torch works on the CPU; it does not use the {gpu_names(facts.gpus)}"
