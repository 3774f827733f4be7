"""How much a step computes and moves."""

FAST = 2.25  # multiplications for an output and input channel that Winograd and FFT convolutions need, at least


def per_sample(work, size=None):
    """Floating-point operations of the forward pass of one sample, as the workload declares them: for plans, before
    its model is made. A multiply-add counts two."""
    if hasattr(work, "flops"):
        return work.flops(1, **({"size": size} if size else {}))
    return 2.0 * getattr(work, "MULTIPLY_ADDS", work.PARAMETERS or 0)


def parameters(start):
    return sum(p.numel() for p in start.model.parameters())


def moved(start, cell, spec):
    """Bytes that a step reads and writes at least: each parameter once for each of its uses."""
    size = 2 if spec["dtype"] != "fp32" else 4
    uses = {"training": 10, "forward-backward": 3, "generation": getattr(start.work, "GENERATED", 1)}
    inputs = sum(t.numel() * t.element_size() for t in cell.pool[0][:1])
    products = 2 * inputs if spec["phase"] == "product" else inputs
    return parameters(start) * size * uses.get(spec["phase"], 1) + products


def counted(torch, start, size):
    """Floating-point operations of the forward pass of one sample, and of its first layer; a multiply-add counts
    two. "least": the share of them that fast convolutions need."""
    work = start.work
    if hasattr(work, "flops"):
        return {"step": per_sample(work, size), "first": 0.0, "least": getattr(work, "LEAST", 1.0)}
    nn, seen, least = torch.nn, [], []

    def hook(module, inputs, output):
        saved = 1.0
        if hasattr(module, "flops"):
            seen.append(module.flops(inputs, output))
        elif isinstance(module, nn.Linear):
            seen.append(2.0 * output.numel() * module.in_features)
        else:
            side = module.kernel_size[0] * module.kernel_size[1]
            seen.append(2.0 * output.numel() * side * module.in_channels / module.groups)
            saved = min(1.0, FAST / side) if tuple(module.stride) == (1, 1) else 1.0
        least.append(seen[-1] * saved)

    hooks = [
        m.register_forward_hook(hook) for m in start.model.modules()
        if hasattr(m, "flops") or isinstance(m, (nn.Linear, nn.Conv2d))
    ]
    start.model.eval()
    with torch.no_grad():
        start.model(start.drawn(1, 0)[0])
    for one in hooks:
        one.remove()
    start.model.train()
    return {"step": sum(seen), "first": seen[0] if seen else 0.0, "least": sum(least) / sum(seen) if seen else 1.0}
