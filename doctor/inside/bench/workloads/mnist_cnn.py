"""The MNIST network of PyTorch's own examples: two convolutions, two linear layers, dropout, Adadelta."""

NAME, UNIT, PARAMETERS = "mnist-cnn", "images", 1199882
PHASES, BATCH, DEPTH = ("training", "inference"), 64, 8
MULTIPLY_ADDS = 12000000  # of an image
SHAPE, CLASSES = (1, 28, 28), 10


def model(torch, classes, others):
    nn = torch.nn
    return nn.Sequential(
        nn.Conv2d(1, 32, 3), nn.ReLU(), nn.Conv2d(32, 64, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Dropout(0.25),
        nn.Flatten(), nn.Linear(9216, 128), nn.ReLU(), nn.Dropout(0.5), nn.Linear(128, classes),
    )


def optimizer(torch, parameters):
    return torch.optim.Adadelta(parameters, lr=1.0)
