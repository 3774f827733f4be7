"""The silent-fault pack: small computations that some release of torch, or a driver below it, got wrong without error.

Each is run as it is, whatever the versions: such faults keep arriving, and a table of versions is never complete. A
computation is written once and run twice, on the device and on the CPU in float64 from the same rounded numbers. What
is compared are gross errors; precision is the business of the stage `correct`. Faults of random generators, of training
and of copies between GPUs have stages of their own.
"""

EXACT, CLOSE, PRODUCT, HALF = 0.0, 1e-4, 1e-2, 4e-2  # tolerance as a share of the largest value; PRODUCT may be TF32
GIB = 1 << 30
PACK = []


def silent(issue, seen, tolerance=CLOSE, memory=0, size=0, needs=(), types=()):
    """Declare a computation. `issue`: where it was reported (a number: of pytorch/pytorch); `seen`: what was wrong.

    `memory`: bytes of device memory that it takes, where that is much: it is then left out on CPUs, and where there is
    less. `size`: `Side.size` of such a computation, which tests make small. `needs`: dotted names that torch must have.
    `types`: types of device, () for all.
    """

    def declare(work):
        link = issue if "/" in issue else "pytorch/pytorch#" + issue
        PACK.append({
            "id": work.__name__.replace("_", "-"), "issue": link, "seen": seen, "tolerance": tolerance,
            "memory": memory, "size": size, "needs": needs, "types": types, "work": work,
        })
        return work

    return declare


class Side(object):
    """One of the two runs. Draws the same numbers in both; `reference` is the one in float64 on the CPU."""

    def __init__(self, probe, reference, size=0):
        self.torch, self.reference, self.size = probe.torch, reference, size
        self.f = probe.torch.nn.functional
        self.device = probe.torch.device("cpu") if reference else probe.device
        self.is_cpu = self.device.type == "cpu"
        self.all_threads = probe.all_threads
        self.generator = probe.torch.Generator()
        self.generator.manual_seed(20)

    def there(self, tensor, kind="float32"):
        """A tensor of the CPU, rounded to that type, on this side."""
        rounded = tensor.to(getattr(self.torch, kind))
        return rounded.double() if self.reference else rounded.to(self.device)

    def randn(self, *shape, **options):
        return self.there(self.torch.randn(shape, generator=self.generator), options.get("kind", "float32"))

    def rand(self, *shape):
        """Between 0.5 and 1.5."""
        return self.there(self.torch.rand(shape, generator=self.generator) + 0.5)

    def pattern(self, *shape, **options):
        """Whole numbers from -3 to 3, cheap to make also for millions; their products are exact in every precision."""
        count = 1
        for side in shape:
            count *= side
        numbers = self.torch.arange(count, dtype=self.torch.int32)
        numbers = (numbers * 40503 % 65521) % 7 - 3
        return self.there(numbers.view(shape), options.get("kind", "float32"))

    def whole(self, *values, **options):
        """A tensor of integers, of type int64 on both sides."""
        kind = getattr(self.torch, options.get("kind", "int64"))
        return self.torch.tensor(values, dtype=kind).to(self.device)

    def zeros(self, *shape):
        return self.there(self.torch.zeros(shape))

    def gradients(self, function, *leaves):
        """The result of a function of these tensors, and the gradient of each for a weighted sum of it."""
        leaves = [leaf.detach().requires_grad_(True) for leaf in leaves]
        result = function(*leaves)
        weights = (self.torch.arange(result.numel(), device=self.device) % 5 - 1).to(result.dtype).view(result.shape)
        (result * weights).sum().backward()
        return [result.detach()] + [leaf.grad for leaf in leaves]

    def rows(self, tensor, step):
        """On the reference every `step`-th row, so that the CPU has less to do; see `some`."""
        return tensor[::step] if self.reference else tensor

    def some(self, result, step):
        return result if self.reference else result[::step]


