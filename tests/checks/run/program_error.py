from tests.examples import linux, mac, with_error, with_torch

BAD = {
    "devices": with_error(
        with_torch(linux(), "2.6.0+cu124"), "exception", "RuntimeError: Expected all tensors to be on the same device, but found two"
    ),
    "a module that does not exist": with_error(
        with_torch(mac(macos="12.4"), "1.12.0"), "exception", "ModuleNotFoundError: No module named 'torchvision.ops.nms'"
    ),
    "weights_only": with_error(
        with_torch(linux(), "2.6.0+cpu"), "exception", "_pickle.UnpicklingError: Weights only load failed. This file can still be loaded"
    ),
    "map_location": with_error(
        with_torch(linux(), "2.6.0+cpu"), "exception", "RuntimeError: Attempting to deserialize object on a CUDA device but torch.cuda.is_available() is False"
    ),
}  # fmt: skip
GOOD = {
    "nothing was said": with_torch(linux(), "2.6.0+cpu"),
    "the GPU is full": with_error(
        with_torch(linux(), "2.6.0+cu124"), "e145", "CUDA out of memory. Tried to allocate 2.00 GiB"
    ),
}
