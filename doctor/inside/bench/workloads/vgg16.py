"""VGG16 (Simonyan and Zisserman, 2014, configuration D)."""

NAME, UNIT, PARAMETERS = "vgg16", "images", 138357544
PHASES, BATCH, DEPTH = ("training", "inference"), 32, 32
MULTIPLY_ADDS = 15466000000  # of an image
SHAPE, CLASSES = (3, 224, 224), 10
COMPARED, BAND_SIDE, STEPS, SEEDS = 1, 32, 3, 3
LAYERS = (64, 64, 0, 128, 128, 0, 256, 256, 256, 0, 512, 512, 512, 0, 512, 512, 512, 0)  # 0: a pool


def model(torch, classes, others):
    nn = torch.nn
    layers, channels = [], 3
    for width in LAYERS:
        if width:
            layers += [nn.Conv2d(channels, width, 3, padding=1), nn.ReLU(True)]
            channels = width
        else:
            layers.append(nn.MaxPool2d(2))
    return nn.Sequential(
        nn.Sequential(*layers), nn.AdaptiveAvgPool2d(7), nn.Flatten(),
        nn.Linear(25088, 4096), nn.ReLU(True), nn.Dropout(), nn.Linear(4096, 4096), nn.ReLU(True), nn.Dropout(),
        nn.Linear(4096, classes),
    )