def run(probe):
    """All that this device and its memory allow. names: those that failed; each with its issue in `wrong`."""
    data = {"wrong": [], "silent_faults": [], "silent_checked": 0, "silent_left_out": []}
    free = probe.memory_free()
    for fault in PACK:
        reason = left_out(probe, fault, free)
        if reason:
            data["silent_left_out"].append("%s: %s" % (fault["id"], reason))
            continue
        try:
            text = compare(probe, fault)
        except (RuntimeError, NotImplementedError, TypeError) as error:
            if not probe.unsupported(error) and "out of memory" not in str(error):
                raise
            data["silent_left_out"].append("%s: %s" % (fault["id"], " ".join(str(error).split())[:160]))
            continue
        data["silent_checked"] += 1
        if text:
            data["silent_faults"].append(fault["id"])
            data["wrong"].append("%s: %s (known as %s: %s)" % (fault["id"], text, fault["issue"], fault["seen"]))
    return data


def left_out(probe, fault, free):
    """Why a computation is not run here; "" where it is."""
    if fault["types"] and probe.device.type not in fault["types"]:
        return "not for this type of device"
    missing = [name for name in fault["needs"] if not has(probe.torch, name)]
    if missing:
        return "this torch has no %s" % missing[0]
    if fault["memory"] and probe.is_cpu:
        return "too large for a CPU"
    if fault["memory"] and (free is None or free < 1.25 * fault["memory"]):
        return "needs %.0f GiB of free memory" % (fault["memory"] / float(GIB))
    return ""


def has(root, dotted):
    for name in dotted.split("."):
        root = getattr(root, name, None)
    return root is not None


def compare(probe, fault):
    """ "" where the device agrees with the reference, else how it differs."""
    got = as_list(probe.on_side(fault["work"], Side(probe, False, fault["size"])))
    expected = as_list(fault["work"](Side(probe, True, fault["size"])))
    for number, (g, e) in enumerate(zip(got, expected)):
        part = "" if number == 0 else ", result %d" % (number + 1)
        if tuple(g.shape) != tuple(e.shape):
            return "a result of shape %s, not %s%s" % (tuple(g.shape), tuple(e.shape), part)
        if g.numel() == 0:
            continue
        if g.dtype.is_floating_point:
            g, e = g.cpu().double(), e.double()
            bad = ~((g - e).abs() <= fault["tolerance"] * e.abs().max())
        else:
            bad = g.cpu() != e
        if bool(bad.any()):
            where = tuple(int(i) for i in bad.nonzero()[0])
            return "%d of %d elements are wrong%s; element %s is %r, not %r" % (
                int(bad.sum()), bad.numel(), part, where, g.cpu()[where].item(), e[where].item())
    return ""


def as_list(results):
    return list(results) if isinstance(results, (list, tuple)) else [results]


# --- first calls --------------------------------------------------------------------------------------------


@silent("188792", "MKL's vector functions are wrong in the first parallel call", needs=("exp",))
def first_parallel_call(s):
    x = s.randn(300000)
    with s.all_threads():
        return [getattr(s.torch, name)(x.abs() + 0.5) for name in ("exp", "log", "sin", "tanh", "erf")]


# --- outputs and inputs that are not contiguous -------------------------------------------------------------


@silent("118115", "MPS before torch 2.4 or macOS 15: the output stays unchanged, so Adam freezes such weights")
def addcdiv_noncontiguous_output(s):
    x, y = s.randn(3, 2).t(), s.randn(3, 2).t()
    x.addcdiv_(s.randn(2, 3), s.rand(2, 3))
    y.addcmul_(s.randn(2, 3), s.rand(2, 3), value=-0.5)
    return x, y


@silent("118117", "MPS, 2024: Rprop does not update a parameter that is not contiguous")
def rprop_noncontiguous_parameter(s):
    p = s.randn(4, 3).t().requires_grad_(True)
    step = s.torch.optim.Rprop([p], lr=0.1)
    (p * s.randn(3, 4)).sum().backward()
    step.step()
    return p.detach()


