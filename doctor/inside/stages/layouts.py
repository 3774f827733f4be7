"""Layouts: an operation gives the same for a view as for the contiguous tensor of the same values.

Operations that move, compare or order values, and products of small whole numbers, must agree to the bit; others within
16 roundings of the largest value (the largest difference seen between layouts on CPUs is 3.9). All is compared on the
same device, and what must agree to the bit with the CPU too: a fault may strike the contiguous tensor alone.
"""

ROUNDINGS = 16
UNIT = 2.0 ** -24
REDUCED = 2.0 ** -7  # of products of reals, where the device takes TF32 or bf16 for float32


class Layouts(object):
    """Views on the device of a tensor of the CPU. Only contiguous tensors are copied: copies of views fail too."""

    def __init__(self, probe):
        self.torch, self.device = probe.torch, probe.device

    def there(self, tensor):
        return tensor.contiguous().to(self.device)

    def transposed(self, x):
        return self.there(x.transpose(0, 1)).transpose(0, 1)

    def strided(self, x):
        wide = self.torch.full([2 * side for side in x.shape], -1.0, dtype=x.dtype)
        steps = (slice(None, None, 2),) * x.dim()
        wide[steps] = x
        return self.there(wide)[steps]

    def offset(self, x):
        flat = self.torch.cat([self.torch.full((7,), -1.0, dtype=x.dtype), x.reshape(-1)])
        return self.there(flat)[7:].view(x.shape)

    def channels_last(self, x):
        return self.there(x.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)

    def channel_slice(self, x):
        wide = self.torch.cat([x, x.neg(), x], 1)
        return self.channels_last(wide)[:, : x.shape[1]]

    def expanded(self, x):
        return self.there(x[:, :1]).expand(x.shape)


FLAT = ("transposed", "strided", "offset")
IMAGE = ("channels_last", "channel_slice", "strided")


def functional(torch):
    return torch.nn.functional


# (name, function of (torch, x, y), to the bit or not, whether a gradient is looked at): y is contiguous.
CORE = (
    ("copy", lambda t, x, y: x.clone(memory_format=t.contiguous_format), True, False),
    ("add", lambda t, x, y: x + y, True, True),
    ("clamp", lambda t, x, y: x.clamp(min=-1, max=2), True, True),
    ("argmax", lambda t, x, y: x.argmax(1), True, False),
    ("sum", lambda t, x, y: x.sum(0), True, False),
    ("mm", lambda t, x, y: t.mm(x, y.t()), True, True),
    ("silu", lambda t, x, y: functional(t).silu(x), False, True),
)
CORE_IMAGE = (
    ("conv2d", lambda t, x, w: functional(t).conv2d(x, w, padding=1), False, True),
)
MORE = (
    ("linear", lambda t, x, y: functional(t).linear(y, x), True, True),
    ("bmm", lambda t, x, y: t.bmm(x.expand(3, -1, -1), y.t().expand(3, -1, -1)), True, True),
    ("topk", lambda t, x, y: x.topk(5, dim=1)[0], True, False),
    ("sort", lambda t, x, y: x.sort(dim=0)[0], True, False),
    ("cumsum", lambda t, x, y: x.cumsum(0), True, False),
    ("masked_select", lambda t, x, y: x[x > 0], True, False),
    ("where", lambda t, x, y: t.where(x > y, x, y), True, True),
    ("gather", lambda t, x, y: x.gather(1, y.abs().to(t.int64)), True, False),
    ("index_select", lambda t, x, y: x.index_select(0, y[:, 0].abs().to(t.int64)), True, False),
    ("maximum", lambda t, x, y: t.maximum(x, y), True, False),
    ("cat", lambda t, x, y: t.cat([x, y, x], 1), True, True),
    ("softplus", lambda t, x, y: functional(t).softplus(x), False, True),
    ("softmax", lambda t, x, y: x.softmax(1), False, True),
    ("layer_norm", lambda t, x, y: functional(t).layer_norm(x, x.shape[1:]), False, True),
)
MORE_IMAGE = (
    ("conv2d weight", lambda t, x, w: functional(t).conv2d(x, w.transpose(2, 3), stride=2), False, True),
    ("max_pool2d", lambda t, x, w: functional(t).max_pool2d(x, 2), True, False),
    ("avg_pool2d", lambda t, x, w: functional(t).avg_pool2d(x, 2), False, True),
    ("batch_norm", lambda t, x, w: functional(t).batch_norm(x, None, None, training=True), False, True),
    ("interpolate", lambda t, x, w: functional(t).interpolate(x, scale_factor=2.0), True, True),
)


