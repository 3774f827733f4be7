"""A perceptron, 1024-512-256-10, forward and backward without an optimizer, batch 1024."""

NAME, UNIT, PARAMETERS = "mlp", "samples", 658698
PHASES, BATCH, DEPTH = ("forward-backward",), 1024, 6
SHAPE, CLASSES = (1024,), 10


def model(torch, classes, others):
    nn = torch.nn
    return nn.Sequential(
        nn.Linear(1024, 512), nn.ReLU(), nn.Linear(512, 256), nn.ReLU(), nn.Linear(256, classes),
    )
