"""Is it computed right? Errors against the CPU in float64, and training against the CPU's own seeds.

Nothing is judged here: doctor/bench/verdicts.py knows the tolerances. All errors are norms of differences, as shares of
the norm of the reference; None stands for a result that is not finite.
"""

STEPS, SEEDS, BAND_BATCH = 64, 3, 32
SMALL = 2000000  # parameters
DIFFER = 1e-3  # outputs of two inputs, at least, for equal ones to be stale
LAST = 3  # losses whose mean ends a training


def number(value):
    """A finite float, or None."""
    value = float(value)
    return value if value - value == 0 else None


def distance(got, expected):
    """|got - expected| / |expected| over lists of tensors; None where something is not finite."""
    off = size = 0.0
    for g, e in zip(got, expected):
        g = g.detach().cpu().double()
        off += float((g - e).pow(2).sum())
        size += float(e.pow(2).sum())
    return number((off / size) ** 0.5) if size else number(off)


def listed(outputs):
    """What a model gave, as a list of tensors."""
    return list(outputs) if isinstance(outputs, (tuple, list)) else [outputs]


class Still(object):
    """Without what is drawn anew in every step: dropout, and a workload's own noise."""

    def __init__(self, torch, model, work):
        self.torch, self.model, self.work = torch, model, work

    def __enter__(self):
        self.before = []
        for part in self.model.modules():
            if isinstance(part, self.torch.nn.Dropout):
                self.before.append((part, part.p))
                part.p = 0.0
        if hasattr(self.work, "prepared"):
            self.work.prepared(self.model, self.torch, 7)

    def __exit__(self, *error):
        for part, p in self.before:
            part.p = p
        if hasattr(self.work, "released"):
            self.work.released(self.model)


def compared(work, batch):
    """How many of a batch's first samples (rows of a product, images of a convolution) have a reference."""
    return work.COMPARED if "product" in work.PHASES else min(batch, getattr(work, "COMPARED", 8))


def first_of(start, batch, number, count):
    """The first samples of a batch that is timed."""
    inputs, targets = start.drawn(batch, number)
    return inputs[:count], targets[:count]


def evaluated(torch, work, model, inputs, whole):
    """Outputs without gradients."""
    with torch.no_grad():
        if hasattr(work, "outputs"):
            return [work.outputs(torch, model, inputs, whole)]
        return listed(model(inputs))


class Reference(object):
    """The CPU's float64 run of a workload, made when first wanted, and the losses of its float32 trainings."""

    def __init__(self, cells, start, threads):
        self.cells, self.start, self.threads = cells, start, threads
        self.torch, self.work = start.torch, start.work
        self.values = {}
        self.losses = None

    def of(self, trains, batch):
        """Outputs for the first samples of two batches, and of a training loss, gradients and outputs."""
        if (trains, batch) not in self.values:
            self.torch.set_num_threads(self.threads)
            self.values[trains, batch] = self.computed(trains, batch)
        return self.values[trains, batch]

    def computed(self, trains, batch):
        torch, work = self.torch, self.work
        model = self.cells.copied(self.start.model).double()
        count = compared(work, batch)
        first, second = [
            tuple(t.double() if t.is_floating_point() else t for t in first_of(self.start, batch, n, count))
            for n in (0, 1)
        ]
        with Still(torch, model, work):
            model.eval()
            values = {"outputs": [evaluated(torch, work, model, x, True) for x, _ in (first, second)]}
            if trains:
                model.train()
                outputs = model(first[0])
                loss = self.cells.loss_of(torch, work, outputs, first[1])
                loss.backward()
                values.update(
                    loss=float(loss.detach()),
                    training_outputs=[o.detach() for o in listed(outputs)],
                    gradients=[p.grad for p in model.parameters() if p.grad is not None],
                )
        return values

    def band(self):
        """The loss at the end of short trainings in float32, one for each seed of the data and of dropout."""
        if self.losses is None:
            self.torch.set_num_threads(threads_of(self.start, self.threads))
            seeds = range(1, 1 + getattr(self.work, "SEEDS", SEEDS))
            self.losses = [
                trained(self.cells, self.start, self.cells.copied(self.start.model), s, lambda t: t, Plain)[-1]
                for s in seeds
            ]
        return self.losses


def threads_of(start, threads):
    """Threads for a short training: of a small network one, for threads wait for each other, and for long where other
    programs are at work. Step 0 is computed with as many as the timed steps have."""
    return 1 if sum(p.numel() for p in start.model.parameters()) < SMALL else threads


