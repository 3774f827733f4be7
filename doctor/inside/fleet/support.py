"""What this torch, its NCCL and the driver beside them can do. Nothing here needs another rank."""

MULTICAST_SUPPORTED = 132  # cuda.h, CUdevice_attribute


def takes_device(torch):
    """Whether a process group can be told its device without harm: torch 2.3 and later, but 2.6.0 to 2.7.0, which may
    hang then (github.com/pytorch/pytorch/issues/153960)."""
    import inspect

    try:
        known = "device_id" in inspect.signature(torch.distributed.init_process_group).parameters
        version = tuple(int(part) for part in str(torch.__version__).split("+")[0].split(".")[:2])
    except (TypeError, ValueError):
        return False
    return known and not (version == (2, 6) or str(torch.__version__).startswith("2.7.0"))


def algorithm(environ, multicast):
    """What is known of the algorithm, for NCCL does not say which one it chose: NCCL_ALGO as it is set, else that NVLS
    is not possible; None where either can be."""
    if environ.get("NCCL_ALGO"):
        return environ["NCCL_ALGO"][:100]
    if environ.get("NCCL_NVLS_ENABLE") == "0" or multicast is False:
        return "without NVLS"
    return None


def multicast(device):
    """CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED of the driver's library; None where it does not say."""
    import ctypes

    number, value = ctypes.c_int(), ctypes.c_int()
    try:
        driver = ctypes.CDLL("libcuda.so.1")
        for code in (driver.cuInit(0), driver.cuDeviceGet(ctypes.byref(number), device.index or 0),
                     driver.cuDeviceGetAttribute(ctypes.byref(value), MULTICAST_SUPPORTED, number)):
            if code:
                return None
    except (OSError, AttributeError):
        return None
    return bool(value.value)


def nccl_version(torch):
    """ "2.28.9"; None where this build has none."""
    try:
        version = torch.cuda.nccl.version()
    except Exception:
        return None
    return ".".join(map(str, version)) if isinstance(version, tuple) else str(version)
