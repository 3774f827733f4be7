"""Is it computed right? Errors against the CPU in float64, and training against the CPU's own seeds.

Nothing is judged here: doctor/bench/verdicts.py knows the tolerances. All errors are norms of differences, as shares of
the norm of the reference; None stands for a result that is not finite.

Step 0 is computed of a batch's first samples, which are the same in every batch (`Start.drawn`), and the short training
has a batch of its own. So both are done once for all batches of a workload with one setting; the outputs of the batch
that was timed are compared for each.
"""

STEPS, SEEDS, BAND_BATCH = 64, 3, 32
SMALL = 20000000  # parameters
CHUNK = 1 << 18  # numbers that are compared at once: they stay in a cache
LONG_S = 1.0  # of a step: after a longer one only one batch of a training is looked at again
BAND_IMAGES = 4  # a batch of the short training, where its images are smaller
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
        pairs = zip(g.detach().cpu().reshape(-1).split(CHUNK), e.reshape(-1).split(CHUNK))
        for part, of in pairs:
            of = of.double()
            off += float((part.double() - of).pow(2).sum())
            size += float(of.pow(2).sum())
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


def part_of_band(work):
    """Samples of a step of the short training, in units of whole ones: it may have smaller images."""
    side = getattr(work, "BAND_SIDE", None)
    if not side:
        return float(min(work.BATCH, BAND_BATCH))
    if hasattr(work, "SHAPE"):
        return BAND_IMAGES * (side / float(work.SHAPE[-1])) ** 2
    return BAND_IMAGES * side / float(work.TOKENS)


def batches_again(step_s):
    """Batches of a training that are looked at again, by the seconds of a step."""
    return 1 if step_s > LONG_S else 2


def evaluated(torch, work, model, inputs, whole):
    """Outputs without gradients."""
    with torch.no_grad():
        if hasattr(work, "outputs"):
            return [work.outputs(torch, model, inputs, whole)]
        return listed(model(inputs))


class Reference(object):
    """The CPU's float64 run of a workload, made when first wanted, and the losses of its float32 trainings. `known`:
    what was computed before, of the same parameters and data; it outlives the model."""

    def __init__(self, cells, start, threads, known=None):
        self.cells, self.start, self.threads = cells, start, threads
        self.torch, self.work = start.torch, start.work
        self.known = {} if known is None else known

    def once(self, name, count, work):
        """What was computed for so many samples, or is now."""
        kept = self.known.setdefault(name, {})
        if count not in kept:
            self.torch.set_num_threads(self.threads)
            kept[count] = work(count)
        return kept[count]

    def outputs(self, count, model=None):
        """For the first samples of two batches."""
        return self.once("outputs", count, lambda c: self.evaluate(c, model or self.doubled()))

    def training(self, count):
        """Loss, outputs and gradients of a step."""
        return self.once("training", count, self.train)

    def doubled(self):
        return self.cells.copied(self.start.model).double()

    def double(self, count, number):
        inputs, targets = self.start.first(count, number)
        return [t.double() if t.is_floating_point() else t for t in (inputs, targets)]

    def evaluate(self, count, model):
        model.eval()
        with Still(self.torch, model, self.work):
            return [evaluated(self.torch, self.work, model, self.double(count, n)[0], True) for n in (0, 1)]

    def train(self, count):
        model = self.doubled()
        self.outputs(count, model)
        model.train()
        inputs, targets = self.double(count, 0)
        with Still(self.torch, model, self.work):
            outputs = model(inputs)
            loss = self.cells.loss_of(self.torch, self.work, outputs, targets)
            loss.backward()
        return {
            "loss": float(loss.detach()),
            "outputs": [o.detach() for o in listed(outputs)],
            # Half the memory; it rounds by 2^-24, and no tolerance of gradients comes near.
            "gradients": [p.grad.float() for p in model.parameters() if p.grad is not None],
        }

    def band(self):
        """The loss at the end of short trainings in float32, one for each seed of the data and of dropout."""
        if "losses" not in self.known:
            self.torch.set_num_threads(threads_of(self.start, self.threads))
            model, losses = self.cells.copied(self.start.model), []
            for seed in range(1, 1 + getattr(self.work, "SEEDS", SEEDS)):
                for tensor, first in zip(self.cells.tensors_of(model), self.cells.tensors_of(self.start.model)):
                    tensor.data.copy_(first.data)
                optimizer = self.cells.fast_optimizer_of(self.torch, self.work, model.parameters())
                losses.append(trained(self.cells, self.start, model, optimizer, seed, lambda t: t, Plain)[-1])
            self.known["losses"] = losses
        return self.known["losses"]

    def without_gradients(self):
        """They are as large as the model. What is left is small."""
        self.known.pop("training", None)


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


