"""One call on the device of each compiled package that is installed beside torch, with a result that is known.

They run in an interpreter of their own, all in one; where one crashes, the next ones get another interpreter.
"""

LIMIT_S = 120.0
CPU, CUDA = ("cpu",), ("cuda",)
# module -> types of device that it serves; the call is a function of that name in SCRIPT
PACKAGES = (
    ("torchvision", CPU + CUDA),
    ("torchaudio", CPU + CUDA),
    ("torch_scatter", CPU + CUDA),
    ("xformers", CUDA),
    ("flash_attn", CUDA),
    ("bitsandbytes", CUDA),
)
SCRIPT = r"""
import torch

device = sys.argv[1]


def near(got, expected, tolerance):
    error = float((got.double().cpu() - expected.double().cpu()).abs().max())
    return None if error <= tolerance else "the result is off by %.3g" % error


def torchvision():
    import torchvision.ops

    boxes = torch.tensor([[0.0, 0, 10, 10], [1, 1, 10, 10], [20, 20, 30, 30]], device=device)
    scores = torch.tensor([0.9, 0.8, 0.7], device=device)
    kept = torchvision.ops.nms(boxes, scores, 0.5).tolist()
    return None if kept == [0, 2] else "nms keeps %r, not [0, 2]" % kept


def torchaudio():
    import torchaudio.functional

    x = torch.linspace(-1, 1, 64, device=device).reshape(1, -1)
    one = torch.tensor([1.0, 0.0], device=device)
    return near(torchaudio.functional.lfilter(x, one, one), x, 1e-6)


def torch_scatter():
    import torch_scatter

    index = torch.tensor([0, 1, 0, 1], device=device)
    got = torch_scatter.scatter(torch.arange(4.0, device=device), index, dim=0, reduce="sum")
    return near(got, torch.tensor([2.0, 4.0]), 0.0)


def queries():
    generator = torch.Generator().manual_seed(0)
    return [torch.randn(1, 128, 2, 64, generator=generator).half().to(device) for _ in range(3)]


def attention(q, k, v):
    q, k, v = (t.double().cpu().transpose(1, 2) for t in (q, k, v))
    return (torch.softmax(q @ k.transpose(2, 3) / 8, -1) @ v).transpose(1, 2)


def xformers():
    import xformers.ops

    q, k, v = queries()
    return near(xformers.ops.memory_efficient_attention(q, k, v), attention(q, k, v), 2.0 ** -8)


def flash_attn():
    import flash_attn

    q, k, v = queries()
    return near(flash_attn.flash_attn_func(q, k, v), attention(q, k, v), 2.0 ** -8)


def bitsandbytes():
    import bitsandbytes.functional as f

    x = torch.linspace(-1, 1, 4096, device=device)
    return near(f.dequantize_blockwise(*f.quantize_blockwise(x)), x, 0.05)


for name in sys.argv[2:]:
    attempt(name, globals()[name])
"""


def extensions(probe):
    tries, apart = probe.pieces["tries"], probe.pieces["apart"]
    data = tries.blank()
    left = [name for name, types in PACKAGES if tries.installed(name) and serves(tries, data, probe, name, types)]
    while left:
        lines, ended = apart.run(SCRIPT, [probe.device] + left, apart.within(probe, LIMIT_S))
        for word, name, text in lines:
            if word == "raised":
                data["failures"].append("%s: %s" % (name, tries.shortened(text)))
            elif word == "ok":
                data["tried"].append(name)
                data["wrong"].extend(["%s: %s" % (name, text)] if text else [])
        fell = apart.open_name(lines) or (left[0] if ended and not lines else None)
        if fell:
            data["failures"].append("%s: %s" % (fell, tries.shortened(ended or "it ended the interpreter")))
        done = [name for word, name, _ in lines if word in ("ok", "raised")] + [fell]
        remaining = [name for name in left if name not in done]
        left = remaining if len(remaining) < len(left) else []
    return data


def serves(tries, data, probe, name, types):
    """Whether the package computes on such a device; on others there is nothing to try."""
    if probe.device.type in types:
        return True
    data["not_here"].append("%s: it is for %s" % (name, " and ".join(types)))
    return False


STAGES = (("extensions", extensions, ("full",), CPU + CUDA),)
