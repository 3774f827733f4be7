"""Short trainings against the same ones in float64 on the CPU.

Weights are made on the CPU and are not contiguous, which is where optimizers have failed silently. Compared are the
loss of every step, the whole change of all parameters together (single ones say nothing: Adam turns the rounding of a
tiny gradient into a step), and that every parameter moved that should. On CPUs the losses differ by less than 3e-6 and
the change by less than 5e-3 over hundreds of seeds.
"""

STEPS = 8
LOSS, LOSS_REDUCED = 1e-4, 1e-2  # relative; the second where float32 is computed with fewer bits
CHANGE = 0.05
LEAK_BYTES = 1 << 20
LEAK_WARM, LEAK_STEPS = 4, 12
HEAP_FIELDS = (  # struct mallinfo2
    "arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks", "fordblks", "keepcost"
)
VAE_STEPS = 310  # a generator that gives NaN in one of 300 draws must show
VAE_HALFWAY = 40


class Model(object):
    """Parameters by name and a loss; made of numbers of the CPU, so that a copy in float64 starts alike."""

    def __init__(self, probe, start, loss, device, dtype):
        self.torch = probe.torch
        self.loss = loss
        self.parameters = {}
        for name, value in start.items():
            there = value.t() if value.dim() == 2 else value
            there = there.clone(memory_format=self.torch.contiguous_format).to(dtype).to(device)
            self.parameters[name] = (there.t() if value.dim() == 2 else there).requires_grad_(True)

    def train(self, optimizer, inputs, labels):
        """The loss of each step."""
        torch = self.torch
        parameters = list(self.parameters.values())
        if optimizer == "adam":
            step = torch.optim.Adam(parameters, lr=1e-2)
        else:
            step = torch.optim.SGD(parameters, lr=0.05, momentum=0.9)
        losses = []
        for _ in range(STEPS):
            step.zero_grad()
            value = self.loss(torch, self.parameters, inputs, labels)
            value.backward()
            step.step()
            losses.append(float(value.detach()))
        return losses


def mlp_loss(torch, p, x, labels):
    hidden = torch.tanh(torch.nn.functional.linear(x.flatten(1), p["w1"], p["b1"]))
    return torch.nn.functional.cross_entropy(torch.nn.functional.linear(hidden, p["w2"], p["b2"]), labels)


def cnn_loss(torch, p, x, labels):
    f = torch.nn.functional
    x = f.conv2d(x, p["c1"], padding=1)
    x = f.relu(f.batch_norm(x, None, None, p["g"], p["h"], training=True))
    x = f.relu(f.conv2d(f.avg_pool2d(x, 2), p["c2"], p["d2"], padding=1))
    return f.cross_entropy(f.linear(x.mean((2, 3)), p["w2"], p["b2"]), labels)


def starts(probe):
    """(name, starting parameters, loss, shape of the inputs) of the networks, drawn on the CPU."""

    def drawn(*shape):
        fan = 1
        for side in shape[1:]:
            fan *= side
        return probe.normal(shape) / fan ** 0.5

    zeros, ones = probe.torch.zeros, probe.torch.ones
    double = probe.torch.float64
    yield "mlp", {
        "w1": drawn(64, 100), "b1": zeros(64, dtype=double), "w2": drawn(10, 64), "b2": zeros(10, dtype=double),
    }, mlp_loss, (32, 1, 10, 10)
    yield "cnn", {
        "c1": drawn(8, 3, 3, 3), "g": ones(8, dtype=double), "h": zeros(8, dtype=double), "c2": drawn(16, 8, 3, 3),
        "d2": zeros(16, dtype=double), "w2": drawn(10, 16), "b2": zeros(10, dtype=double),
    }, cnn_loss, (16, 3, 12, 12)


