from tests.examples import mac, with_error, with_torch
from tests.tickets import collect_env

ROLL = "The operator 'aten::roll' is not currently implemented for the MPS device."
CONV = "The operator 'aten::slow_conv3d_forward' is not currently implemented for the MPS device."

BAD = {
    "roll": with_error(with_torch(mac(), "1.13.1"), "mps-operator-not-implemented", ROLL),
    "Conv3d": with_error(with_torch(mac(macos="14.2.1"), "2.3.0.dev20240121"), "mps-operator-not-implemented", CONV),
    "an unknown torch": with_error(mac(), "mps-conv3d-not-supported", "Conv3D is not supported on MPS"),
    "pasted: NotImplementedError: The operator 'aten::linalg_svd' is not ": (
        "NotImplementedError: The operator 'aten::linalg_svd' is not currently implemented for the MPS device. As a temporary fix, you can set the environment variable `PYTORCH_ENABLE_MPS_FALLBACK=1`\n"
        + collect_env("2.3.0", "mac")
    ),
    "pasted: RuntimeError: Conv3D is not supported on MPS": (
        "RuntimeError: Conv3D is not supported on MPS\n" + collect_env("2.1.0", "mac")
    ),
    "pasted: RuntimeError: MPS: Unsupported Border padding mode": (
        "RuntimeError: MPS: Unsupported Border padding mode\n" + collect_env("2.0.1", "mac")
    ),
    "pasted: RuntimeError: Adaptive pool MPS: input sizes must be divisib": (
        "RuntimeError: Adaptive pool MPS: input sizes must be divisible by output sizes. Non-divisible input sizes are not implemented on MPS device yet.\n"
        + collect_env("2.1.2", "mac")
    ),
}
GOOD = {
    "healthy": with_torch(mac(), "2.6.0", mps_available=True),
    "another type of number": with_error(
        with_torch(mac(), "2.6.0"), "mps-no-float64", "Cannot convert a MPS Tensor to float64 dtype"
    ),
}
BAD["more channels than MPS takes"] = """\
NotImplementedError: Output channels > 65536 not supported at the MPS device.
"""
GOOD["a type"] = """\
MacBook Air, M2
[Bug] MPS and PyTorch (BFloat16 Unsupported)
"""
GOOD["a warning"] = """\
UserWarning: MPS: The constant padding of more than 3 dimensions is not currently supported natively.
"""
