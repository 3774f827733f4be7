"""Errata of attention, on every device."""

SDPA = "nn.functional.scaled_dot_product_attention"


def attention(q, k, v, mask=None, scale=None):
    """scaled_dot_product_attention, written out; `mask` is added, or says where to look."""
    scores = q @ k.transpose(-2, -1) * (q.shape[-1] ** -0.5 if scale is None else scale)
    if mask is not None:
        scores = scores + mask if mask.dtype.is_floating_point else scores.masked_fill(~mask, float("-inf"))
    return scores.softmax(-1) @ v


def attention_of_nan(here):
    """cpu-sdpa-nan-becomes-zero-2-5"""
    here.needs(SDPA)
    q, k, v = [here.there(here.randn(2, 4, 3, 8)) for _ in range(3)]
    got = here.f.scaled_dot_product_attention(q + float("nan"), k, v)
    return "" if bool(here.torch.isnan(got).all()) else "queries of NaN give %r" % got.flatten()[0].item()


def attention_of_no_width(here):
    """cuda-sdpa-zero-head-dim-2-12"""
    here.needs(SDPA)
    q, k, v = here.randn(1, 1, 3, 0), here.randn(1, 1, 4, 0), here.randn(1, 1, 4, 1)
    got = here.f.scaled_dot_product_attention(here.there(q), here.there(k), here.there(v))
    return here.differs(got, v.mean(2, keepdim=True).expand(1, 1, 3, 1))


def only_kernel(here, name):
    """A context in which attention takes one kernel alone: "efficient", "cudnn" or "flash"."""
    here.needs(SDPA)
    here.only("cuda")
    new = getattr(getattr(here.torch.nn, "attention", None), "sdpa_kernel", None)
    if new is not None:
        kernels = here.torch.nn.attention.SDPBackend
        kernel = {"efficient": "EFFICIENT_ATTENTION", "cudnn": "CUDNN_ATTENTION", "flash": "FLASH_ATTENTION"}[name]
        if not hasattr(kernels, kernel):
            here.untried("this torch has no such kernel of attention")
        return new(getattr(kernels, kernel))
    if name == "cudnn":
        here.untried("this torch has no such kernel of attention")
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


def attention_efficient_expanded(here):
    """cuda-sdpa-efficient-broadcast-kv"""
    wrong = ""
    for length in (33, 65, 545):
        q = here.there(here.randn(1, 8, length, 512), "bfloat16")
        k, v = [here.there(here.randn(1, 1, length, 512), "bfloat16").expand(1, 8, length, 512) for _ in range(2)]
        mask = here.torch.ones(1, 1, length, length, dtype=here.torch.bool, device=here.device).tril()
        wrong = wrong or by_kernel(here, "efficient", q, k, v, mask)
    return wrong


def attention_efficient_other_length(here):
    """cuda-sdpa-efficient-masked-nan-2-2: 8 queries look at 16 keys, of which one batch hides nine"""
    q, k, v = [here.there(here.randn(2, 4, length, 128) * 0.004) for length in (8, 16, 16)]
    mask = here.torch.zeros(2, 1, 8, 16)
    mask[0, :, :, 7:] = here.torch.finfo(here.torch.float32).min
    return by_kernel(here, "efficient", q, k, v, here.there(mask).expand(2, 4, 8, 16))


def attention_efficient_strided(here):
    """cuda-sdpa-noncontig-mask-2-1, cuda-sdpa-noncontig-mask-2-1"""
    q, k, v = [here.there(here.randn(2, 16, 4, 64)).transpose(1, 2) for _ in range(3)]
    plain = here.there(here.randn(2, 4, 16, 16))
    other = here.there(here.randn(2, 1, 1, 16)).expand(2, 4, 16, 16)
    return by_kernel(here, "efficient", q, k, v, plain) or by_kernel(
        here, "efficient", q.contiguous(), k.contiguous(), v.contiguous(), other)


