"""The CUDA context of a device, made in a thread while the main one imports torch: each takes most of a second.

It is the primary context (CUDA driver API, cuDevicePrimaryCtxRetain), which the CUDA runtime takes, too, and so torch.
Who else uses the GPU is asked before. Stage open waits for it, so a driver that hangs hangs there; and it does again
what failed here, so torch says what is wrong. Standard library only, nothing at import: it runs before torch is there.
"""


def get_ahead(index, monitor, uses):
    """What piece monitor knows of the GPU before we use it. `uses` is called when we begin to."""
    try:
        before = monitor.used_before(monitor.Nvml(index))
    except (OSError, AttributeError, ValueError):  # no management library in this container
        before = {}
    uses()
    import ctypes

    driver = ctypes.CDLL("libcuda.so.1")
    device, context = ctypes.c_int(), ctypes.c_void_p()
    for name, arguments in (
        ("cuInit", (0,)),
        ("cuDeviceGet", (ctypes.byref(device), index)),
        ("cuDevicePrimaryCtxRetain", (ctypes.byref(context), device)),
    ):
        if getattr(driver, name)(*arguments):
            break  # torch will meet it again, and name it
    return before


STAGES = ()
