"""Run by the interpreter with torch, `faulty_stages.py PROBE SEEDS [PART]`: stages of the probe on a CPU with a fault.

Prints a JSON line for each fault and seed: {"fault", "seed", "wrong": what was found, "data": what bears on it}.
"""

import importlib.util
import json
import os
import random
import sys

spec = importlib.util.spec_from_file_location("probe", sys.argv[1])
probe = importlib.util.module_from_spec(spec)
spec.loader.exec_module(probe)

import torch  # noqa: E402
from torch.utils._python_dispatch import TorchDispatchMode  # noqa: E402

FOLDER = os.path.join(os.path.dirname(sys.argv[1]), "stages")
PAGE = 4096


def pieces():
    """Fresh modules, so that one fault leaves the next test alone."""
    sources = []
    for name in ("monitor", "layouts", "draws", "speed", "cores", "training", "memory", "endurance", "peers"):
        with open(os.path.join(FOLDER, name + ".py")) as file:
            sources.append((name, file.read()))
    return probe.load_pieces(sources)


def device(seed=0, mode="full", of=torch):
    one = probe.Probe(of, "cpu", seed)
    one.pieces, one.mode = pieces(), mode
    return one


class Broken:
    """torch with some functions replaced."""

    def __init__(self, **replaced):
        self.__dict__.update(replaced)

    def __getattr__(self, name):
        return getattr(torch, name)


class Faulty(TorchDispatchMode):
    """One operator does something else under a condition."""

    def __init__(self, operator, when, then):
        super().__init__()
        self.operator, self.when, self.then = operator, when, then

    def __torch_dispatch__(self, function, types, arguments=(), options=None):
        options = options or {}
        if function._schema.name == "aten::" + self.operator and self.when(*arguments):
            return self.then(lambda: function(*arguments, **options), *arguments)
        return function(*arguments, **options)


# --- products -----------------------------------------------------------------------------------------------


def products(seed, kinds, change=None, inputs=None, ladder=True):
    """The stages precision and correct with a product that is changed before or after."""

    def mm(t, x, y):
        if inputs:
            x, y = [v + (inputs(v.detach()) - v.detach()) for v in (x, y)]
        result = torch.mm(x, y)
        return result if change is None else result + (change(result.detach().clone()) - result.detach())

    one = device(seed)
    one.operations["mm"] = mm
    one.types = lambda: list(kinds)
    steps = one.precision() if ladder else {"wrong": []}
    data = one.correct()
    return {"wrong": steps["wrong"] + data["wrong"], "bits": steps.get("float32_bits_effective")}


def one_element(seed, size, kind="float32"):
    chosen = random.Random(seed)

    def change(result):
        if result.dtype != getattr(torch, kind):
            return result
        place = chosen.randrange(result.shape[0]), chosen.randrange(result.shape[1])
        result[place] += size * result.double().pow(2).mean().sqrt().to(result.dtype)
        return result

    return change


def one_bit(seed):
    chosen = random.Random(seed)
    bit = chosen.randrange(31)

    def change(result):
        flat = result.view(torch.int32)
        flat[chosen.randrange(result.shape[0]), chosen.randrange(result.shape[1])] ^= 1 << bit
        return result

    return change


def rounded_to(bits):
    drop = 24 - bits

    def change(tensor):
        if tensor.dtype != torch.float32:
            return tensor
        whole = tensor.contiguous().view(torch.int32) + (1 << (drop - 1))
        return (whole & ~((1 << drop) - 1)).view(torch.float32)

    return change


# --- training, random numbers -------------------------------------------------------------------------------


def frozen(seed):
    """Adam's update is lost where the parameter is not contiguous; the reference computes in float64."""
    one = device(seed)
    with Faulty("addcdiv_", lambda x, *a: x.dtype == torch.float32 and not x.is_contiguous(), lambda work, x, *a: x):
        return one.pieces["training"].training(one)


def leaking(seed):
    one = device(seed)
    training, kept = one.pieces["training"], []
    loss = training.mlp_loss

    def leak(*arguments):
        kept.append(torch.ones(1 << 18))
        return loss(*arguments)

    data = {"wrong": []}
    training.mlp_loss = leak
    training.leak(one, data)
    return data