def trained(cells, start, model, optimizer, seed, place, casting):
    """Losses of the steps of a short training, the last one being the mean of the last three."""
    torch, work = start.torch, start.work
    side = getattr(work, "BAND_SIDE", None)
    count = BAND_IMAGES if side else min(work.BATCH, BAND_BATCH)
    torch.manual_seed(100 + seed)
    pool = [[place(t) for t in start.drawn(count, 10 * seed + n, side)] for n in (0, 1)]
    model.train()
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
    count = cells.compared(work, cell.batch)
    cell.reset()  # steps may have been tried
    training = reference.training(count) if cell.trains else None
    expected = reference.outputs(count)
    torch.set_num_threads(cell.threads)
    said = {"compared": count}
    first, second = [cell.placed(*cell.start.first(count, n)) for n in (0, 1)]
    model = cell.called if not hasattr(work, "outputs") else cell.model
    with Still(torch, cell.model, work):
        if cell.trains:
            cell.model.train()
            cell.model.zero_grad()
            loss, outputs = cell.forward_loss(first[0], first[1])
            scale = cells.SCALE if cell.spec["dtype"] == "fp16" else 1.0
            (loss * scale).backward()
            gradients = [p.grad for p in cell.model.parameters() if p.grad is not None]
            if scale != 1.0:
                gradients = [g / scale for g in gradients]
            said["loss"] = number(loss.detach())
            said["loss_error"] = distance([loss], [torch.tensor(training["loss"], dtype=torch.float64)])
            said["training_outputs_error"] = distance(listed(outputs), training["outputs"])
            said["gradients_error"] = distance(gradients, training["gradients"])
            del gradients
            said["device"] = listed(outputs)[0].device.type
            cell.model.zero_grad()
            cell.reset()
        if not (cell.trains and cell.spec["compile"]):  # another mode would be compiled anew
            cell.model.eval()
            with cell.casting():
                found = [evaluated(torch, work, model, x, False) for x, _ in (first, second)]
            said["device"] = found[0][0].device.type
            said["outputs_error"] = distance(found[0], expected[0])
            said["second_outputs_error"] = distance(found[1], expected[1])
            differ = distance(*expected) > DIFFER
            said["stale"] = differ and all(bool(torch.equal(a, b)) for a, b in zip(*found))
            cell.model.train(cell.trains)
    if cell.trains:
        said["band"] = [number(b) for b in reference.band()]
        torch.set_num_threads(threads_of(cell.start, cell.threads))
        optimizer = cells.optimizer_of(torch, work, cell.model.parameters())
        own = trained(cells, cell.start, cell.model, optimizer, 0, lambda t: cell.placed(t, t)[0], cell.casting)
        said["band_first"], said["band_own"] = number(own[0]), number(own[-1])
        said["band_nonfinite_step"] = next((i for i, v in enumerate(own) if v - v != 0), None)
        said["band_steps"] = len(own) - 1
        cell.model.zero_grad()
        cell.reset()
        torch.set_num_threads(cell.threads)
    return said


def timed_outputs(cells, cell):
    """[(number of the batch, its first outputs)] of the last steps that were timed: of an inference what is looked at
    again, without computing it anew. None where a step gives something else (a loss, one token), or gave nothing."""
    if cell.trains or hasattr(cell.work, "outputs") or not cell.kept:
        return None
    count, kept = cells.compared(cell.work, cell.batch), cell.kept[::-1]
    return [(cell.number(back), [o[:count].clone() for o in listed(one)]) for back, one in enumerate(kept)]


def looked_again(cells, cell, reference, timed, step_s):
    """After the clock has stopped: the first samples of the batches that were timed, in their own size. `timed`: what
    `timed_outputs` gave; `step_s`: seconds of a step, for a training computes them once more."""
    torch, work = cell.torch, cell.work
    if cell.trains and cell.spec["compile"]:
        return {}
    expected = reference.outputs(cells.compared(work, cell.batch))
    if timed is None:
        cell.reset()
        with Still(torch, cell.model, work):
            cell.model.eval()
            model = cell.called if not hasattr(work, "outputs") else cell.model
            pool = cell.pool[:batches_again(step_s)] if cell.trains else cell.pool
            with cell.casting():
                timed = [(n, evaluated(torch, work, model, inputs, False)) for n, (inputs, _) in enumerate(pool)]
            cell.model.train(cell.trains)
    got = [o[: len(e)] for number_of, outputs in timed for o, e in zip(outputs, expected[number_of])]
    return {"after_error": distance(got, [e for number_of, _ in timed for e in expected[number_of]])}
