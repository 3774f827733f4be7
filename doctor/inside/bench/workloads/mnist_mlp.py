"""A perceptron for MNIST, 784-256-128-64-10, as the comparisons of Apple's first GPUs trained it."""

NAME, UNIT, PARAMETERS = "mnist-mlp", "images", 242762
PHASES, BATCH, DEPTH = ("training", "inference"), 128, 8
SHAPE, CLASSES = (1, 28, 28), 10


def model(torch, classes, others):
    nn = torch.nn
    return nn.Sequential(
        nn.Flatten(), nn.Linear(784, 256), nn.ReLU(), nn.Linear(256, 128), nn.ReLU(), nn.Linear(128, 64), nn.ReLU(),
        nn.Linear(64, classes),
    )