def attention_mask_gradient_alone(here):
    """cuda-sdpa-mask-grad-only-ima"""
    here.needs(SDPA)
    here.only("cuda")
    q, k, v = [here.there(here.randn(1, 2, 16, 32)) for _ in range(3)]
    mask = here.there(here.randn(1, 2, 16, 16)).requires_grad_(True)

    def backward():
        here.f.scaled_dot_product_attention(q, k, v, attn_mask=mask).sum().backward()

    return here.error_of(backward, "illegal memory access")


def attention_flash_backward_72(here):
    """cuda-sdpa-sm86-backward-2-0-0: a size that fails on both architectures (128 is fine on sm_86)"""
    q, k, v = [here.there(here.randn(1, 2, 32, 72), "float16").requires_grad_(True) for _ in range(3)]

    def backward():
        with only_kernel(here, "flash"):
            here.f.scaled_dot_product_attention(q, k, v).sum().backward()

    return here.error_of(backward, "is_sm80")


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


def attention_efficient_mask_beyond_2_32(here):
    """cuda-sdpa-efficient-mask-over-65536: the last rows are masked as rows at the beginning"""
    kernel = only_kernel(here, "efficient")
    here.needs_memory(14)
    length = 65664
    q, k, v = [here.there(here.randn(1, 1, length, 32), "bfloat16") for _ in range(3)]
    mask = here.torch.zeros(1, 1, length, length, dtype=here.torch.bfloat16, device=here.device)
    mask[..., -8:, 64:] = float("-inf")
    with kernel:
        got = here.f.scaled_dot_product_attention(q, k, v, attn_mask=mask)[:, :, -8:]
    expected = attention(q[:, :, -8:].float(), k[:, :, :64].float(), v[:, :, :64].float())
    return here.differs(got.float(), expected, 4e-2)


def attention_mask_for_all_heads(here):
    """mps-sdpa-broadcast-mask: the masks of the two batch entries differ"""
    seen = here.torch.ones(8, 8, dtype=here.torch.bool).tril()
    return masked_attention(here, here.torch.stack([seen, seen.t()])[:, None], (2, 4, 8, 64))


def masked_attention(here, mask, *shapes, **options):
    here.needs(SDPA)
    q, k, v = [here.randn(*shape) for shape in (shapes * 3 if len(shapes) == 1 else shapes)]
    there = [here.there(t) for t in (q, k, v, mask)]
    got = here.f.scaled_dot_product_attention(*there, **options)
    k, v = [t.repeat_interleave(q.shape[1] // t.shape[1], 1) for t in (k, v)]
    return here.differs(got, attention(q, k, v, mask), 1e-2)


def attention_nothing_to_see(here):
    """mps-sdpa-fully-masked-nan: on the CPU it is the release's choice; heads of 64 have a kernel of their own"""
    here.needs(SDPA)
    here.only("mps")
    mask = here.torch.ones(4, 4, dtype=here.torch.bool, device=here.device)
    mask[0] = False
    q, k, v = [here.there(here.randn(1, 2, 4, 16)) for _ in range(3)]
    got = here.f.scaled_dot_product_attention(q, k, v, attn_mask=mask)
    return "a row without keys gives NaN" if bool(here.torch.isnan(got).any()) else ""


def attention_grouped_heads(here):
    """mps-sdpa-gqa-mask-abort: dies"""
    here.needs("nn.attention")
    return masked_attention(
        here, here.randn(1, 1, 5, 5), (1, 4, 5, 16), (1, 2, 5, 16), (1, 2, 5, 16), enable_gqa=True
    )


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


def attention_permuted_batch(here):
    """mps-sdpa-permuted-batch"""
    here.needs(SDPA)
    q, k, v = [here.randn(84, 3, 3, 64).permute(0, 2, 1, 3) for _ in range(3)]
    got = here.f.scaled_dot_product_attention(*[here.there(t) for t in (q, k, v)])
    return here.differs(got, attention(q, k, v), 1e-2)
