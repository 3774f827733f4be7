"""Stage 2: which device is probed when (here), and the children that import torch and probe (children.py).

The probe itself is inside/probe.py, run by the target interpreter. What its results hold: docs/probes.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from doctor.model.facts import Facts, Torch
from doctor.model.values import dataclass

VISIBLE = "CUDA_VISIBLE_DEVICES"


@dataclass(frozen=True)
class Wanted:
    """A device to be probed, as torch names it: "cpu", "cuda:0", "mps", "xpu:0"."""

    device: str


def wanted_probes(facts: Facts, devices: Iterable[str] = ()) -> tuple[Wanted, ...]:
    """The devices to probe. `devices` limits them ("cuda" stands for every cuda:N); empty means all.

    From torch's own list of devices where it is known, else from static facts, and then only those that torch will
    surely see under that name. () where torch is absent or did not import.
    """
    torch = facts.torch
    if not isinstance(torch, Torch) or torch.imports is False:
        return ()
    limit = tuple(devices)
    seen = ["cpu", *(_named(torch) if torch.devices is not None else _expected(facts, torch))]
    return tuple(Wanted(device) for device in seen if matches(device, limit))


def matches(device: str, limit: Iterable[str]) -> bool:
    """Whether the user's limit lets that device through.

    >>> matches("cuda:1", ("cuda",)), matches("cuda:1", ("cuda:0", "cpu")), matches("mps", ())
    (True, False, True)
    """
    names = tuple(name.lower() for name in limit)
    return not names or any(name in (device, device.partition(":")[0], "all") for name in names)


def _named(torch: Torch) -> list[str]:
    return [d.id for d in torch.devices or ()]


def _expected(facts: Facts, torch: Torch) -> list[str]:
    """NVIDIA GPUs of a CUDA build, where nothing hides or renumbers them (AMD's and Intel's lists hold others too)."""
    environ = facts.environ
    if not (torch.cuda and facts.nvidia.driver and facts.gpus) or environ is None or VISIBLE in environ:
        return []
    return [f"cuda:{i}" for i in range(facts.nvidia.gpus_seen or 0)]


def likely_gpus(count: int, environ: Mapping[str, str]) -> list[str]:
    """The names that a CUDA build of torch will probably give to so many NVIDIA GPUs. Of those that the variable
    names, CUDA takes no more from the first one on that is none.

    >>> likely_gpus(4, {}) == likely_gpus(4, {VISIBLE: "3,2,1,0"}), likely_gpus(4, {VISIBLE: "GPU-8932f937,3,-1,0"})
    (True, ['cuda:0', 'cuda:1'])
    >>> likely_gpus(4, {VISIBLE: ""})
    []
    """
    shown = environ.get(VISIBLE)
    if shown is not None:
        named = [name.strip() for name in shown.split(",")]
        count = min(count, next((i for i, name in enumerate(named) if name in ("", "-1")), len(named)))
    return [f"cuda:{i}" for i in range(count)]
