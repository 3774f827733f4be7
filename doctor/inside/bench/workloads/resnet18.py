"""ResNet-18 (He and others, 2015), and the network of which ResNet-50 is made, too."""

NAME, UNIT, PARAMETERS = "resnet18", "images", 11689512
PHASES, BATCH, DEPTH = ("training", "inference"), 64, 50
MULTIPLY_ADDS = 1813600000  # of an image
SHAPE, CLASSES = (3, 224, 224), 10
COMPARED, BAND_SIDE, STEPS, SEEDS = 4, 64, 4, 3


def model(torch, classes, others):
    return network(torch, classes, (2, 2, 2, 2), deep=False)


def network(torch, classes, blocks, deep):
    """A residual network; `deep`: with blocks of three convolutions, the middle one with the stride."""
    nn = torch.nn

    def joined(into, out, side, stride):
        return [nn.Conv2d(into, out, side, stride, side // 2, bias=False), nn.BatchNorm2d(out)]

    class Block(nn.Module):
        def __init__(self, into, width, stride):
            super(Block, self).__init__()
            out = width * (4 if deep else 1)
            if deep:
                layers = joined(into, width, 1, 1) + [nn.ReLU(True)] + joined(width, width, 3, stride)
                layers += [nn.ReLU(True)] + joined(width, out, 1, 1)
            else:
                layers = joined(into, width, 3, stride) + [nn.ReLU(True)] + joined(width, width, 3, 1)
            self.work = nn.Sequential(*layers)
            self.past = nn.Sequential(*joined(into, out, 1, stride)) if stride > 1 or into != out else nn.Identity()

        def forward(self, x):
            return torch.relu(self.work(x) + self.past(x))

    layers = joined(3, 64, 7, 2) + [nn.ReLU(True), nn.MaxPool2d(3, 2, 1)]
    channels = 64
    for number, count in enumerate(blocks):
        for position in range(count):
            width = 64 << number
            layers.append(Block(channels, width, 2 if number and not position else 1))
            channels = width * (4 if deep else 1)
    return nn.Sequential(*(layers + [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, classes)]))
