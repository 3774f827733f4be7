"""The suites, by the name of what people read, and the tour of `bench` without arguments. In the order in which they
are shown: what runs first is what needs the least time (inside/bench/need.py)."""

from __future__ import annotations

from doctor.model.bench import Phase
from doctor.model.values import dataclass


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One workload with one phase and batch. `doubled`: also run with twice the work; `cpu_size`, `size`: of a sweep,
    on the CPU and on other devices."""

    workload: str
    phase: Phase
    batch: int
    doubled: bool = False
    cpu_size: str | None = None
    size: str | None = None


@dataclass(frozen=True, kw_only=True)
class Suite:
    """`source`: where the figures are published that people compare with."""

    name: str
    title: str
    entries: tuple[Entry, ...]
    source: str = ""


FIVE = ("alexnet", "resnet18", "mobilenet_v2", "efficientnet_b0", "vgg16")

SUITES = {
    suite.name: suite
    for suite in (
        Suite(
            name="mnist",
            title="MNIST: a small CNN, a perceptron, LeNet-5",
            entries=(
                Entry(workload="mnist-cnn", phase="training", batch=64, doubled=True),
                Entry(workload="mnist-mlp", phase="training", batch=128),
                Entry(workload="lenet5", phase="training", batch=128),
            ),
            source="https://sebastianraschka.com/blog/2022/pytorch-m1-gpu.html",
        ),
        Suite(
            name="vae",
            title="A variational autoencoder, 784-400-20",
            entries=(Entry(workload="vae", phase="training", batch=128, doubled=True),),
            source="https://github.com/pytorch/examples/tree/main/vae",
        ),
        Suite(
            name="vgg16",
            title="VGG16 at 224 x 224, training and inference",
            entries=(
                Entry(workload="vgg16", phase="inference", batch=32),
                Entry(workload="vgg16", phase="training", batch=32),
                Entry(workload="vgg16", phase="inference", batch=4, doubled=True),
                Entry(workload="vgg16", phase="training", batch=4),
            ),
            source="https://sebastianraschka.com/blog/2022/pytorch-m1-gpu.html",
        ),
        Suite(
            name="five-models",
            title="Five networks at 224 x 224, ten classes, Adam, batch 4 and 64",
            entries=tuple(
                Entry(
                    workload=name, phase="training", batch=batch, doubled=name == "resnet18" and batch == 4
                )
                for batch in (4, 64)
                for name in FIVE
            ),
        ),
        Suite(
            name="mlp",
            title="A perceptron 1024-512-256-10, forward and backward",
            entries=(Entry(workload="mlp", phase="forward-backward", batch=1024, doubled=True),),
        ),
    )
}  # fmt: skip

TOUR = Suite(
    name="tour",
    title="A tour",
    entries=(
        Entry(workload="mnist-cnn", phase="training", batch=64),
        Entry(workload="mlp", phase="forward-backward", batch=1024, doubled=True),
        Entry(workload="vae", phase="training", batch=128),
        Entry(workload="resnet18", phase="training", batch=4),
        Entry(workload="matmul", phase="product", batch=1, cpu_size="1024", size="4096"),
        Entry(workload="decoder", phase="generation", batch=1),
    ),
)
LONG_TOUR = Suite(
    name="tour",
    title="A long tour",
    entries=(
        *TOUR.entries,
        Entry(workload="mnist-mlp", phase="training", batch=128),
        Entry(workload="lenet5", phase="training", batch=128),
        Entry(workload="resnet50", phase="inference", batch=16),
        Entry(workload="mobilenet_v2", phase="training", batch=4),
        Entry(workload="efficientnet_b0", phase="training", batch=4),
        Entry(workload="alexnet", phase="training", batch=4),
        Entry(workload="squeezenet1_0", phase="training", batch=4),
        Entry(workload="vgg16", phase="inference", batch=4),
        Entry(workload="vgg16", phase="training", batch=4),
        Entry(workload="bert-base", phase="inference", batch=4),
        Entry(workload="resnet50", phase="training", batch=64),
        Entry(workload="bert-base", phase="inference", batch=64),
        Entry(workload="matmul", phase="product", batch=1, cpu_size="512", size="1024"),
        Entry(workload="matmul", phase="product", batch=1, cpu_size="2048", size="8192"),
        *(
            Entry(workload="conv", phase="product", batch=1, cpu_size=size, size=size)
            for size in ("64x56", "128x28", "256x14", "512x7")
        ),
    ),
)
WORKLOADS = tuple(sorted({e.workload for s in (*SUITES.values(), LONG_TOUR) for e in s.entries}))
# of each workload the pieces of inside/bench/workloads/ that it is made of, itself first
PIECES = {"resnet50": ("resnet50", "resnet18"), "decoder": ("decoder", "bert_base")}


def pieces_of(workload: str) -> tuple[str, ...]:
    """The files that a child needs for it.

    >>> pieces_of("bert-base"), pieces_of("resnet50")
    (('bert_base',), ('resnet50', 'resnet18'))
    """
    return PIECES.get(workload, (workload.replace("-", "_"),))


def suite_of(name: str | None, effort: str) -> Suite:
    """The suite of that name, or the tour. KeyError where there is none."""
    if name is None:
        return LONG_TOUR if effort == "full" else TOUR
    return SUITES[name]
