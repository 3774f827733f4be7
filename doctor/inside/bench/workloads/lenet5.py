"""LeNet-5 on 32 x 32 images, with tanh and average pooling (LeCun and others, 1998)."""

NAME, UNIT, PARAMETERS = "lenet5", "images", 61706
PHASES, BATCH, DEPTH = ("training", "inference"), 128, 10
MULTIPLY_ADDS = 416520  # of an image
SHAPE, CLASSES = (1, 32, 32), 10


def model(torch, classes, others):
    nn = torch.nn
    return nn.Sequential(
        nn.Conv2d(1, 6, 5), nn.Tanh(), nn.AvgPool2d(2), nn.Conv2d(6, 16, 5), nn.Tanh(), nn.AvgPool2d(2), nn.Flatten(),
        nn.Linear(400, 120), nn.Tanh(), nn.Linear(120, 84), nn.Tanh(), nn.Linear(84, classes),
    )
