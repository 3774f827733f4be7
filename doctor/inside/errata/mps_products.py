"""Errata of matrix products, linear layers and convolutions on MPS. Any device can be asked."""


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


def mm_long_sum(here):
    """mps-mm-k-over-32768-m1-m2"""
    return long_sum(here, lambda x, y: x @ y)


def bmm_long_sum(here):
    """mps-bmm-k-32767-m1-m2"""
    return long_sum(here, lambda x, y: here.torch.bmm(x.expand(2, -1, -1), y.expand(2, -1, -1))[1])


def complex_parts(here, work, *tensors):
    """Compare both parts of a complex function of complex tensors with the CPU's."""
    real = here.torch.view_as_real
    return here.agrees(
        lambda *ts: real(work(*[here.torch.view_as_complex(t) for t in ts]).resolve_conj()), *[real(t) for t in tensors]
    )


def complex_randn(here, *shape):
    return here.torch.view_as_complex(here.randn(*(shape + (2,))))


def abs_of_complex(here):
    """mps-complex-abs"""
    return here.agrees(lambda x: here.torch.view_as_complex(x).abs(), here.randn(5, 2))


def addmm_complex_long(here):
    """mps-complex-addmm-large"""
    x, y, z = complex_randn(here, 4, 10000), complex_randn(here, 10000, 6), complex_randn(here, 4, 6)
    return complex_parts(here, here.torch.addmm, z, x, y)


def times_imaginary_unit(here):
    """mps-complex-scalar-multiply-assert"""
    return here.error_of(lambda: here.ones(2, 2) * 1j, "INTERNAL ASSERT")


def bmm_of_conjugate(here):
    """mps-conj-bmm-ignored"""
    x, y = complex_randn(here, 2, 3, 4), complex_randn(here, 2, 4, 5)
    return complex_parts(here, lambda x, y: here.torch.bmm(x, y.conj()), x, y)


def mm_of_conjugate(here):
    """mps-conj-matmul-ignored"""
    x, y = complex_randn(here, 3, 4), complex_randn(here, 4, 5)
    return complex_parts(here, lambda x, y: x @ y.conj(), x, y)


def conv1d_long(here):
    """mps-conv-65536-not-implemented"""
    x, w = here.ones(1, 1, 66002), here.ones(1, 1, 3)
    return here.error_of(lambda: here.f.conv1d(x, w), "> 65536 not supported")


def conv2d_sliced_weight(here):
    """mps-conv2d-noncontiguous-weight"""
    x, w = here.randn(1, 3, 6, 6), here.randn(4, 3, 3, 3, 3)
    return here.agrees(lambda x, w: here.f.conv2d(x, w[:, :, 1]), x, w)


def conv3d_channels_last(here):
    """mps-conv3d-channels-last-2-5"""
    def convolve(x, w):
        return here.f.conv3d(x.contiguous(memory_format=here.torch.channels_last_3d), w)

    return here.agrees(convolve, here.randn(1, 4, 5, 5, 5), here.randn(3, 4, 3, 3, 3))


def linear_weight_vector_backward(here):
    """mps-linear-1d-weight-backward-abort: dies"""
    return here.agrees(lambda x, w: here.gradients(here.f.linear, x, w), here.randn(4, 33), here.randn(33))


def linear_bfloat16_transposed(here):
    """mps-linear-bf16-transposed-abort-macos-27: dies"""
    x, w = here.randn(2, 3, 16), here.randn(16, 16)
    return here.agrees(lambda x, w: here.f.linear(x, w.t()), x, w, kind="bfloat16")


def linear_expanded_input(here):
    """mps-linear-expanded-input-abort-2-8: dies"""
    x, w, b = here.randn(1, 49, 64), here.randn(32, 64), here.randn(32)
    return here.agrees(lambda x, w, b: here.f.linear(x.expand(5, 49, 64), w, b), x, w, b, tolerance=1e-2)


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
