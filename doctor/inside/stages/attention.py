"""scaled_dot_product_attention, forward and backward, by every backend that takes the inputs, against float64.

The reference and the bounds are computed element by element on the CPU from the same rounded inputs. With S the scores,
P their softmax, O = PV, and dS = P(dP - D), D the row sums of dO O:

* a score is off by d <= 16 u_acc |q||k| / sqrt(width), as for other products (probe.py), so that an element of P is off
  by 2 d of itself, and by 4 u of the type in which P is kept (float16 also by its smallest number);
* the errors of P, dP and D go through the products that follow, which add 16 u_acc of the sum of absolute values, and
  the result is rounded once to its type.

u_acc is 2^-24, on tensor cores 2^-22. float32 may be computed with fewer bits (TF32, 2^-11): that is named, not wrong.
"""

BATCH, HEADS, QUERIES, KEYS, WIDTH = 2, 2, 72, 96, 64
BACKENDS = (
    # name, name in torch.nn.attention.SDPBackend, types that it has units for
    ("math", "MATH", ("float32",)),
    ("flash", "FLASH_ATTENTION", ("half",)),
    ("memory-efficient", "EFFICIENT_ATTENTION", ("float32", "half")),
    ("cuDNN", "CUDNN_ATTENTION", ("half",)),
)
ON_CPU = (("math", "MATH", ("float32",)), ("flash", "FLASH_ATTENTION", ("float32",)))
OLD_FLAGS = {"MATH": "enable_math", "FLASH_ATTENTION": "enable_flash", "EFFICIENT_ATTENTION": "enable_mem_efficient"}
NOT_MINE = ("No available kernel", "No viable backend", "not supported", "not implemented", "Invalid backend")
PARTS = ("output", "gradient of the queries", "gradient of the keys", "gradient of the values")
UNITS = {"float32": 2.0 ** -24, "float16": 2.0 ** -11, "bfloat16": 2.0 ** -8}
REDUCED_SHARE = 0.25  # as in probe.py


def attention(probe):
    tries = probe.pieces["tries"]
    data = dict(tries.blank(), attention_reduced=[])
    if not hasattr(probe.torch.nn.functional, "scaled_dot_product_attention"):
        data["not_here"].append("attention: scaled_dot_product_attention came with torch 2.0")
        return data
    for name, backend, kinds in backends(probe):
        ran, why = False, ""
        for kind in kinds:
            kind = probe.half if kind == "half" else kind
            for causal in (False, True):
                what = "%s attention (%s%s)" % (name, kind, ", causal" if causal else "")
                try:
                    tries.attempt(data, what, lambda: judge(probe, data, what, backend, kind, causal))
                    ran = True
                except Refused as error:
                    why = str(error)
        if not ran:
            data["not_here"].append("%s attention: %s" % (name, why))
    return data


class Refused(BaseException):
    """The backend does not take these inputs: no failure, and not for `attempt`."""


def backends(probe):
    """What can be chosen here. Where nothing can, the one that torch chooses itself."""
    kind = probe.device.type
    if kind not in ("cpu", "cuda"):
        return (("default", None, ("float32", "half")),)
    if probe.torch.nn.__dict__.get("attention") is None and not importable("torch.nn.attention"):
        old = [row for row in BACKENDS if row[1] in OLD_FLAGS]
        return old if kind == "cuda" else (("default", None, ("float32",)),)
    return BACKENDS if kind == "cuda" else ON_CPU


def importable(name):
    try:
        __import__(name)
        return True
    except ImportError:
        return False


def chosen(torch, backend):
    """A context in which that backend alone is taken."""
    if backend is None:
        return Nothing()
    module = getattr(torch.nn, "attention", None)
    if module is not None and hasattr(module, "sdpa_kernel"):
        choice = getattr(module.SDPBackend, backend, None)
        if choice is None:
            raise Refused("this torch has none")
        return module.sdpa_kernel(choice)
    flags = dict((flag, name == backend) for name, flag in OLD_FLAGS.items())
    return torch.backends.cuda.sdp_kernel(**flags)


class Nothing(object):
    def __enter__(self):
        return self

    def __exit__(self, *error):
        return False


