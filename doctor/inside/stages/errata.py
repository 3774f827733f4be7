"""Triggers of errata: a few lines each that show a fault of torch where it is, and nothing where it is not.

The parent names one trigger a child (mode "errata:NAME"), so that one that crashes or hangs harms no other. A name is
a function of this file, or a computation of the silent-fault pack. To add one: write a function of a `Here`, decorated
with @trigger, that returns what is wrong in a few words, or "" where nothing is; name it in the row's `trigger`. It
uses torch alone, runs from torch 1.12 on, and raises Untried where something that it needs is missing. An error that is
the fault itself is caught and returned as text (`here.error_of`).
"""

GIB = 1 << 30
SDPA = "nn.functional.scaled_dot_product_attention"
TRIGGERS = {}


class Untried(Exception):
    """Why a trigger says nothing here."""


def trigger(work):
    """Register a trigger by its function's name."""
    TRIGGERS[work.__name__] = work
    return work


class Here(object):
    """What a trigger works with: torch, the device, data that is the same on every device, and comparisons."""

    def __init__(self, probe):
        self.probe, self.torch, self.device = probe, probe.torch, probe.device
        self.f = probe.torch.nn.functional
        self.generator = probe.torch.Generator()
        self.generator.manual_seed(20)
        probe.torch.manual_seed(20)  # for the weights that modules draw

    def randn(self, *shape):
        """Normal float32 numbers on the CPU."""
        return self.torch.randn(shape, generator=self.generator)

    def there(self, tensor, kind=None):
        """A tensor on the device, in the type of that name."""
        return (tensor if kind is None else tensor.to(getattr(self.torch, kind))).to(self.device)

    def ones(self, *shape):
        """float32 ones on the device."""
        return self.torch.ones(shape, device=self.device)

    def whole(self, *values):
        """int64 numbers on the device."""
        return self.torch.tensor(values, device=self.device)

    def only(self, *types):
        """Say that it can't be tried on another type of device."""
        if self.device.type not in types:
            raise Untried("not for this type of device")

    def compiled(self, work, backend):
        """torch.compile of a function with that backend; it can't be tried without."""
        self.needs("compile")
        piece = self.probe.pieces["errata"]
        self.module("sys").modules.setdefault(piece.__name__, piece)  # Dynamo imports the module of what it compiles
        return self.torch.compile(work, backend=backend)

    def needs(self, *names):
        """Say that it can't be tried where torch lacks one of these dotted names."""
        for name in names:
            if self.probe.pieces["silent"].has(self.torch, name) is False:
                raise Untried("this torch has no %s" % name)

    def module(self, name):
        """The module of that name; it can't be tried without it."""
        try:
            return __import__(name, fromlist=["*"])
        except ImportError as error:
            raise Untried("%s cannot be imported: %s" % (name, error))

    def needs_memory(self, size):
        """Say that it can't be tried with less free memory than so many bytes."""
        free = self.probe.memory_free()
        if free is None or free < size:
            raise Untried("needs %.1f GiB of free memory" % (size / float(GIB)))

    def differs(self, got, expected, tolerance=1e-3):
        """ "" where two results agree within that share of the largest value (integers: exactly), else how not."""
        got, expected = got.detach().cpu(), expected.detach().cpu()
        if tuple(got.shape) != tuple(expected.shape):
            return "a result of shape %s, not %s" % (tuple(got.shape), tuple(expected.shape))
        if expected.numel() == 0:
            return ""
        if not expected.dtype.is_floating_point:
            bad = got != expected.to(got.dtype)
        else:
            g, e = got.double(), expected.double()
            finite = e[~(self.torch.isnan(e) | self.torch.isinf(e))].abs()
            scale = float(finite.max()) if finite.numel() else 0.0
            same = (g == e) | (self.torch.isnan(g) & self.torch.isnan(e))
            bad = ~(((g - e).abs() <= tolerance * scale) | same)
        if not bool(bad.any()):
            return ""
        where = tuple(int(i) for i in bad.nonzero()[0])
        return "%d of %d elements are wrong; element %s is %r, not %r" % (
            int(bad.sum()), bad.numel(), where, got[where].item(), expected[where].item())

    def agrees(self, work, *tensors, **options):
        """ "" where a function of these tensors gives on the device, in the type `kind`, what it gives in float64 on
        the CPU; else how not. It returns a tensor or several."""
        kind = options.get("kind", "float32")
        rounded = [t.to(getattr(self.torch, kind)) if t.dtype.is_floating_point else t for t in tensors]
        got = work(*[t.to(self.device) for t in rounded])
        exact = work(*[t.double() if t.dtype.is_floating_point else t for t in rounded])
        tolerance = options.get("tolerance", 1e-3 if kind == "float32" else 4e-2)
        pairs = zip(got, exact) if isinstance(got, (list, tuple)) else ((got, exact),)
        return next((text for text in (self.differs(g, e, tolerance) for g, e in pairs) if text), "")

    def gradients(self, work, *leaves):
        """The gradients of a function of these tensors, for a weighted sum of it."""
        leaves = [leaf.detach().requires_grad_(True) for leaf in leaves]
        result = work(*leaves)
        weights = (self.torch.arange(result.numel(), device=result.device) % 5 - 1).to(result.dtype)
        (result * weights.view(result.shape)).sum().backward()
        return [leaf.grad for leaf in leaves]

    def error_of(self, work, *telling):
        """Run `work`. The error that it raises, as text, if it holds one of these words (none named: any error); ""
        where it raises none. Another error is not the fault: it goes up."""
        try:
            work()
            self.probe.wait()
        except Exception as error:
            text = "%s: %s" % (type(error).__name__, " ".join(str(error).split())[:200])
            if not telling or any(word in text for word in telling):
                return text
            raise
        return ""

    def grows(self, work, steps=20, allowed=16 << 20):
        """Whether the device's memory grows by more than so many bytes over these steps, after as many to warm up."""
        measure = self.memory_in_use()
        for _ in range(steps):
            work()
        before = measure()
        for _ in range(steps):
            work()
        kept = measure() - before
        return "%d MiB more after %d steps" % (kept >> 20, steps) if kept > allowed else ""

    def memory_in_use(self):
        """A function that gives the bytes in use on the device."""
        name = {"cuda": "cuda.memory_allocated", "mps": "mps.driver_allocated_memory", "xpu": "xpu.memory_allocated"}
        place = self.torch
        for part in name.get(self.device.type, "none.none").split("."):
            place = getattr(place, part, None)
        if place is None:
            raise Untried("the memory in use cannot be measured here")

        def measure():
            self.probe.wait()
            return place()

        return measure


