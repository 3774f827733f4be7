"""Copies from one GPU to another arrive wrong.

What it means
    GPUs copy straight into each other's memory over PCIe. With an IOMMU or PCIe ACS in the way, data arrive as
    zeros or garbage, and no error is reported. Training on several GPUs then gives nonsense, or hangs in NCCL.

How to see it yourself
    torchdoctor probe --full; nvidia-smi topo -p2p r

What to do
    Switch the IOMMU (or ACS) off in the BIOS or with the kernel's iommu=off or iommu=pt; NCCL_P2P_DISABLE=1 goes
    round it for NCCL.

References
    https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting.html#pci-access-control-services-acs
    https://github.com/pytorch/pytorch/issues/84803
"""

from doctor.checks import Check, Judgement
from doctor.checks._machine import heard
from doctor.checks._torch import quote
from doctor.model.facts import Facts, ProbeResult
from doctor.model.finding import Evidence, Remedy

REMEDIES = (
    Remedy(
        action="system-setting",
        details={"setting": "iommu", "value": "off, or pt; PCIe ACS off"},
        text="Set the IOMMU to pass-through (kernel parameter iommu=pt) or off, and PCIe ACS off in the firmware.",
    ),
    Remedy(action="set-env", details={"name": "NCCL_P2P_DISABLE", "value": "1"}),
)

NEWER = Remedy(action="upgrade-driver", text="Update the NVIDIA driver: some releases copy wrongly between cards.")

check = Check(
    severity="fault",
    needs=("messages",),
    systems=("linux", "windows"),
    usual=REMEDIES,
    instead_of=("device-wrong-results",),
)


@check
def judge(facts: Facts) -> Judgement:
    for probe in facts.probes or ():
        wrong = wrong_copies(probe)
        if not wrong:
            continue
        return check.found(
            facts,
            f"{wrong[0][0].upper()}{wrong[0][1:]}.",
            evidence=(
                Evidence(fact=probe.device, value=wrong[0], source="probe"),
                "nvidia.driver",
                "host.virtual_machine",
            ),
            remedies=REMEDIES,
            device=probe.device,
        )
    return _seen_in_a_text(facts) or _refused_by_the_iommu(facts)


def _seen_in_a_text(facts: Facts) -> Judgement:
    """A tensor that was copied from one GPU to another and printed on both."""
    error = heard(facts, "peer-copy-differs")
    if error is None:
        return None
    source, target = error.groups
    return check.found(
        facts,
        f"What cuda:{source} sends to cuda:{target} arrives as zeros or NaN.",
        evidence=(quote(error), "nvidia.driver", "host.virtual_machine"),
        remedies=(*REMEDIES, NEWER),
        confidence="likely",
        device=f"cuda:{target}",
    )


def _refused_by_the_iommu(facts: Facts) -> Judgement:
    """The kernel's log: the IOMMU let a GPU's direct access to another device fail."""
    error = heard(facts, "gpu-iommu-fault")
    if error is None:
        return None
    return check.found(
        facts,
        "The IOMMU refused a GPU's direct access: copies between GPUs hang or arrive wrong.",
        evidence=(quote(error), "nvidia.driver", "host.virtual_machine"),
        remedies=REMEDIES,
        confidence="likely",
    )


def wrong_copies(probe: ProbeResult) -> tuple[str, ...]:
    """What a probe found wrong in copies from one GPU to another (doctor/inside/stages/peers.py)."""
    wrong = probe.data.get("wrong")
    if not isinstance(wrong, list | tuple):
        return ()
    return tuple(str(w) for w in wrong if probe.id.startswith("peer") or str(w).startswith("copy from cuda"))
