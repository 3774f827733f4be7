"""Errata of MPS but for matrix products and convolutions. Any device can be asked."""


def max_pool_training(here):
    """mps-leak-maxpool2d"""
    pool = here.torch.nn.MaxPool2d(2)
    x = here.there(here.randn(8, 16, 128, 128)).requires_grad_(True)
    return here.grows(lambda: pool(x).sum().backward())


def argmax_of_integers(here):
    """mps-argmax-int-min, mps-argmax-int-amd-intel-mac"""
    x = here.torch.tensor([[0, 1, 0], [0, 0, 1], [1, 0, 0]], dtype=here.torch.int32)
    return here.agrees(lambda x: x.argmax(1), x)


def batch_norm_of_slice(here):
    """mps-batchnorm-sliced-2-4-0"""
    return here.agrees(lambda x: here.f.batch_norm(x[1:], None, None, training=True), here.randn(4, 3, 5))


def bitwise_transposed(here):
    """mps-bitwise-noncontiguous-output"""
    x, y = here.torch.arange(35).view(5, 7), here.torch.arange(35).view(5, 7) * 3
    return here.agrees(lambda x, y: (x.t() & y.t(), x.t() | y.t(), x.t() ^ y.t()), x, y)


def copy_to_smaller_type(here):
    """mps-copy-cast-overwrites-source"""
    source = here.torch.arange(16.0)
    x, target = here.there(source), here.torch.zeros(18, dtype=here.torch.float16)
    target[2:].copy_(x)
    return here.differs(x, source) or here.differs(target[2:].float(), source)


def cumsum_of_mask(here):
    """mps-cumsum-bool-overflow"""
    return here.agrees(lambda x: x.cumsum(0), here.torch.ones(300, dtype=here.torch.bool))


def cumsum_of_integers(here):
    """mps-cumsum-int64-unsupported-before-13-3"""
    return here.error_of(lambda: here.whole(1, 2, 3).cumsum(0), "does not support cumsum")


def fill_bytes_after_first(here):
    """mps-fill-byte-misaligned"""
    results = []
    for kind in ("bool", "uint8"):
        x = here.torch.zeros(64, dtype=getattr(here.torch, kind), device=here.device)
        x[1:].fill_(1)
        results.append(x.long().cpu())
    expected = (here.torch.arange(64) > 0).long()
    return here.differs(results[0], expected) or here.differs(results[1], expected)


def gamma_functions_transposed(here):
    """mps-gamma-functions-strides"""
    return here.agrees(lambda x: (x.t().digamma(), x.t().lgamma()), here.randn(2, 3).abs() + 0.5)


def layer_norm_half_input(here):
    """mps-layernorm-mixed-dtype, mps-layernorm-half-crash-2-0: float32 parameters, float16 input"""
    x, w, b = here.randn(2, 768), here.randn(768), here.randn(768)
    got = here.f.layer_norm(here.there(x, "float16"), (768,), here.there(w), here.there(b))
    return here.differs(got.float(), here.f.layer_norm(x.half().double(), (768,), w.double(), b.double()).float(), 4e-2)


def layer_norm_small_values(here):
    """mps-layernorm-small-variance"""
    x = here.torch.tensor([[1e-3, 2e-3, -1e-3, 3e-3]])
    return here.agrees(lambda x: here.f.layer_norm(x, (4,), eps=1e-12), x)


def multinomial_of_one(here):
    """mps-multinomial-int-min, mps-multinomial-always-zero-monterey"""
    got = here.torch.multinomial(here.there(here.torch.tensor([0.0, 0.0, 0.5])), 100, replacement=True)
    return here.differs(got, here.torch.full((100,), 2, dtype=here.torch.int64))


def multinomial_of_few(here):
    """mps-multinomial-zero-probability: one sample a row, which takes another way than many"""
    p = here.torch.zeros(150000)
    p[::7500] = 1.0
    rows, drawn = here.there(p.expand(64, -1).contiguous()), []
    for _ in range(16):
        drawn.append(here.torch.multinomial(rows, 1).flatten().cpu())
    bad = int((p[here.torch.cat(drawn)] == 0).sum())
    return "%d of 1024 draws have probability zero" % bad if bad else ""


def next_bfloat16(here):
    """mps-nextafter-bf16-noop"""
    one, two = [here.torch.tensor([value], dtype=here.torch.bfloat16, device=here.device) for value in (1.0, 2.0)]
    return here.differs(here.torch.nextafter(one, two).float(), here.torch.tensor([1.0078125]), 0.0)


def softplus_permuted(here):
    """mps-softplus-noncontiguous-old-macos"""
    def work(x):
        return [here.f.softplus(x.permute(2, 0, 1))] + here.gradients(lambda x: here.f.softplus(x.t()), x[0])

    return here.agrees(work, here.randn(3, 4, 5))


def sort_of_nothing(here):
    """mps-sort-empty-raises"""
    return here.error_of(lambda: here.torch.zeros(0, device=here.device).sort(), "Placeholder tensor is empty")


def argsort_of_padding(here):
    """mps-sort-padding-indices: where values equal those with which the kernel fills up"""
    infinite = here.torch.tensor([1.0, float("nan"), float("inf"), 0.0, float("nan")])
    largest = here.torch.tensor([1, 2 ** 63 - 1, 5, 2 ** 63 - 1, 0])
    for x in (here.torch.tensor([True, False, True, True, False]), infinite, largest):
        places = here.there(x).argsort().cpu()
        if places.sort()[0].tolist() != [0, 1, 2, 3, 4]:
            return "argsort gives the indices %s of five elements" % places.tolist()
    return ""


def sort_transposed(here):
    """mps-sort-strides"""
    return here.agrees(lambda x: x.t().sort(0), here.torch.randperm(30, generator=here.generator).view(6, 5).float())


def elu_and_loss_transposed(here):
    """mps-strided-mse-elu"""
    def work(x, y):
        return here.f.elu(x.t()), here.f.mse_loss(x.t(), y.t(), reduction="none")

    return here.agrees(work, here.randn(4, 6), here.randn(4, 6))


def rows_into_host_tensor(here):
    """mps-to-cpu-view-first-row"""
    x, row = here.torch.zeros(4, 4, 3), here.ones(3)
    for i in range(4):
        for j in range(4):
            x[i, j] = row
    return here.differs(x, here.torch.ones(4, 4, 3))


def topk_of_five_dimensions(here):
    """mps-topk-5d-abort: dies, or raises (2.8 to 2.12)"""
    x = here.randn(3, 2, 2, 2, 2)
    said = here.error_of(lambda: here.there(x).topk(2, dim=0), "On-going issue on MPSGraph topk")
    return said or here.agrees(lambda x: x.topk(2, dim=0)[0], x)


def byte_into_host_tensor(here):
    """mps-unaligned-blit-bool-slice"""
    x = here.there(here.torch.tensor([True, True, True]))
    target = here.torch.zeros(3, dtype=here.torch.bool)

    def copy():
        target[1] = x[1]
        target[1:2].copy_(x[1:2])

    return here.error_of(copy, "Unaligned blit") or here.differs(target, here.torch.tensor([False, True, False]))


def unique_of_a_cube(here):
    """mps-unique-multi-dim-2-0"""
    return here.agrees(lambda x: x.unique(), here.torch.tensor([[[0, 1]]]))


def random_numbers_twice(here):
    """mps-randn-constant-may-2022"""
    x, y = [here.torch.randn(100, device=here.device).cpu() for _ in range(2)]
    return "two calls of randn are equal" if here.torch.equal(x, y) else ""
