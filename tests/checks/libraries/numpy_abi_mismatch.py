from dataclasses import replace

from tests.examples import linux, mac, windows, with_error, with_packages, with_torch
from tests.tickets import collect_env

MODULE = "A module that was compiled using NumPy 1.x cannot be run in NumPy 2.2.6 as it may crash."
API = "UserWarning: Failed to initialize NumPy: _ARRAY_API not found"

BAD = {
    "pasted: in capitals": "import torch works, but a consistent \"Numpy Is Not Available\" error comes",
    "torch 1.12 with NumPy 2, live": with_torch(
        with_packages(linux(python="3.10.12"), numpy="2.2.6"), "1.12.1+cu102", numpy_works=False,
        numpy_error="RuntimeError: Numpy is not available", warnings=(API,),
    ),
    "Windows before 2.4.1": with_torch(with_packages(windows(python="3.11.9"), numpy="2.0.1"), "2.3.1+cpu", numpy_works=False),
    "the warning on a Mac": with_error(replace(mac(), packages=None), "numpy-array-api-not-found", API),
    "the long message": with_error(replace(mac(), packages=None), "built-for-numpy-1", MODULE),
    'pasted: RuntimeError: Numpy is not available': (
        'RuntimeError: Numpy is not available\n'
        '$ pip list\n'
        'numpy 2.1.0\n'
        'torch 2.1.2\n'
    ),
    'pasted: ValueError: numpy.dtype size changed, may indicate binary in': (
        'ValueError: numpy.dtype size changed, may indicate binary incompatibility. Expected 96 from C header, got 88 from PyObject\n'
        + collect_env('2.2.0+cu121', libs='[pip3] numpy==2.0.2\n[pip3] torch==2.2.0+cu121')
    ),
    'pasted: A module that was compiled using NumPy 1.x cannot be run in': (
        'A module that was compiled using NumPy 1.x cannot be run in\n'
        'NumPy 2.0.0 as it may crash.\n'
        + collect_env('2.2.2+cpu', driver='No CUDA', gpu='No CUDA', libs='[pip3] numpy==2.0.0\n[pip3] torch==2.2.2+cpu')
    ),
    'pasted: RuntimeError: Numpy is not available, 2': (
        'RuntimeError: Numpy is not available\n'
        + collect_env('2.1.0+cu118', libs='[pip3] numpy==2.0.2\n[pip3] torch==2.1.0+cu118')
    ),
    "pasted: multiarray": (
        "  File \"/home/user/miniconda3/envs/ml/lib/python3.11/site-packages/torchvision/transforms/functional.py\", line 8, in <module>\n"
        "ImportError: numpy.core.multiarray failed to import\n"
    ),
    "pasted: an older NumPy": (
        "RuntimeError: module compiled against API version 0x10 but this version of numpy is 0xf\n"
    ),
    "pasted: NumPy's arrays are not known": (
        "TypeError: expected np.ndarray (got numpy.ndarray)\n"
        "torch 2.2.2\n"
        "numpy 2.0.1\n"
    ),
}  # fmt: skip
GOOD = {
    "NumPy 1 with an old torch": with_torch(
        with_packages(linux(python="3.10.12"), numpy="1.26.4"), "1.12.1+cu102", numpy_works=True
    ),
    "NumPy 2 with a new one": with_torch(with_packages(linux(), numpy="2.1.3"), "2.6.0+cpu", numpy_works=True),
    "no NumPy": with_torch(linux(), "2.6.0+cpu", warnings=("Failed to initialize NumPy: No module named 'numpy'",)),
    "versions that do not fit, and nothing seen to fail": with_torch(
        with_packages(linux(), numpy="2.1.3"), "2.2.2+cpu"
    ),
}