class Plain(object):
    """No autocast."""

    def __enter__(self):
        return self

    def __exit__(self, *error):
        return None


def trained(cells, start, model, seed, place, casting):
    """Losses of the steps of a short training, the last one being the mean of the last three."""
    torch, work = start.torch, start.work
    count, side = min(work.BATCH, BAND_BATCH), getattr(work, "BAND_SIDE", None)
    if side:
        count = 4
    torch.manual_seed(100 + seed)
    pool = [[place(t) for t in start.drawn(count, 10 * seed + n, side)] for n in (0, 1)]
    model.train()
    optimizer = cells.optimizer_of(torch, work, model.parameters())
    losses = []
    for number_of in range(getattr(work, "STEPS", STEPS)):
        inputs, targets = pool[number_of % 2]
        optimizer.zero_grad()
        with casting():
            loss = cells.loss_of(torch, work, model(inputs), targets)
        loss.backward()
        optimizer.step()
        losses.append(float(loss.detach()) / count)
    return losses + [sum(losses[-LAST:]) / LAST]


def looked(cells, cell, reference):
    """What the device computes in step 0, and how a short training ends."""
    torch, work = cell.torch, cell.work
    count = compared(work, cell.batch)
    expected = reference.of(cell.trains, cell.batch)
    torch.set_num_threads(cell.threads)
    said = {"compared": count}
    first, second = [cell.placed(*first_of(cell.start, cell.batch, n, count)) for n in (0, 1)]
    model = cell.called if not hasattr(work, "outputs") else cell.model
    with Still(torch, cell.model, work):
        if cell.trains:
            cell.model.train()
            cell.model.zero_grad()
            loss, outputs = cell.forward_loss(first[0], first[1])
            scale = cells.SCALE if cell.spec["dtype"] == "fp16" else 1.0
            (loss * scale).backward()
            gradients = [p.grad / scale for p in cell.model.parameters() if p.grad is not None]
            said["loss"] = number(loss.detach())
            said["loss_error"] = distance([loss], [torch.tensor(expected["loss"], dtype=torch.float64)])
            said["training_outputs_error"] = distance(listed(outputs), expected["training_outputs"])
            said["gradients_error"] = distance(gradients, expected["gradients"])
            said["device"] = listed(outputs)[0].device.type
            cell.model.zero_grad()
            cell.reset()
        if not (cell.trains and cell.spec["compile"]):  # another mode would be compiled anew
            cell.model.eval()
            with cell.casting():
                found = [evaluated(torch, work, model, x, False) for x, _ in (first, second)]
            said["device"] = found[0][0].device.type
            said["outputs_error"] = distance(found[0], expected["outputs"][0])
            said["second_outputs_error"] = distance(found[1], expected["outputs"][1])
            differ = distance(*expected["outputs"]) > DIFFER
            said["stale"] = differ and all(bool(torch.equal(a, b)) for a, b in zip(*found))
            cell.model.train(cell.trains)
    if cell.trains:
        said["band"] = [number(b) for b in reference.band()]
        torch.set_num_threads(threads_of(cell.start, cell.threads))
        own = trained(cells, cell.start, cell.model, 0, lambda t: cell.placed(t, t)[0], cell.casting)
        said["band_first"], said["band_own"] = number(own[0]), number(own[-1])
        said["band_nonfinite_step"] = next((i for i, v in enumerate(own) if v - v != 0), None)
        said["band_steps"] = len(own) - 1
        cell.model.zero_grad()
        cell.reset()
        torch.set_num_threads(cell.threads)
    return said


def looked_again(cell, reference):
    """After the clock has stopped: the first samples of the batch that was timed, in its own size."""
    torch, work = cell.torch, cell.work
    if cell.trains and cell.spec["compile"]:
        return {}
    expected = reference.of(cell.trains, cell.batch)["outputs"]
    cell.reset()
    with Still(torch, cell.model, work):
        cell.model.eval()
        model = cell.called if not hasattr(work, "outputs") else cell.model
        with cell.casting():
            found = [evaluated(torch, work, model, inputs, False) for inputs, _ in cell.pool]
        cell.model.train(cell.trains)
    whole = [[o[: len(e)] for o, e in zip(f, es)] for f, es in zip(found, expected)]
    return {"after_error": distance(whole[0] + whole[1], expected[0] + expected[1])}