@silent("77988", "MPS, nightly of May 2022: in-place addition of a scaled tensor, so no loss falls")
def add_scaled(s):
    x, y = s.randn(100, 100), s.randn(100, 100)
    x.add_(y, alpha=-0.1)
    x.add_(-0.01 * y)
    return x


@silent("175189", "MPS, 2025 and 2026: gradients of batch_norm with a permuted or channels_last input")
def batch_norm_permuted_backward(s):
    x = s.randn(3, 5, 4, 6).permute(0, 3, 1, 2)
    return s.gradients(lambda x, w, b: s.f.batch_norm(x, None, None, w, b, training=True), x, s.rand(6), s.randn(6))


@silent("183825", "MPS, 2026: gradients of layer_norm's weight where the input needs none")
def layer_norm_weight_gradient(s):
    x = s.randn(2, 4)
    return s.gradients(lambda w, b: s.f.layer_norm(x, (4,), w, b), s.rand(4), s.randn(4))


@silent("180201", "macOS 26.2 and 27 beta: products of an expanded tensor", PRODUCT)
def mm_expanded(s):
    y = s.randn(8, 16)
    return s.gradients(lambda x: x.expand(64, 8) @ y, s.randn(64, 1))


@silent("162730", "MPS, torch 2.8: linear with a weight that is not contiguous", PRODUCT)
def linear_noncontiguous_weight(s):
    return s.f.linear(s.randn(5, 12), s.randn(12, 7).t(), s.randn(7))


@silent("131736", "MPS, 2024: activations after moveaxis give zeros")
def activations_after_moveaxis(s):
    x = s.randn(2, 3, 4).permute(2, 0, 1)
    return s.f.softplus(x), s.f.selu(x), s.f.prelu(x, s.rand(1)), s.f.threshold(x, 0.1, -2.0)


@silent("pytorch/pytorch/pull/139006", "MPS up to torch 2.5 before macOS 15: silu of a transposed tensor is random")
def silu_noncontiguous(s):
    return s.gradients(s.f.silu, s.randn(17, 9).t())


@silent("94396", "MPS, torch 1.13 on macOS 13.2: clamp and log of a permuted tensor")
def clamp_permuted(s):
    x = s.rand(4, 3, 5).permute(2, 0, 1)
    return x.clamp(max=1.0), x.clamp(0.8, 1.2), x.log()


@silent("167767", "MPS, 2025: a clamp takes the bound of an earlier one of the same shape", EXACT)
def clamp_twice(s):
    x = s.there(s.torch.tensor([-1.0, 0.0, 0.25, 2.0]))
    return x.clamp(min=0.0), x.clamp(min=0.125), x.clamp(max=0.5), x.clamp(max=1.0)


@silent("88183", "MPS, 2022 and 2024: interpolate after permute gives zeros, with align_corners NaN")
def interpolate_permuted(s):
    x = s.randn(1, 4, 4, 2).permute(0, 3, 1, 2)
    small = s.randn(1, 1, 1, 2)
    return (
        s.f.interpolate(x, scale_factor=2.0),
        s.f.interpolate(x, size=(7, 5), mode="bilinear", align_corners=False),
        s.f.interpolate(small, size=(1, 4), mode="bilinear", align_corners=True),
    )


# --- recurrent networks, attention, seen as a whole ---------------------------------------------------------


@silent("80306", "MPS up to torch 2.0: LSTM with batch_first, bidirectional, and its gradients", PRODUCT)
def lstm(s):
    results = []
    for batch_first, both in ((True, False), (False, True)):
        net = s.torch.nn.LSTM(2, 3, num_layers=2, batch_first=batch_first, bidirectional=both)
        for p in net.parameters():
            p.data = s.torch.randn(p.shape, generator=s.generator) * 0.5
        net = net.double() if s.reference else net.to(s.device)
        x = s.randn(3, 4, 2)
        results += s.gradients(lambda x, net=net: net(x)[0], x)
        results += [p.grad for p in net.parameters()]
    return results


