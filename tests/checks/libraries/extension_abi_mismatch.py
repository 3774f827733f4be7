from tests.examples import linux, windows, with_error, with_torch
from tests.tickets import collect_env

SITE = "/usr/local/lib/python3.10/dist-packages"
KERNELS = f"{SITE}/exllama_kernels.cpython-310-x86_64-linux-gnu.so: undefined symbol: _ZN3c104cuda9SetDeviceEi"
SCATTER = "OSError: /v/lib/python3.9/site-packages/torch_scatter/_version.so: undefined symbol: _ZN5torch3jit17parseSchemaOrNameERKSs"

BAD = {
    "exllama kernels": with_error(
        linux(python="3.10.12"), "exception", f"ImportError: {KERNELS}", "ImportError", KERNELS, path=f"{SITE}/auto_gptq/x.py"
    ),
    "torch-scatter": with_error(linux(python="3.9.18"), "exception", SCATTER, "OSError"),
    "xformers": with_error(
        with_torch(linux(python="3.10.12"), "2.1.0+cu121"), "xformers-extensions-not-loaded", "xFormers can't load C++/CUDA extensions"
    ),
    "flash-attn on Windows": with_error(
        with_torch(windows(), "2.6.0+cu124"), "exception",
        "ImportError: DLL load failed while importing flash_attn_2_cuda: The specified procedure could not be found.", "ImportError",
    ),
    "made for CUDA 11": with_error(
        with_torch(linux(), "2.6.0+cu124"), "exception", "ImportError: libcudart.so.11.0: cannot open shared object file",
        "ImportError", path="/v/lib/python3.12/site-packages/apex/normalization/fused_layer_norm.py",
    ),
    'pasted: ImportError: /home/u/e/lib/python3.10/site-packages/flash_at': (
        'ImportError: /home/u/e/lib/python3.10/site-packages/flash_attn_2_cuda.cpython-310-x86_64-linux-gnu.so: undefined symbol: _ZN3c104cuda9SetDeviceEi\n'
    ),
    'pasted: OSError: /opt/conda/lib/python3.9/site-packages/torch_scatte': (
        'OSError: /opt/conda/lib/python3.9/site-packages/torch_scatter/_scatter_cuda.so: undefined symbol: _ZNK3c107SymBool10guard_boolEPKcl\n'
        + collect_env('1.13.1+cu117')
    ),
    'pasted: ImportError: libcudart.so.11.0: cannot open shared object fi': (
        'ImportError: libcudart.so.11.0: cannot open shared object file: No such file or directory\n'
        '  File "/home/u/e/lib/python3.10/site-packages/bitsandbytes/cextension.py", line 5\n'
        + collect_env('2.3.0+cu121')
    ),
    'pasted: RuntimeError:': (
        'RuntimeError: \n'
        '        CUDA Setup failed despite GPU being available. Please run the following command to get more information:\n'
        '        python -m bitsandbytes\n'
        + collect_env('2.0.1+cu118')
    ),
    'pasted: ImportError: /home/u/e/lib/python3.10/site-packages/mmcv/_ex': (
        '  File "/home/u/e/lib/python3.10/site-packages/mmcv/ops/__init__.py", line 2, in <module>\n'
        '    from .active_rotated_filter import active_rotated_filter\n'
        'ImportError: /home/u/e/lib/python3.10/site-packages/mmcv/_ext.cpython-310-x86_64-linux-gnu.so: undefined symbol: _ZNK2at6Tensor4sizeEl\n'
    ),
    "pasted: WARNING Failed to import from vllm._C with ImportError('/hom": (
        "ModuleNotFoundError: No module named 'vllm._C'\n"
        "WARNING Failed to import from vllm._C with ImportError('/home/u/v/lib/python3.12/site-packages/vllm/_C.abi3.so: undefined symbol: _ZN5torch3jit11parseSchemaERKSs')\n"
    ),
    'pasted: RuntimeError: CUDA error: no kernel image is available for e': (
        'RuntimeError: CUDA error: no kernel image is available for execution on the device\n'
        + collect_env('2.4.0+cu121')
    ),
    'pasted: ImportError: /home/u/e/lib/python3.11/site-packages/detectro': (
        '  File "/home/u/e/lib/python3.11/site-packages/detectron2/layers/deform_conv.py", line 11, in <module>\n'
        '    from detectron2 import _C\n'
        'ImportError: /home/u/e/lib/python3.11/site-packages/detectron2/_C.cpython-311-x86_64-linux-gnu.so: undefined symbol: _ZN2at4_ops5zeros4callEN3c108ArrayRefINS2_6SymIntEEENS2_8optionalINS2_10ScalarTypeEEE\n'
    ),
    'pasted: bitsandbytes was compiled without GPU support. 8-bit optimiz': (
        'bitsandbytes was compiled without GPU support. 8-bit optimizers, 8-bit multiplication, and GPU quantization are unavailable.\n'
        + collect_env('2.3.0+cu121')
    ),
    "pasted: PyG says which CUDA": (
        "RuntimeError: Detected that PyTorch and torch_sparse were compiled with different CUDA versions. PyTorch has CUDA version 11.3 and torch_sparse has CUDA version 10.2. Please reinstall the torch_sparse that matches your PyTorch install.\n"
    ),
    "pasted: an extension without CUDA": (
        "  File \"/venv/lib/python3.8/site-packages/torch_cluster/knn.py\", line 64, in knn\n"
        "    return torch.ops.torch_cluster.knn(x, y, ptr_x, ptr_y, k, cosine, num_workers)\n"
        "RuntimeError: Not compiled with CUDA support\n"
    ),
    "pasted: mmcv without its extension": (
        "  File \"/venv/lib/python3.8/site-packages/mmcv/utils/ext_loader.py\", line 13, in load_ext\n"
        "    ext = importlib.import_module('mmcv.' + name)\n"
        "ModuleNotFoundError: No module named 'mmcv._ext'\n"
    ),
    "pasted: no operators of an extension": (
        "AttributeError: '_OpNamespace' '_C' object has no attribute 'rms_norm'\n"
    ),
}  # fmt: skip
GOOD = {
    "pasted: a DLL of Pillow": (
        "Traceback (most recent call last):\n"
        '  File "D:\\envs\\x\\Lib\\site-packages\\PIL\\Image.py", line 88, in <module>\n'
        "    from . import _imaging as core\n"
        "ImportError: DLL load failed while importing _imaging: The specified module could not be found.\n"
    ),
    "pasted: bitsandbytes says which library it takes": (
        "bin /opt/env/lib/python3.10/site-packages/bitsandbytes/libbitsandbytes_cuda113.so\n"
    ),
    "torchvision is a companion": with_error(
        linux(),
        "exception",
        "OSError: /v/lib/python3.10/site-packages/torchvision/_C.so: undefined symbol: _ZN3c106detail",
        "OSError",
    ),
    "torch's own": with_error(
        linux(),
        "exception",
        "ImportError: /v/lib/python3.10/site-packages/torch/lib/libtorch.so: undefined symbol: _ZN3c106detail",
    ),
    "healthy": with_torch(linux(), "2.6.0+cpu"),
}
BAD["an extension that is linked to libtorch"] = """\
ImportError: libtorch_cuda.so: cannot open shared object file: No such file or directory
"""
GOOD["a module that is not built against torch"] = """\
Windows 10
ImportError: DLL load failed while importing onnx_cpp2py_export: A dynamic link library (DLL) initialization routine failed.
"""
GOOD["a library without kernels of its own stands last in the traceback"] = """\
  File "/opt/v/lib/python3.8/site-packages/gpytorch/utils/cholesky.py", line 21, in psd_safe_cholesky
    L = torch.cholesky(A)
RuntimeError: CUDA error: invalid device function
"""
