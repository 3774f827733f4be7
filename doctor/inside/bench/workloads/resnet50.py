"""ResNet-50, version 1.5 (He and others, 2015; the stride stands in the 3 x 3 convolution)."""

NAME, UNIT, PARAMETERS = "resnet50", "images", 25557032
PHASES, BATCH, DEPTH = ("training", "inference"), 64, 140
MULTIPLY_ADDS = 4087000000  # of an image
SHAPE, CLASSES = (3, 224, 224), 10
COMPARED, BAND_SIDE, STEPS, SEEDS = 2, 64, 4, 3
NEEDS = ("resnet18",)


def model(torch, classes, others):
    return others["resnet18"].network(torch, classes, (3, 4, 6, 3), deep=True)