def attention(q, k, v, mask=None, scale=None):
    """scaled_dot_product_attention, written out; `mask` is added, or says where to look."""
    scores = q @ k.transpose(-2, -1) * (q.shape[-1] ** -0.5 if scale is None else scale)
    if mask is not None:
        scores = scores + mask if mask.dtype.is_floating_point else scores.masked_fill(~mask, float("-inf"))
    return scores.softmax(-1) @ v


def run(probe):
    """The trigger that the mode names. seen: what is wrong, "" for nothing; untried: why nothing can be said."""
    name = probe.minutes
    silent = probe.pieces["silent"]
    fault = next((entry for entry in silent.PACK if entry["work"].__name__ == name), None)
    try:
        if fault is not None:
            reason = silent.left_out(probe, fault, probe.memory_free())
            return {"untried": reason} if reason else {"seen": silent.compare(probe, fault)}
        if name not in TRIGGERS:
            return {"untried": "this torchdoctor has no trigger %s" % name}
        seen = TRIGGERS[name](Here(probe))
        probe.wait()
        return {"seen": seen}
    except Untried as error:
        return {"untried": str(error)}
    except (RuntimeError, NotImplementedError, TypeError, AttributeError) as error:
        return {"untried": "%s: %s" % (type(error).__name__, " ".join(str(error).split())[:200])}


STAGES = (("errata", run, ("errata",), ()),)


# --- the triggers -------------------------------------------------------------------------------------------


@trigger
def tensorboard_distutils(here):
    """import-tensorboard-distutils"""
    try:
        __import__("torch.utils.tensorboard")
    except AttributeError as error:
        return str(error) if "distutils" in str(error) else ""
    except ImportError as error:
        raise Untried(str(error))
    return ""


@trigger
def torch_mps_module(here):
    """mps-module-missing-2-0-0: torch.mps came with torch 2.0"""
    here.needs("compile")
    return "" if hasattr(here.torch, "mps") else "torch has no attribute mps"


@trigger
def number_into_column(here):
    """mps-column-assignment-abort-1-13: aborts"""
    x = here.there(here.randn(1120, 3))
    x[..., -1] = 1
    return here.differs(x[:, -1], here.torch.ones(1120))


@trigger
def vector_times_cube(here):
    """mps-view-buffer-abort-1-12: aborts"""
    a, b = here.randn(16), here.randn(16, 16, 16)
    return here.differs(here.there(a) @ here.there(b), a @ b)


def long_sum(here, multiply):
    """A product that sums 33,000 terms, with NaN in freed memory behind its operands."""
    x, y = here.randn(64, 33000), here.randn(33000, 64)
    junk = here.torch.full((1 << 22,), float("nan"), device=here.device)
    del junk
    return here.differs(multiply(here.there(x), here.there(y)), x.double() @ y.double())


@trigger
def mm_long_sum(here):
    """mps-mm-k-over-32768-m1-m2"""
    return long_sum(here, lambda x, y: x @ y)


@trigger
def bmm_long_sum(here):
    """mps-bmm-k-32767-m1-m2"""
    return long_sum(here, lambda x, y: here.torch.bmm(x.expand(2, -1, -1), y.expand(2, -1, -1))[1])


@trigger
def max_pool_training(here):
    """mps-leak-maxpool2d"""
    pool = here.torch.nn.MaxPool2d(2)
    x = here.there(here.randn(8, 16, 128, 128)).requires_grad_(True)
    return here.grows(lambda: pool(x).sum().backward())


