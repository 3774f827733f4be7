"""The stage that runs one trigger: a few lines that show a fault of torch where it is, and nothing where it is not.

The parent names one trigger a child (mode "errata:NAME"), so that one that crashes or hangs harms no other, and sends
along the one file that holds it: a file of this folder, or the silent-fault pack (stages/silent.py). Here a trigger is
a function whose only parameter is `here` (a `Here`). It returns in a few words what is wrong, or "" where nothing is.
It uses torch alone, runs from torch 1.12 on, and says `here.untried(why)` where something that it needs is missing. An
error that is the fault itself is caught and returned as text (`here.error_of`).
"""

GIB = 1 << 30


class Untried(Exception):
    """Why a trigger says nothing here."""


class Here(object):
    """What a trigger works with: torch, the device, data that is the same on every device, and comparisons."""

    def __init__(self, probe, piece):
        self.probe, self.torch, self.device = probe, probe.torch, probe.device
        self.piece = piece  # the module that holds the trigger
        self.f = probe.torch.nn.functional
        self.generator = probe.torch.Generator()
        self.generator.manual_seed(20)
        probe.torch.manual_seed(20)  # for the weights that modules draw

    def randn(self, *shape):
        """Normal float32 numbers on the CPU."""
        return self.torch.randn(shape, generator=self.generator)

    def there(self, tensor, kind=None):
        """A tensor on the device, in the type of that name."""
        return (tensor if kind is None else tensor.to(getattr(self.torch, kind))).to(self.device)

    def ones(self, *shape):
        """float32 ones on the device."""
        return self.torch.ones(shape, device=self.device)

    def whole(self, *values):
        """int64 numbers on the device."""
        return self.torch.tensor(values, device=self.device)

    def untried(self, reason):
        """End the trigger: nothing can be said here."""
        raise Untried(reason)

    def only(self, *types):
        """Say that it can't be tried on another type of device."""
        if self.device.type not in types:
            raise Untried("not for this type of device")

    def compiled(self, work, backend):
        """torch.compile of a function with that backend; it can't be tried without."""
        self.needs("compile")
        modules = self.module("sys").modules
        modules.setdefault(self.piece.__name__, self.piece)  # Dynamo imports the module of what it compiles
        return self.torch.compile(work, backend=backend)

    def needs(self, *names):
        """Say that it can't be tried where torch lacks one of these dotted names."""
        for name in names:
            if self.reached(name) is None:
                raise Untried("this torch has no %s" % name)

    def reached(self, dotted):
        """What torch has under a dotted name, or None."""
        place = self.torch
        for name in dotted.split("."):
            place = getattr(place, name, None)
        return place

    def module(self, name):
        """The module of that name; it can't be tried without it."""
        try:
            return __import__(name, fromlist=["*"])
        except ImportError as error:
            raise Untried("%s cannot be imported: %s" % (name, error))

    def needs_memory(self, gib):
        """Say that it can't be tried with less free memory than so many GiB."""
        free = self.probe.memory_free()
        if free is None or free < gib * GIB:
            raise Untried("needs %d GiB of free memory" % gib)

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

    def agrees(self, work, *tensors, **options):
        """ "" where a function of these tensors gives on the device, in the type `kind`, what it gives in float64 on
        the CPU; else how not. It returns a tensor or several."""
        kind = options.get("kind", "float32")
        rounded = [t.to(getattr(self.torch, kind)) if t.dtype.is_floating_point else t for t in tensors]
        got = work(*[t.to(self.device) for t in rounded])
        exact = work(*[t.double() if t.dtype.is_floating_point else t for t in rounded])
        tolerance = options.get("tolerance", 1e-3 if kind == "float32" else 4e-2)
        pairs = zip(got, exact) if isinstance(got, (list, tuple)) else ((got, exact),)
        return next((text for text in (self.differs(g, e, tolerance) for g, e in pairs) if text), "")

    def gradients(self, work, *leaves):
        """The gradients of a function of these tensors, for a weighted sum of it."""
        leaves = [leaf.detach().requires_grad_(True) for leaf in leaves]
        result = work(*leaves)
        weights = (self.torch.arange(result.numel(), device=result.device) % 5 - 1).to(result.dtype)
        (result * weights.view(result.shape)).sum().backward()
        return [leaf.grad for leaf in leaves]

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
        place = self.reached(name.get(self.device.type, "none"))
        if place is None:
            raise Untried("the memory in use cannot be measured here")

        def measure():
            self.probe.wait()
            return place()

        return measure


def run(probe):
    """The trigger that the mode names. seen: what is wrong, "" for nothing; untried: why nothing can be said."""
    name = probe.minutes
    try:
        silent = probe.pieces.get("silent")
        for fault in silent.PACK if silent else ():
            if fault["work"].__name__ == name:
                reason = silent.left_out(probe, fault, probe.memory_free())
                return {"untried": reason} if reason else {"seen": silent.compare(probe, fault)}
        piece = next((p for key, p in probe.pieces.items() if key.startswith("errata/") and hasattr(p, name)), None)
        if piece is None:
            return {"untried": "this torchdoctor has no trigger %s" % name}
        seen = getattr(piece, name)(Here(probe, piece))
        probe.wait()
        return {"seen": seen}
    except Untried as error:
        return {"untried": str(error)}
    except (RuntimeError, NotImplementedError, TypeError, AttributeError) as error:
        return {"untried": "%s: %s" % (type(error).__name__, " ".join(str(error).split())[:200])}


STAGES = (("errata", run, ("errata",), ()),)
