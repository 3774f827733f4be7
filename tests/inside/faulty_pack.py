"""Run by the interpreter with torch, `faulty_pack.py PROBE`: each computation of the silent-fault pack on a device that
has its fault. Prints JSON: what was said of the healthy device and of the faulty one.

The computations that need gigabytes are run at a small size, with the border of their fault moved alike. The faulty
device is the CPU behind a dispatch mode that changes one operator under the condition that was reported.
"""

import importlib.util
import json
import os
import sys

spec = importlib.util.spec_from_file_location("probe", sys.argv[1])
probe = importlib.util.module_from_spec(spec)
spec.loader.exec_module(probe)

import torch  # noqa: E402
from torch.utils._python_dispatch import TorchDispatchMode  # noqa: E402


def always(*arguments, **options):
    return True


def first_noncontiguous(x, *arguments, **options):
    return not x.is_contiguous()


def any_expanded(*arguments, **options):
    return any(isinstance(a, torch.Tensor) and 0 in a.stride() for a in arguments)


def largest_side(beyond):
    """Whether some tensor has a side of that length or more."""

    def when(*arguments, **options):
        return any(max(a.shape, default=0) >= beyond for a in arguments if isinstance(a, torch.Tensor))

    return when


def each(result, change):
    if isinstance(result, (tuple, list)):
        return type(result)(each(r, change) if isinstance(r, torch.Tensor) else r for r in result)
    return change(result.clone())


def zeros(work, *arguments, **options):
    return each(work(), lambda t: t.zero_())


def last_off(work, *arguments, **options):
    """The last element of each result is another."""

    def change(t):
        if t.numel():
            flat = t.reshape(-1)
            flat[-1] = ~flat[-1] if t.dtype == torch.bool else flat[-1] + 1
            return flat.view(t.shape)
        return t

    return each(work(), change)


def every_13th_off(work, *arguments, **options):
    def change(t):
        flat = t.reshape(-1)
        flat[::13] += 1
        return flat.view(t.shape)

    return each(work(), change)


def nan(work, *arguments, **options):
    return each(work(), lambda t: t.mul_(float("nan")))


def unchanged(work, x, *arguments, **options):
    return x


class Once:
    """Only the call of that number is wrong."""

    def __init__(self, number, then):
        self.left, self.then = number, then

    def __call__(self, work, *arguments, **options):
        self.left -= 1
        return self.then(work, *arguments, **options) if self.left == 0 else work()


class EarlierBound:
    """A clamp that takes the bound of the first one of that shape."""

    def __init__(self):
        self.bounds = {}

    def __call__(self, work, x, low=None, high=None):
        low, high = self.bounds.setdefault(x.shape, (low, high))
        return torch.clamp(x, low, high)


def plain_addition(work, x, y, alpha=1):
    return x.copy_(x + y)


def rounded_places(work, *arguments, **options):
    return each(work(), lambda t: t.float().long())


def masked_left_out(work, tensor, places):
    return each(work(), lambda t: t[:-1])


def to_a_gap(work, target, source, *more, **options):
    """As if the target were dense."""
    torch.as_strided(target, source.shape, (1,), target.storage_offset()).copy_(source.clone())
    return target


def scrambled(work, *arguments, **options):
    return each(work(), lambda t: t.reshape(-1).view(t.shape[::-1]).t().contiguous() if t.dim() == 2 else t)


def transposed_source(source, *arguments, **options):
    return source.dim() == 2 and not source.is_contiguous()


def strided_pair(target, source, *arguments, **options):
    return target.dim() == 1 and target.shape == source.shape and target.stride() == (2,) == source.stride()


def one_query(q, *arguments, **options):
    return q.shape[-2] == 1


def is_causal(*arguments, **options):
    return True in arguments[3:] or options.get("is_causal", False)


def attention_in_half(q, *arguments, **options):
    return q.dtype != torch.float32 and is_causal(q, *arguments, **options)


def without_mask(work, q, k, v, *arguments, **options):
    return each(work(), lambda t: t.add_(0.5) if t.dim() == 4 else t)


