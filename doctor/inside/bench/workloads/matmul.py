"""Square matrix products; a batch of two has twice the rows."""

NAME, UNIT, PARAMETERS = "matmul", "products", None
PHASES, BATCH, DEPTH = ("product",), 1, 1
SIZES = {"cpu": (512, 1024, 2048), "other": (1024, 4096, 8192)}
COMPARED = 16  # rows


def model(torch, classes, others, size=1024):
    class Product(torch.nn.Module):
        def __init__(self):
            super(Product, self).__init__()
            # Normal data: zeros and ones use less power and flatter the device.
            self.y = torch.nn.Parameter(torch.randn(size, size))

        def forward(self, x):
            return torch.mm(x, self.y)

    return Product()


def draw(torch, count, generator, side, size=1024):
    x = torch.randn(size * count, size, generator=generator)
    return x, x


def flops(batch, size=1024):
    return 2.0 * batch * size ** 3
