"""Reports built by hand, one of each kind that a renderer must do well."""

from __future__ import annotations

from dataclasses import replace

from doctor.fixes.prices import priced
from doctor.model.facts import ABSENT, Facts, Gap, Gpu, Metal, ProbeResult, Stage, StartFailure
from doctor.model.finding import Evidence, Finding, Outcome, Remedy
from doctor.model.fix import Fix, Plan, Step
from doctor.model.report import Report, Target
from doctor.model.symptom import Hypothesis, Question, Symptom
from tests.examples import linux, mac, with_nvidia, with_packages, with_torch

PYTHON = "/home/anna/ml/.venv/bin/python"
LONG_COMMAND = (
    PYTHON, "-m", "pip", "install", "--force-reinstall", "torch==2.6.0", "torchvision==0.21.0", "--index-url",
    "https://download.pytorch.org/whl/cu118",
)  # fmt: skip


def report(facts: Facts, **more: object) -> Report:
    """A report of these facts; healthy and without findings if nothing else is said."""
    return Report(**{  # type: ignore[arg-type]
        "tool": "torchdoctor 1.0", "taken_at": "2026-01-02T03:04:05Z", "duration_ms": 1321.5,
        "target": Target(python=PYTHON, reason="active environment"), "verdict": "healthy", "facts": facts, **more,
    })  # fmt: skip


TOO_OLD = Finding(
    id="nvidia-driver-too-old",
    layer="driver",
    severity="fault",
    title="The NVIDIA driver is too old for this torch.",
    detail="torch 2.6.0+cu124 needs driver 525.60.13 or newer; this machine has 470.256.02.",
    evidence=(
        Evidence(fact="nvidia.driver", value="470.256.02", source="/proc/driver/nvidia/version"),
        Evidence(fact="needed", value="525.60.13", source="CUDA 12.x minor-version compatibility"),
        Evidence(fact="torch.version", value="2.6.0+cu124", source="torch/version.py"),
    ),
    remedies=(Remedy(action="upgrade-driver", details={"minimum": "525.60.13"}),),
)
CONSEQUENCE = Finding(
    id="torch-cpu-only",
    layer="torch",
    severity="fault",
    title="This torch was built for the CPU only.",
    detail="",
    root=False,
    explained_by="nvidia-driver-too-old",
)
WARNING = Finding(
    id="companion-mismatch",
    layer="libraries",
    severity="warning",
    title="A companion was made for another torch.",
    detail="torchvision 0.20.0 was made for torch 2.5.0.",
    confidence="likely",
)
NOTE = Finding(
    id="no-accelerator", layer="machine", severity="note", title="There is no GPU here.", detail="Only a CPU."
)

