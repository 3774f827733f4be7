"""3 x 3 convolutions as they occur in VGG and ResNet: "CHANNELSxSIDE", 16 images a product."""

NAME, UNIT, PARAMETERS = "conv", "products", None
PHASES, BATCH, DEPTH = ("product",), 1, 1
SIZES = {"cpu": ("64x56", "256x14"), "other": ("64x56", "128x28", "256x14", "512x7")}
COMPARED = 1  # images
IMAGES = 16
LEAST = 0.25  # of the operations: what a Winograd convolution of 4 x 4 outputs needs


def sides(size):
    channels, side = size.split("x")
    return int(channels), int(side)


def model(torch, classes, others, size="64x56"):
    channels, _ = sides(size)
    return torch.nn.Conv2d(channels, channels, 3, padding=1, bias=False)


def draw(torch, count, generator, side, size="64x56"):
    channels, length = sides(size)
    x = torch.randn(IMAGES * count, channels, length, length, generator=generator)
    return x, x


def flops(batch, size="64x56"):
    channels, side = sides(size)
    return 2.0 * batch * IMAGES * channels * channels * 9 * side * side
