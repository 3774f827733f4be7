"""A workload on one device with one setting: its model, its data, and one step of it."""

NORMALISED = 8  # samples of that batch
HEAD = 8  # samples of a batch that have a reference, unless a workload says otherwise
POOL = 2  # batches that the steps take in turn: a stale result would show as the same loss twice
SCALE = 1024.0  # of the loss in float16, so that gradients do not vanish
TYPES = {"bf16": "bfloat16", "fp16": "float16"}


class Start(object):
    """What all cells of a workload begin with: parameters and data of one seed, made on the CPU."""

    def __init__(self, torch, work, size, seed, pieces):
        self.torch, self.work, self.seed = torch, work, seed
        self.sized = {"size": size} if size else {}
        torch.manual_seed(seed)
        self.model = work.model(torch, getattr(work, "CLASSES", 10), pieces, **self.sized)
        self.normalise()

    def normalise(self):
        """Running statistics as after one batch: with those of a fresh network (mean 0, variance 1) the signal of a
        deep one fades away or explodes where it is evaluated, and its outputs would say nothing."""
        torch = self.torch
        layers = [m for m in self.model.modules() if isinstance(m, torch.nn.BatchNorm2d)]
        if layers:
            usual = layers[0].momentum
            for layer in layers:
                layer.momentum = 1.0
            with torch.no_grad():
                self.model(self.drawn(NORMALISED, 0)[0])
            for layer in layers:
                layer.momentum = usual

    def drawn(self, count, number, side=None):
        """(inputs, targets) of a batch on the CPU. `number` tells the batches of a seed apart. The first samples, those
        that are compared, are drawn by themselves: every batch of that number begins with the same ones."""
        generator = self.torch.Generator().manual_seed(1000 * self.seed + number)
        head = count if side or "product" in self.work.PHASES else compared(self.work, count)
        inputs, targets = self.some(head, generator, side)
        if head == count:
            return inputs, targets
        more, labels = self.some(count - head, generator, side)
        joined = self.torch.cat((inputs, more))
        return joined, joined if targets is inputs else self.torch.cat((targets, labels))

    def first(self, count, number):
        """The first samples of a batch that is timed (rows of a product)."""
        if "product" not in self.work.PHASES:
            return self.drawn(count, number)
        return tuple(t[:count] for t in self.drawn(1, number))

    def some(self, count, generator, side):
        torch, work = self.torch, self.work
        if hasattr(work, "draw"):
            return work.draw(torch, count, generator, side, **self.sized)
        shape = tuple(work.SHAPE)
        if side:
            shape = shape[:-2] + (side, side)
        patterns = torch.randn((work.CLASSES,) + shape, generator=torch.Generator().manual_seed(1))
        labels = torch.randint(0, work.CLASSES, (count,), generator=generator)
        return 0.5 * torch.randn((count,) + shape, generator=generator) + patterns[labels], labels


def compared(work, batch):
    """How many of a batch's first samples (rows of a product, images of a convolution) have a reference."""
    return work.COMPARED if "product" in work.PHASES else min(batch, getattr(work, "COMPARED", HEAD))


def loss_of(torch, work, outputs, targets):
    if hasattr(work, "loss"):
        return work.loss(torch, outputs, targets)
    return torch.nn.functional.cross_entropy(outputs, targets)


def optimizer_of(torch, work, parameters):
    if hasattr(work, "optimizer"):
        return work.optimizer(torch, parameters)
    return torch.optim.Adam(parameters, lr=learning_rate(work))


def fast_optimizer_of(torch, work, parameters):
    """The same one where nothing is timed, on the CPU. Since torch 2.4 it can do in one pass over the parameters what
    takes ten."""
    parameters = list(parameters)
    if not hasattr(work, "optimizer"):
        try:
            return torch.optim.Adam(parameters, lr=learning_rate(work), fused=True)
        except (TypeError, ValueError, RuntimeError):  # it came with 1.13 for CUDA alone
            pass
    return optimizer_of(torch, work, parameters)


def learning_rate(work):
    return getattr(work, "LEARNING_RATE", 1e-4 if len(getattr(work, "SHAPE", ())) > 1 else 1e-3)


def tensors_of(model):
    """Parameters and running statistics."""
    return list(model.parameters()) + list(model.buffers())


