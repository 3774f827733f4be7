"""Errata of torch's Python code: what cannot be imported, torch.compile, modules, hooks, optimizers, NumPy."""


def tensorboard_distutils(here):
    """import-tensorboard-distutils"""
    try:
        __import__("torch.utils.tensorboard")
    except AttributeError as error:
        return str(error) if "distutils" in str(error) else ""
    except ImportError as error:
        here.untried(str(error))
    return ""


def torch_mps_module(here):
    """mps-module-missing-2-0-0: torch.mps came with torch 2.0"""
    here.needs("compile")
    return "" if hasattr(here.torch, "mps") else "torch has no attribute mps"


def compile_this_python(here):
    """compile-python-3-11-2-0, compile-python-3-12-before-2-4, compile-python-3-13-before-2-6,
    compile-python-3-14-before-2-10"""
    here.needs("compile")
    said = ("+ not yet supported", "not supported on Python")  # and not that Windows is not
    return here.error_of(lambda: here.compiled(lambda x: x + 1, "eager")(here.ones(2)), *said)


def compiled_exception_in_autocast(here):
    """compile-autocast-exception-2-7, compile-autocast-exception-2-7"""

    def raises(x):
        try:
            with here.torch.autocast("cpu", dtype=here.torch.bfloat16):
                raise NotImplementedError
        except NotImplementedError:
            return x + 1

    return here.error_of(lambda: here.compiled(raises, "eager")(here.ones(2)), "is_python_constant")


def compiled_embedding_bag_max_norm(here):
    """compile-embeddingbag-max-norm-2-0"""
    weight = here.there(here.randn(8, 2)).requires_grad_(True)
    places, offsets = here.whole(3, 1, 1, 5), here.whole(0, 3)
    work = here.compiled(lambda w: here.f.embedding_bag(places, w, offsets, max_norm=1.0, mode="mean"), "aot_eager")
    return here.error_of(lambda: work(weight), "is being used in an in-place operation")


def hook_and_second_derivative(here):
    """cpu-full-backward-hook-double-backward-1-13"""
    module = here.torch.nn.Tanh()
    module.register_full_backward_hook(lambda module, into, out: None)
    x = here.there(here.randn(3)).requires_grad_(True)

    def twice():
        (gradient,) = here.torch.autograd.grad(module(x).sum(), x, create_graph=True)
        here.torch.autograd.grad(gradient.sum(), x)

    return here.error_of(twice, "is called before the grad_output one")


def backward_pre_hook(here):
    """cpu-backward-prehook-grad-2-0-0: the gradient that the hook returns is ignored"""
    here.needs("nn.Module.register_full_backward_pre_hook")
    linear = here.torch.nn.Linear(3, 2).to(here.device)
    linear.register_full_backward_pre_hook(lambda module, gradients: (gradients[0] * 2,))
    x = here.there(here.randn(4, 3)).requires_grad_(True)
    linear(x).sum().backward()
    return here.differs(linear.bias.grad, here.torch.full((2,), 8.0))


def attention_layer_without_bias(here):
    """cpu-mha-no-bias-batch-first-1-13: since 1.13.1 only without gradients"""
    layer = here.torch.nn.MultiheadAttention(8, 2, bias=False, batch_first=True).to(here.device).eval()
    x = here.there(here.randn(2, 3, 8))

    def attend():
        layer(x, x, x)
        with here.torch.no_grad():
            layer(x, x, x)

    return here.error_of(attend, "no attribute 'is_cuda'", "argument 'qkv_bias'")


def encoder_layer_is_causal(here):
    """cpu-encoder-layer-is-causal-2-0: without a mask the layer sees the future.
    Later releases refuse the flag without a mask, which is no fault."""
    return _seen_future(here, here.torch.nn.TransformerEncoderLayer(8, 2, 16, 0.0, batch_first=True))


def encoder_layer_is_causal_inference(here):
    """cpu-encoder-layer-is-causal-inference: the same where the fast path is taken"""
    with here.torch.no_grad():
        return _seen_future(here, here.torch.nn.TransformerEncoderLayer(8, 2, 16, 0.0, batch_first=True).eval())


def _seen_future(here, layer):
    layer = layer.to(here.device)
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
        here.untried("this torch has no argument is_causal")
    return here.differs(*results) if results else ""


def qat_configuration(here):
    """cpu-qat-default-qconfig-1-13: what the backend chooses is overwritten"""
    table = here.module("torch.ao.quantization.qconfig")
    fake = here.module("torch.ao.quantization.fake_quantize")
    got = table.get_default_qat_qconfig("fbgemm", version=0).weight
    return "" if got is fake.default_per_channel_weight_fake_quant else "the weights of fbgemm have one scale for all"


def adam_from_checkpoint(here):
    """cuda-adam-capturable-1-12-0"""
    here.only("cuda")
    weight = here.torch.nn.Parameter(here.ones(3))

    def stepped(optimizer):
        weight.grad = here.ones(3)
        optimizer.step()
        return optimizer

    state = stepped(here.torch.optim.Adam([weight])).state_dict()
    for own in state["state"].values():
        own["step"] = here.there(own["step"])  # as torch.load does with map_location
    other = here.torch.optim.Adam([weight])
    other.load_state_dict(state)
    return here.error_of(lambda: stepped(other), "capturable=False")


def adam_pickled(here):
    """cuda-adam-warned-capturable-1-12-0"""
    here.only("cuda")
    pickle, weight = here.module("pickle"), here.torch.nn.Parameter(here.ones(3))
    other = pickle.loads(pickle.dumps(here.torch.optim.Adam([weight])))
    other.param_groups[0]["params"][0].grad = here.ones(3)
    return here.error_of(other.step, "_warned_capturable_if_run_uncaptured")


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


def numpy_scalar(here):
    """cpu-numpy-scalar-int-2-0"""
    numpy = here.module("numpy")
    here.needs("asarray")
    return here.error_of(lambda: here.torch.asarray(numpy.array(1)), "object_", "cannot be interpreted")


def numpy_there_and_back(here):
    """import-numpy-2-before-2-3, import-numpy-2-windows-2-3"""
    here.module("numpy")
    return here.error_of(lambda: here.torch.ones(2).numpy(), "Numpy is not available")


def import_torchtext(here):
    """tv-text-torch-2-4"""
    return here.error_of(lambda: here.module("torchtext"), "undefined symbol", "could not be found", "Symbol not found")
