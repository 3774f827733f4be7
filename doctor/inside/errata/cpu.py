"""Errata of computations and libraries on the CPU."""


def cosine_similarity_sizes(here):
    """cpu-cosine-similarity-broadcast-2-1: where it sums a dimension that is repeated"""
    x, y = here.randn(5, 3), here.randn(1, 3)
    got = here.f.cosine_similarity(here.there(x), here.there(y), dim=0)
    norms = x.pow(2).sum(0).sqrt() * y.expand(5, 3).pow(2).sum(0).sqrt()
    return here.differs(got, (x * y).sum(0) / norms)


def foreach_lengths(here):
    """cpu-foreach-length-segfault-2-1-0: dies; elsewhere it raises"""
    here.needs("_foreach_add")
    try:
        here.torch._foreach_add([here.ones(1), here.ones(1)], [here.ones(1)])
    except RuntimeError:
        return ""
    return "lists of different lengths are added"


def linear_one_output(here):
    """cpu-aarch64-linear-one-output"""
    linear, x = here.torch.nn.Linear(512, 1).to(here.device), here.there(here.randn(2, 100, 512))

    def apply():
        with here.torch.no_grad():
            linear(x)

    return here.error_of(apply, "matmul primitive")


def gather_one_column(here):
    """cpu-gather-n-by-1-index-2-0"""
    x = here.torch.arange(25.0).view(5, 5)
    return here.differs(here.there(x).gather(0, here.whole(0, 1, 2, 3, 4).view(5, 1)), x[:, :1])


def baddbmm_half_alpha(here):
    """cpu-arm-baddbmm-half-alpha"""
    here.only("cpu")
    x, y = here.randn(2, 1, 8).half(), here.randn(2, 5, 8).half().transpose(1, 2)
    zero = here.torch.zeros(2, 1, 5, dtype=here.torch.float16)
    for alpha in (0.5, 0.25):
        got = here.torch.baddbmm(zero, x, y, beta=0, alpha=alpha)
        wrong = here.differs(got.float(), alpha * (x.float() @ y.float()), 4e-2)
        if wrong:
            return wrong
    return ""


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
        here.untried("no quantization engine %s" % engine)
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


def quantized_linear_large(here):
    """cpu-quant-onednn-saturation-no-vnni: pairs of products saturate at 16 bits"""
    return quantized(here, here.torch.full((4, 64), 127.0), here.torch.full((2, 64), 250.0), "linear", "onednn")


def store_of_one_process(here):
    """win-tcpstore-libuv-init-process-group: on the loopback address"""
    here.needs("distributed.TCPStore")
    timeout = here.module("datetime").timedelta(seconds=5)
    return here.error_of(
        lambda: here.torch.distributed.TCPStore("127.0.0.1", 0, 1, True, timeout), "libuv was requested"
    )