def training(probe):
    torch = probe.torch
    data = {"wrong": [], "training_loss_error": 0.0, "training_change_error": 0.0}
    for name, start, loss, shape in starts(probe):
        inputs = probe.normal(shape)
        labels = torch.randint(0, 10, shape[:1], generator=probe.generator)
        for optimizer in ("adam", "sgd"):
            compare(probe, "%s with %s" % (name, optimizer), start, loss, inputs, labels, optimizer, data)
    accuracy(probe, data)
    vae(probe, data)
    leak(probe, data)
    return data


def compare(probe, what, start, loss, inputs, labels, optimizer, data):
    """The device's training in float32 and the CPU's in float64, from the same rounded numbers."""
    torch = probe.torch
    start = {name: value.float() for name, value in start.items()}
    inputs = inputs.float()
    here = Model(probe, start, loss, "cpu", torch.float64)
    there = Model(probe, start, loss, probe.device, torch.float32)
    expected = here.train(optimizer, inputs.double(), labels)
    with probe.full_precision():
        got = there.train(optimizer, inputs.to(probe.device), labels.to(probe.device))
    reduced = probe.bits_least < 24
    error = max(abs(g - e) / max(abs(e), 1e-3) if g == g else float("inf") for g, e in zip(got, expected))
    data["training_loss_error"] = max(data["training_loss_error"], error)
    if not error <= (LOSS_REDUCED if reduced else LOSS):
        data["wrong"].append("training %s: the loss is off by %.2g of itself" % (what, error))
    moved = total = 0.0
    for name, value in start.items():
        final = here.parameters[name].detach()
        own = there.parameters[name].detach().cpu().double()
        step = float((final - value.double()).norm())
        total += step ** 2
        moved += float((own - final).norm()) ** 2
        if step > 1e-6 * (1 + float(value.norm())) and torch.equal(own, value.double()):
            data["wrong"].append("training %s: parameter %s does not change" % (what, name))
    ratio = (moved / total) ** 0.5
    data["training_change_error"] = max(data["training_change_error"], ratio)
    if not reduced and not ratio <= CHANGE:
        data["wrong"].append("training %s: the parameters end elsewhere (%.2g of their way)" % (what, ratio))


def accuracy(probe, data):
    """The share of right answers, counted on the device and on the CPU from the same scores."""
    scores = probe.normal((500, 10)).float().to(probe.device)
    labels = scores.cpu().argmax(1)
    labels[::3] = (labels[::3] + 1) % 10
    there = float((scores.argmax(1) == labels.to(probe.device)).float().mean())
    here = float((scores.cpu().argmax(1) == labels).float().mean())
    if not abs(there - here) < 1e-6:
        data["wrong"].append("accuracy counted on the device is %.4f, on the CPU %.4f" % (there, here))


def vae(probe, data):
    """A variational autoencoder (784-400-20) with reparameterisation: no NaN, and the loss falls."""
    torch, f = probe.torch, probe.torch.nn.functional
    shapes = ((400, 784), (20, 400), (20, 400), (400, 20), (784, 400))
    weights = [
        (probe.normal(s) / s[1] ** 0.5).float().to(probe.device).requires_grad_(True) for s in shapes
    ]
    step = torch.optim.Adam(weights, lr=1e-3)
    patterns = (probe.normal((8, 784)) > 0.5).float()
    x = patterns[torch.randint(0, 8, (64,), generator=probe.generator)].to(probe.device)
    losses = []
    for _ in range(VAE_STEPS):
        hidden = f.relu(f.linear(x, weights[0]))
        mean, log_variance = f.linear(hidden, weights[1]), f.linear(hidden, weights[2])
        latent = mean + torch.randn_like(mean) * (0.5 * log_variance).exp()
        out = f.linear(f.relu(f.linear(latent, weights[3])), weights[4])
        loss = f.binary_cross_entropy_with_logits(out, x, reduction="sum") / len(x)
        loss = loss - 0.5 * (1 + log_variance - mean.pow(2) - log_variance.exp()).sum(1).mean()
        step.zero_grad()
        loss.backward()
        step.step()
        losses.append(loss.detach())
    values = torch.stack(losses).cpu()
    bad = ~torch.isfinite(values)
    if bool(bad.any()):
        data["wrong"].append("the loss of a VAE is %s at step %d" % (float(values[bad][0]), int(bad.nonzero()[0])))
    elif not float(values[-10:].mean()) < 0.8 * float(values[:VAE_HALFWAY].mean()):
        data["wrong"].append("the loss of a VAE does not fall: %.4g at first, %.4g at last" % (
            float(values[:VAE_HALFWAY].mean()), float(values[-10:].mean())))
    data["vae_loss"] = [round(float(v), 3) for v in (values[0], values[-1])]


