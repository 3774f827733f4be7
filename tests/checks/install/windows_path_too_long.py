from tests.examples import linux, windows, with_error, with_torch

LONG = "ERROR: Could not install packages due to an OSError: [WinError 206] The filename or extension is too long"

BAD = {
    "WinError 206": with_error(windows(), "windows-path-too-long", LONG),
    "pip's hint": with_error(
        windows(), "windows-path-too-long", "This system does not have Windows Long Path support enabled"
    ),
    "pasted: HINT: This error might have occurred since this system does ": (
        "ERROR: Could not install packages due to an OSError: [Errno 2] No such file or directory: 'C:\\\\Users\\\\user\\\\AppData\\\\Local\\\\Packages\\\\PythonSoftwareFoundation.Python.3.11_qbz5n2kfra8p0\\\\LocalCache\\\\local-packages\\\\Python311\\\\site-packages\\\\torch\\\\include\\\\ATen\\\\ops\\\\_fake_quantize_per_tensor_affine_cachemask_tensor_qparams_compositeexplicitautograd_dispatch.h'\n"
        "HINT: This error might have occurred since this system does not have Windows Long Path support enabled. You can find information on how to enable this at https://pip.pypa.io/warnings/enable-long-paths\n"
    ),
}
GOOD = {"Linux": with_error(linux(), "windows-path-too-long", LONG), "healthy": with_torch(windows(), "2.6.0+cpu")}
