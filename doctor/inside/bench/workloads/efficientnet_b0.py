"""EfficientNet-B0 (Tan and Le, 2019)."""

NAME, UNIT, PARAMETERS = "efficientnet_b0", "images", 5288548
PHASES, BATCH, DEPTH = ("training", "inference"), 64, 200
MULTIPLY_ADDS = 384500000  # of an image
SHAPE, CLASSES = (3, 224, 224), 10
COMPARED, BAND_SIDE, STEPS, SEEDS = 4, 64, 4, 3
# (expansion, side of the kernel, channels, blocks, stride)
STAGES_OF_BLOCKS = (
    (1, 3, 16, 1, 1), (6, 3, 24, 2, 2), (6, 5, 40, 2, 2), (6, 3, 80, 3, 2), (6, 5, 112, 3, 1), (6, 5, 192, 4, 2),
    (6, 3, 320, 1, 1),
)


def model(torch, classes, others):
    nn = torch.nn

    def joined(into, out, side, stride=1, groups=1):
        return [nn.Conv2d(into, out, side, stride, side // 2, groups=groups, bias=False), nn.BatchNorm2d(out)]

    class Squeeze(nn.Module):
        """Each channel scaled by what all channels are on the mean."""

        def __init__(self, channels, narrow):
            super(Squeeze, self).__init__()
            self.scale = nn.Sequential(
                nn.AdaptiveAvgPool2d(1), nn.Conv2d(channels, narrow, 1), nn.SiLU(True), nn.Conv2d(narrow, channels, 1),
                nn.Sigmoid(),
            )

        def forward(self, x):
            return x * self.scale(x)

    class Block(nn.Module):
        def __init__(self, into, out, side, stride, expansion):
            super(Block, self).__init__()
            wide = into * expansion
            layers = joined(into, wide, 1) + [nn.SiLU(True)] if expansion > 1 else []
            layers += joined(wide, wide, side, stride, wide) + [nn.SiLU(True), Squeeze(wide, max(1, into // 4))]
            self.work = nn.Sequential(*(layers + joined(wide, out, 1)))
            self.adds = stride == 1 and into == out

        def forward(self, x):
            return x + self.work(x) if self.adds else self.work(x)

    layers, channels = joined(3, 32, 3, 2) + [nn.SiLU(True)], 32
    for expansion, side, width, count, stride in STAGES_OF_BLOCKS:
        for position in range(count):
            layers.append(Block(channels, width, side, 1 if position else stride, expansion))
            channels = width
    layers += joined(channels, 1280, 1) + [nn.SiLU(True), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Dropout(0.2)]
    return nn.Sequential(*(layers + [nn.Linear(1280, classes)]))