def leak(probe, data):
    """Memory between steps of the same training: torch's own count, the driver's, and on a CPU the process's."""
    torch = probe.torch
    counters = memory_counters(probe)
    if not counters:
        return
    name, start, loss, shape = next(starts(probe))
    inputs = probe.normal(shape).float().to(probe.device)
    labels = torch.randint(0, 10, shape[:1], generator=probe.generator).to(probe.device)
    model = Model(probe, {k: v.float() for k, v in start.items()}, loss, probe.device, torch.float32)
    readings = []
    for number in range(LEAK_WARM + LEAK_STEPS):
        model.train("sgd", inputs, labels)
        probe.wait()
        if number >= LEAK_WARM:
            readings.append([counter() for _, counter in counters])
    for position, (source, _) in enumerate(counters):
        series = [reading[position] for reading in readings]
        # A leak grows from reading to reading; a pool that is enlarged once does not.
        rises = sum(1 for a, b in zip(series, series[1:]) if b - a >= LEAK_BYTES)
        growth = series[-1] - series[0]
        data["leak_%s_bytes_per_round" % source] = int(growth / (len(series) - 1.0))
        if rises >= (2 * LEAK_STEPS) // 3 and growth >= LEAK_BYTES * (LEAK_STEPS - 1):
            data["wrong"].append("memory leak: %s grew by %.1f MiB in %d steps of training" % (
                source.replace("_", " "), growth / 2.0 ** 20, (len(series) - 1) * STEPS))


def memory_counters(probe):
    kind = probe.device.type
    if kind in ("cuda", "xpu"):
        memory = getattr(probe.torch, kind)
        found = [("allocated", lambda: memory.memory_allocated(probe.device))]
        if hasattr(memory, "mem_get_info") and "foreign_load" not in probe.before:  # others take memory, too
            found.append(("driver", lambda: -memory.mem_get_info(probe.device)[0]))
        return found
    if kind == "mps":
        functions = [(n, getattr(getattr(probe.torch, "mps", None), n, None)) for n in (
            "current_allocated_memory", "driver_allocated_memory")]
        return [(name.split("_")[0], function) for name, function in functions if function]
    return [(name, count) for name, count in (("heap", heap_bytes), ("process", resident_bytes)) if count()]


def heap_bytes():
    """Bytes in use that were taken from the C library (glibc 2.33 and newer); 0 where it can't say. Resident memory
    alone hides a leak for as long as it fills what was free before."""
    try:
        import ctypes

        class Heap(ctypes.Structure):
            _fields_ = [(name, ctypes.c_size_t) for name in HEAP_FIELDS]

        ask = ctypes.CDLL(None).mallinfo2
        ask.restype = Heap
        heap = ask()
    except (ImportError, OSError, AttributeError, TypeError):
        return 0
    return heap.hblkhd + heap.uordblks


def resident_bytes():
    """Resident memory of this process (Linux); 0 where it is not known."""
    try:
        with open("/proc/self/statm") as numbers:
            return int(numbers.read().split()[1]) * 4096
    except (IOError, OSError, ValueError, IndexError):
        return 0


STAGES = (("training", training, ("full",), ()),)