def drawing(seed, every):
    """Every so manieth draw of normal numbers holds a NaN, from a random one on."""
    calls = [random.Random(seed).randrange(every)]

    def spoiled(draw):
        def again(*arguments, **options):
            result = draw(*arguments, **options)
            calls[0] += 1
            if calls[0] % every == 0:
                result.view(-1)[0] = float("nan")
            return result

        return again

    one = device(seed, of=Broken(randn=spoiled(torch.randn), randn_like=spoiled(torch.randn_like)))
    return one.pieces["draws"].draws(one)


def drawing_in_training(seed, every):
    calls = [random.Random(seed).randrange(every)]

    def again(like, **options):
        result = torch.randn_like(like, **options)
        calls[0] += 1
        if calls[0] % every == 0:
            result.view(-1)[0] = float("nan")
        return result

    one = device(seed, of=Broken(randn_like=again))
    data = {"wrong": []}
    one.pieces["training"].vae(one, data)
    return data


def draws_with(**replaced):
    one = device(1, of=Broken(**replaced))
    return one.pieces["draws"].draws(one)


def same_again():
    first = {}

    def randn(*shape, **options):
        key = str(shape)
        if key not in first:
            first[key] = torch.randn(*shape, **options)
        return first[key].clone()

    return randn


# --- memory, copies, cores, layouts, speed ------------------------------------------------------------------


def stuck_bit(seed):
    def fill(work, x, value):
        work()
        x[random.Random(seed).randrange(x.numel())] |= 64
        return x

    one = device(seed)
    with Faulty("fill_", lambda x, *a: x.dim() == 1 and x.dtype == torch.int32 and x.numel() > 1000, fill):
        return one.pieces["memory"].patterns(one)


