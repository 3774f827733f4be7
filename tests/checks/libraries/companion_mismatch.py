from dataclasses import replace

from tests.example_case import Case
from tests.examples import linux, mac, windows, with_error, with_packages, with_torch
from tests.tickets import collect_env

NMS = "RuntimeError: operator torchvision::nms does not exist"
TEXT = "OSError: dlopen(/opt/lib/python3.10/site-packages/torchtext/lib/libtorchtext.so, 0x0006): Symbol not found: __ZN2at4_ops19empty"


def ticket(facts):
    return replace(facts, live=False)


BAD = {
    "torchvision of another torch": ticket(
        with_error(with_torch(with_packages(windows(), torchvision="0.20.1+cu124"), "2.4.0+cu121"), "torchvision-nms-missing", NMS)
    ),
    "live, before anything imports it": with_torch(with_packages(linux(), torchvision="0.20.1"), "2.4.0+cpu"),
    "in a ticket without an error": Case(
        ticket(with_torch(with_packages(linux(), torchaudio="2.5.1"), "2.4.0+cpu")), severity="warning"
    ),
    "the error alone": ticket(with_error(replace(linux(), packages=None), "torchvision-nms-missing", NMS)),
    "the right version of the wrong build": ticket(
        with_error(with_torch(with_packages(linux(), torchvision="0.20.1+cpu"), "2.5.1+cu124"), "torchvision-nms-missing", NMS)
    ),
    "and without an error": Case(with_torch(with_packages(linux(), torchvision="0.20.1+cpu"), "2.5.1+cu124"), severity="warning"),
    "a CUDA build beside the CPU build of torch": Case(
        with_torch(with_packages(linux(), torchvision="0.28.0+cu130"), "2.13.0+cpu"), severity="fault"
    ),
    "of another CUDA major": Case(
        with_torch(with_packages(linux(), torchvision="0.20.1+cu118"), "2.5.1+cu124"), severity="fault"
    ),
    "of another CUDA minor": Case(
        with_torch(with_packages(linux(), torchvision="0.20.1+cu121"), "2.5.1+cu124"), severity="warning"
    ),
    "a symbol that torchtext misses": with_error(replace(mac(), packages=None), "exception", TEXT, "OSError"),
    "Triton of another torch": with_error(
        with_torch(linux(), "2.6.0+cu124"), "exception", "ImportError: cannot import name 'triton_key' from 'triton.compiler.compiler'"
    ),
    'pasted: RuntimeError: operator torchvision::nms does not exist': (
        '  File "/home/u/env/lib/python3.10/site-packages/torchvision/_meta_registrations.py", line 164, in <module>\n'
        '    @torch.library.register_fake("torchvision::nms")\n'
        'RuntimeError: operator torchvision::nms does not exist\n'
        + collect_env('2.6.0+cu124', libs='[pip3] torch==2.6.0\n[pip3] torchvision==0.19.1\n')
    ),
    'pasted: OSError: /opt/conda/lib/python3.10/site-packages/torchaudio/': (
        'OSError: /opt/conda/lib/python3.10/site-packages/torchaudio/lib/libtorchaudio.so: undefined symbol: _ZNK5torch8autograd4Node4nameEv\n'
    ),
    "pasted: NotImplementedError: Could not run 'torchvision::nms' with a": (
        "NotImplementedError: Could not run 'torchvision::nms' with arguments from the 'CUDA' backend. This could be because the operator doesn't exist for this backend\n"
        '$ pip list\n'
        'torch 2.1.0+cu118\n'
        'torchvision 0.16.0+cpu\n'
    ),
    "pasted: ImportError: cannot import name 'AttrsDescriptor' from 'trit": (
        "ImportError: cannot import name 'AttrsDescriptor' from 'triton.compiler.compiler' (/home/u/e/lib/python3.11/site-packages/triton/compiler/compiler.py)\n"
        "$ pip list | grep -E 'torch|triton'\n"
        'torch 2.5.1\n'
        'triton 3.3.0\n'
    ),
    "pasted: RuntimeError: Couldn't load custom C++ ops. This can happen ": (
        "RuntimeError: Couldn't load custom C++ ops. This can happen if your PyTorch and torchvision versions are incompatible, or if you had errors while compiling torchvision from source.\n"
    ),
    'pasted: RuntimeError: Detected that PyTorch and torchvision were com': (
        'RuntimeError: Detected that PyTorch and torchvision were compiled with different CUDA versions. PyTorch has CUDA Version=11.8 and torchvision has CUDA Version=11.7. Please reinstall the torchvision that matches your PyTorch install.\n'
    ),
    "pasted: ERROR: pip's dependency resolver does not currently take int": (
        "ERROR: pip's dependency resolver does not currently take into account all the packages that are installed.\n"
        'torchvision 0.17.0 requires torch==2.2.0, but you have torch 2.3.0 which is incompatible.\n'
    ),
    "pasted: RuntimeError: Couldn't load custom C++ ops. With its versions": (
        "RuntimeError: Couldn't load custom C++ ops. This can happen if your PyTorch and torchvision versions are incompatible\n"
        '[pip3] torch==1.13.0+cu117\n'
        '[pip3] torchvision==0.13.0\n'
    ),
    "pasted: AttributeError: partially initialized module 'torchvision' h": (
        "AttributeError: partially initialized module 'torchvision' has no attribute 'extension' (most likely due to a circular import)\n"
        '[pip3] torch==2.4.0\n'
        '[pip3] torchvision==0.18.1\n'
    ),
    'pasted: OSError: libtorchaudio.so: undefined symbol: _ZN3c1017Regist': (
        'Name: torch\n'
        'Version: 2.5.1\n'
        '---\n'
        'Name: torchaudio\n'
        'Version: 2.4.0\n'
        'OSError: libtorchaudio.so: undefined symbol: _ZN3c1017RegisterOperatorsD1Ev\n'
    ),
    "pasted: torchaudio's library on Windows": (
        "OSError: Could not load this library: D:\\app\\venv\\Lib\\site-packages\\torchaudio\\lib\\_torchaudio.pyd\n"
    ),
    "pasted: FileNotFoundError: Could not find module": (
        "FileNotFoundError: Could not find module 'E:\\Lib\\site-packages\\torchaudio\\lib\\libtorchaudio.pyd' (or one of its dependencies).\n"
    ),
    "pasted: torchvision half imported": (
        "AttributeError: partially initialized module 'torchvision' has no attribute 'extension' (most likely due to a circular import)\n"
    ),
    "pasted: no operators of torchvision": (
        "AttributeError: '_OpNamespace' 'torchvision' object has no attribute 'nms'\n"
    ),
    "pasted: Triton without a part that xformers asks for": (
        "  File \"/home/user/miniconda3/envs/ml/lib/python3.11/site-packages/xformers/ops/fmha/triton_splitk.py\", line 20, in <module>\n"
        "    from triton.third_party import cuda\n"
        "ModuleNotFoundError: No module named 'triton.third_party'\n"
    ),
}  # fmt: skip
GOOD = {
    "pasted: torchaudio without its optional FFmpeg binding": (
        "DEBUG:torchaudio._extension:Failed to initialize ffmpeg bindings\n"
        "FileNotFoundError: Could not find module 'E:\\x\\Lib\\site-packages\\torchaudio\\lib\\"
        "libtorchaudio_ffmpeg.pyd' (or one of its dependencies). Try using the full path with constructor syntax.\n"
    ),
    "as it should be": with_torch(with_packages(linux(), torchvision="0.19.0", torchaudio="2.4.0"), "2.4.0+cpu"),
    "another patch release": with_torch(with_packages(linux(), torchvision="0.19.1"), "2.4.0+cpu"),
    "nightlies": with_torch(with_packages(mac(), torchaudio="2.8.0.dev20251008"), "2.10.0.dev20251008"),
    "torchaudio pins nothing since 2.11": with_torch(with_packages(linux(), torchaudio="2.11.0"), "2.13.0+cpu"),
}
