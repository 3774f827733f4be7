"""The CUDA context of a device, made in a thread while the main one imports torch: each takes a second or more.

It is the primary context (CUDA driver API, cuDevicePrimaryCtxRetain), which the CUDA runtime takes, too, and so torch.
Stage open waits for it, so a driver that hangs hangs there; and it does again what failed here, so torch says what is
wrong. At import nothing is loaded that is not built in: torch is not there yet.
"""

import time


def get_ahead(index, monitor, uses, late):
    """What piece monitor knows of the GPU before we use it. From when `uses` is called, we do: not before `late` says
    so, for a context counts as the work of somebody, and the tools of the driver have been asked just now."""
    import ctypes

    driver = ctypes.CDLL("libcuda.so.1")
    device, context = ctypes.c_int(), ctypes.c_void_p()
    if driver.cuInit(0) or driver.cuDeviceGet(ctypes.byref(device), index):
        return None  # torch will meet it again, and name it
    try:
        before = monitor.used_before(monitor.Nvml(index))
    except (OSError, AttributeError, ValueError):  # no management library in this container
        before = {}
    while not late():
        time.sleep(0.005)
    uses()
    driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), device)
    return before


STAGES = ()