def drop_last_page(work, target, source, *more):
    kept = target.view(-1)[-PAGE // 4:].clone()
    work()
    target.view(-1)[-PAGE // 4:] = kept
    return target


def large_copy(target, source, *more):
    return target.numel() > 1 << 20 and target.is_contiguous()


def transfers(seed):
    one = device(seed)
    with Faulty("copy_", large_copy, drop_last_page):
        return one.pieces["endurance"].transfer(one)


def between_gpus(seed):
    peers, wrong = device(seed).pieces["peers"], []

    def copied(t, tensor, there):
        result = tensor.clone()
        result[-PAGE // 4:] = 0
        return result

    peers.copied = copied
    peers.pair(torch, "cpu", "cpu", wrong)
    return {"wrong": wrong}


def a_bad_core(seed):
    one = device(seed)
    bad = random.Random(seed).choice(sorted(os.sched_getaffinity(0)))

    def mm(t, x, y):
        result = torch.mm(x, y)
        if os.sched_getaffinity(0) == {bad}:
            result[3, 3] += 1
        return result

    one.operations["mm"] = mm
    return one.pieces["cores"].cores(one)


def layouts_with(operator, when, then, stage="matrix"):
    one = device(1)
    with Faulty(operator, when, then):
        return getattr(one.pieces["layouts"], stage)(one)


def noncontiguous(x, *more):
    return not x.is_contiguous()


def slow(seed, times):
    """A device at a part of its speed: each product is computed several times."""

    def mm(x, y, out=None):
        for _ in range(times):
            torch.mm(x, y, out=out)
        return out

    one = device(seed, of=Broken(mm=mm) if times > 1 else torch)
    one.threads = THREADS
    return one.pieces["speed"].speed(one)


# Each 20 times in scripts/prove_probe.py: they depend on a seed.
SEEDED = {
    "an element off by 2^-12 of the rms, float32": lambda s: products(s, ["float32"], one_element(s, 2.0 ** -12)),
    "an element off by 2^-4 of the rms, bfloat16": lambda s: products(
        s, ["bfloat16"], one_element(s, 2.0 ** -4, "bfloat16"), ladder=False),
    "an element off by 2^-4 of the rms, float16": lambda s: products(
        s, ["float16"], one_element(s, 2.0 ** -4, "float16"), ladder=False),
    "a flipped bit": lambda s: products(s, ["float32"], one_bit(s)),
    "TF32": lambda s: products(s, ["float32"], inputs=rounded_to(11)),
    "bfloat16 for float32": lambda s: products(s, ["float32"], inputs=rounded_to(8)),
    "a frozen parameter": frozen,
    "a leak of 1 MiB a step": leaking,
    "NaN in every 300th draw": lambda s: drawing(s, 300),
    "NaN in every 300th draw, in training": lambda s: drawing_in_training(s, 300),
    "a quarter of its speed": lambda s: slow(s, 4),
    "a copy that drops its last page, between GPUs": between_gpus,
    "a copy that drops its last page, to the device and back": transfers,
    "a stuck bit of memory": stuck_bit,
    "a core that computes wrongly": a_bad_core,
}
SINGLE = {
    "the same numbers again": lambda: draws_with(randn=same_again()),
    "rand beyond 1": lambda: draws_with(rand=lambda *a, **o: torch.rand(*a, **o) * 1.01),
    "rand_like gives zeros": lambda: draws_with(rand_like=lambda x: torch.zeros_like(x)),
    "randperm repeats": lambda: draws_with(randperm=lambda n, **o: torch.randint(0, n, (n,), **o)),
    "randn with another variance": lambda: draws_with(randn=lambda *a, **o: torch.randn(*a, **o) * 1.02),
    "add of a view": lambda: layouts_with("add", noncontiguous, lambda work, x, *a: work() + 1),
    "clamp of a view, quick": lambda: layouts_with("clamp", noncontiguous, lambda work, x, *a: x.clone(), "core"),
    "sort of a view": lambda: layouts_with(
        "sort", noncontiguous, lambda work, x, *a: torch.sort(x.t().contiguous(), 0)),
    "mm of an expanded tensor": lambda: layouts_with(
        "mm", lambda x, y: 0 in x.stride(), lambda work, *a: work() * 0),
    "addcdiv_ into a view, quick": lambda: layouts_with("addcdiv_", noncontiguous, lambda work, x, *a: x, "core"),
    "copy_ into a view, quick": lambda: layouts_with(
        "copy_", lambda x, *a: x.shape == (6, 5) and not x.is_contiguous(), lambda work, x, *a: x, "core"),
    "gradient of batch_norm in channels_last": lambda: layouts_with(
        "native_batch_norm_backward", lambda g, x, *a: not x.is_contiguous(),
        lambda work, *a: (lambda r: (r[0] * 1.5, r[1], r[2]))(work())),
}  # fmt: skip
HEALTHY = {
    "draws": lambda s: (lambda one: one.pieces["draws"].draws(one))(device(s)),
    "layouts": lambda s: (lambda one: one.pieces["layouts"].matrix(one))(device(s)),
    "training": lambda s: (lambda one: one.pieces["training"].training(one))(device(s)),
    "memory": lambda s: (lambda one: one.pieces["memory"].patterns(one))(device(s)),
    "cores": lambda s: (lambda one: one.pieces["cores"].cores(one))(device(s)),
    "transfer": lambda s: (lambda one: one.pieces["endurance"].transfer(one))(device(s)),
    "bandwidth": lambda s: (lambda one: one.pieces["endurance"].bandwidth(one))(device(s)),
    "speed": lambda s: slow(s, 1),
}


def say(fault, seed, data):
    print(json.dumps({"fault": fault, "seed": seed, "wrong": data["wrong"], "data": json.loads(probe.to_json(data))}))
    sys.stdout.flush()


THREADS = torch.get_num_threads()
torch.set_num_threads(1)
part = sys.argv[3] if len(sys.argv) > 3 else ""
for name, work in SEEDED.items():
    for seed in range(int(sys.argv[2])) if part in name else ():
        say(name, seed, work(seed))
if not part:
    for name, alone in SINGLE.items():
        say(name, 0, alone())
    for name, work in HEALTHY.items():
        say("healthy " + name, 0, work(0))