def plain_weight(bias, x, weight, *more, **options):
    """A linear whose weight was not contiguous reaches addmm as a contiguous transpose."""
    return weight.is_contiguous()


def no_input_gradient(*arguments, **options):
    return arguments[-1][0] is False


class Beyond:
    """The elements from that place on are lost."""

    def __init__(self, place):
        self.place = place

    def when(self, x, *arguments, **options):
        return x.numel() > self.place

    def result(self, work, *arguments, **options):
        def change(t):
            t.view(-1)[self.place:] = 0
            return t

        return each(work(), change)

    def wrapped(self, work, target, source, *arguments, **options):
        target.zero_()[: self.place].copy_(source[: self.place])
        rest = source[self.place :]
        target[: len(rest)].copy_(rest)
        return target

    def place_wrapped(self, work, *arguments, **options):
        return each(work(), lambda t: t % self.place)


# id of the computation that needs gigabytes -> the size at which it is run here
SMALL = {
    "linear-wide": 8, "linear-vocabulary": 503, "copy-beyond-2-32": 4096 + 64, "bmm-beyond-2-32": 4100,
    "reduce-beyond-2-31": 1024 + 16,
}  # fmt: skip
# id of the computation -> (operators, when, what happens then)
FAULTS = {
    "first-parallel-call": (("exp",), always, Once(1, every_13th_off)),
    "addcdiv-noncontiguous-output": (("addcdiv_",), first_noncontiguous, unchanged),
    "rprop-noncontiguous-parameter": (("addcmul_",), first_noncontiguous, unchanged),
    "add-scaled": (("add_",), lambda *a, **o: o.get("alpha", 1) != 1, plain_addition),
    "batch-norm-permuted-backward": (
        ("native_batch_norm_backward",), lambda g, x, *a, **o: not x.is_contiguous(), last_off),
    "layer-norm-weight-gradient": (("native_layer_norm_backward",), no_input_gradient, None),
    "mm-expanded": (("mm",), any_expanded, zeros),
    "linear-noncontiguous-weight": (("addmm",), plain_weight, last_off),
    "activations-after-moveaxis": (("threshold",), first_noncontiguous, zeros),
    "silu-noncontiguous": (("silu",), first_noncontiguous, nan),
    "clamp-permuted": (("clamp",), first_noncontiguous, lambda work, x, *a, **o: x.clone()),
    "clamp-twice": (("clamp",), always, EarlierBound()),
    "interpolate-permuted": (("upsample_nearest2d",), first_noncontiguous, zeros),
    "lstm": (("mkldnn_rnn_layer", "sigmoid", "sigmoid_"), always, last_off),
    "attention-one-query": (("_scaled_dot_product_flash_attention_for_cpu",), one_query, without_mask),
    "attention-causal": (("_scaled_dot_product_flash_attention_for_cpu",), attention_in_half, without_mask),
    "attention-value-width": (("bmm", "_scaled_dot_product_flash_attention_for_cpu"), always, zeros),
    "attention-permuted": (
        ("_scaled_dot_product_flash_attention_for_cpu",), first_noncontiguous, without_mask),
    "gradient-many-rows": (("mm",), largest_side(32769), lambda work, *a, **o: work() * 1000),
    "linear-large": (("mm", "addmm"), largest_side(41472), every_13th_off),
    "outer-product": (("mm",), largest_side(32769), every_13th_off),
    "linear-bias-batch": (("addmm",), largest_side(65537), last_off),
    "mm-long": (("mm", "bmm"), largest_side(32768), last_off),
    "mm-after-allocations": (("mm",), always, Once(5, last_off)),
    "conv-many-channels": (("convolution",), largest_side(65537), last_off),
    "conv-long-kernel": (("convolution",), largest_side(65536), zeros),
    "conv-many-images": (("convolution_backward",), largest_side(65537), None),
    "mm-many-rows": (("mm",), largest_side(1 << 21), every_13th_off),
    "bmm-many-matrices": (("bmm",), largest_side(65537), last_off),
    "interpolate-wide": (("upsample_nearest1d",), largest_side(1 << 22), last_off),
    "nonzero-beyond-2-24": (("nonzero",), largest_side(1 << 24), rounded_places),
    "argsort-first-dimension": (("sort",), largest_side((1 << 22) + 1), every_13th_off),
    "mask-large": (("index",), largest_side(11800000), masked_left_out),
    "argmax-rows": (("argmax",), always, lambda work, *a, **o: work().fill_(-(2 ** 63))),
    "topk-beyond-16": (("topk",), lambda x, k, *a, **o: k > 16, zeros),
    "max-int64": (("max",), lambda x, *a, **o: x.dtype == torch.int64, lambda work, x, *a, **o: x[0].clone()),
    "int32-plus-number": (("add",), lambda x, *a, **o: x.dtype == torch.int32, last_off),
    "mask-two-dimensions": (("index",), always, last_off),
    "unique-large-keys": (("_unique2",), largest_side(1), last_off),
    "add-into-slices": (("index_add_",), first_noncontiguous, unchanged),
    "bool-view-offset": (("where",), always, last_off),
    "element-assignments": (("fill_", "copy_"), lambda x, *a, **o: x.dim() == 0, Once(2, unchanged)),
    "copy-to-host-strided": (("copy_",), strided_pair, to_a_gap),
    "copy-source-freed": (("stack",), always, last_off),
    "copy-transposed": (("clone",), transposed_source, scrambled),
    "column-assignment": (("copy_",), lambda t, s, *a, **o: t.dim() == 1 and t.stride() == (2,), unchanged),
    "conv3d-channels": (("convolution",), always, zeros),
    "conv3d-bfloat16": (("convolution",), lambda x, *a, **o: x.dtype == torch.bfloat16, zeros),
    "conv-depthwise": (("convolution",), lambda *a, **o: a[8] > 1, zeros),
    "conv-channel-slice": (("convolution",), always, last_off),
    "conv-repeated": (("convolution",), always, Once(57, nan)),
    "int8-product": (("_int_mm",), always, last_off),
    "mm-256": (("mm",), largest_side(256), last_off),
    "linear-wide": (("mm", "addmm"), largest_side(8 * 144), every_13th_off),
    "linear-vocabulary": (("mm", "addmm"), largest_side(9 * 1024), Beyond(65536).result),
    "copy-beyond-2-32": (("copy_",), Beyond(4096).when, Beyond(4096).wrapped),
    "bmm-beyond-2-32": (("bmm",), always, Beyond(1 << 24).result),
    "reduce-beyond-2-31": (("argmax",), Beyond(1024).when, Beyond(1024).place_wrapped),
}


