"""Run by the interpreter with torch, `injected.py PROBE SEEDS`: faults in the probe's operations. Prints JSON."""

import importlib.util
import json
import os
import sys

spec = importlib.util.spec_from_file_location("probe", sys.argv[1])
probe = importlib.util.module_from_spec(spec)
spec.loader.exec_module(probe)


def source(name):
    with open(os.path.join(os.path.dirname(sys.argv[1]), "stages", name + ".py")) as file:
        return name, file.read()


pieces = probe.load_pieces([source(name) for name in ("monitor", "layouts", "draws", "speed")])

import torch  # noqa: E402

BEFORE = set(sys.modules)
COSTLY = ("torch._dynamo", "torch._inductor", "torch.onnx", "sympy", "torch.fx.experimental.symbolic_shapes")


def looked(kinds=("float32",), ladder=False, seed=1, gradients=True, **operations):
    """The data of the result stages with other operations."""
    one = probe.Probe(torch, "cpu", seed, gradients)
    one.operations.update(operations)
    one.types = lambda: list(kinds)
    steps = one.precision() if ladder else {"wrong": []}
    data = one.correct()
    return dict(data, **dict(steps, wrong=steps["wrong"] + data["wrong"]))


def with_gradients(change):
    """Without autograd, the gradient of y changed."""
    mine = probe.GRADIENTS["mm"]
    probe.GRADIENTS["mm"] = lambda *arguments: (mine(*arguments)[0], change(mine(*arguments)[1]))
    try:
        return looked(gradients=False)
    finally:
        probe.GRADIENTS["mm"] = mine


def after(change):
    """mm with its result changed; the gradient stays that of the right product."""

    def wrong(torch, x, y):
        result = torch.mm(x, y)
        return result + (change(result.detach().clone()) - result.detach())

    return wrong


def before(change):
    """mm of changed inputs."""

    def wrong(torch, x, y):
        return torch.mm(x + (change(x.detach()) - x.detach()), y + (change(y.detach()) - y.detach()))

    return wrong


def element(size):
    def change(result):
        result[3, 5] += size * result.double().pow(2).mean().sqrt().to(result.dtype)
        return result

    return change


def flipped(bit):
    def change(result):
        if result.dtype == torch.float32:
            flat = result.view(torch.int32)
            flat[7, 11] ^= -(2 ** 31) if bit == 31 else 1 << bit
        return result

    return change


def put(value):
    def change(result):
        result[0, 0] = value
        return result

    return change


def zero_row(result):
    result[2] = 0
    return result


def kept_bits(bits, nearest=True):
    """Rounding (or truncation) of a float32 tensor to so many significant bits."""

    def change(tensor):
        if tensor.dtype != torch.float32:
            return tensor
        drop = 24 - bits
        whole = tensor.contiguous().view(torch.int32)
        if nearest:
            whole = whole + (1 << (drop - 1))
        return (whole & ~((1 << drop) - 1)).view(torch.float32)

    return change


def split_bfloat16(torch, x, y):
    """A float32 product as three of bfloat16 parts: 17 bits."""
    if x.dtype != torch.float32:
        return torch.mm(x, y)
    parts = []
    for t in (x, y):
        high = t + (t.detach().bfloat16().float() - t.detach())
        rest = t.detach() - high.detach()
        parts.append((high, rest.bfloat16().float()))
    (xh, xl), (yh, yl) = parts
    return torch.mm(xh, yh) + torch.mm(xh, yl) + torch.mm(xl, yh)


def reduced(bits, nearest=True):
    return before(kept_bits(bits, nearest))


def bad_gradient(torch, x, y):
    if y.requires_grad:
        y = y * 1
        y.register_hook(lambda g: element(2.0 ** -8)(g.clone()))
    return torch.mm(x, y)


def bad_corner(torch, x, y):
    result = probe.convolution(torch, x, y)
    mask = torch.ones_like(result)
    mask[:, :, 0, 0] = 0
    return result * mask + 0.5 * result * (1 - mask)


def by_transform(torch, x, y):
    """A convolution that rounds its transformed inputs: exact integers are lost, float32's precision is not."""
    return probe.convolution(torch, x * 0.1, y) * 10.0


def sometimes():
    calls = []

    def wrong(torch, x, y):
        calls.append(1)
        return after(element(2.0 ** -10))(torch, x, y) if len(calls) % 7 == 0 else torch.mm(x, y)

    return wrong


