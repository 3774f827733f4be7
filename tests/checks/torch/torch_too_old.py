from dataclasses import replace

from tests.examples import linux, mac, with_error, with_torch
from tests.tickets import collect_env

DEVICE = "RuntimeError: Expected one of cpu, cuda, xpu, mkldnn, opengl device type at start of device string: mps"

BAD = {
    "a Mac with torch 1.11": with_torch(mac(), "1.11.0", mps_built=False),
    "a Mac whose program asks for mps": with_error(
        replace(mac(), torch=None), "exception", DEVICE, "RuntimeError", DEVICE.partition(": ")[2]
    ),
    "torch.compile": with_error(
        with_torch(linux(), "1.13.1+cu117"), "exception", "AttributeError: module 'torch' has no attribute 'compile'"
    ),
    "a library that is newer than torch": with_error(
        with_torch(linux(), "2.1.2+cpu"),
        "exception",
        "ImportError: cannot import name 'TransformGetItemToIndex' from 'torch._dynamo._trace_wrapped_higher_order_op' (/v/torch/x.py)",
        path="/home/u/v/lib/python3.11/site-packages/transformers/masking_utils.py",
    ),
    "a type that came later": with_error(
        linux(), "torch-has-no-attribute", "AttributeError: module 'torch' has no attribute 'float8_e4m3fn'"
    ),
    "pasted: AttributeError: module 'torch' has no attribute 'compile'": (
        "Traceback (most recent call last):\n"
        '  File "/home/user/train.py", line 88, in <module>\n'
        "    model = torch.compile(model)\n"
        "AttributeError: module 'torch' has no attribute 'compile'\n"
        "\n" + collect_env("1.13.1+cu117")
    ),
    "pasted: AttributeError: module 'torch.utils._pytree' has no attribut": (
        "Traceback (most recent call last):\n"
        '  File "/home/user/env/lib/python3.10/site-packages/transformers/utils/generic.py", line 478, in <module>\n'
        "    _torch_pytree.register_pytree_node(\n"
        "AttributeError: module 'torch.utils._pytree' has no attribute 'register_pytree_node'. Did you mean: '_register_pytree_node'?\n"
        "\n"
        "$ pip show torch\n"
        "Name: torch\n"
        "Version: 2.1.0\n"
    ),
    "pasted: AutoModel requires the PyTorch library but it was not found ": (
        "Disabling PyTorch because PyTorch >= 2.4 is required but found 2.2.2\n"
        "Traceback (most recent call last):\n"
        '  File "x.py", line 5, in <module>\n'
        "ImportError: \n"
        "AutoModel requires the PyTorch library but it was not found in your environment.\n"
    ),
    "pasted: ModuleNotFoundError: No module named 'torch.nn.attention'": (
        '  File "/home/u/e/lib/python3.10/site-packages/diffusers/models/attention_dispatch.py", line 18, in <module>\n'
        "    from torch.nn.attention import sdpa_kernel\n"
        "ModuleNotFoundError: No module named 'torch.nn.attention'\n" + collect_env("2.0.1+cu118")
    ),
    "pasted: AttributeError: module 'torch.library' has no attribute 'cus": (
        "AttributeError: module 'torch.library' has no attribute 'custom_op'\n"
        '  File "/home/u/e/lib/python3.10/site-packages/vllm/utils.py", line 3, in <module>\n'
        + collect_env("2.3.1+cu121")
    ),
    "pasted: transformers wants 2.6 for torch.load": (
        "ValueError: Due to a serious vulnerability issue in `torch.load`, even with `weights_only=True`, we now require users to upgrade torch to at least v2.6 in order to use the function. This version restriction does not apply when loading files with safetensors.\n"
        "torch 2.5.1+cu121\n"
    ),
    "pasted: diffusers wants torch 2.0": (
        "  File \"/home/user/miniconda3/envs/ml/lib/python3.11/site-packages/diffusers/models/attention_processor.py\", line 900, in __init__\n"
        "ImportError: AttnProcessor2_0 requires PyTorch 2.0, to use it, please upgrade PyTorch to 2.0.\n"
    ),
    "pasted: transformers wants torch 2.2": (
        "ImportError: Using `bitsandbytes` 4-bit quantization requires torch>=2.2: `pip install --upgrade torch`\n"
        "torch 2.1.0\n"
    ),
}
GOOD = {
    "MPS is there": with_torch(mac(), "2.6.0", mps_built=True, mps_available=True),
    "old torch on Linux": with_torch(linux(), "1.11.0+cpu"),
    "mps asked for on Linux": with_error(with_torch(linux(), "1.11.0+cpu"), "exception", DEVICE),
    "a typing error in a program": with_error(
        with_torch(linux(), "2.6.0+cpu"),
        "exception",
        "AttributeError: module 'torch' has no attribute 'conpile'",
        path="/home/u/train.py",
    ),
    "the name is there in this release": with_error(
        with_torch(linux(), "2.6.0+cpu"), "exception", "AttributeError: module 'torch' has no attribute 'compile'"
    ),
}
GOOD["an old torch that has no build for Apple silicon"] = """\
On a Mac (M1):
$ conda env create -f environment.yml
Solving environment: failed

ResolvePackageNotFound:
  - pytorch=1.6.0
  - torchvision=0.7.0
"""
GOOD["a build for Linux, made on a Mac"] = """\
torch version: 1.10.0+cpu
Mac OS 12.0.1, M1
The image is not built.
"""
