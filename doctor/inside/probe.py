"""Imports torch once, prints what only the import can say, then probes one device.

Run BY the target interpreter, on its stdin:

    python -B -X faulthandler - DEVICE MODE [SEED]

DEVICE is "cpu", "cuda:0", "mps", "xpu:0". In the modes "facts" and "quick" the child of "cpu" also
gives torch's dynamic facts. MODE is "facts" (no probe), "quick", "full", "soak:MINUTES", "peers" (copies between all
GPUs), "bench" (the cells of PLAN, by the pieces of bench/), "fleet" (quick, and what a fleet asks of a device), "links"
(a rank of a fleet, by PLAN and the pieces of fleet/), "errata:TRIGGER" (one trigger of an erratum), or
"cpu-only" (quick, without touching any driver: used where the driver hung). Nothing here judges the machine: the
probe measures and compares, checks/ decides.

What is here is what every probe does first. Further stages are the files of stages/; the parent puts the text of those
that the mode needs in front of this one, as the table PIECES. Most have a table STAGES: (stage's name, function of
the Probe, modes, types of device or () for all). It imports nothing of ours and uses what the Probe offers.

Protocol: one line `SECRET {json}` at begin and end of each stage. The parent's first line says where, and the secret:
CHANNEL = (descriptor of a pipe, its inode, SECRET). Where that pipe did not come through, or was not made, it is the
original stdout; whatever else writes to stdout goes to stderr. The parent knows from an open stage where a child died.
Standard library only, and of it only modules that are built in or loaded before any script, because a user's json.py
must hurt torch's import here as it does in the user's own run, and must not hurt ours. Valid for
Python 3.6 and torch 1.8 or newer. ASCII only: it travels on stdin.

The bounds are those of the error analysis of inner products (Higham, Accuracy and Stability of Numerical Algorithms,
ch. 3) on zero-mean data, which keeps partial sums small; tensor cores truncate (Fasi, Higham, Mikaitis, Pranesh, PeerJ
CS 330). The factor 16 is four times the largest error seen in thousands of random products and convolutions.
"""

import os
import sys
import time

STAGES = ("reference", "allocate", "kernel", "precision", "correct")  # those of the pieces follow
# Sizes of the matrix product (m, k, n) and of the convolution (batch, in, out, side), kernel 3 x 3 with padding 1.
PRODUCT = (192, 512, 160)
SMALL_PRODUCT = (64, 192, 48)
CONVOLUTION = (2, 16, 24, 14)
LADDER = (8, 11, 14, 17, 20, 22, 24)  # significant bits
LADDER_SIZE = (64, 96, 48)
PARTS = ("result", "gradient of x", "gradient of y")
MEMORY = 32 << 20  # bytes written with patterns and read back
REPEATS = 10  # of one exact product, for faults that come and go
REDUCED_SHARE = 0.25  # a reduced precision changes most elements (97 % for TF32); where few differ, it is a fault
# Tolerances of a float32 result computed with so many bits, as multiples of T / sqrt(k).
REDUCED = ((16, 2.0 ** -14), (11, 2.0 ** -7), (8, 2.0 ** -5))
BITS = {"float64": 53, "float32": 24, "float16": 11, "bfloat16": 8}  # of the significand: unit roundoff 2 ** -bits
SMALLEST = {"float32": 2.0 ** -150, "float16": 2.0 ** -25, "bfloat16": 2.0 ** -134}  # half the smallest subnormal
LIBRARIES = (
    "libcuda.", "libcudart", "libcublas", "libcudnn", "libcufft", "libcurand", "libcusparse", "libcusolver", "libcupti",
    "libnvrtc", "libnvjitlink", "libnccl", "libnvidia-ml", "libamdhip64", "libhsa-runtime", "librccl", "libmiopen",
    "librocblas", "libhipblas", "libsycl", "libze_", "libgomp", "libiomp5", "libomp", "libmkl_", "libopenblas",
    "libstdc++", "libtorch", "libc10",
)


# --- the line protocol --------------------------------------------------------------------------------------


