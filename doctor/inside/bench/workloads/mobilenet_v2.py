"""MobileNetV2 (Sandler and others, 2018)."""

NAME, UNIT, PARAMETERS = "mobilenet_v2", "images", 3504872
PHASES, BATCH, DEPTH = ("training", "inference"), 64, 140
MULTIPLY_ADDS = 299500000  # of an image
SHAPE, CLASSES = (3, 224, 224), 10
COMPARED, BAND_SIDE, STEPS, SEEDS = 4, 64, 4, 3
# (expansion, channels, blocks, stride)
STAGES_OF_BLOCKS = (
    (1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)
)


def model(torch, classes, others):
    nn = torch.nn

    def joined(into, out, side, stride=1, groups=1):
        return [nn.Conv2d(into, out, side, stride, side // 2, groups=groups, bias=False), nn.BatchNorm2d(out)]

    class Block(nn.Module):
        def __init__(self, into, out, stride, expansion):
            super(Block, self).__init__()
            wide = into * expansion
            layers = joined(into, wide, 1) + [nn.ReLU6(True)] if expansion > 1 else []
            layers += joined(wide, wide, 3, stride, wide) + [nn.ReLU6(True)] + joined(wide, out, 1)
            self.work = nn.Sequential(*layers)
            self.adds = stride == 1 and into == out

        def forward(self, x):
            return x + self.work(x) if self.adds else self.work(x)

    layers, channels = joined(3, 32, 3, 2) + [nn.ReLU6(True)], 32
    for expansion, width, count, stride in STAGES_OF_BLOCKS:
        for position in range(count):
            layers.append(Block(channels, width, 1 if position else stride, expansion))
            channels = width
    layers += joined(channels, 1280, 1) + [nn.ReLU6(True), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Dropout(0.2)]
    return nn.Sequential(*(layers + [nn.Linear(1280, classes)]))