def attention(s, q, k, v, causal=False, **options):
    """Fused on the device, written out on the reference."""
    if not s.reference:
        return s.f.scaled_dot_product_attention(q, k, v, is_causal=causal, **options)
    if options.get("enable_gqa"):
        k, v = [t.repeat_interleave(q.shape[-3] // t.shape[-3], -3) for t in (k, v)]
    scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
    if causal:
        future = s.torch.ones(scores.shape[-2:], dtype=s.torch.bool).triu(1)
        scores = scores.masked_fill(future, float("-inf"))
    return scores.softmax(-1) @ v


SDPA = ("nn.functional.scaled_dot_product_attention",)


@silent("174861", "MPS before torch 2.11: one query and many keys read out of bounds", HALF, needs=SDPA)
def attention_one_query(s):
    results = []
    for kind in ("float32", "float16"):
        q, k, v = [s.randn(1, 4, length, 64, kind=kind) for length in (1, 1030, 1030)]
        results.append(attention(s, q, k, v))
    return results


@silent("195910", "MPS, 2026: causal attention in 16 bits sees the future", HALF, needs=SDPA)
def attention_causal(s):
    results = []
    for kind in ("float32", "float16", "bfloat16"):
        q, k, v = [s.randn(1, 2, 70, 32, kind=kind) for _ in range(3)]
        results.append(attention(s, q, k, v, causal=True))
    return results


@silent("176767", "MPS, 2026: values of another width than keys", HALF, needs=SDPA)
def attention_value_width(s):
    return attention(s, s.randn(1, 2, 9, 16), s.randn(1, 2, 11, 16), s.randn(1, 2, 11, 24))


@silent("174861", "MPS: attention of permuted inputs", HALF, needs=SDPA)
def attention_permuted(s):
    q, k, v = [s.randn(2, 12, 3, 16).transpose(1, 2) for _ in range(3)]
    return attention(s, q, k, v)


# --- sizes that cross 2^15, 2^16, 2^21, 2^23, 2^24 ----------------------------------------------------------


@silent("177116", "MPS, 2026: gradients of more than 32,768 rows are thousands of times too large", EXACT)
def gradient_many_rows(s):
    x, w = s.pattern(33000, 4), s.pattern(3, 4)
    results = s.gradients(lambda w: s.f.linear(x, w), w)[1:]
    return results + s.gradients(lambda w: s.f.linear(x, w), w)[1:]


@silent("95188", "macOS 13.2: linear of 2 x 20,736 x 320", EXACT)
def linear_large(s):
    x = s.rows(s.pattern(2 * 20736, 320), 127)
    y = s.f.linear(x if s.reference else x.view(2, 20736, 320), s.pattern(320, 320))
    return y if s.reference else y.view(-1, 320)[::127]


@silent("97239", "MPS, 2023: linear of 253 x 144 x 768 to 2304, where matmul is right", EXACT, memory=2 * GIB, size=253)
def linear_wide(s):
    x = s.rows(s.pattern(s.size * 144, 768), 1009)
    y = s.f.linear(x if s.reference else x.view(s.size, 144, 768), s.pattern(2304, 768))
    return y if s.reference else y.view(-1, 2304)[::1009]


@silent("116769", "MPS, 2024: columns beyond 1024 of 1025 x 1 times 1 x 32,769", EXACT)
def outer_product(s):
    x, y = s.rows(s.pattern(1025, 1), 64), s.pattern(1, 32769)
    return s.some(x @ y, 64)


@silent("122045", "MPS, torch 2.1 to 2.5: linear to 50,304 from a batch of 9 x 1024", EXACT, memory=4 * GIB, size=50304)
def linear_vocabulary(s):
    x = s.rows(s.pattern(9 * 1024, 1), 509)
    return s.some(s.f.linear(x, s.pattern(s.size, 1)), 509)


@silent("189495", "MPS, torch 2.12 to 2.14: linear with bias of more than 65,536 matrices", EXACT)
def linear_bias_batch(s):
    return s.f.linear(s.pattern(65537, 1, 2), s.pattern(3, 2), s.pattern(3))


@silent("195163", "M1 and M2: bmm and mm of more than 32,767 addends read past their operands", EXACT)
def mm_long(s):
    junk = s.torch.full((1 << 20,), float("nan"), device=s.device)
    del junk
    x, y = s.pattern(16, 32768), s.pattern(32768, 16)
    return x @ y, s.torch.bmm(x.expand(2, -1, -1), y.expand(2, -1, -1))


@silent("193487", "M1 Pro, torch 2.7 to 2.13: mm of a transposed operand depends on what was allocated", EXACT)
def mm_after_allocations(s):
    x, y = s.pattern(96, 64), s.pattern(80, 64)
    results = []
    for size in (1 << 10, 1 << 18, 1 << 22):
        junk = s.torch.full((size,), float("nan"), device=s.device)
        results.append(x @ y.t())
        del junk
        results.append(y @ x.t())
    return results


@silent("129207", "MPS, 2024: convolution to more than 65,536 channels", EXACT)
def conv_many_channels(s):
    flat = s.f.conv1d(s.pattern(1, 1, 3), s.pattern(65537, 1, 3))
    return flat, s.f.conv2d(s.pattern(1, 1, 1, 3), s.pattern(65537, 1, 1, 3))


@silent("96982", "torch 2.0 on macOS 13.2: conv1d with a kernel of 65,536 gives zeros", EXACT)
def conv_long_kernel(s):
    return s.f.conv1d(s.pattern(1, 1, 65540), s.pattern(1, 1, 65536))


@silent("96225", "MPS, since 2023: gradients of a convolution of 65,536 images and more", EXACT)
def conv_many_images(s):
    return s.gradients(s.f.conv2d, s.pattern(65537, 1, 1, 1), s.pattern(2, 1, 1, 1))


@silent("22078", "cuBLAS before 9.2 on Maxwell and Pascal: more than 2^21 rows; gfx1201: more than 500,000", EXACT)
def mm_many_rows(s):
    x = s.rows(s.pattern((1 << 21) + 7, 3), 97)
    return s.some(x @ s.pattern(3, 2), 97)


@silent("25241", "CUDA 9: bmm in float16 of more than 65,535 matrices", EXACT)
def bmm_many_matrices(s):
    return s.torch.bmm(s.pattern(65537, 2, 2, kind="float16"), s.pattern(65537, 2, 2, kind="float16"))


@silent("144643", "torch 2.5, CPU and CUDA: interpolate to a width beyond 2^23", EXACT)
def interpolate_wide(s):
    x = s.pattern(1, 1, (1 << 22) + 8)
    return s.f.interpolate(x, size=2 * x.shape[2])


@silent("122916", "MPS up to torch 2.3: indices beyond 2^24 are rounded", EXACT)
def nonzero_beyond_2_24(s):
    x = s.torch.zeros((1 << 24) + 8, dtype=s.torch.bool, device=s.device)
    x[(1 << 24) + 1] = True
    x[(1 << 24) + 5] = True
    return x.nonzero(), s.torch.where(x)[0]


@silent("183885", "MPS, 2026: argsort along the first of 3 x (2^22 + 1)", EXACT)
def argsort_first_dimension(s):
    columns = (1 << 22) + 1
    if s.reference:
        return s.torch.tensor([[1], [2], [0]]).expand(3, columns)[:, ::1021]
    x = s.torch.tensor([[2.0], [0.0], [1.0]], device=s.device).repeat(1, columns)
    return x.argsort(dim=0)[:, ::1021]


@silent("181867", "MPS, 2026: a boolean mask of 11.8 million elements gives another count", EXACT)
def mask_large(s):
    x = s.pattern(11800000)
    chosen = x[x > 0]
    return chosen[::101], s.whole(len(chosen))


# --- indexing, integers, copies -----------------------------------------------------------------------------


@silent("92311", "MPS, 2023: argmax gives -2^63", EXACT)
def argmax_rows(s):
    x = s.randn(10, 2)
    return x.argmax(1), x.argmin(0), x.max(1)[1]


@silent("78915", "MPS, 2022: topk beyond 16 gives zeros", EXACT)
def topk_beyond_16(s):
    values, places = s.torch.arange(30, device=s.device).flip(0).to(s.zeros(1).dtype).topk(20)
    return values, places


@silent("90273", "torch 1.13 on macOS 13: max of int64 is the first element", EXACT)
def max_int64(s):
    x = s.whole(0, 3, 1, 4, 2)
    return x.max(), x.min(), (x + (1 << 40)).sum()


@silent("79835", "MPS, 2022: int32 plus a number is garbage", EXACT)
def int32_plus_number(s):
    x = s.torch.arange(10, dtype=s.torch.int32, device=s.device)
    return x + 5, x * 3 - 1, x // 2


@silent("125100", "MPS, torch 2.2: a boolean mask of two dimensions", EXACT)
def mask_two_dimensions(s):
    x = s.randn(2, 7)
    y = x.clone()
    y[y < 0] = 0.0
    return x[x > 0], y, s.torch.masked_select(x.t(), x.t() > 0)


@silent("195595", "MPS, 2026: inverse of unique for int64 beyond 2^24", EXACT)
def unique_large_keys(s):
    base = 1 << 24
    x = s.whole(base + 3, base + 1, base + 3, base, base + 2, base + 1)
    return s.torch.unique(x, return_inverse=True, return_counts=True)


@silent("163327", "MPS, 2025 and 2026: scatter_add_ and index_add_ into slices and transposed tensors", EXACT)
def add_into_slices(s):
    x, y = s.zeros(4, 3), s.zeros(3, 4).t()
    x[2:].scatter_add_(1, s.whole([0, 1, 2], [2, 1, 0]), s.pattern(2, 3))
    y.index_add_(0, s.whole(3, 0), s.pattern(2, 3))
    z = s.zeros(2, 6)
    z[:, 2:4].index_fill_(1, s.whole(1), 7.0)
    return x, y, z


@silent("195074", "MPS, 2026: a bool view that does not begin at a word", EXACT)
def bool_view_offset(s):
    flags = s.torch.zeros(16, dtype=s.torch.bool, device=s.device)
    flags[3:8] = True
    view = flags[1:10]
    view[0] = True
    return view.clone(), view.sum(), s.torch.where(view, s.whole(1).expand(9), s.whole(0).expand(9))


@silent("122016", "torch 2.2 on macOS 14.4: two assignments to elements", EXACT)
def element_assignments(s):
    x = s.zeros(3)
    x[1] = 1
    x[2] = 3
    return x


@silent("189961", "MPS, torch 2.13: a copy to the CPU between strided views writes outside", EXACT)
def copy_to_host_strided(s):
    source = s.pattern(12)
    target = s.torch.zeros(12, dtype=source.dtype)
    target[::2].copy_(source[::2])
    return target


@silent("189690", "MPS, 2026: a copy to the device that need not wait, its source freed", EXACT)
def copy_source_freed(s):
    results = []
    for number in range(20):
        source = s.torch.full((3,), float(number))
        results.append(source.to(s.device, non_blocking=True))
        del source
        s.torch.full((3,), -1.0)
    there = s.torch.stack(results)
    return there.double() if s.reference else there


@silent("79383", "MPS, 2022: copies of a transposed tensor to the device and back", EXACT)
def copy_transposed(s):
    x = s.torch.arange(6.0).view(2, 3)
    there = x.t().to(s.device)
    return there.clone(), there.cpu().t(), s.pattern(4, 6).t().cpu()


@silent("86975", "MPS, 2022: assignment of a tensor of the CPU to a column", EXACT)
def column_assignment(s):
    a = s.zeros(3, 2)
    a[1:, 1] = s.torch.tensor([5.0, 7.0], dtype=a.dtype).to(s.device)
    b = s.zeros(3, 2)
    b[1:, 1].copy_(s.torch.tensor([5.0, 7.0]))
    return a, b


# --- convolutions -------------------------------------------------------------------------------------------


@silent("197114", "M2 Max, 2026: conv3d of contiguous tensors, most numbers of channels", PRODUCT)
def conv3d_channels(s):
    return s.f.conv3d(s.pattern(1, 8, 8, 8, 8), s.pattern(512, 8, 3, 3, 3), padding=1)[:, ::17]


@silent("163539", "cuDNN 9.8 to 9.10: conv3d in bfloat16", HALF)
def conv3d_bfloat16(s):
    x, w = s.randn(1, 16, 6, 12, 12, kind="bfloat16"), s.randn(16, 16, 3, 3, 3, kind="bfloat16")
    return s.f.conv3d(x, w, padding=1)


@silent("188335", "MPS, 2026: convolution with as many groups as channels, of several images", PRODUCT)
def conv_depthwise(s):
    return s.f.conv2d(s.pattern(2, 4, 260, 3), s.pattern(4, 1, 256, 1), groups=4)


@silent("180984", "MPS, 2026: 1 x 1 convolution of some channels of a channels_last tensor", PRODUCT)
def conv_channel_slice(s):
    x = s.randn(1, 1, 2, 2).permute(0, 3, 1, 2)
    return s.f.conv2d(x[:, :1], s.randn(3, 1, 1, 1))


@silent("84138", "MPS on Intel, 2022: a convolution is sometimes NaN", PRODUCT)
def conv_repeated(s):
    x, w = s.randn(1, 1, 1024), s.randn(1, 1, 3)
    if s.reference:
        return s.f.conv1d(x, w)
    results = [s.f.conv1d(x, w) for _ in range(100)]
    bad = [r for r in results if not s.torch.equal(r, results[0])]
    return (bad or results)[0]


@silent("107671", "CUDA 12.1 on A100: products of int8", EXACT, needs=("_int_mm",), types=("cpu", "cuda"))
def int8_product(s):
    x = s.torch.arange(32 * 64, dtype=s.torch.int32).view(32, 64) * 37 % 255 - 127
    y = s.torch.arange(64 * 32, dtype=s.torch.int32).view(64, 32) * 91 % 255 - 127
    if s.reference:
        return x @ y
    return s.torch._int_mm(x.to(s.torch.int8).to(s.device), y.to(s.torch.int8).to(s.device))


@silent("ROCm/rocBLAS/issues/1680", "gfx1151: float32 products of 256 x 256", EXACT)
def mm_256(s):
    return s.pattern(256, 256) @ s.pattern(256, 256)


# --- sizes beyond 2^31 and 2^32: where the memory allows ----------------------------------------------------


@silent("182052", "MPS, 2026: copies beyond 2^32 elements wrap round", EXACT, memory=10 * GIB, size=(1 << 32) + 64)
def copy_beyond_2_32(s):
    ends = s.torch.arange(1, 9, dtype=s.torch.int8)
    if s.reference:
        return s.torch.zeros(8, dtype=s.torch.int8), ends
    x = s.torch.zeros(s.size, dtype=s.torch.int8, device=s.device)
    x[-8:] = ends.to(s.device)
    y = s.torch.empty_like(x).copy_(x)
    return y[:8], y[-8:]


@silent("197636", "macOS 15 and newer: bmm with more than 2^32 results", EXACT, memory=12 * GIB, size=46400)
def bmm_beyond_2_32(s):
    x, y = s.pattern(2, 1, s.size, kind="float16").transpose(1, 2), s.pattern(2, 1, s.size, kind="float16")
    if s.reference:
        return (x[:, ::4001] @ y)[:, :, ::503]
    return s.torch.bmm(x, y)[:, ::4001, ::503]


@silent("84488", "sums and maxima of more than 2^31 elements", EXACT, memory=6 * GIB, size=(1 << 31) + 16)
def reduce_beyond_2_31(s):
    if s.reference:
        return s.torch.tensor(7), s.torch.tensor([s.size - 3])
    x = s.torch.zeros(s.size, dtype=s.torch.int8, device=s.device)
    x[s.size - 3] = 7
    return x.max().long().cpu(), x.argmax().view(1).cpu()


STAGES = (("silent", run, ("full",), ()),)