FIX = priced(Fix(
    finding="nvidia-driver-too-old",
    action="upgrade-driver",
    title="Update the driver to 525.60.13 or newer",
    steps=(
        Step(text="update the driver to 525.60.13 or newer", where="system", needs_root=True, needs_reboot=True),
        Step(text="look again", argv=(PYTHON, "-c", "import torch; print(torch.cuda.is_available())")),
    ),
    assumes=("the card is not passed through to a virtual machine",),
    alternatives=(
        Fix(
            finding="nvidia-driver-too-old",
            action="downgrade-torch",
            title="a torch build that this driver can run",
            steps=(
                Step(text="free the disk of 3 GB", where="user"),
                Step(text="install torch for CUDA 11.8", argv=LONG_COMMAND, downloads_mb=2650),
            ),
            changes=("torchvision 0.17.1",),
        ),
    ),
))  # fmt: skip
FACTS = with_packages(
    with_torch(
        with_nvidia(linux(), "NVIDIA GeForce RTX 4090", driver="470.256.02", driver_cuda="11.4"),
        "2.6.0+cu124",
        cuda_available=False,
    ),
    torchvision="0.21.0",
    numpy="2.1.3",
)
FAULTY = report(
    FACTS,
    verdict="faulty",
    findings=(TOO_OLD, CONSEQUENCE, WARNING, NOTE),
    plan=Plan(fixes=(FIX,), unfixed=(("companion-mismatch", "no matching wheel is known"),)),
    outcomes=(
        Outcome(id="nvidia-driver-too-old", layer="driver", status="found"),
        Outcome(id="gpu-hidden", layer="driver", status="passed"),
        Outcome(id="torch-cpu-only", layer="torch", status="found"),
        Outcome(id="companion-mismatch", layer="libraries", status="found"),
        Outcome(id="driver-hangs", layer="driver", status="skipped", reason="nvidia.sources is not known: not looked"),
        Outcome(id="mps-not-built", layer="torch", status="crashed", reason="KeyError: 'x'"),
    ),
)
PROBES = (
    ProbeResult(
        id="cpu", device="cpu", status="ok",
        stages=(Stage(name="speed", ok=True, ms=343.0, data={
            "float32_tflops_burst": 0.1896, "bfloat16_tflops_burst": 0.001, "bfloat16_native": False,
        }),),
    ),
    ProbeResult(
        id="cuda:0", device="cuda:0", status="ok",
        stages=(Stage(name="speed", ok=True, ms=700.0, data={
            "float32_tflops_burst": 51.31, "bfloat16_tflops_burst": 160.2,
        }),),
    ),
)  # fmt: skip
HEALTHY = report(
    replace(
        with_torch(with_nvidia(linux(), "NVIDIA GeForce RTX 4090"), "2.6.0+cu124", cuda_available=True), probes=PROBES
    )
)
CPU_ONLY = report(with_torch(linux(), "2.6.0+cpu", cuda_available=False))
MAC = report(with_torch(mac(), "2.6.0", mps_built=True, mps_available=True))
CRASHED = replace(
    FAULTY,
    facts=replace(
        FACTS,
        probes=(
            ProbeResult(
                id="cuda:0", device="cuda:0", status="crashed", stage="allocate", signal=11, stderr_tail="Segfault"
            ),
        ),
    ),
)
UNKNOWN = report(
    Facts(live=False, gaps=(Gap(fact="torch", reason="not-in-evidence"),)),
    verdict="unknown",
    target=Target(python=None, reason="evidence", evidence=("ticket.txt",)),
)
NO_TARGET = report(
    replace(
        linux(),
        interpreter=replace(
            linux().interpreter,
            version=None,
            start_failure=StartFailure(kind="not-found", message="/nowhere: not found"),
        ),
    ),
    verdict="unknown",
)
UNUSED = Symptom(
    id="accelerator-unused", kind="no-device", subject="nvidia", source="collect_env", causes=("gpu-hidden",),
    text="torch does not use NVIDIA A100-SXM4-80GB.",
)  # fmt: skip
UNEXPLAINED = replace(
    report(with_torch(with_nvidia(linux(), "NVIDIA A100-SXM4-80GB"), "2.6.0+cu124", cuda_available=False)),
    verdict="unknown",
    unproven=("why torch does not use NVIDIA A100-SXM4-80GB is not known",),
    symptoms=(UNUSED, replace(UNUSED, id="exception", kind="program", text="KeyError: 'x'", explained_by="program")),
    hypotheses=(
        Hypothesis(symptom="accelerator-unused", id="nvidia-fabric-manager-down", weight=0.55,
                   speaks_for=("NVIDIA A100-SXM4-80GB is built for NVSwitch",), would_settle="systemctl"),
        Hypothesis(symptom="accelerator-unused", id="gpu-hidden", weight=0.2,
                   speaks_against=("no variable that hides it is set",)),
    ),
    questions=(Question(text="Let torch start CUDA.", command='python -c "import torch; torch.zeros(1).cuda()"'),),
    target=Target(python=None, reason="evidence", evidence=("ticket.txt",)),
)  # fmt: skip
OWN_ERROR = replace(
    HEALTHY, symptoms=(Symptom(id="exception", kind="program", text="KeyError: 'x'", line=3, explained_by="program"),)
)
LIMITED = replace(HEALTHY, verdict="unknown", limits=("--no-probe",))
HOSTILE_TEXT = "\x1b[31mred\x1b[0m [bold]x[/bold] `a` <script> @you\r\n::error::pwned \u202eesrever |"
HOSTILE = report(
    replace(FACTS, gpus=(Gpu(vendor="nvidia", name=HOSTILE_TEXT),), metal=Metal(device=ABSENT)),
    verdict="faulty",
    findings=(replace(TOO_OLD, detail=HOSTILE_TEXT, evidence=(Evidence(fact="message", value=HOSTILE_TEXT * 3),)),),
    plan=Plan(fixes=(replace(FIX, steps=(Step(text=HOSTILE_TEXT, shell=HOSTILE_TEXT),)),)),
    target=Target(python=HOSTILE_TEXT, reason=HOSTILE_TEXT),
)
HOSTILE_UNEXPLAINED = replace(
    UNEXPLAINED,
    symptoms=(replace(UNUSED, text=HOSTILE_TEXT, source=HOSTILE_TEXT),),
    hypotheses=(replace(UNEXPLAINED.hypotheses[0], speaks_for=(HOSTILE_TEXT,), would_settle=HOSTILE_TEXT),),
    questions=(Question(text=HOSTILE_TEXT, command=HOSTILE_TEXT),),
    unproven=(HOSTILE_TEXT,),
)
ALL = {
    "faulty": FAULTY, "healthy": HEALTHY, "cpu-only": CPU_ONLY, "mac": MAC, "crashed": CRASHED, "unknown": UNKNOWN,
    "no-target": NO_TARGET, "hostile": HOSTILE, "unexplained": UNEXPLAINED, "own-error": OWN_ERROR, "limited": LIMITED,
    "hostile-unexplained": HOSTILE_UNEXPLAINED,
}  # fmt: skip
