from tests.examples import linux, windows, with_error, with_torch

SITE = "/usr/local/lib/python3.10/dist-packages"
KERNELS = f"{SITE}/exllama_kernels.cpython-310-x86_64-linux-gnu.so: undefined symbol: _ZN3c104cuda9SetDeviceEi"
SCATTER = "OSError: /v/lib/python3.9/site-packages/torch_scatter/_version.so: undefined symbol: _ZN5torch3jit17parseSchemaOrNameERKSs"

BAD = {
    "exllama kernels": with_error(
        linux(python="3.10.12"), "exception", f"ImportError: {KERNELS}", "ImportError", KERNELS, path=f"{SITE}/auto_gptq/x.py"
    ),
    "torch-scatter": with_error(linux(python="3.9.18"), "exception", SCATTER, "OSError"),
    "xformers": with_error(
        with_torch(linux(python="3.10.12"), "2.1.0+cu121"), "e115", "xFormers can't load C++/CUDA extensions"
    ),
    "flash-attn on Windows": with_error(
        with_torch(windows(), "2.6.0+cu124"), "exception",
        "ImportError: DLL load failed while importing flash_attn_2_cuda: The specified procedure could not be found.", "ImportError",
    ),
    "made for CUDA 11": with_error(
        with_torch(linux(), "2.6.0+cu124"), "exception", "ImportError: libcudart.so.11.0: cannot open shared object file",
        "ImportError", path="/v/lib/python3.12/site-packages/apex/normalization/fused_layer_norm.py",
    ),
}  # fmt: skip
GOOD = {
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
