from tests.examples import mac, with_error, with_torch
from tests.tickets import collect_env

FLOAT64 = "TypeError: Cannot convert a MPS Tensor to float64 dtype as the MPS framework doesn't support float64."
CUMSUM = "RuntimeError: MPS does not support cumsum op with int64 input"

BAD = {
    "float64": with_error(with_torch(mac(), "2.6.0"), "mps-no-float64", FLOAT64),
    "bfloat16 on macOS 13": with_error(
        with_torch(mac(macos="13.5"), "2.4.0"), "mps-bfloat16-needs-macos-14", "BFloat16 is not supported on MPS"
    ),
    "bfloat16 on macOS 15 with a torch before 2.3": with_error(
        with_torch(mac(macos="15.5"), "2.2.2"), "mps-bfloat16-needs-macos-14", "BFloat16 is not supported on MPS"
    ),
    "int64 before macOS 13.3": with_error(with_torch(mac(macos="13.1"), "2.0.1"), "exception", CUMSUM, "RuntimeError"),
    "pasted: TypeError: Cannot convert a MPS Tensor to float64 dtype as t": (
        "TypeError: Cannot convert a MPS Tensor to float64 dtype as the MPS framework doesn't support float64. Please use float32 instead.\n"
        + collect_env("2.3.0", "mac")
    ),
    "pasted: TypeError: BFloat16 is not supported on MPS": (
        "TypeError: BFloat16 is not supported on MPS\n"
        + collect_env("2.1.0", "mac", os="macOS 13.5 (arm64)", platform="macOS-13.5-arm64-arm-64bit")
    ),
    "pasted: TypeError: Trying to convert Float8_e4m3fn to the MPS backen": (
        "TypeError: Trying to convert Float8_e4m3fn to the MPS backend but it does not have support for that dtype.\n"
    ),
    "pasted: TypeError: Trying to convert BFloat16 to the MPS backend but": (
        "TypeError: Trying to convert BFloat16 to the MPS backend but it does not have support for that dtype.\n"
        "% sw_vers\n"
        "ProductName: macOS\n"
        "ProductVersion: 13.6\n"
    ),
    "pasted: TypeError: Trying to convert Double to the MPS backend but i": (
        "TypeError: Trying to convert Double to the MPS backend but it does not have support for that dtype.\n"
    ),
}
GOOD = {
    "healthy": with_torch(mac(), "2.6.0", mps_available=True),
    "an operator": with_error(
        with_torch(mac(), "1.13.1"),
        "mps-operator-not-implemented",
        "The operator 'aten::roll' is not currently implemented for the MPS device.",
    ),
}