@trigger
def conv3d_half_memory(here):
    """cuda-conv3d-slow-2-9-0: without cuDNN's kernel it unfolds its input, which takes many times the memory"""
    here.only("cuda")
    here.needs_memory(4 * GIB)
    x = here.there(here.randn(1, 32, 16, 64, 64), "bfloat16")
    w = here.there(here.randn(32, 32, 3, 3, 3), "bfloat16")
    here.f.conv3d(x, w, padding=1)
    here.probe.wait()
    here.torch.cuda.reset_peak_memory_stats(here.device)
    before = here.torch.cuda.memory_allocated(here.device)
    here.f.conv3d(x, w, padding=1)
    here.probe.wait()
    taken = here.torch.cuda.max_memory_allocated(here.device) - before
    own = x.numel() * x.element_size()
    return "it takes %d times the memory of its result" % (taken // own) if taken > 20 * own else ""


# --- torch.compile ------------------------------------------------------------------------------------------


@trigger
def compile_this_python(here):
    """compile-python-3-11-2-0, compile-python-3-12-before-2-4, compile-python-3-13-before-2-6,
    compile-python-3-14-before-2-10"""
    here.needs("compile")
    said = ("+ not yet supported", "not supported on Python")  # and not that Windows is not
    return here.error_of(lambda: here.compiled(lambda x: x + 1, "eager")(here.ones(2)), *said)


@trigger
def compiled_exception_in_autocast(here):
    """compile-autocast-exception-2-7, compile-autocast-exception-2-7-0"""

    def raises(x):
        try:
            with here.torch.autocast("cpu", dtype=here.torch.bfloat16):
                raise NotImplementedError
        except NotImplementedError:
            return x + 1

    return here.error_of(lambda: here.compiled(raises, "eager")(here.ones(2)), "is_python_constant")


@trigger
def compiled_embedding_bag_max_norm(here):
    """compile-embeddingbag-max-norm-2-0"""
    weight = here.there(here.randn(8, 2)).requires_grad_(True)
    places, offsets = here.whole(3, 1, 1, 5), here.whole(0, 3)
    work = here.compiled(lambda w: here.f.embedding_bag(places, w, offsets, max_norm=1.0, mode="mean"), "aot_eager")
    return here.error_of(lambda: work(weight), "is being used in an in-place operation")


# --- modules, hooks and optimizers --------------------------------------------------------------------------


@trigger
def hook_and_second_derivative(here):
    """cpu-full-backward-hook-double-backward-1-13"""
    module = here.torch.nn.Tanh()
    module.register_full_backward_hook(lambda module, into, out: None)
    x = here.there(here.randn(3)).requires_grad_(True)

    def twice():
        (gradient,) = here.torch.autograd.grad(module(x).sum(), x, create_graph=True)
        here.torch.autograd.grad(gradient.sum(), x)

    return here.error_of(twice, "is called before the grad_output one")


@trigger
def backward_pre_hook(here):
    """cpu-backward-pre-hook-2-0, cpu-backward-prehook-grad-2-0-0: the gradient that the hook returns is ignored"""
    here.needs("nn.Module.register_full_backward_pre_hook")
    linear = here.torch.nn.Linear(3, 2).to(here.device)
    linear.register_full_backward_pre_hook(lambda module, gradients: (gradients[0] * 2,))
    x = here.there(here.randn(4, 3)).requires_grad_(True)
    linear(x).sum().backward()
    return here.differs(linear.bias.grad, here.torch.full((2,), 8.0))


@trigger
def attention_layer_without_bias(here):
    """cpu-mha-no-bias-batch-first-1-13"""
    layer = here.torch.nn.MultiheadAttention(8, 2, bias=False, batch_first=True).to(here.device).eval()
    x = here.there(here.randn(2, 3, 8))
    return here.error_of(lambda: layer(x, x, x), "no attribute 'is_cuda'")


@trigger
def encoder_layer_is_causal(here):
    """cpu-encoder-layer-is-causal-2-0, compile-is-causal-encoder-2-0-0: without a mask the layer sees the future.
    Later releases refuse the flag without a mask, which is no fault."""
    layer = here.torch.nn.TransformerEncoderLayer(8, 2, 16, 0.0, batch_first=True).to(here.device)
    x = here.there(here.randn(1, 5, 8))
    y = x.clone()
    y[:, 4] = 0.0
    results = []
    try:
        results = [layer(t, is_causal=True)[:, :4].detach() for t in (x, y)]
    except (RuntimeError, AssertionError) as error:
        if "is_causal" not in str(error) and "attn_mask" not in str(error):
            raise
    except TypeError:
        raise Untried("this torch has no argument is_causal")
    return here.differs(*results) if results else ""


@trigger
def qat_configuration(here):
    """cpu-qat-default-qconfig-1-13: what the backend chooses is overwritten"""
    table = here.module("torch.ao.quantization.qconfig")
    fake = here.module("torch.ao.quantization.fake_quantize")
    got = table.get_default_qat_qconfig("fbgemm", version=0).weight
    return "" if got is fake.default_per_channel_weight_fake_quant else "the weights of fbgemm have one scale for all"


@trigger
def adam_from_checkpoint(here):
    """cuda-adam-capturable-1-12-0"""
    here.only("cuda")
    weight = here.torch.nn.Parameter(here.ones(3))

    def stepped(optimizer):
        weight.grad = here.ones(3)
        optimizer.step()
        return optimizer

    state = stepped(here.torch.optim.Adam([weight])).state_dict()
    other = here.torch.optim.Adam([weight])
    other.load_state_dict(state)
    return here.error_of(lambda: stepped(other), "capturable=False")


@trigger
def adam_pickled(here):
    """cuda-adam-warned-capturable-1-12-0"""
    here.only("cuda")
    pickle, weight = here.module("pickle"), here.torch.nn.Parameter(here.ones(3))
    other = pickle.loads(pickle.dumps(here.torch.optim.Adam([weight])))
    other.param_groups[0]["params"][0].grad = here.ones(3)
    return here.error_of(other.step, "_warned_capturable_if_run_uncaptured")


@trigger
def adam_fused_scaled(here):
    """cuda-adam-fused-amp-1-13: fused steps under a GradScaler are not those of the plain ones"""
    here.only("cuda")
    x, start = here.there(here.randn(16, 4)), here.randn(4, 4)
    results = []
    for fused in (False, True):
        weight = here.torch.nn.Parameter(here.there(start.clone()))
        try:
            optimizer = here.torch.optim.Adam([weight], lr=0.01, fused=fused)
        except TypeError:
            raise Untried("this torch has no fused Adam")
        scaler = here.torch.cuda.amp.GradScaler(init_scale=1024.0)
        for _ in range(20):
            optimizer.zero_grad()
            scaler.scale((x @ weight).pow(2).mean()).backward()
            scaler.step(optimizer)
            scaler.update()
        results.append(weight.detach())
    return here.differs(results[1], results[0], 1e-2)


@trigger
def custom_backward_type(here):
    """cuda-custom-bwd-bf16-becomes-fp16"""
    here.only("cuda")
    amp, seen = here.torch.cuda.amp, []

    class Twice(here.torch.autograd.Function):
        @staticmethod
        @amp.custom_fwd
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x @ x

        @staticmethod
        @amp.custom_bwd
        def backward(ctx, gradient):
            (x,) = ctx.saved_tensors
            seen.append((x.float() @ x.float()).dtype)
            return gradient

    x = here.there(here.randn(4, 4)).requires_grad_(True)
    with here.torch.autocast("cuda", dtype=here.torch.bfloat16):
        y = Twice.apply(x)
    y.sum().backward()
    return "" if seen == [here.torch.bfloat16] else "the backward pass computes in %s" % seen[0]


# --- on the CPU ---------------------------------------------------------------------------------------------


@trigger
def cosine_similarity_sizes(here):
    """cpu-cosine-similarity-2-1, cpu-cosine-similarity-broadcast-2-1: where it sums a dimension that is repeated"""
    x, y = here.randn(5, 3), here.randn(1, 3)
    got = here.f.cosine_similarity(here.there(x), here.there(y), dim=0)
    norms = x.pow(2).sum(0).sqrt() * y.expand(5, 3).pow(2).sum(0).sqrt()
    return here.differs(got, (x * y).sum(0) / norms)


@trigger
def foreach_lengths(here):
    """cpu-foreach-length-segfault-2-1, cpu-foreach-length-segfault-2-1-0: dies; elsewhere it raises"""
    here.needs("_foreach_add")
    try:
        here.torch._foreach_add([here.ones(1), here.ones(1)], [here.ones(1)])
    except RuntimeError:
        return ""
    return "lists of different lengths are added"


@trigger
def numpy_scalar(here):
    """cpu-numpy-scalar-int-2-0"""
    numpy = here.module("numpy")
    here.needs("asarray")
    return here.error_of(lambda: here.torch.asarray(numpy.array(1)), "object_", "cannot be interpreted")


@trigger
def numpy_there_and_back(here):
    """import-numpy-2-before-2-3, import-numpy-2-windows-2-3"""
    here.module("numpy")
    return here.error_of(lambda: here.torch.ones(2).numpy(), "Numpy is not available")


@trigger
def linear_one_output(here):
    """cpu-aarch64-linear-one-output-2-1, cpu-aarch64-linear-one-output"""
    linear, x = here.torch.nn.Linear(512, 1).to(here.device), here.there(here.randn(2, 100, 512))

    def apply():
        with here.torch.no_grad():
            linear(x)

    return here.error_of(apply, "matmul primitive")


@trigger
def bfloat16_product_of_ones(here):
    """cpu-bf16-matmul-no-mkldnn-1-13"""
    here.only("cpu")
    here.needs("backends.mkldnn.flags")
    x, y = [here.torch.ones(shape, dtype=here.torch.bfloat16) for shape in ((4, 1024), (1024, 4))]
    with here.torch.backends.mkldnn.flags(enabled=False):
        got = x @ y
    return here.differs(got.float(), here.torch.full((4, 4), 1024.0))


@trigger
def bfloat16_conv_one_channel(here):
    """cpu-bf16-conv-one-channel-2-5"""
    x = here.torch.ones(1, 1, 2, 2, dtype=here.torch.bfloat16, device=here.device)
    return here.differs(here.f.conv2d(x, x).float(), here.torch.full((1, 1, 1, 1), 4.0))


@trigger
def attention_of_nan(here):
    """cpu-sdpa-nan-becomes-zero-2-5"""
    here.needs(SDPA)
    q, k, v = [here.there(here.randn(2, 4, 16, 8)) for _ in range(3)]
    got = here.f.scaled_dot_product_attention(q + float("nan"), k, v)
    return "" if bool(here.torch.isnan(got).all()) else "queries of NaN give %r" % got.flatten()[0].item()


@trigger
def attention_of_no_width(here):
    """cuda-sdpa-zero-head-dim-2-12"""
    here.needs(SDPA)
    q, k, v = here.randn(1, 1, 3, 0), here.randn(1, 1, 4, 0), here.randn(1, 1, 4, 1)
    got = here.f.scaled_dot_product_attention(here.there(q), here.there(k), here.there(v))
    return here.differs(got, v.mean(2, keepdim=True).expand(1, 1, 3, 1))


@trigger
def gather_one_column(here):
    """cpu-gather-n-by-1-index-2-0"""
    x = here.torch.arange(25.0).view(5, 5)
    return here.differs(here.there(x).gather(0, here.whole(0, 1, 2, 3, 4).view(5, 1)), x[:, :1])


@trigger
def baddbmm_half_alpha(here):
    """cpu-arm-baddbmm-half-alpha"""
    here.only("cpu")
    x, y = here.randn(2, 3, 8).half(), here.randn(2, 5, 8).half().transpose(1, 2)
    zero = here.torch.zeros(2, 3, 5, dtype=here.torch.float16)
    for alpha in (0.5, 0.25):
        got = here.torch.baddbmm(zero, x, y, beta=0, alpha=alpha)
        wrong = here.differs(got.float(), alpha * (x.float() @ y.float()), 4e-2)
        if wrong:
            return wrong
    return ""


@trigger
def conv_same_again(here):
    """win-cpu-conv-random-2-4-0"""
    layer, x = here.torch.nn.Conv2d(16, 32, 3, 2, 1).to(here.device), here.there(here.randn(1, 16, 36, 36))
    with here.torch.no_grad(), here.probe.all_threads():
        results = [layer(x) for _ in range(10)]
    return here.differs(here.torch.stack(results[1:]), results[0].expand(9, *results[0].shape), 0.0)


def quantized(here, weight, x, layer, engine):
    """The result of a quantized layer ("linear" or "conv2d") of these whole numbers, beside that of exact sums."""
    here.only("cpu")
    if engine not in here.torch.backends.quantized.supported_engines:
        raise Untried("no quantization engine %s" % engine)
    before = here.torch.backends.quantized.engine
    here.torch.backends.quantized.engine = engine
    try:
        ops = here.torch.ops.quantized
        w = here.torch.quantize_per_tensor(weight, 1.0, 0, here.torch.qint8)
        q = here.torch.quantize_per_tensor(x, 1.0, 0, here.torch.quint8)
        scale = 2.0 ** 14
        if layer == "linear":
            got, exact = ops.linear(q, ops.linear_prepack(w, None), scale, 0), here.f.linear(x, weight)
        else:
            packed = ops.conv2d_prepack(w, None, [1, 1], [0, 0], [1, 1], 1)
            got, exact = ops.conv2d(q, packed, scale, 0), here.f.conv2d(x, weight)
        # Half a step of the result is rounding.
        return here.differs(got.dequantize(), exact, 0.75 * scale / float(exact.abs().max()))
    finally:
        here.torch.backends.quantized.engine = before


@trigger
def quantized_linear_large(here):
    """cpu-quant-onednn-saturation-no-vnni: pairs of products saturate at 16 bits"""
    return quantized(here, here.torch.full((4, 64), 127.0), here.torch.full((2, 64), 250.0), "linear", "onednn")


@trigger
def quantized_conv_large(here):
    """cpu-quant-conv2d-no-vnni-2-3"""
    weight, x = here.torch.full((1, 3, 3, 3), 127.0), here.torch.full((1, 3, 6, 6), 200.0)
    engines = [e for e in ("x86", "onednn") if e in here.torch.backends.quantized.supported_engines]
    return quantized(here, weight, x, "conv2d", engines[0] if engines else "onednn")


@trigger
def quantization_engine_on_arm(here):
    """cpu-qengine-x86-on-arm-2-11"""
    if here.module("platform").machine().lower() not in ("arm64", "aarch64"):
        raise Untried("this is no Arm CPU")
    engine = here.torch.backends.quantized.engine
    return "the engine is x86" if engine == "x86" else ""


@trigger
def openmp_on_mac(here):
    """cpu-macos-no-openmp-2-2-0"""
    if here.module("sys").platform != "darwin":
        raise Untried("this is no Mac")
    said = here.torch.__config__.parallel_info()
    return "this build has no OpenMP" if "OpenMP not found" in said else ""


@trigger
def store_of_one_process(here):
    """win-tcpstore-libuv-init-process-group: on the loopback address"""
    here.needs("distributed.TCPStore")
    timeout = here.module("datetime").timedelta(seconds=5)
    return here.error_of(
        lambda: here.torch.distributed.TCPStore("127.0.0.1", 0, 1, True, timeout), "libuv was requested"
    )


@trigger
def import_torchtext(here):
    """tv-text-torch-2-4"""
    return here.error_of(lambda: here.module("torchtext"), "undefined symbol", "could not be found", "Symbol not found")


# --- on CUDA ------------------------------------------------------------------------------------------------


@trigger
def tf32_settings_mixed(here):
    """cuda-tf32-legacy-new-mix"""
    here.only("cuda")
    here.needs("backends.fp32_precision")
    matmul = here.torch.backends.cuda.matmul

    def mix():
        matmul.fp32_precision = "ieee"
        return matmul.allow_tf32

    return here.error_of(mix, "mix of the legacy and new APIs")


@trigger
def full_precision_for_all(here):
    """cuda-fp32-precision-not-propagated"""
    here.only("cuda")
    here.needs("backends.fp32_precision", "backends.cudnn.conv.fp32_precision")
    here.torch.backends.fp32_precision = "ieee"
    kept = here.torch.backends.cudnn.conv.fp32_precision
    return "convolutions keep %s" % kept if kept != "ieee" else ""


def only_kernel(here, name):
    """A context in which attention takes one kernel alone: "efficient", "cudnn" or "flash"."""
    here.needs(SDPA)
    here.only("cuda")
    new = getattr(getattr(here.torch.nn, "attention", None), "sdpa_kernel", None)
    if new is not None:
        kernels = here.torch.nn.attention.SDPBackend
        kernel = {"efficient": "EFFICIENT_ATTENTION", "cudnn": "CUDNN_ATTENTION", "flash": "FLASH_ATTENTION"}[name]
        if not hasattr(kernels, kernel):
            raise Untried("this torch has no such kernel of attention")
        return new(getattr(kernels, kernel))
    if name == "cudnn":
        raise Untried("this torch has no such kernel of attention")
    return here.torch.backends.cuda.sdp_kernel(
        enable_flash=name == "flash", enable_math=False, enable_mem_efficient=name == "efficient"
    )


def by_kernel(here, name, q, k, v, mask=None):
    """Attention of tensors on the device by that kernel, against attention written out in float32."""
    with only_kernel(here, name):
        got = here.f.scaled_dot_product_attention(q, k, v, attn_mask=mask)
    if mask is not None and mask.dtype.is_floating_point:
        mask = mask.float()
    return here.differs(got.float(), attention(q.float(), k.float(), v.float(), mask), 4e-2)


@trigger
def attention_cudnn_masked_gradient(here):
    """cuda-sdpa-cudnn-mask-nan-grad: scores of about -120 in each row, and a length of 64 modulo 128"""
    length, width = 704, 64
    q, k, v = [here.randn(1, 1, length, width) * factor for factor in (0.1, 0.1, 1.0)]
    q[..., 0], k[..., 0] = 1.0, -120.0 * width ** 0.5
    q, k, v = [here.there(t, "bfloat16").requires_grad_(True) for t in (q, k, v)]
    mask = here.torch.ones(length, length, dtype=here.torch.bool, device=here.device).tril()
    with only_kernel(here, "cudnn"):
        here.f.scaled_dot_product_attention(q, k, v, attn_mask=mask[None, None]).float().sum().backward()
    bad = int((~here.torch.isfinite(q.grad)).sum())
    return "%d of %d gradients of the queries are not finite" % (bad, q.numel()) if bad else ""


@trigger
def attention_efficient_expanded(here):
    """cuda-sdpa-efficient-broadcast-kv"""
    wrong = ""
    for length in (33, 65, 545):
        q = here.there(here.randn(1, 8, length, 512), "bfloat16")
        k, v = [here.there(here.randn(1, 1, length, 512), "bfloat16").expand(1, 8, length, 512) for _ in range(2)]
        mask = here.torch.ones(1, 1, length, length, dtype=here.torch.bool, device=here.device).tril()
        wrong = wrong or by_kernel(here, "efficient", q, k, v, mask)
    return wrong


@trigger
def attention_efficient_other_length(here):
    """cuda-sdpa-efficient-masked-nan-2-2: 8 queries look at 16 keys, of which one batch hides nine"""
    q, k, v = [here.there(here.randn(2, 4, length, 128) * 0.004) for length in (8, 16, 16)]
    mask = here.torch.zeros(2, 1, 8, 16)
    mask[0, :, :, 7:] = here.torch.finfo(here.torch.float32).min
    return by_kernel(here, "efficient", q, k, v, here.there(mask).expand(2, 4, 8, 16))


@trigger
def attention_efficient_strided(here):
    """cuda-sdpa-noncontig-mask-2-1, cuda-sdpa-noncontig-qkv-2-1"""
    q, k, v = [here.there(here.randn(2, 16, 4, 64)).transpose(1, 2) for _ in range(3)]
    plain = here.there(here.randn(2, 4, 16, 16))
    other = here.there(here.randn(2, 1, 1, 16)).expand(2, 4, 16, 16)
    return by_kernel(here, "efficient", q, k, v, plain) or by_kernel(
        here, "efficient", q.contiguous(), k.contiguous(), v.contiguous(), other)


@trigger
def attention_mask_gradient_alone(here):
    """cuda-sdpa-mask-grad-only-ima"""
    here.needs(SDPA)
    here.only("cuda")
    q, k, v = [here.there(here.randn(1, 2, 16, 32)) for _ in range(3)]
    mask = here.there(here.randn(1, 2, 16, 16)).requires_grad_(True)

    def backward():
        here.f.scaled_dot_product_attention(q, k, v, attn_mask=mask).sum().backward()

    return here.error_of(backward, "illegal memory access")


@trigger
def attention_flash_backward_128(here):
    """cuda-sdpa-sm86-backward-2-0-0"""
    q, k, v = [here.there(here.randn(1, 2, 32, 128), "float16").requires_grad_(True) for _ in range(3)]

    def backward():
        with only_kernel(here, "flash"):
            here.f.scaled_dot_product_attention(q, k, v).sum().backward()

    return here.error_of(backward, "is_sm80")


@trigger
def attention_of_odd_shapes(here):
    """cuda-sdpa-cudnn-2-5-0-no-plan: as the release chooses"""
    here.needs(SDPA)
    here.only("cuda")

    shapes = ((8, 4096, 77, 40), (10, 1024, 77, 64), (16, 1, 333, 128), (2, 5, 5, 8))  # heads, queries, keys, width

    def attend():
        for heads, queries, keys, width in shapes:
            q, k, v = [here.there(here.randn(1, heads, n, width), "float16") for n in (queries, keys, keys)]
            here.f.scaled_dot_product_attention(q, k, v)

    return here.error_of(attend, "No execution plans support the graph")


@trigger
def attention_efficient_mask_beyond_2_32(here):
    """cuda-sdpa-efficient-mask-over-65536: the last rows are masked as rows at the beginning"""
    kernel = only_kernel(here, "efficient")
    here.needs_memory(14 * GIB)
    length = 65664
    q, k, v = [here.there(here.randn(1, 1, length, 32), "bfloat16") for _ in range(3)]
    mask = here.torch.zeros(1, 1, length, length, dtype=here.torch.bfloat16, device=here.device)
    mask[..., -8:, 64:] = float("-inf")
    with kernel:
        got = here.f.scaled_dot_product_attention(q, k, v, attn_mask=mask)[:, :, -8:]
    expected = attention(q[:, :, -8:].float(), k[:, :, :64].float(), v[:, :, :64].float())
    return here.differs(got.float(), expected, 4e-2)


@trigger
def sparse_product_odd_size(here):
    """cuda-sparse-spgemm-1-13"""
    here.only("cuda")
    places = here.torch.tensor([[0, 1000, 2522], [5, 7000, 13715]])
    a = here.torch.sparse_coo_tensor(places, here.torch.ones(3), (2523, 13716)).to(here.device)
    return here.error_of(lambda: here.torch.sparse.mm(a, a.t()), "SpGEMM")


@trigger
def svd_first_call(here):
    """cuda-svd-zeros-first-call-1-12: in a fresh process"""
    x = here.there(here.torch.tensor([[2.0, 1.0, 0.0], [0.0, 3.0, 1.0], [1.0, 0.0, 4.0]]), "float64")
    u, s, v = here.torch.linalg.svd(x)
    return here.differs(u @ here.torch.diag(s) @ v, x)


@trigger
def topk_of_long_rows(here):
    """cuda-topk-large-slice-1-12: reads outside of its memory"""
    here.only("cuda")
    here.needs_memory(2 * GIB)
    x = here.torch.zeros(60, 1000, 1000, device=here.device)
    x[..., 990:] = 1.0
    found = []
    wrong = here.error_of(lambda: found.append(x.topk(10)[0].min().item()), "illegal memory access")
    return wrong or ("" if found == [1.0] else "the smallest of the ten largest is %r, not 1.0" % found[0])


@trigger
def topk_of_a_billion(here):
    """cuda-topk-indices-garbage-1-13"""
    here.only("cuda")
    here.needs_memory(20 * GIB)
    x = here.torch.zeros(10, 212, 500000, device=here.device)
    x[..., 499980:] = 1.0
    places = x.topk(20)[1]
    low, high = int(places.min()), int(places.max())
    return "" if (low, high) == (499980, 499999) else "indices from %d to %d, not 499980 to 499999" % (low, high)


@trigger
def arange_beyond_2_32(here):
    """cuda-arange-over-2-32"""
    here.only("cuda")
    here.needs_memory(40 * GIB)
    count = (1 << 32) + 64
    last = int(here.torch.arange(count, device=here.device)[-1])
    return "" if last == count - 1 else "the last element is %d, not %d" % (last, count - 1)


@trigger
def cumsum_inner_beyond_2_32(here):
    """cuda-cumsum-outer-over-2-32: of zeros"""
    here.only("cuda")
    here.needs_memory(24 * GIB)
    x = here.torch.zeros(309504, 1, 16384, dtype=here.torch.float16, device=here.device)
    most = float(x.cumsum(1).abs().max())
    return "" if most == 0 else "the sums of zeros reach %r" % most


@trigger
def layer_norm_beyond_2_32(here):
    """cuda-layer-norm-over-2-32"""
    here.only("cuda")
    here.needs_memory(24 * GIB)
    x = here.torch.zeros((1 << 26) + 1024, 64, dtype=here.torch.float16, device=here.device)
    x[-8:] = here.there(here.randn(8, 64), "float16")
    return here.differs(here.f.layer_norm(x, (64,))[-8:].float(), here.f.layer_norm(x[-8:].float(), (64,)), 4e-2)


@trigger
def layer_norm_many_rows_backward(here):
    """cuda-layer-norm-huge-batch-backward"""
    here.only("cuda")
    x, w, b = here.ones(100000, 8, 16), here.ones(8, 16), here.ones(8, 16)

    def backward():
        leaves = [t.requires_grad_(True) for t in (x, w, b)]
        here.f.layer_norm(x, (8, 16), *leaves[1:]).sum().backward()

    wrong = here.error_of(backward, "invalid gradient")
    return wrong or here.differs(b.grad, here.torch.full((8, 16), 100000.0))


@trigger
def adaptive_pool_to_many(here):
    """cuda-adaptive-avg-pool-overflow"""
    here.only("cuda")
    size, count = 47, 1 << 26
    x = here.torch.arange(float(size)).view(1, 1, size, 1)
    got = here.torch.nn.AdaptiveAvgPool2d((count, 1))(here.there(x)).view(-1)
    places = list(range(count - 1, 0, -(count // 61)))
    spans = [range(p * size // count, -(-(p + 1) * size // count)) for p in places]
    expected = here.torch.tensor([sum(span) / float(len(span)) for span in spans])
    return here.differs(got[here.whole(*places)], expected)


@trigger
def half_linear(here):
    """cuda-half-linear-invalid-value-2-9"""
    here.only("cuda")
    x, w = here.there(here.randn(14, 4096), "float16"), here.there(here.randn(4096, 4096), "float16")
    return here.error_of(lambda: here.f.linear(x, w), "CUBLAS_STATUS_INVALID_VALUE")


# --- on MPS: what it gets wrong; any device can be asked ----------------------------------------------------


@trigger
def argmax_of_integers(here):
    """mps-argmax-int-min, mps-argmax-int-amd-intel-mac"""
    x = here.torch.tensor([[0, 1, 0], [0, 0, 1], [1, 0, 0]], dtype=here.torch.int32)
    return here.agrees(lambda x: x.argmax(1), x)


@trigger
def batch_norm_of_slice(here):
    """mps-batchnorm-sliced-2-4-0"""
    return here.agrees(lambda x: here.f.batch_norm(x[1:], None, None, training=True), here.randn(4, 3, 5))


@trigger
def bernoulli_of_ones(here):
    """mps-bernoulli-zeros-ventura"""
    return here.differs(here.torch.bernoulli(here.ones(50)), here.torch.ones(50))


@trigger
def bitwise_transposed(here):
    """mps-bitwise-noncontiguous-output"""
    x, y = here.torch.arange(35).view(5, 7), here.torch.arange(35).view(5, 7) * 3
    return here.agrees(lambda x, y: (x.t() & y.t(), x.t() | y.t(), x.t() ^ y.t()), x, y)


def complex_parts(here, work, *tensors):
    """Compare both parts of a complex function of complex tensors with the CPU's."""
    real = here.torch.view_as_real
    return here.agrees(
        lambda *ts: real(work(*[here.torch.view_as_complex(t) for t in ts]).resolve_conj()), *[real(t) for t in tensors]
    )


def complex_randn(here, *shape):
    return here.torch.view_as_complex(here.randn(*(shape + (2,))))


@trigger
def abs_of_complex(here):
    """mps-complex-abs"""
    return here.agrees(lambda x: here.torch.view_as_complex(x).abs(), here.randn(5, 2))


@trigger
def addmm_complex_long(here):
    """mps-complex-addmm-large"""
    x, y, z = complex_randn(here, 4, 10000), complex_randn(here, 10000, 6), complex_randn(here, 4, 6)
    return complex_parts(here, here.torch.addmm, z, x, y)


@trigger
def times_imaginary_unit(here):
    """mps-complex-scalar-multiply-assert"""
    return here.error_of(lambda: here.ones(2, 2) * 1j, "INTERNAL ASSERT")


@trigger
def bmm_of_conjugate(here):
    """mps-conj-bmm-ignored"""
    x, y = complex_randn(here, 2, 3, 4), complex_randn(here, 2, 4, 5)
    return complex_parts(here, lambda x, y: here.torch.bmm(x, y.conj()), x, y)


@trigger
def mm_of_conjugate(here):
    """mps-conj-matmul-ignored"""
    x, y = complex_randn(here, 3, 4), complex_randn(here, 4, 5)
    return complex_parts(here, lambda x, y: x @ y.conj(), x, y)


@trigger
def conv1d_long(here):
    """mps-conv-65536-not-implemented"""
    x, w = here.ones(1, 1, 66002), here.ones(1, 1, 3)
    return here.error_of(lambda: here.f.conv1d(x, w), "> 65536 not supported")


@trigger
def conv2d_sliced_weight(here):
    """mps-conv2d-noncontiguous-weight"""
    x, w = here.randn(1, 3, 6, 6), here.randn(4, 3, 3, 3, 3)
    return here.agrees(lambda x, w: here.f.conv2d(x, w[:, :, 1]), x, w)


@trigger
def conv3d_channels_last(here):
    """mps-conv3d-channels-last-2-5"""
    def convolve(x, w):
        return here.f.conv3d(x.contiguous(memory_format=here.torch.channels_last_3d), w)

    return here.agrees(convolve, here.randn(1, 4, 5, 5, 5), here.randn(3, 4, 3, 3, 3))


@trigger
def copy_to_smaller_type(here):
    """mps-copy-cast-overwrites-source"""
    source = here.torch.arange(16.0)
    x, target = here.there(source), here.torch.zeros(18, dtype=here.torch.float16)
    target[2:].copy_(x)
    return here.differs(x, source) or here.differs(target[2:].float(), source)


@trigger
def cross_entropy_backward(here):
    """mps-cross-entropy-sigbus-2-0: dies"""
    def loss(x):
        return here.f.cross_entropy(x, here.torch.tensor([1, 0, 4], device=x.device)).view(1) * -1

    return here.agrees(lambda x: here.gradients(loss, x), here.randn(3, 5))


@trigger
def cumsum_of_mask(here):
    """mps-cumsum-bool-overflow"""
    return here.agrees(lambda x: x.cumsum(0), here.torch.ones(300, dtype=here.torch.bool))


@trigger
def cumsum_of_integers(here):
    """mps-cumsum-int64-unsupported-before-13-3"""
    return here.error_of(lambda: here.whole(1, 2, 3).cumsum(0), "does not support cumsum")


@trigger
def fill_bytes_after_first(here):
    """mps-fill-byte-misaligned"""
    results = []
    for kind in ("bool", "uint8"):
        x = here.torch.zeros(64, dtype=getattr(here.torch, kind), device=here.device)
        x[1:].fill_(1)
        results.append(x.long().cpu())
    expected = (here.torch.arange(64) > 0).long()
    return here.differs(results[0], expected) or here.differs(results[1], expected)


@trigger
def gamma_functions_transposed(here):
    """mps-gamma-functions-strides"""
    return here.agrees(lambda x: (x.t().digamma(), x.t().lgamma()), here.randn(2, 3).abs() + 0.5)


@trigger
def later_element_with_new_axis(here):
    """mps-indexing-new-axis-inf"""
    return here.agrees(lambda x: 1 / x[1][None], here.torch.tensor([2.0, 4.0]))


@trigger
def sort_512_integers(here):
    """mps-int64-sort-256-macos-15-4"""
    return here.agrees(lambda x: x.sort()[0], here.torch.arange(512) * 389 % 509 - 200)


@trigger
def istft_backward(here):
    """mps-istft-backward-2-5: dies"""
    def there_and_back(x):
        window = here.torch.ones(16, device=x.device, dtype=x.dtype)
        spectrum = here.torch.stft(x, 16, 4, window=window, return_complex=True)
        return here.torch.istft(spectrum, 16, 4, window=window)

    return here.agrees(lambda x: here.gradients(there_and_back, x), here.randn(1, 64))


@trigger
def layer_norm_half_input(here):
    """mps-layernorm-mixed-dtype, mps-layernorm-half-crash-2-0: float32 parameters, float16 input"""
    x, w, b = here.randn(2, 768), here.randn(768), here.randn(768)
    got = here.f.layer_norm(here.there(x, "float16"), (768,), here.there(w), here.there(b))
    return here.differs(got.float(), here.f.layer_norm(x.half().double(), (768,), w.double(), b.double()).float(), 4e-2)


@trigger
def layer_norm_small_values(here):
    """mps-layernorm-small-variance"""
    x = here.torch.tensor([[1e-3, 2e-3, -1e-3, 3e-3]])
    return here.agrees(lambda x: here.f.layer_norm(x, (4,), eps=1e-12), x)


@trigger
def linear_weight_vector_backward(here):
    """mps-linear-1d-weight-backward-abort: dies"""
    return here.agrees(lambda x, w: here.gradients(here.f.linear, x, w), here.randn(4, 33), here.randn(33))


@trigger
def linear_bfloat16_transposed(here):
    """mps-linear-bf16-transposed-abort-macos-27: dies"""
    x, w = here.randn(2, 3, 16), here.randn(16, 16)
    return here.agrees(lambda x, w: here.f.linear(x, w.t()), x, w, kind="bfloat16")


@trigger
def linear_expanded_input(here):
    """mps-linear-expanded-input-abort-2-8: dies"""
    x, w, b = here.randn(1, 49, 64), here.randn(32, 64), here.randn(32)
    return here.agrees(lambda x, w, b: here.f.linear(x.expand(5, 49, 64), w, b), x, w, b, tolerance=1e-2)


@trigger
def linear_same_again(here):
    """mps-linear-m5-half-nondeterministic, mps-linear-m5-backward-nondeterministic"""
    x, w = here.there(here.randn(2, 13, 1024), "bfloat16"), here.there(here.randn(1024, 1024), "bfloat16")
    first, gradients = here.f.linear(x, w), here.gradients(here.f.linear, x, w)
    for _ in range(10):
        again = here.gradients(here.f.linear, x, w)
        wrong = here.differs(here.f.linear(x, w), first, 0.0) or here.differs(again[0], gradients[0], 0.0)
        if wrong:
            return wrong
    return ""


@trigger
def multinomial_of_one(here):
    """mps-multinomial-int-min, mps-multinomial-always-zero-monterey"""
    got = here.torch.multinomial(here.there(here.torch.tensor([0.0, 0.0, 0.5])), 100, replacement=True)
    return here.differs(got, here.torch.full((100,), 2, dtype=here.torch.int64))


@trigger
def multinomial_of_few(here):
    """mps-multinomial-zero-probability"""
    p = here.torch.zeros(150000)
    p[::7500] = 1.0
    drawn = here.torch.multinomial(here.there(p), 20000, replacement=True).cpu()
    bad = int((p[drawn] == 0).sum())
    return "%d of 20000 draws have probability zero" % bad if bad else ""


@trigger
def next_bfloat16(here):
    """mps-nextafter-bf16-noop"""
    one, two = [here.torch.tensor([value], dtype=here.torch.bfloat16, device=here.device) for value in (1.0, 2.0)]
    return here.differs(here.torch.nextafter(one, two).float(), here.torch.tensor([1.0078125]), 0.0)


@trigger
def attention_mask_for_all_heads(here):
    """mps-sdpa-broadcast-mask"""
    return masked_attention(here, here.randn(2, 1, 8, 8), (2, 4, 8, 64))


def masked_attention(here, mask, *shapes, **options):
    here.needs(SDPA)
    q, k, v = [here.randn(*shape) for shape in (shapes * 3 if len(shapes) == 1 else shapes)]
    there = [here.there(t) for t in (q, k, v, mask)]
    got = here.f.scaled_dot_product_attention(*there, **options)
    k, v = [t.repeat_interleave(q.shape[1] // t.shape[1], 1) for t in (k, v)]
    return here.differs(got, attention(q, k, v, mask), 1e-2)


@trigger
def attention_nothing_to_see(here):
    """mps-sdpa-fully-masked-nan: on the CPU it is the release's choice"""
    here.needs(SDPA)
    here.only("mps")
    mask = here.torch.ones(4, 4, dtype=here.torch.bool, device=here.device)
    mask[0] = False
    q, k, v = [here.there(here.randn(1, 2, 4, 64)) for _ in range(3)]
    got = here.f.scaled_dot_product_attention(q, k, v, attn_mask=mask)
    return "a row without keys gives NaN" if bool(here.torch.isnan(got).any()) else ""


@trigger
def attention_grouped_heads(here):
    """mps-sdpa-gqa-mask-abort: dies"""
    here.needs("nn.attention")
    return masked_attention(
        here, here.randn(1, 1, 5, 5), (1, 4, 5, 16), (1, 2, 5, 16), (1, 2, 5, 16), enable_gqa=True
    )


@trigger
def attention_two_scales(here):
    """mps-sdpa-scale-cached"""
    here.needs(SDPA)
    q, k, v = [here.randn(1, 2, 5, 64) for _ in range(3)]
    there = [here.there(t) for t in (q, k, v)]
    for scale in (None, 0.5, 0.01):
        got = here.f.scaled_dot_product_attention(*there, scale=scale)
        wrong = here.differs(got, attention(q, k, v, scale=scale), 1e-2)
        if wrong:
            return wrong
    return ""


@trigger
def attention_permuted_batch(here):
    """mps-sdpa-permuted-batch"""
    here.needs(SDPA)
    q, k, v = [here.randn(84, 3, 3, 64).permute(0, 2, 1, 3) for _ in range(3)]
    got = here.f.scaled_dot_product_attention(*[here.there(t) for t in (q, k, v)])
    return here.differs(got, attention(q, k, v), 1e-2)


@trigger
def softplus_permuted(here):
    """mps-softplus-noncontiguous-old-macos"""
    def work(x):
        return [here.f.softplus(x.permute(2, 0, 1))] + here.gradients(lambda x: here.f.softplus(x.t()), x[0])

    return here.agrees(work, here.randn(3, 4, 5))


@trigger
def sort_of_nothing(here):
    """mps-sort-empty-raises"""
    return here.error_of(lambda: here.torch.zeros(0, device=here.device).sort(), "Placeholder tensor is empty")


@trigger
def argsort_of_padding(here):
    """mps-sort-padding-indices: where values equal those with which the kernel fills up"""
    infinite = here.torch.tensor([1.0, float("nan"), float("inf"), 0.0, float("nan")])
    largest = here.torch.tensor([1, 2 ** 63 - 1, 5, 2 ** 63 - 1, 0])
    for x in (here.torch.tensor([True, False, True, True, False]), infinite, largest):
        places = here.there(x).argsort().cpu()
        if places.sort()[0].tolist() != [0, 1, 2, 3, 4]:
            return "argsort gives the indices %s of five elements" % places.tolist()
    return ""


@trigger
def sort_transposed(here):
    """mps-sort-strides"""
    return here.agrees(lambda x: x.t().sort(0), here.torch.randperm(30, generator=here.generator).view(6, 5).float())


@trigger
def elu_and_loss_transposed(here):
    """mps-strided-mse-elu"""
    def work(x, y):
        return here.f.elu(x.t()), here.f.mse_loss(x.t(), y.t(), reduction="none")

    return here.agrees(work, here.randn(4, 6), here.randn(4, 6))


@trigger
def sum_of_bytes(here):
    """mps-sum-uint8-saturates"""
    x = here.torch.full((3,), 100, dtype=here.torch.uint8)
    return here.agrees(lambda x: x.sum(dtype=here.torch.uint8), x)


@trigger
def rows_into_host_tensor(here):
    """mps-to-cpu-view-first-row"""
    x, row = here.torch.zeros(4, 4, 3), here.ones(3)
    for i in range(4):
        for j in range(4):
            x[i, j] = row
    return here.differs(x, here.torch.ones(4, 4, 3))


@trigger
def topk_of_five_dimensions(here):
    """mps-topk-5d-abort: dies"""
    return here.agrees(lambda x: x.topk(2, dim=0)[0], here.randn(3, 2, 2, 2, 2))


@trigger
def byte_into_host_tensor(here):
    """mps-unaligned-blit-bool-slice"""
    x = here.there(here.torch.tensor([True, True, True]))
    target = here.torch.zeros(3, dtype=here.torch.bool)

    def copy():
        target[1] = x[1]
        target[1:2].copy_(x[1:2])

    return here.error_of(copy, "Unaligned blit") or here.differs(target, here.torch.tensor([False, True, False]))


@trigger
def unique_of_a_million(here):
    """mps-unique-counts-large"""
    x = here.torch.arange(1 << 20) * 40503 % 65521 % 2
    return here.agrees(lambda x: here.torch.unique(x, return_counts=True), x)


@trigger
def unique_of_a_cube(here):
    """mps-unique-multi-dim-2-0"""
    return here.agrees(lambda x: x.unique(), here.torch.tensor([[[0, 1]]]))


@trigger
def copy_without_waiting(here):
    """mps-nonblocking-to-mps-garbage"""
    for _ in range(50):
        x = here.torch.arange(10)
        wrong = here.differs(x.to(here.device, non_blocking=True), x)
        if wrong:
            return wrong
    return ""


@trigger
def random_numbers_twice(here):
    """mps-randn-constant-may-2022"""
    x, y = [here.torch.randn(100, device=here.device).cpu() for _ in range(2)]
    return "two calls of randn are equal" if here.torch.equal(x, y) else ""


@trigger
def group_norm_blocks(here):
    """mps-groupnorm-nan-1-13-0"""
    def blocks(x):
        for _ in range(4):
            x = x + here.f.group_norm(x, 2)
        return x

    return here.agrees(lambda x: here.gradients(blocks, x), here.randn(2, 4, 5, 5), tolerance=1e-2)
