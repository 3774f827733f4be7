"""Triggers of errata: a few lines each that show a fault of torch where it is, and nothing where it is not.

The parent names one trigger a child (mode "errata:NAME"), so that one that crashes or hangs harms no other. A name is
a function of this file, or a computation of the silent-fault pack. To add one: write a function of a `Here`, decorated
with @trigger, that returns what is wrong in a few words, or "" where nothing is; name it in the row's `trigger`. It
uses torch alone, runs from torch 1.12 on, and raises Untried where something that it needs is missing. An error that is
the fault itself is caught and returned as text (`here.error_of`).
"""

GIB = 1 << 30
TRIGGERS = {}


class Untried(Exception):
    """Why a trigger says nothing here."""


def trigger(work):
    """Register a trigger by its function's name."""
    TRIGGERS[work.__name__] = work
    return work


class Here(object):
    """What a trigger works with: torch, the device, data that is the same on every device, and comparisons."""

    def __init__(self, probe):
        self.probe, self.torch, self.device = probe, probe.torch, probe.device
        self.f = probe.torch.nn.functional
        self.generator = probe.torch.Generator()
        self.generator.manual_seed(20)

    def randn(self, *shape):
        """Normal float32 numbers on the CPU."""
        return self.torch.randn(shape, generator=self.generator)

    def there(self, tensor, kind=None):
        """A tensor on the device, in the type of that name."""
        return (tensor if kind is None else tensor.to(getattr(self.torch, kind))).to(self.device)

    def needs(self, *names):
        """Say that it can't be tried where torch lacks one of these dotted names."""
        for name in names:
            if self.probe.pieces["silent"].has(self.torch, name) is False:
                raise Untried("this torch has no %s" % name)

    def module(self, name):
        """The module of that name; it can't be tried without it."""
        try:
            return __import__(name, fromlist=["*"])
        except ImportError as error:
            raise Untried("%s cannot be imported: %s" % (name, error))

    def needs_memory(self, size):
        """Say that it can't be tried with less free memory than so many bytes."""
        free = self.probe.memory_free()
        if free is None or free < size:
            raise Untried("needs %.1f GiB of free memory" % (size / float(GIB)))

    def differs(self, got, expected, tolerance=1e-3):
        """ "" where two results agree within that share of the largest value (integers: exactly), else how not."""
        got, expected = got.detach().cpu(), expected.detach().cpu()
        if tuple(got.shape) != tuple(expected.shape):
            return "a result of shape %s, not %s" % (tuple(got.shape), tuple(expected.shape))
        if expected.numel() == 0:
            return ""
        if not expected.dtype.is_floating_point:
            bad = got != expected.to(got.dtype)
        else:
            g, e = got.double(), expected.double()
            finite = e[~(self.torch.isnan(e) | self.torch.isinf(e))].abs()
            scale = float(finite.max()) if finite.numel() else 0.0
            same = (g == e) | (self.torch.isnan(g) & self.torch.isnan(e))
            bad = ~(((g - e).abs() <= tolerance * scale) | same)
        if not bool(bad.any()):
            return ""
        where = tuple(int(i) for i in bad.nonzero()[0])
        return "%d of %d elements are wrong; element %s is %r, not %r" % (
            int(bad.sum()), bad.numel(), where, got[where].item(), expected[where].item())

    def error_of(self, work, *telling):
        """Run `work`. The error that it raises, as text, if it holds one of these words (none named: any error); ""
        where it raises none. Another error is not the fault: it goes up."""
        try:
            work()
            self.probe.wait()
        except Exception as error:
            text = "%s: %s" % (type(error).__name__, " ".join(str(error).split())[:200])
            if not telling or any(word in text for word in telling):
                return text
            raise
        return ""

    def grows(self, work, steps=20, allowed=16 << 20):
        """Whether the device's memory grows by more than so many bytes over these steps, after as many to warm up."""
        measure = self.memory_in_use()
        for _ in range(steps):
            work()
        before = measure()
        for _ in range(steps):
            work()
        kept = measure() - before
        return "%d MiB more after %d steps" % (kept >> 20, steps) if kept > allowed else ""

    def memory_in_use(self):
        """A function that gives the bytes in use on the device."""
        name = {"cuda": "cuda.memory_allocated", "mps": "mps.driver_allocated_memory", "xpu": "xpu.memory_allocated"}
        place = self.torch
        for part in name.get(self.device.type, "none.none").split("."):
            place = getattr(place, part, None)
        if place is None:
            raise Untried("the memory in use cannot be measured here")

        def measure():
            self.probe.wait()
            return place()

        return measure