def judge(probe, data, what, backend, kind, causal):
    """Texts of the parts that are off by more than their bounds."""
    keys = QUERIES if causal else KEYS
    shapes = [(BATCH, HEADS, length, WIDTH) for length in (QUERIES, keys, keys, QUERIES)]
    inputs = [probe.normal(shape).to(getattr(probe.torch, kind)) for shape in shapes]
    try:
        with chosen(probe.torch, backend):
            got = computed(probe, inputs, causal)
    except (RuntimeError, NotImplementedError, ValueError) as error:
        if any(words in str(error) for words in NOT_MINE):
            raise Refused(" ".join(str(error).split())[:160])
        raise
    expected, scales = reference(probe.torch, [t.double() for t in inputs], causal)
    wrong = []
    for part, one, other, bound in zip(PARTS, got, expected, scales):
        error = (one.cpu().double() - other).abs()
        own = UNITS[kind]
        sums = 2.0 ** -24 if probe.is_cpu else 2.0 ** -22
        count = bad(error, bound(own, sums))
        if not count:
            continue
        most = count >= REDUCED_SHARE * error.numel()  # where few differ, it is a fault
        if kind == "float32" and most and not bad(error, bound(own, 2.0 ** -11)):
            data["attention_reduced"].append("%s, %s" % (what, part))
            continue
        wrong.append("%s: %d of %d elements off, largest error %.3g times the tolerance" % (
            part, count, error.numel(), float((error / bound(own, sums)).max())))
    return wrong


def bad(error, tolerance):
    return int((~(error <= tolerance)).sum())  # so that a NaN is bad too


def computed(probe, inputs, causal):
    q, k, v = [t.to(probe.device).requires_grad_(True) for t in inputs[:3]]
    out = probe.torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal)
    (out * inputs[3].to(probe.device)).sum().backward()
    return out.detach(), q.grad, k.grad, v.grad


def reference(torch, inputs, causal):
    """The four results in float64, and for each a function (unit, unit of sums) -> bound of every element."""
    q, k, v, g = inputs
    scale = WIDTH ** -0.5
    scores = torch.matmul(q, k.transpose(2, 3)) * scale
    if causal:
        hidden = torch.ones(scores.shape[2:], dtype=torch.bool).triu(1)
        scores = scores.masked_fill(hidden, float("-inf"))
    p = torch.softmax(scores, -1)
    out = torch.matmul(p, v)
    dp = torch.matmul(g, v.transpose(2, 3))
    rows = (g * out).sum(-1, keepdim=True)
    ds = p * (dp - rows)
    norms = q.norm(dim=-1, keepdim=True) * k.norm(dim=-1).unsqueeze(2) * scale
    products = g.norm(dim=-1, keepdim=True) * v.norm(dim=-1).unsqueeze(2)
    summed = (g * out).abs().sum(-1, keepdim=True)

    def kept(unit, sums):
        """How far elements of P may be off."""
        share = 2 * 16 * sums * norms.max(-1, keepdim=True)[0] + 4 * unit + 16 * sums
        return share * p + smallest(unit)

    def of_scores(unit, sums):
        through = kept(unit, sums) * (dp.abs() + rows.abs())
        return through + p * (16 * sums * products + 2 * unit * summed) + (4 * unit + 16 * sums) * ds.abs() + smallest(
            unit)

    of_q, of_k = scale * torch.matmul(ds, k), scale * torch.matmul(ds.transpose(2, 3), q)
    of_v = torch.matmul(p.transpose(2, 3), g)
    return (out, of_q, of_k, of_v), (
        lambda u, s: u * out.abs() + smallest(u) + torch.matmul(kept(u, s), v.abs()),
        lambda u, s: u * of_q.abs() + smallest(u) + scale * torch.matmul(of_scores(u, s), k.abs()),
        lambda u, s: u * of_k.abs() + smallest(u) + scale * torch.matmul(of_scores(u, s).transpose(2, 3), q.abs()),
        lambda u, s: u * of_v.abs() + smallest(u) + torch.matmul(kept(u, s).transpose(2, 3), g.abs()),
    )


def smallest(unit):
    """Half of the smallest number of the type that has such a unit: what is below it is rounded to nothing."""
    return 2.0 ** -25 if unit == UNITS["float16"] else 2.0 ** -126


STAGES = (("attention", attention, ("full",), ()),)
