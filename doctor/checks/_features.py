"""What the full probe tried beside the device itself (inside/stages: compile, attention, workers, io, distributed,
extensions), and what of it failed."""

from __future__ import annotations

from collections.abc import Iterator

from doctor.model.facts import ErrorText, Facts, ProbeResult
from doctor.model.finding import Evidence
from doctor.model.values import dataclass
from doctor.regex import Regex

FEATURES = ("compile", "attention", "workers", "io", "distributed", "extensions")
SOURCE = Regex(rf"probe of (?P<device>\S+), stage (?P<stage>{'|'.join(FEATURES)})")


@dataclass(frozen=True)
class Failure:
    """`what` was tried («torch.compile», «DataLoader, workers forked», a package), `text` is what it said."""

    device: str
    stage: str
    what: str
    text: str

    @property
    def evidence(self) -> Evidence:
        return Evidence(fact=self.what, value="failed", source=source(self.device, self.stage), quote=self.text[:300])


def source(device: str, stage: str) -> str:
    """How messages of a stage name their source."""
    return f"probe of {device}, stage {stage}"


def tried(facts: Facts) -> bool:
    """Whether any of it was tried: only the full probe does."""
    return any(stage.name in FEATURES for probe in facts.probes or () for stage in probe.stages)


def failures(facts: Facts) -> Iterator[Failure]:
    """What failed, in the order of devices and stages."""
    for probe in facts.probes or ():
        for stage in probe.stages:
            listed = stage.data.get("failures") if stage.name in FEATURES else None
            for text in listed if isinstance(listed, list | tuple) else ():
                what, _, said = str(text).partition(": ")
                yield Failure(probe.device, stage.name, what, said)


def ended(probe: ProbeResult) -> Failure | None:
    """What ended the probe of a device with an exception, as a failure of that stage."""
    if probe.status != "failed" or probe.data.get("wrong") or not probe.stage:
        return None
    return Failure(probe.device, probe.stage, f"the probe of {probe.device}", probe.reason)


def only_tried(error: ErrorText | None) -> bool:
    """Whether the probe itself asked for what failed: torch works, and nobody is known to want it."""
    found = SOURCE.fullmatch(error.source) if error else None
    return found is not None and found["stage"] in ("compile", "attention", "distributed", "extensions")