def run(probe):
    """The trigger that the mode names. seen: what is wrong, "" for nothing; untried: why nothing can be said."""
    name = probe.minutes
    silent = probe.pieces["silent"]
    fault = next((entry for entry in silent.PACK if entry["work"].__name__ == name), None)
    try:
        if fault is not None:
            reason = silent.left_out(probe, fault, probe.memory_free())
            return {"untried": reason} if reason else {"seen": silent.compare(probe, fault)}
        if name not in TRIGGERS:
            return {"untried": "this torchdoctor has no trigger %s" % name}
        seen = TRIGGERS[name](Here(probe))
        probe.wait()
        return {"seen": seen}
    except Untried as error:
        return {"untried": str(error)}
    except (RuntimeError, NotImplementedError, TypeError, AttributeError) as error:
        return {"untried": "%s: %s" % (type(error).__name__, " ".join(str(error).split())[:200])}


STAGES = (("errata", run, ("errata",), ()),)


# --- the triggers -------------------------------------------------------------------------------------------


@trigger
def tensorboard_distutils(here):
    """import-tensorboard-distutils"""
    try:
        __import__("torch.utils.tensorboard")
    except AttributeError as error:
        return str(error) if "distutils" in str(error) else ""
    except ImportError as error:
        raise Untried(str(error))
    return ""


@trigger
def torch_mps_module(here):
    """mps-module-missing-2-0-0"""
    return "" if hasattr(here.torch, "mps") else "torch has no attribute mps"


@trigger
def number_into_column(here):
    """mps-column-assignment-abort-1-13: aborts"""
    x = here.there(here.randn(1120, 3))
    x[..., -1] = 1
    return here.differs(x[:, -1], here.torch.ones(1120))


@trigger
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


@trigger
def mm_long_sum(here):
    """mps-mm-k-over-32768-m1-m2"""
    return long_sum(here, lambda x, y: x @ y)


@trigger
def bmm_long_sum(here):
    """mps-bmm-k-32767-m1-m2"""
    return long_sum(here, lambda x, y: here.torch.bmm(x.expand(2, -1, -1), y.expand(2, -1, -1))[1])


@trigger
def max_pool_training(here):
    """mps-leak-maxpool2d"""
    pool = here.torch.nn.MaxPool2d(2)
    x = here.there(here.randn(8, 16, 128, 128)).requires_grad_(True)
    return here.grows(lambda: pool(x).sum().backward())


@trigger
def conv3d_half_memory(here):
    """cuda-conv3d-slow-2-9-0: without cuDNN's kernel it unfolds its input, which takes many times the memory"""
    here.needs_memory(4 * GIB)
    if here.device.type != "cuda":
        raise Untried("not for this type of device")
    x = here.there(here.randn(1, 32, 16, 64, 64), "bfloat16")
    w = here.there(here.randn(32, 32, 3, 3, 3), "bfloat16")
    here.f.conv3d(x, w, padding=1)
    here.probe.wait()
    here.torch.cuda.reset_peak_memory_stats(here.device)
    before = here.torch.cuda.memory_allocated(here.device)
    here.f.conv3d(x, w, padding=1)
    here.probe.wait()
    taken = here.torch.cuda.max_memory_allocated(here.device) - before
    own = x.numel() * x.element_size()
    return "it takes %d times the memory of its result" % (taken // own) if taken > 20 * own else ""
