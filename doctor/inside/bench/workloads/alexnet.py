"""AlexNet, the form of one tower (Krizhevsky, One weird trick, 2014)."""

NAME, UNIT, PARAMETERS = "alexnet", "images", 61100840
PHASES, BATCH, DEPTH = ("training", "inference"), 64, 16
MULTIPLY_ADDS = 710000000  # of an image
SHAPE, CLASSES = (3, 224, 224), 10
COMPARED, BAND_SIDE, STEPS, SEEDS = 2, 64, 4, 3


def model(torch, classes, others):
    nn = torch.nn
    return nn.Sequential(
        nn.Conv2d(3, 64, 11, stride=4, padding=2), nn.ReLU(True), nn.MaxPool2d(3, 2),
        nn.Conv2d(64, 192, 5, padding=2), nn.ReLU(True), nn.MaxPool2d(3, 2),
        nn.Conv2d(192, 384, 3, padding=1), nn.ReLU(True), nn.Conv2d(384, 256, 3, padding=1), nn.ReLU(True),
        nn.Conv2d(256, 256, 3, padding=1), nn.ReLU(True), nn.MaxPool2d(3, 2),
        nn.AdaptiveAvgPool2d(6), nn.Flatten(),
        nn.Dropout(), nn.Linear(9216, 4096), nn.ReLU(True), nn.Dropout(), nn.Linear(4096, 4096), nn.ReLU(True),
        nn.Linear(4096, classes),
    )
