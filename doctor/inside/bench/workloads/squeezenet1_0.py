"""SqueezeNet 1.0 (Iandola and others, 2016)."""

NAME, UNIT, PARAMETERS = "squeezenet1_0", "images", 1248424
PHASES, BATCH, DEPTH = ("training", "inference"), 64, 40
MULTIPLY_ADDS = 733000000  # of an image
SHAPE, CLASSES = (3, 224, 224), 10
COMPARED, BAND_SIDE, STEPS, SEEDS = 4, 64, 4, 3
# (channels squeezed to, channels of each half); None: a pool
FIRES = ((16, 64), (16, 64), (32, 128), None, (32, 128), (48, 192), (48, 192), (64, 256), None, (64, 256))


def model(torch, classes, others):
    nn = torch.nn

    class Fire(nn.Module):
        def __init__(self, into, narrow, half):
            super(Fire, self).__init__()
            self.narrow = nn.Conv2d(into, narrow, 1)
            self.one = nn.Conv2d(narrow, half, 1)
            self.three = nn.Conv2d(narrow, half, 3, padding=1)

        def forward(self, x):
            x = torch.relu(self.narrow(x))
            return torch.cat((torch.relu(self.one(x)), torch.relu(self.three(x))), 1)

    layers, channels = [nn.Conv2d(3, 96, 7, 2), nn.ReLU(True), nn.MaxPool2d(3, 2, ceil_mode=True)], 96
    for fire in FIRES:
        layers.append(Fire(channels, *fire) if fire else nn.MaxPool2d(3, 2, ceil_mode=True))
        channels = 2 * fire[1] if fire else channels
    layers += [nn.Dropout(0.5), nn.Conv2d(512, classes, 1), nn.ReLU(True), nn.AdaptiveAvgPool2d(1), nn.Flatten()]
    return nn.Sequential(*layers)