def copied(model):
    import copy

    return copy.deepcopy(model)


class Nothing(object):
    def __enter__(self):
        return self

    def __exit__(self, *error):
        return None


class Cell(object):
    """One row to be: `spec` names phase, dtype, batch, threads, channels_last, compile."""

    def __init__(self, probe, start, spec, batch):
        self.probe, self.start, self.spec, self.batch = probe, start, spec, batch
        self.torch, self.work, self.device = probe.torch, start.work, probe.device
        self.trains = spec["phase"] in ("training", "forward-backward")
        self.threads = spec.get("threads") or probe.threads
        self.model = self.called = self.optimizer = None
        self.pool, self.initial, self.kept = [], [], []
        self.done = 0

    def prepare(self):
        """The model and the batches on the device."""
        torch, spec = self.torch, self.spec
        self.torch.set_num_threads(self.threads)
        self.model = copied(self.start.model).to(self.device)
        if spec["channels_last"]:
            self.model = self.model.to(memory_format=torch.channels_last)
        self.model.train(self.trains)
        self.called = torch.compile(self.model, dynamic=False) if spec["compile"] else self.model
        self.initial = [t.detach().clone() for t in tensors_of(self.model)]
        if spec["phase"] == "training":
            self.optimizer = optimizer_of(torch, self.work, self.model.parameters())
        self.pool = [self.placed(*self.start.drawn(self.batch, number)) for number in range(POOL)]

    def release(self):
        self.model = self.called = self.optimizer = None
        self.pool, self.initial, self.kept = [], [], []

    def placed(self, inputs, targets):
        there = inputs.to(self.device)
        if self.spec["channels_last"] and there.dim() == 4:
            there = there.contiguous(memory_format=self.torch.channels_last)
        return there, there if targets is inputs else targets.to(self.device)

    def casting(self):
        """Autocast for the 16-bit types."""
        name = TYPES.get(self.spec["dtype"])
        if name is None:
            return Nothing()
        return self.torch.autocast(self.device.type, dtype=getattr(self.torch, name))

    def forward_loss(self, inputs, targets, model=None):
        with self.casting():
            outputs = (model or self.called)(inputs)
            return loss_of(self.torch, self.work, outputs, targets), outputs

    # --- one step; `kept` gets what it gave, to be looked at after the clock has stopped

    def step(self):
        inputs, targets = self.pool[self.done % POOL]
        self.done += 1
        if self.trains:
            self.train_step(inputs, targets)
        else:
            with self.torch.no_grad():
                self.infer_step(inputs)

    def number(self, back):
        """Of the batch of a step before: 0 is the last step."""
        return (self.done - 1 - back) % POOL

    def train_step(self, inputs, targets):
        model = self.optimizer if self.optimizer is not None else self.model
        model.zero_grad()
        value, _ = self.forward_loss(inputs, targets)
        (value * SCALE if self.spec["dtype"] == "fp16" else value).backward()
        if self.optimizer is not None:
            if self.spec["dtype"] == "fp16":
                self.unscale()
            self.optimizer.step()
        self.kept.append(value.detach())

    def unscale(self):
        for parameter in self.model.parameters():
            if parameter.grad is not None:
                parameter.grad.mul_(1.0 / SCALE)

    def infer_step(self, inputs):
        with self.casting():
            if hasattr(self.work, "step"):
                found = self.work.step(self.torch, self.model, inputs)
            else:
                found = self.called(inputs)
        self.kept = [self.kept[-1], found] if self.kept else [found]

    def reset(self):
        """As at the start. Training for long would end in a loss of zero, with denormal numbers, which CPUs take a
        hundred times as long for."""
        with self.torch.no_grad():
            for tensor, before in zip(tensors_of(self.model), self.initial):
                tensor.copy_(before)
            for state in self.optimizer.state.values() if self.optimizer is not None else ():
                for name, value in state.items():
                    if isinstance(value, self.torch.Tensor):
                        value.zero_()
                    elif isinstance(value, (int, float)) and not isinstance(value, bool):
                        state[name] = 0
        self.done, self.kept = 0, []

    def wait(self):
        """Until the device has done its work: in one place, so that a clock without it can be put to the test."""
        self.probe.wait()