def to_json(value):
    """JSON of None, bool, int, float, str, list, tuple, dict. What JSON can't say is "nan", "inf", "-inf"."""
    if value is None or value is True or value is False:
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, int):
        return str(int(value))
    if isinstance(value, float):
        return repr(float(value)) if value - value == 0 else '"%r"' % float(value)
    if isinstance(value, dict):
        return "{" + ", ".join(to_json(str(k)) + ": " + to_json(v) for k, v in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(to_json(v) for v in value) + "]"
    return '"' + "".join(_escaped(c) for c in str(value)) + '"'


def _escaped(char):
    code = ord(char)
    if char in '"\\':
        return "\\" + char
    if 32 <= code < 127:
        return char
    if code < 0x10000:
        return "\\u%04x" % code
    code -= 0x10000
    return "\\u%04x\\u%04x" % (0xD800 + (code >> 10), 0xDC00 + (code & 0x3FF))


class Talk(object):
    """Writes the stage lines: on the channel, or on the original stdout, taken for itself. Points fd 1 at stderr."""

    def __init__(self, channel):
        import _thread

        descriptor, inode, self.secret = channel
        self.one_at_a_time = _thread.allocate_lock()
        self.fd = descriptor if is_pipe(descriptor, inode) else os.dup(1)
        if hasattr(os, "set_inheritable"):
            os.set_inheritable(self.fd, False)
        os.dup2(2, 1)

    def say(self, **line):
        data = (self.secret + " " + to_json(line) + "\n").encode("ascii")
        with self.one_at_a_time:
            while data:
                data = data[os.write(self.fd, data):]

    def leave(self):
        """All is said: whoever listens sees the end of it now. A process with a CUDA context takes long to end."""
        self.say(event="done")
        nowhere = os.open(os.devnull, os.O_WRONLY)
        for descriptor in (1, 2):
            os.dup2(nowhere, descriptor)
        os.close(self.fd)

    def stage(self, name, work, *arguments):
        """Run one stage. Its data when it ended, None when it raised (then said with ok false and the error)."""
        self.say(stage=name, event="begin")
        started = time.perf_counter()
        try:
            data = work(*arguments)
        except Exception as error:
            ms = (time.perf_counter() - started) * 1000
            self.say(stage=name, event="end", ok=False, ms=round(ms, 3), data=described(error))
            return None
        ms = (time.perf_counter() - started) * 1000
        self.say(stage=name, event="end", ok=not data.get("wrong"), ms=round(ms, 3), data=data)
        return data


def is_pipe(descriptor, inode):
    """Whether that descriptor is the pipe that was made for us: a wrapper may have closed it, and opened another."""
    try:
        status = os.fstat(descriptor)
    except (OSError, TypeError):
        return False
    return status.st_mode & 0o170000 == 0o010000 and status.st_ino == inode


def described(error):
    """An exception as data: its class, message, and the last frames of its traceback."""
    frames = []
    trace = error.__traceback__
    while trace is not None:
        code = trace.tb_frame.f_code
        frames.append("File \"%s\", line %d, in %s" % (code.co_filename, trace.tb_lineno, code.co_name))
        trace = trace.tb_next
    data = {
        "exception": type(error).__name__,
        "message": one_line(error),
        "traceback": "\n".join(frames[-12:] + ["%s: %s" % (type(error).__name__, str(error)[:3000])]),
    }
    if isinstance(error, ImportError):
        data["module"] = getattr(error, "name", None)
    cause = error.__cause__
    if cause is not None:
        data["cause"] = "%s: %s" % (type(cause).__name__, one_line(cause))
    return data


def one_line(error):
    return " ".join(str(error).split())[:1000]


# --- importing torch, and what the import can say -----------------------------------------------------------


def keep_warnings(kept):
    """Collect the warnings that the user would see. Loaded late: torch needs the module anyway."""
    import warnings

    def keep(message, category, filename, lineno, file=None, line=None):
        text = "%s: %s" % (category.__name__, one_line(message))
        if len(kept) < 50 and text not in kept:
            kept.append(text)

    warnings.showwarning = keep


def import_torch(talk, kept):
    """The module, or None where the import did not succeed. The end of the stage says why."""
    talk.say(stage="import", event="begin")
    started = time.perf_counter()
    data = {}
    torch = None
    try:
        keep_warnings(kept)
        import torch
    except SystemExit as error:
        code = error.code if isinstance(error.code, int) else 0 if error.code is None else 1
        data = dict(described(error), exit_code=code)
    except BaseException as error:  # also KeyboardInterrupt raised by a module: it is no reason to say nothing
        data = described(error)
    ms = (time.perf_counter() - started) * 1000
    path = getattr(torch, "__file__", None)
    if torch is not None and not hasattr(torch, "Tensor"):
        folder = path or ", ".join(list(getattr(torch, "__path__", ()))[:3])
        data = {
            "exception": "AttributeError",
            "message": "the module named torch is not PyTorch: %s" % folder,
            "traceback": "",
            "file": folder,
        }
        torch = None
    elif torch is not None:
        data = {"version": str(torch.__version__), "file": path}
    talk.say(stage="import", event="end", ok=torch is not None, ms=round(ms, 3), data=dict(data, warnings=kept))
    return torch


def asked(function, *arguments):
    """(value, None), or (None, the error's text)."""
    try:
        return function(*arguments), None
    except Exception as error:
        return None, one_line(error) or type(error).__name__


def reach(root, dotted):
    """The attribute at the end of a dotted name, or None: most of what is asked is newer than torch 1.8."""
    for name in dotted.split("."):
        root = getattr(root, name, None)
    return root


def ask(root, dotted, *arguments):
    """Call the function of that dotted name; None where it is not there or raises."""
    function = reach(root, dotted)
    return asked(function, *arguments)[0] if function else None


def static_facts(torch):
    """What this build is and what it runs on, without touching any driver."""
    version = getattr(torch, "version", None)
    facts = {
        "cuda": getattr(version, "cuda", None),
        "hip": getattr(version, "hip", None),
        "xpu": getattr(version, "xpu", None),
        "git": getattr(version, "git_version", None),
        "debug": getattr(version, "debug", None),
        "cuda_built": bool(getattr(version, "cuda", None) or getattr(version, "hip", None)),
        "mps_built": bool(ask(torch, "backends.mps.is_built")),
        "cpu_capability": ask(torch, "backends.cpu.get_cpu_capability"),
        "threads": ask(torch, "get_num_threads"),
        "arch_list": arch_list(torch),
        "loaded_libraries": loaded_libraries(),
    }
    facts.update(numpy_bridge(torch))
    return facts


def arch_list(torch):
    """The architectures of the kernels inside. torch.cuda.get_arch_list() says none where no GPU is usable."""
    flags = ask(torch, "_C._cuda_getArchFlags")
    if flags is None:
        return None if getattr(torch.version, "cuda", None) or getattr(torch.version, "hip", None) else []
    return str(flags).split()


def numpy_bridge(torch):
    """Whether torch and NumPy share memory. Nothing is said where NumPy is not installed."""
    numpy = sys.modules.get("numpy")
    if numpy is None:
        try:
            import numpy
        except ImportError as error:
            if getattr(error, "name", None) == "numpy":
                return {}
            return {"numpy_works": False, "numpy_error": one_line(error)}
        except Exception as error:
            return {"numpy_works": False, "numpy_error": one_line(error)}
    value, error = asked(lambda: torch.from_numpy(numpy.arange(3)).tolist() == [0, 1, 2])
    return {"numpy_works": bool(value), "numpy_error": error}


def loaded_libraries():
    """Paths of the mapped libraries that matter, each once; None where the system has no /proc/self/maps."""
    try:
        with open("/proc/self/maps", "rb") as maps:
            lines = maps.read().splitlines()
    except (IOError, OSError):
        return None
    paths = {line[line.index(b"/"):] for line in lines if b"/" in line and b".so" in line}
    names = (path.decode("utf-8", "replace") for path in paths)
    return sorted(name for name in names if os.path.basename(name).lower().startswith(LIBRARIES))


def driver_facts(torch, kept):
    """What torch says of the drivers and their devices. May hang in a broken driver: a stage of its own."""
    facts = {"cuda_available": bool(ask(torch, "cuda.is_available")), "cuda_error": None, "devices": []}
    built = getattr(torch.version, "cuda", None) or getattr(torch.version, "hip", None)
    facts["cudnn"] = None
    if built:
        facts["cuda_error"] = asked(torch.cuda.init)[1]
        facts["cudnn"], facts["cudnn_error"] = asked(lambda: torch.backends.cudnn.version())
        if facts["cuda_error"] is None:
            facts["devices"] += [cuda_device(torch, i) for i in range(ask(torch, "cuda.device_count") or 0)]
    facts["mps_available"] = bool(ask(torch, "backends.mps.is_available"))
    if facts["mps_available"]:
        facts["devices"].append({"backend": "mps", "index": 0})
    facts["xpu_available"] = bool(ask(torch, "xpu.is_available"))
    if facts["xpu_available"]:
        facts["devices"] += [xpu_device(torch, i) for i in range(ask(torch, "xpu.device_count") or 0)]
    if built:
        facts["loaded_libraries"] = loaded_libraries()  # the driver's are there only now
    facts["warnings"] = kept
    return facts


def cuda_device(torch, index):
    properties = ask(torch, "cuda.get_device_properties", index)
    hip = getattr(torch.version, "hip", None)
    device = {
        "backend": "cuda",
        "index": index,
        "name": getattr(properties, "name", None),
        "memory_bytes": getattr(properties, "total_memory", None),
    }
    if hip:
        device["gfx"] = (getattr(properties, "gcnArchName", None) or "").split(":")[0] or None
    elif properties is not None:
        device["capability"] = "%d.%d" % (properties.major, properties.minor)
    return device


def xpu_device(torch, index):
    properties = ask(torch, "xpu.get_device_properties", index)
    return {
        "backend": "xpu",
        "index": index,
        "name": getattr(properties, "name", None),
        "memory_bytes": getattr(properties, "total_memory", None),
    }


# --- the probe of one device --------------------------------------------------------------------------------


def matrix_product(torch, x, y):
    return torch.mm(x, y)


def convolution(torch, x, y):
    return torch.nn.functional.conv2d(x, y, padding=1)


OPERATIONS = {"mm": matrix_product, "conv2d": convolution}


def product_gradients(torch, x, y, g):
    return torch.mm(g, y.t()), torch.mm(x.t(), g)


def convolution_gradients(torch, x, y, g):
    """By the operator that autograd would call, which is torch 1.11's; () before."""
    backward = asked(getattr, torch.ops.aten, "convolution_backward")[0]  # where it is not there, that raises
    if backward is None:
        return ()
    one, none = [1, 1], [0, 0]
    return tuple(backward(g, x, y, None, one, one, one, False, none, 1, [True, True, False])[:2])


GRADIENTS = {"mm": product_gradients, "conv2d": convolution_gradients}  # without autograd


class Probe(object):
    """The probe of one device. `operations` is a table so that another implementation can be put to the test;
    `gradients`: whether autograd may make them."""

    def __init__(self, torch, device, seed=0, gradients=True):
        self.torch = torch
        self.device = torch.device(device)
        self.is_cpu = self.device.type == "cpu"
        self.gradients = gradients
        self.threads = torch.get_num_threads()
        self.generator = torch.Generator()  # on the CPU: the same data on every device
        self.generator.manual_seed(seed)
        self.operations = dict(OPERATIONS)
        self.half = self.half_type()
        self.bits_effective = BITS["float32"]  # of a float32 product; stage precision measures it
        self.bits_least = BITS["float32"]  # the fewest seen so far in any operation of float32
        self.pieces = {}  # the parts of stages/ that were sent along, by name
        self.mode, self.minutes = "quick", ""
        self.tell = lambda share: None  # says how much of the probe is done, 0 to 1
        self.limit_s = globals().get("STAGE_LIMIT_S")  # of each stage, where the user said one
        self.before = {}  # what was known of the device before its context was made (piece monitor)

    def half_type(self):
        """The 16-bit type that the device has units for: "bfloat16" or "float16"."""
        if self.device.type == "mps":
            return "float16"
        if self.device.type == "cuda" and not getattr(self.torch.version, "hip", None):
            return "bfloat16" if self.torch.cuda.get_device_capability(self.device)[0] >= 8 else "float16"
        return "bfloat16"

    def types(self):
        """The types to judge: what training uses, and float64 where devices have it."""
        return ["float32", self.half] + (["float64"] if self.device.type in ("cpu", "cuda") else [])

    def wait(self):
        """Wait until the device has done all its work."""
        if not self.is_cpu:
            synchronize = reach(self.torch, self.device.type + ".synchronize")
            if synchronize:
                synchronize(*([] if self.device.type == "mps" else [self.device]))
            else:  # torch.mps came with 2.0
                self.torch.ones(1, device=self.device).item()

    def ask(self, dotted, *arguments):
        """The answer of a function of torch; None where it is not there or raises."""
        return ask(self.torch, dotted, *arguments)

    def unsupported(self, error):
        """Whether torch says that it has no such kernel."""
        return is_unsupported(error)

    def all_threads(self):
        """A context in which torch uses all its CPU threads."""
        return Threads(self.torch, self.threads)

    def on_side(self, work, side):
        """Run a computation of the silent-fault pack on the device; a faulty device is feigned by another method."""
        return work(side)

    def full_precision(self):
        """A context in which convolutions don't take TF32, which is their default on NVIDIA GPUs since Ampere."""
        return Strict(self.torch, (("backends.cudnn", "allow_tf32"),))

    def memory_free(self):
        """Bytes that may be taken: the device's, or of the host what is available; None where that is not known."""
        if self.device.type == "cuda":
            return (self.ask("cuda.mem_get_info", self.device) or (None,))[0]
        if self.device.type == "mps":
            most = self.ask("mps.recommended_max_memory")
            return None if most is None else most - (self.ask("mps.driver_allocated_memory") or 0)
        return host_memory_available() if self.is_cpu else None

    def on_device(self, tensor, kind):
        return tensor.to(getattr(self.torch, kind)).to(self.device)

    # Data. Integers are drawn as such and kept in float64, which holds all of them exactly.

    def integers(self, shape, bound):
        return self.torch.randint(-bound, bound + 1, shape, generator=self.generator).double()

    def odd(self, shape, bits):
        """Odd integers with exactly so many significant bits, of both signs."""
        size = 2 * self.torch.randint(2 ** (bits - 2), 2 ** (bits - 1), shape, generator=self.generator) + 1
        sign = 2 * self.torch.randint(0, 2, shape, generator=self.generator) - 1
        return (size * sign).double()

    def normal(self, shape):
        return self.torch.randn(shape, generator=self.generator, dtype=self.torch.float64)

    def shapes(self, operation, kind):
        """Shapes of x, y and of the gradient of the result. Small where a CPU may have to emulate the type."""
        if operation == "mm":
            m, k, n = SMALL_PRODUCT if self.is_cpu and BITS[kind] < 24 else PRODUCT
            return (m, k), (k, n), (m, n)
        batch, into, out, side = CONVOLUTION
        return (batch, into, side, side), (out, into, 3, 3), (batch, out, side, side)

    def exact_data(self, operation, kind):
        """x, y, g of integers for which every order of summation gives the same bits in that type."""
        x, y, g = self.shapes(operation, kind)
        if kind == "float32":
            return self.odd(x, 13), self.integers(y, 1), self.integers(g, 1)
        if kind == "float64":
            return self.integers(x, 2 ** 30), self.integers(y, 2 ** 12), self.integers(g, 1)
        return self.integers(x, 3 if kind == "float16" else 1), self.integers(y, 1), self.integers(g, 1)

    def results(self, name, operation, x, y, g):
        """The result and, if they are to be had, its two gradients: bilinear in (x, y), (g, y) and (x, g)."""
        if not self.gradients:
            return (operation(self.torch, x, y),) + GRADIENTS[name](self.torch, x, y, g)
        x = x.detach().requires_grad_(True)
        y = y.detach().requires_grad_(True)
        result = operation(self.torch, x, y)
        # A gradient given to backward() would cost 0.3 s: torch 2.x then imports sympy.
        (result * g).sum().backward()
        return result.detach(), x.grad, y.grad

    # Stages.

    def reference(self):
        """The CPU's float64 products, which judge all others, against its integer arithmetic."""
        wrong = []
        x, y = self.integers((24, 64), 2 ** 20), self.integers((64, 20), 2 ** 12)
        if not self.torch.equal(self.torch.mm(x, y), self.torch.mm(x.long(), y.long()).double()):
            wrong.append("float64 mm on the CPU, which is the reference")
        x, y = self.integers((1, 4, 9, 9), 2 ** 20), self.integers((6, 4, 3, 3), 2 ** 12)
        columns = self.torch.nn.functional.unfold(x, 3, padding=1)[0]
        by_integers = self.torch.mm(y.reshape(6, -1).long(), columns.long()).double().reshape(1, 6, 9, 9)
        if not self.torch.equal(convolution(self.torch, x, y), by_integers):
            wrong.append("float64 conv2d on the CPU, which is the reference")
        return {"wrong": wrong}

    def allocate(self):
        """Memory on the device, written with patterns and read back."""
        torch = self.torch
        address = torch.arange(MEMORY // 4, dtype=torch.int32)
        there = address.to(self.device, copy=True)
        wrong = []
        for name in ("addresses", "inverted addresses"):
            if not torch.equal(there.cpu(), address):
                wrong.append("memory: %s did not come back" % name)
            there.bitwise_not_()
            address.bitwise_not_()
        return {"wrong": wrong, "memory_checked_bytes": MEMORY}

    def kernel(self):
        """The first computation: loads the kernels, and shows "no kernel image" and its like."""
        got = (self.torch.ones(1000, device=self.device) * 3 + 1).sum().item()
        return {"wrong": [] if got == 4000 else ["sum of 1000 fours is %r" % got]}

    def correct(self):
        """All operations in all types, exact integers (no tolerance) and floats (against float64 on the CPU)."""
        data = {"wrong": [], "unsupported": [], "inexact": []}
        with Strict(self.torch):
            for kind in self.types():
                for name in sorted(self.operations):
                    try:
                        self.judge(name, kind, data)
                    except (RuntimeError, NotImplementedError) as error:
                        if not is_unsupported(error):
                            raise
                        data["unsupported"].append("%s %s: %s" % (kind, name, one_line(error)[:200]))
            self.repeat(data)
        return data

    def repeat(self, data):
        """The same exact product many times: the bits may never change."""
        x, y, _ = self.exact_data("mm", "float32")
        there = [self.on_device(t, "float32") for t in (x, y)]
        with Threads(self.torch, self.threads):
            results = [self.operations["mm"](self.torch, *there) for _ in range(REPEATS)]
        differing = sum(not self.torch.equal(r, results[0]) for r in results[1:])
        if differing:
            data["wrong"].append("float32 mm: %d of %d repetitions differ from the first" % (differing, REPEATS))

    def judge(self, name, kind, data):
        """One operation in one type, forward and backward. Adds to data."""
        exact = self.compare_exact(name, kind)
        floats = self.compare_floats(name, kind)
        for part, integers, distance in zip(PARTS, exact, floats):
            what = "%s %s, %s" % (kind, name, part)
            if "ratio" in distance:
                raise_to(data, kind + "_max_error_ratio", distance["ratio"], max)
            if distance["bits"] is None:
                data["wrong"].append("%s: %d of %d elements off, largest error %.3g times the tolerance" % (
                    what, distance["bad"], distance["count"], distance["ratio"]))
                continue
            raise_to(data, "%s_%s_bits" % (kind, name), distance["bits"], min)
            if kind == "float32":
                self.bits_least = min(distance["bits"], self.bits_least)
            if not integers["bad"]:
                continue
            # Two things excuse integers that differ: a reduced precision, or a convolution that transforms its inputs.
            reduced = kind == "float32" and distance["bits"] < BITS[kind]
            if integers["bits"] is not None and (reduced or name == "conv2d"):
                data["inexact"].append(what)
            else:
                data["wrong"].append("%s: %d of %d integers differ" % (what, integers["bad"], integers["count"]))

    def compare_exact(self, name, kind):
        """Whether each result equals the integers that float64 gives, rounded once to the type.

        `bad` of `count` differ; `bits` is the precision that would explain it.
        """
        got, expected, inputs = self.both(name, self.exact_data(name, kind), kind)
        dtype = getattr(self.torch, kind)
        found = [
            {"bad": int((~(g == e.to(dtype).double())).sum()), "count": g.numel(), "bits": None}
            for g, e in zip(got, expected)
        ]
        if kind != "float64" and any(f["bad"] for f in found):
            for f, distance in zip(found, self.distances(name, got, expected, inputs, kind)):
                f["bits"] = distance["bits"]
        return found

    def compare_floats(self, name, kind):
        """Each result against float64 from the same rounded inputs. float64 is its own reference: integers must do."""
        if kind == "float64":
            return [{"bits": BITS[kind]}] * len(PARTS)
        got, expected, inputs = self.both(name, [self.normal(s) for s in self.shapes(name, kind)], kind)
        return self.distances(name, got, expected, inputs, kind)

    def both(self, name, inputs, kind):
        """The device's results, those of the CPU in float64, and the inputs as rounded to the type; all as float64."""
        rounded = [t.to(getattr(self.torch, kind)) for t in inputs]
        same = [t.double() for t in rounded]
        expected = self.results(name, OPERATIONS[name], *same)
        got = self.results(name, self.operations[name], *[t.to(self.device) for t in rounded])
        return [g.cpu().double() for g in got], expected, same

    def distances(self, name, got, expected, inputs, kind):
        scales = self.scales(name, *inputs)
        return [self.distance(g, e, t, k, kind) for g, e, (t, k) in zip(got, expected, scales)]

    def scales(self, name, x, y, g):
        """(T, k) of each result: T = norm of the row times norm of the column, k = how many products were added.

        A bilinear form of the squares and of ones gives both, for gradients and at borders too.
        """
        one_x, one_y, one_g = [self.torch.ones_like(t) for t in (x, y, g)]
        operation = OPERATIONS[name]
        of_y = self.results(name, operation, one_x, y * y, one_g)
        of_x = self.results(name, operation, x * x, one_y, one_g)
        of_g = self.results(name, operation, one_x, one_y, g * g)
        if len(of_g) == 1:
            return (((of_x[0] * of_y[0]).sqrt(), of_g[0]),)
        return (
            ((of_x[0] * of_y[0]).sqrt(), of_g[0]),
            ((of_g[1] * of_y[1]).sqrt(), of_x[1]),
            ((of_x[2] * of_g[2]).sqrt(), of_y[2]),
        )

    def distance(self, got, expected, scale, length, kind):
        """How far the elements are off: `bits` of the most precise bound that holds for all of them (None: not even the
        loosest), `ratio` of the largest error to that bound, `bad` of `count` elements beyond it."""
        error = (got - expected).abs()
        first = None
        for bits, tolerance in self.tolerances(expected, scale, length, kind):
            bad = int((~(error <= tolerance)).sum())  # so that a NaN is bad too
            found = {"bits": bits, "bad": bad, "count": error.numel(), "ratio": float((error / tolerance).max())}
            first = first or found
            if not bad:
                return found
            if kind == "float32" and self.bits_effective == BITS[kind] and first["bad"] < REDUCED_SHARE * error.numel():
                break
        return dict(first, bits=None)

    def tolerances(self, expected, scale, length, kind):
        """(bits, tolerance by element): first of the type's own precision, then of what may stand in for it."""
        tensor_cores = kind != "float32" and not self.is_cpu
        accumulated = 16 * scale * 2.0 ** (-22 if tensor_cores else -24)
        own = BITS[kind]
        if kind == "float32":
            yield own, accumulated + SMALLEST[kind]
            for bits, unit in REDUCED:
                yield bits, unit * scale / length.sqrt() + SMALLEST[kind]
        else:
            unit = 2.0 ** -own
            rounding = unit * (1 + 2 * unit) * expected.abs() + SMALLEST[kind]
            yield own, rounding + accumulated
            yield own - 1, rounding + 16 * unit * scale  # the sum was kept in the 16-bit type itself

    def precision(self):
        """How many significant bits a float32 product really keeps: 24, or 17 (bf16x2), 11 (TF32), 8 (bf16)."""
        m, k, n = LADDER_SIZE
        torch = self.torch
        held, share = 0, 0.0
        for bits in LADDER:
            x = self.odd((m, k), bits)
            count = min(16, 2 ** (24 - bits))  # of non-zeros in a column: all sums stay below 2**24
            rows = torch.randint(0, k, (count, n), generator=self.generator)
            signs = (2 * torch.randint(0, 2, (count, n), generator=self.generator) - 1).double()
            y = torch.zeros(k, n, dtype=torch.float64).scatter_(0, rows, signs)
            got = self.operations["mm"](torch, self.on_device(x, "float32"), self.on_device(y, "float32"))
            differs = ~(got.cpu().double() == torch.mm(x, y))
            if bool(differs.any()):
                share = int(differs.sum()) / float(differs.numel())
                break
            held = bits
        self.bits_effective = held
        self.bits_least = min(held, self.bits_least)
        data = {
            "float32_bits_effective": held,
            "float32_matmul_precision": ask(torch, "get_float32_matmul_precision"),  # what was asked for
            "wrong": [],
        }
        if held < 24 and (share < REDUCED_SHARE or held == 0):
            data["wrong"].append("float32 mm of %d-bit integers: %.2g %% of the elements differ" % (bits, 100 * share))
        return data


class Threads(object):
    """So many CPU threads for a while."""

    def __init__(self, torch, count):
        self.torch, self.count = torch, count

    def __enter__(self):
        self.before = self.torch.get_num_threads()
        self.torch.set_num_threads(self.count)

    def __exit__(self, *error):
        self.torch.set_num_threads(self.before)


class Strict(object):
    """Flags of torch that are off for a while; by default those that let CUDA sum 16-bit products in that type."""

    sums = (
        ("backends.cuda.matmul", "allow_fp16_reduced_precision_reduction"),
        ("backends.cuda.matmul", "allow_bf16_reduced_precision_reduction"),
    )

    def __init__(self, torch, flags=sums):
        self.flags = [(reach(torch, place), name) for place, name in flags]

    def __enter__(self):
        self.before = []
        for place, name in self.flags:
            value = asked(getattr, place, name)[0] if place else None
            if isinstance(value, bool):
                self.before.append((place, name, value))
                asked(setattr, place, name, False)

    def __exit__(self, *error):
        for place, name, value in self.before:
            asked(setattr, place, name, value)


def is_unsupported(error):
    """Whether torch says that it has no such kernel, as old versions do for 16-bit types on the CPU."""
    text = str(error)
    return isinstance(error, NotImplementedError) or "not implemented for" in text or "not supported" in text


def raise_to(data, key, value, pick):
    """Keep the larger (pick=max) or smaller of the values; a NaN wins, because it is what must be seen."""
    before = data.get(key)
    data[key] = value if before is None or value != value else before if before != before else pick(before, value)


class Beside(object):
    """Work that a thread does beside the import of torch. Of what goes wrong in it nothing is said: whoever waits for
    it does it again, and says it then."""

    def __init__(self, work, *arguments):
        import _thread

        self.result = None
        self.awaited = False
        self.running = _thread.allocate_lock()
        self.running.acquire()
        try:
            _thread.start_new_thread(self.run, (work, arguments))
        except RuntimeError:  # there may be no more threads
            self.running.release()

    def run(self, work, arguments):
        try:
            self.result = work(self, *arguments)
        except Exception:
            pass
        finally:
            self.running.release()

    def wait(self):
        """What the work gave; None where it failed."""
        self.awaited = True
        with self.running:
            return self.result


def get_ahead(beside, device, talk, sources):
    """The context of a CUDA device, and what was known of the device before (piece ahead). It is made when torch has
    loaded its libraries, and so in the second half of its import."""
    pieces = load_pieces([source for source in sources if source[0] in ("monitor", "ahead")])
    index = int(device.partition(":")[2] or 0)
    return pieces["ahead"].get_ahead(
        index, pieces["monitor"], lambda: talk.say(event="uses"), lambda: beside.awaited or "torch._C" in sys.modules
    )


def open_device(torch, device, seed, mode, pieces, beside=None):
    """The Probe of a device, with its context made, perhaps by what went on `beside` the import. In cpu-only mode
    without autograd, which asks all drivers."""
    probe = Probe(torch, device, seed, gradients=mode != "cpu-only")
    probe.mode, _, probe.minutes = ("quick" if mode == "cpu-only" else mode).partition(":")
    probe.pieces = pieces
    before = beside.wait() if beside else None
    if before is not None and not getattr(torch.version, "hip", None):
        probe.before = before
    elif "monitor" in pieces:
        probe.before = pieces["monitor"].before(probe)
    torch.empty(1, device=probe.device)
    torch.set_num_threads(1)  # threads wait for each other, for long where other work or another child's probe goes on
    return probe


def load_pieces(sources):
    """The modules of the pieces, by name, in order. A traceback names the file, not the text on stdin."""
    pieces = {}
    for name, source in sources:
        path = name if "/" in name else "stages/" + name
        piece = type(sys)(path.replace("/", "."))
        exec(compile(source, "<torchdoctor>/inside/%s.py" % path, "exec"), piece.__dict__)
        pieces[name] = piece
    return pieces


def probe_device(torch, device, seed, mode, talk, pieces, beside=None):
    """The stages of the probe. One that raises is the last: a CUDA error stays with the process."""
    opened = []

    def open_stage():
        opened.append(open_device(torch, device, seed, mode, pieces, beside))
        opened[0].tell = lambda share: talk.say(event="share", share=round(share, 3))
        return dict(memory_of(torch, opened[0].device), **opened[0].before)

    if talk.stage("open", open_stage) is None:
        return
    probe = opened[0]
    stages = [] if probe.mode in ("peers", "errata") else [(name, getattr(probe, name)) for name in STAGES]
    for piece in pieces.values():
        stages += [
            (name, bound(work, probe))
            for name, work, modes, types in getattr(piece, "STAGES", ())
            if probe.mode in modes and (not types or probe.device.type in types)
        ]
    for number, (name, work) in enumerate(stages):
        if probe.mode != "soak":  # whose one long stage says it itself
            probe.tell(number / float(len(stages)))
        if talk.stage(name, work) is None:
            return


def bound(work, probe):
    return lambda: work(probe)


def bench_device(torch, device, seed, talk, pieces, plan, kept):
    """The benchmark's cells of one device, and of the CPU beside it (bench/run.py)."""
    opened = []

    def open_stage():
        opened.append(open_device(torch, device, seed, "bench", pieces))
        return memory_of(torch, opened[0].device)

    if talk.stage("open", open_stage) is not None:
        pieces["bench/run"].main(opened[0], talk, dict(plan, warnings=kept))


def host_memory_available():
    """MemAvailable of Linux; None elsewhere."""
    try:
        with open("/proc/meminfo") as lines:
            return next(int(line.split()[1]) << 10 for line in lines if line.startswith("MemAvailable"))
    except (IOError, OSError, StopIteration, ValueError):
        return None


def memory_of(torch, device):
    """Free and total bytes of a CUDA device (torch 1.11 and newer)."""
    memory = ask(torch, "cuda.mem_get_info", device) if device.type == "cuda" else None
    return {"memory_free_bytes": memory[0], "memory_bytes": memory[1]} if memory else {}


def prepare_crash_reports():
    """Stacks on stderr when the process dies of a signal, or is asked by SIGUSR1."""
    try:
        import _signal
        import faulthandler

        faulthandler.enable()
        if hasattr(faulthandler, "register") and hasattr(_signal, "SIGUSR1"):
            faulthandler.register(_signal.SIGUSR1, all_threads=True)
    except Exception as error:  # stderr is closed, or an unusual Python: only the stacks are lost
        asked(sys.stderr.write, "no crash reports: %s\n" % error)


def main(arguments):
    device, mode = arguments[:2]
    seed = int(arguments[2]) if len(arguments) > 2 else 0
    talk = Talk(globals().pop("CHANNEL", (None, 0, "probe")))
    prepare_crash_reports()
    sys.argv = ["-"]
    kept = []
    sources = globals().get("PIECES", ())
    beside = Beside(get_ahead, device, talk, sources) if globals().get("AHEAD") else None
    torch = import_torch(talk, kept)
    if torch is not None:
        if device == "cpu" and mode in ("facts", "quick"):
            talk.stage("facts", static_facts, torch)
            talk.stage("driver", driver_facts, torch, kept)
        if mode == "bench":
            bench_device(torch, device, seed, talk, load_pieces(sources), globals()["PLAN"], kept)
        elif mode == "links":
            pieces = load_pieces(sources)
            pieces["fleet/worker"].main(torch, talk, globals()["PLAN"], pieces)
        elif mode != "facts":
            probe_device(torch, device, seed, mode, talk, load_pieces(sources), beside)
    talk.leave()


if __name__ == "__main__":
    main(sys.argv[1:])
