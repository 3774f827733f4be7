"""A device that was asked for is not among those that torch has.

What it means
    --device names devices as torch does: cuda (all of NVIDIA's or AMD's GPUs), cuda:1, mps, xpu. torch imports here,
    and does not list that device: there is no such GPU, it has another number, or this build is not made for it.

How to see it yourself
    python -c "import torch; print([torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())])"

What to do
    Name a device that is there. Where the GPU should be there, torchdoctor check without --device says why it is not.

References
    https://docs.pytorch.org/docs/stable/tensor_attributes.html#torch.device
"""

from __future__ import annotations

from doctor.checks import Check, Judgement
from doctor.checks._torch import installed
from doctor.model.facts import Facts
from doctor.model.finding import Evidence, Remedy

check = Check(
    severity="fault",
    needs=("torch.devices",),
    usual=(Remedy(action="none", details={"reason": "name a device that torch lists"}),),
    follows_kept_gpus=True,
    instead_of=("no-accelerator",),
)

VENDORS = {"cuda": "nvidia, amd", "hip": "amd", "mps": "apple", "xpu": "intel"}
ALWAYS = ("cpu", "all")


@check
def judge(facts: Facts) -> Judgement:
    torch = installed(facts)
    if torch is None or torch.imports is not True or torch.devices is None:
        return None
    have = ["cpu", *(d.id for d in torch.devices)]
    asked = [name for name in facts.asked_devices if name.lower() not in ALWAYS]
    missing = [name for name in asked if not any(_is(device, name.lower()) for device in have)]
    if not missing:
        return None
    vendors = ", ".join(dict.fromkeys(VENDORS.get(name.lower().partition(":")[0], "") for name in missing))
    return check.found(
        facts,
        f"{', '.join(missing)} was asked for; torch {torch.version} has {', '.join(have)} here.",
        evidence=(
            Evidence(fact="asked for", value=", ".join(missing), source="--device"),
            Evidence(fact="torch.devices", value=", ".join(have), source="torch"),
            "gpus",
        ),
        remedies=(Remedy(action="none", details={"reason": f"name a device that is there: {', '.join(have)}"}),),
        device=", ".join(missing),
        vendors=vendors,
    )


def _is(device: str, name: str) -> bool:
    """Whether that name stands for the device: "cuda" is every cuda:N."""
    return name in (device, device.partition(":")[0])
