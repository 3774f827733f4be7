"""Errata of computations on CUDA and ROCm. Most need a GPU, some much memory."""


def conv3d_half_memory(here):
    """cuda-conv3d-slow-2-9-0: without cuDNN's kernel it unfolds its input, which takes many times the memory"""
    here.only("cuda")
    here.needs_memory(4)
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


def tf32_settings_mixed(here):
    """cuda-tf32-legacy-new-mix"""
    here.only("cuda")
    here.needs("backends.fp32_precision")
    matmul = here.torch.backends.cuda.matmul

    def mix():
        matmul.fp32_precision = "tf32"  # the legacy setting stays at no TF32
        return matmul.allow_tf32

    return here.error_of(mix, "mix of the legacy and new APIs")


def full_precision_for_all(here):
    """cuda-fp32-precision-not-propagated"""
    here.only("cuda")
    here.needs("backends.fp32_precision", "backends.cudnn.conv.fp32_precision")
    here.torch.backends.fp32_precision = "ieee"
    kept = here.torch.backends.cudnn.conv.fp32_precision
    return "convolutions keep %s" % kept if kept != "ieee" else ""


def topk_of_a_billion(here):
    """cuda-topk-indices-garbage-1-13"""
    here.only("cuda")
    here.needs_memory(20)
    x = here.torch.zeros(10, 212, 500000, device=here.device)
    x[..., 499980:] = 1.0
    places = x.topk(20)[1]
    low, high = int(places.min()), int(places.max())
    return "" if (low, high) == (499980, 499999) else "indices from %d to %d, not 499980 to 499999" % (low, high)


def arange_beyond_2_32(here):
    """cuda-arange-over-2-32"""
    here.only("cuda")
    here.needs_memory(40)
    count = (1 << 32) + 64
    last = int(here.torch.arange(count, device=here.device)[-1])
    return "" if last == count - 1 else "the last element is %d, not %d" % (last, count - 1)


def cumsum_inner_beyond_2_32(here):
    """cuda-cumsum-outer-over-2-32: of zeros"""
    here.only("cuda")
    here.needs_memory(24)
    x = here.torch.zeros(309504, 1, 16384, dtype=here.torch.float16, device=here.device)
    most = float(x.cumsum(1).abs().max())
    return "" if most == 0 else "the sums of zeros reach %r" % most


def layer_norm_beyond_2_32(here):
    """cuda-layer-norm-over-2-32"""
    here.only("cuda")
    here.needs_memory(24)
    x = here.torch.zeros((1 << 26) + 1024, 64, dtype=here.torch.float16, device=here.device)
    x[-8:] = here.there(here.randn(8, 64), "float16")
    return here.differs(here.f.layer_norm(x, (64,))[-8:].float(), here.f.layer_norm(x[-8:].float(), (64,)), 4e-2)


def layer_norm_many_rows_backward(here):
    """cuda-layer-norm-huge-batch-backward, rocm-layer-norm-huge-batch-backward"""
    here.only("cuda")
    x, w, b = here.ones(100000, 8, 16), here.ones(8, 16), here.ones(8, 16)

    def backward():
        leaves = [t.requires_grad_(True) for t in (x, w, b)]
        here.f.layer_norm(x, (8, 16), *leaves[1:]).sum().backward()

    wrong = here.error_of(backward, "invalid gradient")
    return wrong or here.differs(b.grad, here.torch.full((8, 16), 100000.0))


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