FAULTS = {
    "one element off by 2^-10": {"mm": after(element(2.0 ** -10))},
    "one element off by 2^-14": {"mm": after(element(2.0 ** -14))},
    "lowest bit of one element": {"mm": after(flipped(0))},
    "bit 10 of one element": {"mm": after(flipped(10))},
    "sign of one element": {"mm": after(flipped(31))},
    "one NaN": {"mm": after(put(float("nan")))},
    "all NaN": {"mm": lambda torch, x, y: torch.mm(x, y) * float("nan")},
    "one row of zeros": {"mm": after(zero_row)},
    "a result scaled by 1 + 2^-20": {"mm": lambda torch, x, y: torch.mm(x, y) * (1 + 2.0 ** -20)},
    "rounded to 6 bits": {"mm": reduced(6)},
    "one element of a gradient": {"mm": bad_gradient},
    "one bfloat16 element by 2^-5": {"kinds": ("bfloat16",), "mm": after(element(2.0 ** -5))},
    "one float64 element by 2^-40": {"kinds": ("float64",), "mm": after(element(2.0 ** -40))},
    "a convolution without padding of one corner": {"conv2d": bad_corner},
    "one in seven calls": {"mm": sometimes()},
    "tf32 and one element off by 2^-4": {"mm": lambda torch, x, y: after(element(2.0 ** -4))(torch, *rounded(x, y))},
}


def rounded(x, y):
    change = kept_bits(11)
    return x + (change(x.detach()) - x.detach()), y + (change(y.detach()) - y.detach())


REDUCED = {
    "tf32": {"mm": reduced(11)},
    "tf32 truncated": {"mm": reduced(11, nearest=False)},
    "bfloat16": {"mm": reduced(8)},
    "bfloat16 x 2": {"mm": split_bfloat16},
    "transform": {"conv2d": by_transform},
}


class Broken:
    """torch with some functions replaced."""

    def __init__(self, **replaced):
        self.__dict__.update(replaced)

    def __getattr__(self, name):
        return getattr(torch, name)


def wrong_double(x, y):
    result = torch.mm(x, y)
    if result.dtype == torch.float64:
        result[1, 1] += 1
    return result


def healthy(seed):
    torch.set_num_threads(1 if seed % 6 else THREADS)
    return looked(("float32", "bfloat16", "float16", "float64"), ladder=True, seed=seed)


class Forgetful(probe.Probe):
    """A device whose memory changes what is written."""

    def __init__(self):
        super().__init__(Broken(equal=lambda a, b: torch.equal(a ^ 1, b)), "cpu")


class Accelerator(probe.Probe):
    """The CPU treated as a device of another kind."""

    def __init__(self):
        super().__init__(torch, "cpu")
        self.is_cpu = False

    def wait(self):
        pass


def as_accelerator():
    one = Accelerator()
    one.pieces = pieces
    stages = [getattr(one, name)() for name in probe.STAGES]
    one.half = "float64"  # large bfloat16 products would take this CPU a minute
    stages.append(pieces["speed"].speed(one))
    return {key: value for stage in stages for key, value in stage.items() if value}


def speed():
    one = probe.Probe(torch, "cpu")
    one.pieces = pieces
    return pieces["speed"].speed(one)


THREADS = torch.get_num_threads()
torch.set_num_threads(1)  # threads that wait for each other are slow on a busy machine
answers = {
    "faults": {name: looked(**options) for name, options in FAULTS.items()},
    "reduced": {name: looked(ladder=True, **options) for name, options in REDUCED.items()},
    "reference": probe.Probe(Broken(mm=wrong_double), "cpu").reference()["wrong"],
    "memory": Forgetful().allocate()["wrong"],
    "healthy": [healthy(seed) for seed in range(int(sys.argv[2]))],
    "without autograd": looked(kinds=("float32", "bfloat16", "float64"), gradients=False),
    "without autograd, a wrong gradient": with_gradients(lambda g: g + (g.dtype != torch.float64)),
}
torch.set_num_threads(THREADS)
answers["speed"] = speed()
torch.set_num_threads(1)
answers["as accelerator"] = as_accelerator()
answers["imported"] = sorted(name for name in set(sys.modules) - BEFORE if name.startswith(COSTLY))
print(probe.to_json(json.loads(json.dumps(answers))))
