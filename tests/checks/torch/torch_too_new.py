from tests.examples import linux, with_error, with_packages, with_torch

SIX = "ModuleNotFoundError: No module named 'torch._six'"
LIBRARY = "/home/u/v/lib/python3.11/site-packages/timm/models/layers/helpers.py"
TENSOR = "ModuleNotFoundError: No module named 'torchvision.transforms.functional_tensor'"
AUDIO = "AttributeError: module 'torchaudio' has no attribute 'list_audio_backends'"

BAD = {
    "torch._six": with_error(with_torch(linux(), "2.6.0+cpu"), "exception", SIX, path=LIBRARY),
    "torch.solve": with_error(
        with_torch(linux(), "2.6.0+cpu"), "exception", "AttributeError: module 'torch' has no attribute 'symeig'"
    ),
    "torchvision's functional_tensor": with_error(
        with_packages(with_torch(linux(), "2.6.0+cpu"), torchvision="0.21.0"), "exception", TENSOR,
        path="/v/lib/python3.11/site-packages/basicsr/data/degradations.py",
    ),
    "torchaudio's backends": with_error(
        with_packages(with_torch(linux(), "2.9.1+cpu"), torchaudio="2.9.1"), "exception", AUDIO
    ),
    "pasted: torch._six": (
        "Traceback (most recent call last):\n"
        '  File "/home/u/v/lib/python3.10/site-packages/deepspeed/runtime/utils.py", line 18, in <module>\n'
        "    from torch._six import inf\n" + SIX + "\n"
        "torch 2.1.0+cu121\n"
    ),
    "pasted: a removed function": (
        "RuntimeError: This function was deprecated since version 1.9 and is now removed.\n"
        "`torch.symeig` is deprecated in favor of `torch.linalg.eigh`\ntorch 2.0.1\n"
    ),
    "pasted: functional_tensor": (
        '  File "/home/u/v/lib/python3.10/site-packages/basicsr/data/degradations.py", line 8, in <module>\n'
        "    from torchvision.transforms.functional_tensor import rgb_to_grayscale\n" + TENSOR + "\n"
        "torch 2.2.0+cu121\ntorchvision 0.17.0+cu121\n"
    ),
    "pasted: torchaudio": (
        '  File "/opt/fish/tools/vqgan/extract_vq.py", line 30, in <module>\n' + AUDIO + "\ntorchaudio 2.9.0\n"
    ),
}  # fmt: skip
GOOD = {
    "the release still has it": with_error(with_torch(linux(), "1.13.1+cpu"), "exception", SIX),
    "a name that came later": with_error(
        with_torch(linux(), "1.13.1+cpu"), "exception", "AttributeError: module 'torch' has no attribute 'compile'"
    ),
    "a module that torchvision never had": with_error(
        with_torch(linux(), "2.6.0+cpu"), "exception", "ModuleNotFoundError: No module named 'torchvision.nonsense'"
    ),
    "an old torchaudio": with_error(
        with_packages(with_torch(linux(), "2.0.1+cpu"), torchaudio="2.0.2"), "exception", AUDIO
    ),
}