def core(probe):
    """The layouts and operations that matter most, and addcmul_ and addcdiv_ on views, by hand."""
    data = {"wrong": []}
    compare_all(probe, CORE, CORE_IMAGE, data)
    outputs(probe, data)
    return data


def matrix(probe):
    """All layouts and operations, forward and backward."""
    data = {"wrong": []}
    compare_all(probe, CORE + MORE, CORE_IMAGE + MORE_IMAGE, data)
    outputs(probe, data)
    return data


def compare_all(probe, flat, image, data):
    views = Layouts(probe)
    count = 0
    for operations, names, x, y in (
        (flat, FLAT, distinct(probe, (24, 16)), probe.integers((24, 16), 3)),
        (image, IMAGE, probe.integers((2, 4, 10, 8), 3), probe.integers((6, 4, 3, 3), 3)),
    ):
        x, y = x.float(), y.float()
        plain, other = views.there(x), views.there(y)
        for name, function, to_the_bit, differentiable in operations:
            gradient = differentiable and probe.gradients
            expected = results(probe, function, plain, other, gradient)
            if to_the_bit:
                on_cpu = results(probe, function, x, y, gradient)
                note(data, "%s, contiguous" % name, expected, [r.to(probe.device) for r in on_cpu], 0)
            for layout in names:
                got = results(probe, function, getattr(views, layout)(x), other, gradient)
                note(data, "%s, %s" % (name, layout.replace("_", " ")), got, expected, tolerance_of(probe, to_the_bit))
                count += 1
            if operations is flat and name != "argmax":  # of equal values any may be named
                wide = x[:, :1].expand(x.shape).contiguous()
                same = results(probe, function, views.there(wide), other, gradient)
                got = results(probe, function, views.expanded(x), other, gradient)
                note(data, name + ", expanded", got, same, tolerance_of(probe, to_the_bit))
                count += 1
    data["layouts_compared"] = data.get("layouts_compared", 0) + count


def distinct(probe, shape):
    """Whole numbers around zero, each once; below 256, so that TF32 and bfloat16 hold them."""
    count = shape[0] * shape[1]
    return (probe.torch.randperm(count, generator=probe.generator) - count // 2).double().view(shape)


def tolerance_of(probe, to_the_bit):
    if to_the_bit:
        return 0
    if probe.is_cpu and probe.bits_least == 24:
        return ROUNDINGS * UNIT
    return REDUCED  # convolutions take TF32 by default, and may differ by layout


def results(probe, function, x, y, gradient):
    """The result, and the gradient of x if wanted; weights of the sum are whole numbers, so gradients are exact."""
    if not gradient:
        return [function(probe.torch, x, y).detach()]
    leaf = x.detach().requires_grad_(True)
    result = function(probe.torch, leaf, y)
    weights = (probe.torch.arange(result.numel(), device=result.device) % 5 - 2).to(result.dtype)
    (result * weights.view(result.shape)).sum().backward()
    return [result.detach(), leaf.grad]


def note(data, what, got, expected, tolerance):
    for part, g, e in zip(("", ", gradient"), got, expected):
        if g.shape != e.shape:
            data["wrong"].append("layout %s%s: a result of another shape" % (what, part))
            continue
        if tolerance == 0 or e.dtype.is_floating_point is False:
            bad = ~(g == e)
        else:
            bad = ~((g - e).abs() <= tolerance * e.abs().max())
        if bool(bad.any()):
            data["wrong"].append("layout %s%s: %d of %d elements differ" % (what, part, int(bad.sum()), bad.numel()))


def outputs(probe, data):
    """In-place operations on a transposed and on a strided output, which some backends wrote into a lost copy."""
    views = Layouts(probe)
    x, y, z = [probe.integers((6, 5), 3).float() for _ in range(3)]
    z = 2.0 ** z  # so that quotients are exact
    there = [views.there(t) for t in (y, z)]
    for layout in ("transposed", "strided"):
        for name, expected in (
            ("addcmul_", x + 2 * y * z), ("addcdiv_", x + 2 * y / z), ("copy_", y), ("add_", x + 2 * y)
        ):
            out = getattr(views, layout)(x)
            if name == "copy_":
                out.copy_(there[0])
            elif name == "add_":
                out.add_(there[0], alpha=2)
            else:
                getattr(out, name)(there[0], there[1], value=2)
            if not probe.torch.equal(out.contiguous().cpu(), expected):
                data["wrong"].append("%s into a %s tensor" % (name, layout))


STAGES = (("layouts", core, ("quick", "fleet"), ()), ("layouts", matrix, ("full",), ()))