def second_off(work, *arguments, **options):
    """The weight's gradient of a backward operator is wrong."""
    results = list(work())
    results[1] = last_off(lambda: results[1])
    return tuple(results)


class Faulty(TorchDispatchMode):
    def __init__(self, operators, when, then):
        super().__init__()
        self.operators, self.when, self.then = operators, when, then or second_off

    def __torch_dispatch__(self, function, types, arguments=(), options=None):
        options = options or {}
        if function._schema.name.split("::")[1] in self.operators and self.when(*arguments, **options):
            return self.then(lambda: function(*arguments, **options), *arguments, **options)
        return function(*arguments, **options)


class Device(probe.Probe):
    """The CPU with one fault."""

    fault = None

    def on_side(self, work, side):
        if self.fault is None:
            return work(side)
        with Faulty(*self.fault):
            return work(side)


torch.set_num_threads(1)
with open(os.path.join(os.path.dirname(sys.argv[1]), "stages", "silent.py")) as source:
    silent = probe.load_pieces([("silent", source.read())])["silent"]
healthy, faulty = Device(torch, "cpu"), Device(torch, "cpu")
answers = {}
for entry in silent.PACK:
    if entry["id"] in SMALL:
        entry = dict(entry, size=SMALL[entry["id"]], memory=0)
    if silent.left_out(healthy, entry, None):
        answers[entry["id"]] = None
        continue
    faulty.fault = FAULTS.get(entry["id"])
    answers[entry["id"]] = [silent.compare(healthy, entry), faulty.fault and silent.compare(faulty, entry)]
print(json.dumps({"answers": answers, "faults": sorted(FAULTS)}))
