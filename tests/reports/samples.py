"""Reports built by hand, one of each kind that a renderer must do well."""

from __future__ import annotations

from dataclasses import replace

from doctor.fixes.prices import priced
from doctor.model.facts import ABSENT, Declaration, Facts, Gap, Gpu, Metal, ProbeResult, Stage, StartFailure
from doctor.model.finding import Evidence, Finding, Outcome, Remedy
from doctor.model.fix import Fix, Plan, Step
from doctor.model.report import Other, Report, Target
from doctor.model.symptom import Hypothesis, Question, Symptom
from tests.examples import device, linux, mac, with_nvidia, with_packages, with_torch

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
RESULT = Symptom(
    id="accelerator-unused", kind="no-device", subject="nvidia: NVIDIA GeForce RTX 4090", source="probe of cuda:0",
    text="torch does not use NVIDIA GeForce RTX 4090.", causes=("nvidia-driver-too-old",),
    explained_by="nvidia-driver-too-old",
)  # fmt: skip
MANY = replace(
    FAULTY,
    findings=(
        TOO_OLD,
        Finding(
            id="numpy-abi-mismatch", layer="libraries", severity="fault",
            title="This torch was built for NumPy 1, and NumPy 2 is installed.",
            detail="torch 2.2.2 was built before NumPy 2; numpy 2.1.3 is installed.",
            evidence=(Evidence(fact="message", value="A module that was compiled using NumPy 1.x cannot be run",
                               source="import torch", quote="UserWarning: Failed to initialize NumPy: _ARRAY_API"),),
        ),
        CONSEQUENCE, replace(CONSEQUENCE, id="requested-device-missing", explained_by="torch-cpu-only", layer="run",
                             title="The program asked for a device that torch does not have."),
        WARNING, NOTE,
    ),
    symptoms=(
        RESULT,
        Symptom(id="torch-not-compiled-with-cuda", kind="no-device", source="train.log", line=12,
                text="AssertionError: Torch not compiled with CUDA enabled", explained_by="requested-device-missing"),
        Symptom(id="numpy-abi", kind="import", source="train.log", line=3, explained_by="numpy-abi-mismatch",
                text="RuntimeError: Numpy is not available"),
        Symptom(id="exception", kind="program", text="KeyError: 'labels'", source="train.log", line=40,
                explained_by="program"),
    ),
    target=Target(python=None, reason="evidence", evidence=("collect_env.txt", "train.log")),
    others=(Other(name="the laptop", summary="macOS 14.5, torch 2.6.0, MPS is available"),),
    unread=("Segmentation fault? but only sometimes", "it worked last week"),
)  # fmt: skip
LIKELY = replace(
    FAULTY,
    findings=(
        Finding(
            id="nvidia-fabric-manager-down", layer="driver", severity="fault", confidence="likely",
            title="The fabric manager of the NVSwitches is not running.",
            detail="torch does not use the GPUs, and A100-SXM4 boards with NVSwitch need it.",
            evidence=(Evidence(fact="torch.cuda_error", value="Error 802: system not yet initialized",
                               source="import torch"),),
        ),
    ),
    symptoms=(replace(UNUSED, explained_by="nvidia-fabric-manager-down"),),
    plan=Plan(fixes=(priced(Fix(
        finding="nvidia-fabric-manager-down", action="start-service", title="Start the fabric manager",
        steps=(Step(text="start the service", argv=("sudo", "systemctl", "enable", "--now", "nvidia-fabricmanager"),
                    where="system", needs_root=True),),
    )),)),
)  # fmt: skip
MEASURED = replace(
    HEALTHY,
    findings=(Finding(
        id="device-slow", layer="run", severity="warning", title="A device is much slower than its model.",
        detail="cuda:1 (NVIDIA A100-SXM4-40GB) reaches 60 % of what it should: its power limit holds it back.",
    ),),
    facts=replace(
        with_torch(
            with_nvidia(
                replace(linux(cpu_model="AMD EPYC 9454", memory_available_bytes=41 << 30, shm_bytes=64 << 20,
                              disk_free_bytes=210 << 30)),
                "NVIDIA H200", "NVIDIA A100-SXM4-40GB"),
            "2.11.0+cu130", cuda_available=True,
            devices=(device("cuda", "NVIDIA H200"), device("cuda", "NVIDIA A100-SXM4-40GB", index=1)),
        ),
        gpus=(Gpu(vendor="nvidia", name="NVIDIA H200", memory_bytes=141 << 30, memory_used_bytes=3 << 30),
              Gpu(vendor="nvidia", name="NVIDIA A100-SXM4-40GB", memory_bytes=40 << 30)),
        probes=(
            ProbeResult(id="cpu", device="cpu", status="ok", data={
                "float32_tflops_burst": 1.21, "float32_tflops_one_thread": 0.082, "cpu_clock_mhz": 2750,
                "threads": 16, "cpus_usable": 16,
            }),
            ProbeResult(id="cuda:0", device="cuda:0", status="ok", stages=(
                Stage(name="speed", ok=True, ms=700.0, data={}), Stage(name="transfer", ok=True, ms=410.0, data={}),
            ), data={
                "float32_bits_effective": 24, "float32_tflops_burst": 50.7, "bfloat16_tflops_burst": 806.0,
                "float64_tflops_burst": 58.0, "memory_gbs": 4220.0, "memory_copy_bytes": 1 << 30,
                "h2d_gbs": 55.1, "d2h_gbs": 53.0, "h2d_pageable_gbs": 11.2, "pcie_generation": 5, "pcie_width": 16,
                "sm_clock_mhz": 1980, "power_w": 512, "temperature_c": 47, "launch_us": 4.1,
                "pairs": [{"from": "cuda:0", "to": "cuda:1", "gbs": 22.5, "peer_access": False}],
            }),
            ProbeResult(id="cuda:1", device="cuda:1", status="ok", data={
                "float32_bits_effective": 24, "float32_tflops_burst": 10.4, "bfloat16_tflops_burst": 150.0,
                "throttles": ["power cap"], "memory_free_bytes": 31 << 30,
            }),
        ),
    ),
)  # fmt: skip
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
# What every format is looked at with: tests/reports/test_states.py.
DECLARED = (
    Declaration(file="requirements.txt", line=4, what="torch"),
    Declaration(file="requirements.txt", line=5, what="torchvision"),
    Declaration(file="docker/Dockerfile", line=1, what="image"),
    Declaration(file="docker/Dockerfile", line=9, what="torch"),
)
STATES = {
    "healthy": HEALTHY,
    "one-fault": replace(
        FAULTY, findings=(TOO_OLD,), plan=Plan(fixes=(FIX,)), outcomes=FAULTY.outcomes[:2],
        facts=replace(FACTS, declared=DECLARED),
    ),
    "many": replace(FAULTY, facts=replace(FACTS, declared=DECLARED)),
    "likely": replace(
        FAULTY, findings=(replace(TOO_OLD, confidence="likely", detail="Concluded from «cuInit: Error 803»."),),
        outcomes=FAULTY.outcomes[:2],
    ),
    "no-verdict": UNEXPLAINED,
}  # fmt: skip
ALL = {
    "faulty": FAULTY, "healthy": HEALTHY, "cpu-only": CPU_ONLY, "mac": MAC, "crashed": CRASHED, "unknown": UNKNOWN,
    "no-target": NO_TARGET, "hostile": HOSTILE, "unexplained": UNEXPLAINED, "own-error": OWN_ERROR, "limited": LIMITED,
    "hostile-unexplained": HOSTILE_UNEXPLAINED, "many": MANY, "likely": LIKELY, "measured": MEASURED,
}  # fmt: skip
